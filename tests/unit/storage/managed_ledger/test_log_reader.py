import asyncio

import pytest
from google_crc32c import value as checksum
from support.loop import until_idle
from unit.storage.managed_ledger.logs import BYTES_MAX, append, data_of, entries, reader_of

from magnetar.errors import CorruptEntry, LedgerNotFound
from magnetar.model.position import EARLIEST, LATEST, Position
from magnetar.storage.managed_ledger.cache import EntryCache
from magnetar.storage.managed_ledger.log_reader import READERS_MAX


@pytest.fixture
async def log(logs, ledger):
    """A reader of a log with 2,500 entries in ledger 0 and 100 in ledger 1; nothing is cached."""
    await append(ledger, entries(2500))
    await ledger.close()
    again = await logs.open()
    await append(again, entries(100, start=2500))
    return reader_of(logs, again)


async def read(log, position, entries_max=10):
    return await log.read(Position(*position), entries_max, BYTES_MAX)


async def test_a_read_stays_within_a_ledger(log):
    run = await read(log, (0, 2495), 100)
    assert (run.first, run.data) == ((0, 2495), entries(5, start=2495))
    assert run.traits is None, "nobody has looked at them"
    assert run.checksums == list(map(checksum, run.data))


async def test_a_read_goes_on_at_the_next_entry_there_is(log):
    assert (await read(log, EARLIEST)).first == (0, 0)
    assert (await read(log, (0, 2500))).first == (1, 0)
    assert (await read(log, (0, 99_999))).first == (1, 0)
    assert await read(log, (1, 100)) is None
    assert await read(log, LATEST) is None


async def test_a_ledger_s_last_entry_is_told(log):
    assert [log.last_entry_id(ledger_id) for ledger_id in (0, 1, 7)] == [2499, 99, -1]


async def test_what_was_read_ahead_is_read_from_memory(logs, log):
    await read(log, (0, 0), 10)
    counts = logs.counts
    assert (counts.missed_entries, counts.hit_entries) == (1000, 0)
    assert log.cached(Position(0, 10), 10, BYTES_MAX).data == entries(10, start=10)
    for first in range(0, 1000, 10):
        assert (await read(log, (0, first), 10)).data == entries(10, start=first)
    assert (counts.missed_entries, counts.hit_entries) == (1000, 10 + 1000)
    assert counts.hit_bytes == sum(map(len, [*entries(10, start=10), *entries(1000)]))
    assert logs.ledgers.reads.passed == 1


async def test_what_was_appended_counts_once_for_each_reader(logs, ledger):
    ledger.open_reader("reads", EARLIEST)
    await append(ledger, entries(10))
    before = logs.counts.hit_entries, logs.counts.hit_bytes
    for _ in range(2):
        run = await ledger.read(ledger.layout.first, 10, BYTES_MAX)
        assert len(run) == 10
    now = logs.counts.hit_entries, logs.counts.hit_bytes
    assert [then - at for at, then in zip(before, now, strict=True)] == [
        20,
        2 * sum(map(len, entries(10))),
    ]
    assert logs.counts.missed_entries == 0


async def test_the_run_that_has_an_entry_is_found_in_memory(log):
    assert log.holding(0, 5) is None
    await read(log, (0, 0), 10)
    run = log.holding(0, 5)
    assert run.data[5 - run.first_entry_id] == entries(1, start=5)[0]
    assert log.holding(7, 0) is None


async def test_readers_of_the_same_place_share_one_read(logs, log):
    logs.ledgers.reads.close()
    reads = [logs.tasks.spawn("read", read(log, (0, first), 10)) for first in (0, 0, 5, 500, 2000)]
    await until_idle()
    logs.ledgers.reads.open()
    runs = await asyncio.gather(*reads)
    assert logs.ledgers.reads.passed == 2, "one for the first four, one far away"
    assert runs[0] is runs[1]
    assert [run.first for run in runs] == [(0, 0), (0, 0), (0, 5), (0, 500), (0, 2000)]


async def test_a_read_that_another_did_not_bring_is_made(logs):
    """The read under way stops early, because entries are large."""
    again = await logs.open("public/default/persistent/large")
    await append(again, entries(4, size=2_000_000))
    plain = reader_of(logs, again, EntryCache(0))
    ledger_id = again.layout.open_id
    runs = await asyncio.gather(*(read(plain, (ledger_id, entry)) for entry in range(4)))
    assert [run.first_entry_id for run in runs] == [0, 1, 2, 3]


async def test_one_reader_who_gives_up_does_not_disturb_the_other(logs, log):
    logs.ledgers.reads.close()
    first, second = (logs.tasks.spawn("read", read(log, (0, 0))) for _ in range(2))
    await until_idle()
    first.cancel()
    logs.ledgers.reads.open()
    assert (await second).data == entries(10)


async def test_without_memory_reads_still_work(logs, ledger):
    await append(ledger, entries(50))
    log = reader_of(logs, ledger, EntryCache(0))
    assert [(await read(log, (0, first), 1)).data for first in range(50)] == [
        [entry] for entry in entries(50)
    ]


async def test_reads_do_not_go_beyond_what_was_answered(logs, ledger):
    await append(ledger, entries(5))
    logs.ledgers.answers.close()
    under_way = logs.tasks.spawn("append", append(ledger, entries(5, start=5)))
    await until_idle()
    assert not under_way.done(), "the entries are durable, and their answer is on its way"
    log = reader_of(logs, ledger)
    assert len(await read(log, (0, 0), 100)) == 5


async def test_a_read_from_disk_ends_where_memory_goes_on(logs, ledger):
    ledger.open_reader("reader", EARLIEST)  # Or nothing would be kept in memory.
    await append(ledger, entries(500))
    logs.cache.appended.size_bytes_max, size = 0, logs.cache.appended.size_bytes_max
    logs.cache.appended.evict()
    logs.cache.appended.size_bytes_max = size
    await append(ledger, entries(500, start=500))
    run = await ledger.read(EARLIEST, 1000, BYTES_MAX)
    assert run.data == entries(500)
    assert (await ledger.read(Position(0, 500), 1000, BYTES_MAX)).traits is not None
    assert await ledger.first_where(lambda entry: int(entry) >= 700) == (0, 700)
    assert logs.ledgers.reads.passed == 1, "the rest was in memory"


async def test_damage_ahead_does_not_hurt_what_comes_before(logs, log):
    logs.ledgers.damage, logs.ledgers.damaged_from = CorruptEntry("0:3"), 3
    assert (await read(log, (0, 1), 100)).data == entries(1, start=1)
    with pytest.raises(CorruptEntry):
        await read(log, (0, 3), 100)
    logs.ledgers.damaged_from = 2499
    with pytest.raises(CorruptEntry):
        await read(log, (0, 2499), 100)
    assert logs.counts.reads_failed == 2
    logs.ledgers.damaged_from = 3
    assert (await read(log, (0, 4), 2)).data == entries(2, start=4)


async def test_a_missing_ledger_is_an_error(logs, log):
    await logs.ledgers.delete(0)
    with pytest.raises(LedgerNotFound):
        await read(log, (0, 0))


async def test_a_ledger_that_is_trimmed_during_a_read_is_skipped(logs, log):
    logs.ledgers.reads.close()
    reads = [logs.tasks.spawn("read", read(log, (0, first))) for first in (0, 1)]
    await until_idle()
    log.layout.remove([0])
    log.forget([0])
    logs.ledgers.reads.failures = [LedgerNotFound("0")]
    logs.ledgers.reads.open()
    assert [(await each).first for each in reads] == [(1, 0), (1, 0)]


async def test_what_was_read_too_late_is_not_kept(logs, log):
    logs.ledgers.reads.close()
    late = logs.tasks.spawn("read", read(log, (0, 0)))
    await until_idle()
    log.layout.remove([0])
    log.forget([0])
    before = logs.cache.reread.size_bytes
    logs.ledgers.reads.open()
    assert (await late).data == entries(10), "it was there when it was read"
    assert logs.cache.reread.size_bytes == before


async def test_closing_gives_the_memory_back(logs, log):
    await read(log, (0, 0))
    assert logs.cache.reread.size_bytes > 0
    log.close()
    assert logs.cache.reread.size_bytes == 0
    assert (await read(log, (0, 0))).data == entries(10)
    assert logs.cache.reread.size_bytes == 0


async def test_few_ledgers_are_kept_open(logs):
    ledger = await logs.open()
    for index in range(READERS_MAX + 5):
        await append(ledger, entries(1, start=index))
        await logs.roll(ledger)
    log = reader_of(logs, ledger, EntryCache(0))
    runs = [await read(log, (ledger_id, 0)) for ledger_id in ledger.layout.ledger_ids]
    assert data_of(runs) == entries(READERS_MAX + 5)
    newest = ledger.layout.ledger_ids[-1]
    opened = len(logs.ledgers.opened)
    await read(log, (newest, 0))
    assert len(logs.ledgers.opened) == opened, "the newest are still open"
    await read(log, (0, 0))
    assert logs.ledgers.opened[opened:] == [0], "the oldest was closed"


@pytest.mark.parametrize("wanted", [0, 1, 999, 2499, 2500, 2501, 2599])
async def test_the_first_entry_that_passes_is_found(log, wanted):
    found = await log.first_where(lambda entry: int(entry) >= wanted)
    assert (await read(log, found)).data[0] == str(wanted).encode()


async def test_where_none_passes_the_end_is_found(logs, log):
    assert await log.first_where(lambda _: False) == (1, 100)
    empty = await logs.open("public/default/persistent/empty")
    assert await empty.first_where(lambda _: True) == empty.layout.first


async def test_looking_for_an_entry_reads_few(logs, log):
    before = logs.ledgers.reads.passed
    await log.first_where(lambda entry: int(entry) >= 1234)
    assert logs.ledgers.reads.passed - before <= 13


async def test_looking_goes_on_when_a_ledger_is_trimmed(logs, log):
    logs.ledgers.reads.close()
    looking = logs.tasks.spawn("look", log.first_where(lambda _: True))
    await until_idle()
    log.layout.remove([0])
    await logs.ledgers.delete(0)
    log.forget([0])
    logs.ledgers.reads.failures = [LedgerNotFound("0")]
    logs.ledgers.reads.open()
    assert await looking == (1, 0)


async def test_looking_at_a_damaged_entry_is_an_error(logs, log):
    logs.ledgers.damage, logs.ledgers.damaged_from = CorruptEntry("damaged"), 1300
    with pytest.raises(CorruptEntry):
        await log.first_where(lambda entry: int(entry) >= 1300)
    assert logs.counts.reads_failed == 1
