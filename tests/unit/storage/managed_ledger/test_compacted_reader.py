"""storage/managed_ledger/compacted_reader.py: a cursor that reads what compaction left."""

import pytest
from unit.storage.managed_ledger.compacting import compact, numbers
from unit.storage.managed_ledger.logs import BYTES_MAX, append, data_of, drain, entries

from magnetar.errors import CorruptEntry
from magnetar.model.position import EARLIEST, LATEST, Position
from magnetar.storage.managed_ledger import compacted_ledger


async def fill(logs, ledger, count=20):
    """Ledgers of five entries."""
    for start in range(0, count, 5):
        await append(ledger, entries(5, start=start))
        await logs.roll(ledger)


async def trim(logs, ledger):
    """Let go of what every durable cursor has passed."""
    await logs.clock.advance(1)
    await ledger.trim()


def reader_at(ledger, start, name="r"):
    cursor = ledger.open_reader(name, start)
    cursor.reader.read_compacted(True)
    cursor.reader.rewind()
    return cursor


async def left(cursor):
    return list(map(int, await drain(cursor)))


async def test_before_the_first_compaction_it_reads_the_log(logs, ledger):
    await fill(logs, ledger)
    assert await left(reader_at(ledger, EARLIEST)) == list(range(20))


async def test_up_to_the_horizon_it_reads_what_stayed_then_the_log(logs, ledger):
    await fill(logs, ledger, 10)
    await compact(ledger)
    await append(ledger, entries(3, start=10))
    assert await left(reader_at(ledger, EARLIEST)) == [0, 2, 4, 6, 8, 10, 11, 12]
    assert await left(reader_at(ledger, Position(0, 3), "b")) == [4, 6, 8, 10, 11, 12]
    assert await left(reader_at(ledger, Position(1, 4), "c")) == [10, 11, 12]
    assert await left(reader_at(ledger, LATEST, "d")) == []
    plain = ledger.open_reader("plain", EARLIEST)
    assert await left(plain) == list(range(13))


async def test_what_was_trimmed_is_still_read(logs, ledger):
    await fill(logs, ledger, 10)
    await compact(ledger)
    await trim(logs, ledger)
    await append(ledger, entries(2, start=10))
    assert (ledger.layout.first, await numbers(ledger)) == ((3, 0), [0, 2, 4, 6, 8, 10, 11])
    cursor = reader_at(ledger, EARLIEST)
    assert (cursor.mark, cursor.reader.has_more) == (EARLIEST, True)
    assert await left(cursor) == [0, 2, 4, 6, 8, 10, 11]
    again = reader_at(ledger, Position(1, 1), "again")  # As a client that reconnects says.
    assert await left(again) == [6, 8, 10, 11]
    assert await left(ledger.open_reader("plain", EARLIEST)) == [10, 11]


async def test_a_seek_goes_into_what_was_trimmed(logs, ledger):
    await fill(logs, ledger, 10)
    await compact(ledger)
    await trim(logs, ledger)
    cursor = await ledger.open_cursor("s", LATEST)
    for target, expected in [
        (EARLIEST, [0, 2, 4, 6, 8]),
        (Position(1, 0), [6, 8]),
        (await ledger.first_where(lambda data: int(data) >= 4), [4, 6, 8]),
        (await ledger.first_where(lambda data: int(data) >= 9), []),
    ]:
        cursor.reader.read_compacted(False)
        await cursor.reset(target)
        cursor.reader.read_compacted(True)
        cursor.reader.rewind()
        assert await left(cursor) == expected


async def test_it_goes_on_in_the_log_where_nothing_stayed(logs, ledger):
    await fill(logs, ledger, 5)
    await compact(ledger, lambda _: False)
    await trim(logs, ledger)
    cursor = reader_at(ledger, EARLIEST)
    assert (await left(cursor), cursor.reader.has_more) == ([], False)
    await append(ledger, entries(1, start=5))
    assert await left(cursor) == [5]


async def test_it_goes_on_when_the_log_is_compacted_again(logs, ledger):
    await fill(logs, ledger, 10)
    await compact(ledger)
    cursor = reader_at(ledger, EARLIEST)
    assert data_of(await cursor.reader.read(2, BYTES_MAX)) == [b"0"]
    await append(ledger, entries(5, start=10))
    await compact(ledger, lambda data: int(data) % 4 == 0)
    await trim(logs, ledger)
    assert await left(cursor) == [4, 8, 12]


async def test_a_read_that_the_next_compaction_overtakes_begins_again(logs, ledger):
    await ledger.open_cursor("s", EARLIEST)  # Nothing is trimmed.
    await fill(logs, ledger, 10)
    await compact(ledger)
    cursor = reader_at(ledger, EARLIEST)
    logs.ledgers.damaged_from, logs.ledgers.damage = 0, CorruptEntry("gone")
    logs.ledgers.reads.close()
    reading = logs.tasks.spawn("read", left(cursor))
    await logs.clock.advance(0)
    before = ledger.compacted
    ledger._log.compacted = None  # As if it had been deleted.
    logs.ledgers.reads.open()
    assert await reading == list(range(10))
    ledger._log.compacted = before
    cursor.reader.rewind()
    with pytest.raises(CorruptEntry):
        await cursor.reader.read(10, BYTES_MAX)


async def test_it_reads_block_by_block(logs, ledger, monkeypatch):
    monkeypatch.setattr(compacted_ledger, "BLOCK_ENTRIES_MAX", 3)
    await fill(logs, ledger, 20)
    await compact(ledger)
    cursor = reader_at(ledger, EARLIEST)
    assert cursor.reader.cached(10, BYTES_MAX) is None
    assert data_of(await cursor.reader.read(10, BYTES_MAX)) == [b"0"]
    assert data_of(cursor.reader.cached(10, BYTES_MAX)) == [b"2", b"4"]
    reads = logs.ledgers.reads.passed
    assert await left(cursor) == list(range(6, 20, 2))
    assert logs.ledgers.reads.passed - reads == 3, "blocks that follow need no search"


async def test_a_durable_cursor_counts_what_is_gone_as_acknowledged(logs, ledger):
    cursor = await ledger.open_cursor("s", EARLIEST)
    await fill(logs, ledger, 10)
    await compact(ledger)
    cursor.reader.read_compacted(True)
    cursor.reader.rewind()
    assert await left(cursor) == [0, 2, 4, 6, 8]
    assert (cursor.mark, cursor.backlog) == (Position(0, -1), 5)
    cursor.acknowledge_entries(0, [0, 2, 4])
    assert (cursor.mark, cursor.backlog) == (Position(1, 0), 2)
    cursor.acknowledge_entries(1, [1, 3])
    assert (cursor.mark, cursor.backlog) == (Position(1, 4), 0)
    await trim(logs, ledger)
    assert ledger.entry_count == 0


async def test_a_durable_cursor_keeps_its_place_in_what_was_trimmed(logs, ledger):
    await fill(logs, ledger, 10)
    await compact(ledger)
    await trim(logs, ledger)
    await append(ledger, entries(1, start=10))
    cursor = await ledger.open_cursor("s", EARLIEST)
    for done, expected in [(None, [0, 2, 4, 6, 8, 10]), (Position(0, 4), [6, 8, 10])]:
        if done:
            cursor.reader.read_compacted(True)
            cursor.acknowledge_cumulative(done)
        await ledger.close()
        ledger = await logs.open()
        cursor = ledger.cursors["s"]
        cursor.reader.read_compacted(True)
        cursor.reader.rewind()
        assert (await left(cursor), cursor.backlog) == (expected, 1)
