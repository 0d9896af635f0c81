import asyncio
from dataclasses import replace

import pytest
from unit.storage.managed_ledger.logs import (
    BYTES_MAX,
    NAME,
    PATH,
    GatedMetadataStore,
    Logs,
    append,
    drain,
    entries,
    turns,
)

from magnetar.errors import AlreadyExists, Fenced, LedgerFenced, WriteFailed
from magnetar.model.position import EARLIEST, LATEST, Position
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger


async def everything(ledger):
    """All entries, from wherever they are."""
    found, place = [], EARLIEST
    while run := await ledger.read(place, 1000, BYTES_MAX):
        found += run.data
        place = Position(run.ledger_id, run.last_entry_id + 1)
    return found


async def roll(ledger):
    """End the current ledger, as a rollover by age does."""
    await ledger._seal()
    ledger._saver.passed(ledger)


# Append.


async def test_appended_entries_lie_one_after_the_other(ledger):
    assert await append(ledger, entries(3)) == (0, 0)
    assert await append(ledger, entries(2, start=3)) == (0, 3)
    assert (ledger.first_position, ledger.last_position) == ((0, 0), (0, 4))
    assert (ledger.entry_count, ledger.size_bytes) == (5, 5)
    assert ledger.next_position(Position(0, 4)) == (0, 5)
    assert ledger.layout.entries_between(Position(0, 0), Position(0, 4)) == 4
    assert await everything(ledger) == entries(5)


async def test_an_appended_run_is_in_memory_as_it_was_appended(ledger):
    ledger.open_reader("reader", EARLIEST)
    data, checksums, weights = entries(3), [1, 2, 3], [1, 5, 0]
    await ledger.append(data, checksums, weights)
    run = ledger.cached(EARLIEST, 100, BYTES_MAX)
    assert (run.data, run.checksums, run.weights) == (data, checksums, weights)
    assert ledger.cached(Position(0, 0), 100, BYTES_MAX) is run
    assert ledger.cached(Position(0, 3), 100, BYTES_MAX) is None


async def test_what_nobody_reads_is_not_kept_in_memory(logs, ledger):
    await append(ledger, entries(3))
    assert logs.cache.size_bytes == 0
    ledger.open_reader("reader", EARLIEST)
    await append(ledger, entries(2, start=3))
    assert ledger.cached(Position(0, 3), 100, BYTES_MAX).data == entries(2, start=3)
    assert (await ledger.read(EARLIEST, 100, BYTES_MAX)).data == entries(3)


async def test_a_new_log_begins_with_an_empty_ledger(logs, ledger):
    assert ledger.entry_count == 0
    assert (ledger.first_position, ledger.last_position) == ((0, 0), (0, -1))
    assert (await ledger.open_cursor("s", EARLIEST)).mark == (0, -1)
    assert (await ledger.open_cursor("t", LATEST)).mark == (0, -1)
    await ledger.close()
    assert logs.ledgers.existing == set()
    again = await logs.open()
    assert logs.ledgers.existing == {1}
    assert again.cursors["s"].backlog == 0
    await append(again, entries(2))
    assert await drain(again.cursors["s"]) == await drain(again.cursors["t"]) == entries(2)


async def test_an_emptied_log_begins_with_an_empty_ledger(logs, ledger):
    cursor = await ledger.open_cursor("s", EARLIEST)
    await append(ledger, entries(3))
    cursor.acknowledge_cumulative(ledger.last_position)
    await ledger.close()
    again = await logs.open()
    assert again.layout.ledger_ids == [1]
    assert (again.entry_count, again.last_position) == (0, (0, 2))
    assert again.cursors["s"].mark == (0, 2)
    assert again.open_reader("latest", LATEST).mark == (0, 2)
    assert again.open_reader("earliest", EARLIEST).mark == (1, -1)
    await append(again, entries(1, start=3))
    assert all([await drain(each) == entries(1, start=3) for each in again.cursors.values()])


async def test_a_log_that_has_entries_gets_a_ledger_when_it_is_appended_to(logs, ledger):
    await append(ledger, entries(2))
    await ledger.close()
    again = await logs.open()
    assert again.layout.open_id is None
    assert (again.first_position, again.last_position) == ((0, 0), (0, 1))
    assert logs.ledgers.existing == {0}


async def test_nothing_is_visible_before_it_is_durable(logs, ledger):
    await append(ledger, entries(1))
    logs.ledgers.appends.close()
    appending = logs.tasks.spawn("append", append(ledger, entries(2, start=1)))
    await turns()
    assert ledger.last_position == (0, 0)
    assert await everything(ledger) == entries(1)
    logs.ledgers.appends.open()
    await appending
    assert await everything(ledger) == entries(3)


async def test_one_append_at_a_time(logs, ledger):
    logs.ledgers.appends.close()
    logs.tasks.spawn("append", append(ledger, entries(1)))
    await turns()
    with pytest.raises(AssertionError, match="one append"):
        await append(ledger, entries(1))
    logs.ledgers.appends.open()


@pytest.mark.parametrize("error", [WriteFailed("disk full"), LedgerFenced("elsewhere")])
async def test_after_a_failed_append_only_reading_goes_on(logs, ledger, error):
    cursor = await ledger.open_cursor("s", EARLIEST)
    await append(ledger, entries(3))
    logs.ledgers.appends.failures = [error]
    for _ in range(2):
        with pytest.raises(Fenced, match="orders"):
            await append(ledger, entries(1))
    assert ledger.info().state == "fenced"
    assert await drain(cursor) == entries(3)
    cursor.acknowledge_cumulative(Position(0, 1))
    await ledger.close()
    again = await logs.open()
    assert await everything(again) == entries(3)
    assert again.cursors["s"].mark == (0, 1), "acknowledgements are still ours to save"
    assert await append(again, entries(1, start=3)) == (1, 0)


async def test_an_append_nobody_waits_for_any_more_is_carried_out(logs, ledger):
    await append(ledger, entries(1))
    logs.ledgers.appends.close()
    appending = logs.tasks.spawn("append", append(ledger, entries(1, start=1)))
    await turns()
    appending.cancel()
    await turns()
    logs.ledgers.appends.open()
    await turns()
    await append(ledger, entries(1, start=2))
    assert await everything(ledger) == entries(3)


# Roll over.


@pytest.fixture
async def small(logs):
    """Five entries to a ledger, at once."""
    logs.settings = replace(logs.settings, entries_per_ledger_max=5, ledger_age_min_s=0)
    return await logs.open()


async def test_a_full_ledger_is_followed_by_another(small):
    places = [await append(small, entries(3, start=start)) for start in range(0, 12, 3)]
    assert places == [(0, 0), (0, 3), (1, 0), (1, 3)]
    assert small.layout.ledger_ids == [0, 1]
    assert await everything(small) == entries(12)
    assert small.layout.entries_between(EARLIEST, LATEST) == 12


async def test_a_young_ledger_may_hold_more(logs):
    logs.settings = replace(logs.settings, entries_per_ledger_max=5, ledger_age_min_s=60)
    ledger = await logs.open()
    await append(ledger, entries(10))
    await append(ledger, entries(10))
    assert len(ledger.layout.ledger_ids) == 1
    await logs.clock.pass_time(60)
    await append(ledger, entries(1))
    assert len(ledger.layout.ledger_ids) == 2


async def test_an_old_ledger_that_nothing_is_appended_to_ends(logs, ledger):
    await logs.clock.pass_time(logs.settings.ledger_age_max_s)
    await ledger.roll_over_if_due()
    assert ledger.layout.open_id == 0, "an empty one is as good as new"
    await append(ledger, entries(1))
    await ledger.roll_over_if_due()
    assert ledger.layout.open_id is None
    await ledger.roll_over_if_due()
    assert await append(ledger, entries(1, start=1)) == (1, 0)


async def test_housekeeping_leaves_a_ledger_alone_that_is_appended_to(logs, ledger):
    await append(ledger, entries(1))
    await logs.clock.pass_time(logs.settings.ledger_age_max_s)
    logs.ledgers.creates.close()
    appending = logs.tasks.spawn("append", append(ledger, entries(1, start=1)))
    await turns()
    await ledger.roll_over_if_due()
    logs.ledgers.creates.open()
    assert await appending == (1, 0)
    assert await everything(ledger) == entries(2)


async def test_an_append_waits_for_a_rollover_under_way(logs, ledger):
    await append(ledger, entries(1))
    await logs.clock.pass_time(logs.settings.ledger_age_max_s)
    logs.ledgers.closes.close()
    rolling = logs.tasks.spawn("roll", ledger.roll_over_if_due())
    await turns()
    appending = logs.tasks.spawn("append", append(ledger, entries(1, start=1)))
    await turns()
    assert ledger.layout.open_id == 0
    logs.ledgers.closes.open()
    await rolling
    assert await appending == (1, 0)
    assert ledger.layout.ledger_ids == [0, 1]


async def test_a_ledger_that_was_not_recorded_is_deleted(logs, ledger):
    await append(ledger, entries(1))
    await roll(ledger)
    logs.metadata.puts.failing = WriteFailed("disk full")
    with pytest.raises(Fenced):
        await append(ledger, entries(1))
    logs.metadata.puts.failing = None
    assert logs.ledgers.existing == {0}
    assert await everything(await logs.open()) == entries(1)


async def test_reading_goes_on_through_rollovers(logs, small):
    cursor = await small.open_cursor("s", EARLIEST)
    read = []

    async def reader():
        while len(read) < 200:
            for run in await cursor.read(7, BYTES_MAX):
                read.extend(run.data)
            await turns(1)

    reading = logs.tasks.spawn("read", reader())
    for start in range(0, 200, 4):
        await append(small, entries(4, start=start))
        await turns(3)
    await reading
    assert read == entries(200)


# Recovery.


@pytest.mark.parametrize("clean", [True, False])
async def test_a_log_comes_back(logs, small, clean):
    cursor = await small.open_cursor("a/b c", EARLIEST, properties={"k": "v"})
    for start in range(0, 13, 2):
        await append(small, entries(2, start=start))
    cursor.acknowledge_cumulative(Position(0, 3))
    await cursor.flush()
    if clean:
        await small.close()
    again = await logs.open()
    assert again.layout.open_id is None
    assert (again.entry_count, again.last_position) == (14, small.last_position)
    assert await everything(again) == entries(14)
    assert again.cursors["a/b c"].properties == {"k": "v"}
    assert await drain(again.cursors["a/b c"]) == entries(10, start=4)


async def test_after_a_crash_the_former_owner_cannot_append(logs, ledger):
    await append(ledger, entries(2))
    again = await logs.open()
    with pytest.raises(Fenced):
        await append(ledger, entries(1, start=2))
    assert await append(again, entries(1, start=2)) == (1, 0)
    assert await everything(again) == entries(3)
    assert await everything(ledger) == entries(2), "what was there stays readable"


async def test_a_former_owner_notices_when_it_rolls_over(logs, ledger):
    await append(ledger, entries(1))
    await roll(ledger)
    again = await logs.open()
    with pytest.raises(Fenced, match="another broker"):
        await append(ledger, entries(1))
    assert len(logs.ledgers.existing) == 1
    assert await everything(again) == entries(1)


async def test_positions_are_right_across_empty_ledgers(logs, ledger):
    await append(ledger, entries(2))
    for _ in range(3):
        logs.ledgers.appends.failures = [WriteFailed("disk full")]
        broken = await logs.open()
        with pytest.raises(Fenced):
            await append(broken, entries(1))
    again = await logs.open()
    assert logs.ledgers.existing == {0}
    assert (again.first_position, again.last_position) == ((0, 0), (0, 1))
    assert again.next_position(Position(0, 1)) == (0, 2)
    place = await append(again, entries(1, start=2))
    assert again.next_position(Position(0, 1)) == place
    assert await everything(again) == entries(3)


@pytest.mark.parametrize("fatal", range(14))
async def test_a_crash_at_any_write_of_metadata_loses_nothing(fatal):
    """Whatever write the process dies at, what was answered and not acknowledged is there."""
    logs = Logs(entries_per_ledger_max=4, ledger_age_min_s=0)
    answered, acknowledged = await live_until_put_number(logs, fatal)
    again = await logs.open()
    kept = await everything(again)
    start = int(kept[0]) if kept else len(answered)
    assert kept == entries(len(kept), start=start)
    assert set(answered) <= set(kept) | set(entries(acknowledged))
    assert start <= acknowledged, "only what was acknowledged is gone"
    assert (await drain(again.cursors["s"]))[-2:] == entries(12)[len(answered) - 2 : len(answered)]
    assert logs.ledgers.existing == set(again.layout.ledger_ids)
    await append(again, entries(1))
    await logs.tasks.close()


async def live_until_put_number(logs, fatal):
    """A short life that ends when metadata is written for the ``fatal``th time."""
    answered, acknowledged, last = [], 0, EARLIEST
    try:
        ledger = await logs.open()
        cursor = await ledger.open_cursor("s", EARLIEST)
        for start in range(0, 12, 2):
            if logs.metadata.puts.passed >= fatal:
                logs.metadata.puts.failing = WriteFailed("died")
            await append(ledger, entries(2, start=start))
            answered += entries(2, start=start)
            # The newest two are never acknowledged.
            cursor.acknowledge_cumulative(last)
            acknowledged, last = start, ledger.last_position
            await logs.clock.pass_time(1)
    except Fenced:
        pass
    logs.metadata.puts.failing = None
    return answered, acknowledged


# Cursors.


@pytest.mark.parametrize(
    ("initial", "expected"),
    [(EARLIEST, 0), (LATEST, 10), (Position(0, 4), 4), (Position(0, 99), 10), (Position(9, 9), 10)],
)
async def test_a_new_cursor_starts_where_it_was_told(ledger, initial, expected):
    await append(ledger, entries(10))
    cursor = await ledger.open_cursor("s", initial)
    reader = ledger.open_reader("r", initial)
    await append(ledger, entries(1, start=10))
    assert await drain(cursor) == await drain(reader) == entries(11 - expected, start=expected)


@pytest.mark.parametrize("initial", [EARLIEST, LATEST])
async def test_a_cursor_on_a_new_log_misses_nothing(ledger, initial):
    cursor = await ledger.open_cursor("s", initial)
    assert not cursor.has_more
    assert cursor.backlog == 0
    await append(ledger, entries(3))
    assert await drain(cursor) == entries(3)
    cursor.acknowledge_cumulative(ledger.last_position)
    assert cursor.mark == (0, 2)


async def test_a_cursor_that_exists_is_found(ledger):
    await append(ledger, entries(10))
    cursor = await ledger.open_cursor("s", EARLIEST)
    assert await ledger.open_cursor("s", LATEST) is cursor


async def test_two_who_create_a_cursor_at_once_get_the_same(logs, ledger):
    logs.metadata.puts.close()
    creating = [logs.tasks.spawn("c", ledger.open_cursor("s", EARLIEST)) for _ in range(2)]
    await turns()
    with pytest.raises(AlreadyExists):
        ledger.open_reader("s", EARLIEST)
    creating[0].cancel()
    logs.metadata.puts.open()
    assert await creating[1] is ledger.cursors["s"]


async def test_a_cursor_that_could_not_be_written_does_not_exist(logs, ledger):
    logs.metadata.puts.failures = [WriteFailed("disk full")]
    with pytest.raises(WriteFailed):
        await ledger.open_cursor("s", EARLIEST)
    assert "s" not in ledger.cursors
    assert (await ledger.open_cursor("s", EARLIEST)).durable


async def test_readers_and_cursors_do_not_share_names(ledger):
    await ledger.open_cursor("s", EARLIEST)
    ledger.open_reader("r", EARLIEST)
    for name in ("s", "r"):
        with pytest.raises(AlreadyExists):
            ledger.open_reader(name, EARLIEST)
    with pytest.raises(AlreadyExists):
        await ledger.open_cursor("r", EARLIEST)


async def test_a_deleted_cursor_is_gone(logs, ledger):
    cursor = await ledger.open_cursor("s", EARLIEST)
    ledger.open_reader("r", EARLIEST)
    await append(ledger, entries(1))
    cursor.acknowledge([Position(0, 0)])
    for name in ("s", "r", "never was"):
        await ledger.delete_cursor(name)
    await logs.clock.pass_time(1)
    await cursor.flush()
    assert ledger.cursors == {}
    await ledger.close()
    assert (await logs.open()).cursors == {}


async def test_a_cursor_that_could_not_be_deleted_is_still_there(logs, ledger):
    await append(ledger, entries(3))
    cursor = await ledger.open_cursor("s", EARLIEST)
    logs.metadata.deletes.failures = [WriteFailed("disk full")]
    with pytest.raises(WriteFailed):
        await ledger.delete_cursor("s")
    cursor.acknowledge([Position(0, 0)])
    await cursor.flush()
    assert (await logs.open()).cursors["s"].mark == (0, 0)
    await ledger.delete_cursor("s")
    assert (await logs.open()).cursors == {}


# Trim.


async def ledgers_left(logs, ledger):
    await logs.clock.pass_time(1)
    assert set(ledger.layout.ledger_ids) == logs.ledgers.existing
    return ledger.layout.ledger_ids


async def test_what_every_cursor_has_passed_goes(logs, ledger):
    one, two = [await ledger.open_cursor(name, EARLIEST) for name in ("one", "two")]
    for start in (0, 10, 20):
        await append(ledger, entries(10, start=start))
        await roll(ledger)
    one.acknowledge_cumulative(Position(2, 9))
    assert await ledgers_left(logs, ledger) == [0, 1, 2]
    two.acknowledge_cumulative(Position(0, 8))
    assert await ledgers_left(logs, ledger) == [0, 1, 2]
    two.acknowledge_cumulative(Position(1, 3))
    assert await ledgers_left(logs, ledger) == [1, 2]
    await ledger.delete_cursor("two")
    assert await ledgers_left(logs, ledger) == []
    assert (ledger.entry_count, ledger.size_bytes, ledger.last_position) == (0, 0, (2, 9))
    assert (one.backlog, one.has_more) == (0, False)
    assert await append(ledger, entries(1, start=30)) == (3, 0)
    assert await drain(one) == entries(1, start=30)


async def test_a_reader_holds_ledgers_back_while_it_is_there(logs, ledger):
    ledger.open_reader("r", EARLIEST)
    await append(ledger, entries(10))
    await roll(ledger)
    assert await ledgers_left(logs, ledger) == [0]
    await ledger.delete_cursor("r")
    assert await ledgers_left(logs, ledger) == []


async def test_without_cursors_only_the_current_ledger_stays(logs, small):
    for start in range(0, 15, 5):
        await append(small, entries(5, start=start))
    assert await ledgers_left(logs, small) == [2]
    assert await everything(small) == entries(5, start=10)


async def test_opening_a_log_trims_nothing(logs, ledger):
    """Whoever comes right after a restart finds what was there before."""
    await append(ledger, entries(10))
    await ledger.close()
    again = await logs.open()
    await append(again, entries(10, start=10))
    await logs.clock.pass_time(10)
    assert await everything(again) == entries(20)
    await again.trim()
    assert await everything(again) == entries(10, start=10)


async def test_retention_keeps_what_is_acknowledged(logs):
    logs.settings = replace(logs.settings, retention_time_s=60, retention_size_bytes=-1)
    ledger = await logs.open()
    await append(ledger, entries(10))
    await roll(ledger)
    assert await ledgers_left(logs, ledger) == [0]
    await logs.clock.pass_time(60)
    await ledger.trim()
    assert await ledgers_left(logs, ledger) == []


async def test_retention_can_be_changed_while_the_log_is_open(logs):
    ledger = await logs.open()
    ledger.retain(-1, -1)
    await append(ledger, entries(10))
    await roll(ledger)
    await ledger.trim()
    assert await ledgers_left(logs, ledger) == [0]
    ledger.retain(0, 0)
    await ledger.trim()
    assert await ledgers_left(logs, ledger) == []


async def test_trims_are_recorded_before_ledgers_are_deleted(logs, ledger):
    await append(ledger, entries(10))
    await roll(ledger)
    logs.ledgers.deletes.close()
    await logs.clock.pass_time(1)
    assert logs.ledgers.existing == {0}
    logs.ledgers.deletes.failures = [WriteFailed("died")]
    logs.ledgers.deletes.open()
    await turns()
    assert logs.ledgers.existing == {0}
    again = await logs.open()
    assert logs.ledgers.existing == {1}, "what a crash left is deleted now"
    assert again.last_position == (0, 9)
    assert again.entry_count == 0


async def test_the_next_trim_deletes_what_could_not_be_deleted(logs, ledger):
    await append(ledger, entries(10))
    logs.ledgers.deletes.failures = [WriteFailed("disk full")]
    await roll(ledger)
    await logs.clock.pass_time(1)
    assert logs.ledgers.existing == {0}
    await ledger.trim()
    assert logs.ledgers.existing == set()


async def test_a_trim_that_cannot_be_recorded_deletes_nothing(logs, ledger):
    await append(ledger, entries(10))
    await roll(ledger)
    await logs.open()
    with pytest.raises(Fenced):
        await ledger.trim()
    assert logs.ledgers.existing == {0}


async def test_a_read_of_what_is_being_trimmed_goes_on_behind_it(logs, ledger):
    await append(ledger, entries(10))
    await ledger.close()
    again = await logs.open()
    await append(again, entries(10, start=10))
    logs.ledgers.reads.close()
    reading = logs.tasks.spawn("read", again.read(EARLIEST, 100, BYTES_MAX))
    await turns()
    await again.trim()
    logs.ledgers.reads.open()
    assert (await reading).data in (entries(10), entries(10, start=10))
    assert (await again.read(EARLIEST, 100, BYTES_MAX)).data == entries(10, start=10)


async def test_a_cursor_that_is_created_during_a_trim_starts_with_what_is_left(logs, ledger):
    await append(ledger, entries(10))
    await ledger.close()
    again = await logs.open()
    await append(again, entries(10, start=10))
    logs.metadata.puts.close()
    trimming = logs.tasks.spawn("trim", again.trim())
    creating = logs.tasks.spawn("create", again.open_cursor("s", EARLIEST))
    await turns()
    logs.metadata.puts.open()
    await asyncio.gather(trimming, creating)
    assert await drain(again.cursors["s"]) == entries(10, start=10)
    assert again.cursors["s"].backlog == 10


async def test_a_trimmed_ledger_leaves_the_memory(logs, ledger):
    ledger.open_reader("reader", EARLIEST)
    await append(ledger, entries(10))
    await roll(ledger)
    assert logs.cache.size_bytes > 0
    await ledger.delete_cursor("reader")
    await logs.clock.pass_time(1)
    assert logs.cache.size_bytes == 0


async def test_stored_marks_in_trimmed_ledgers_are_clamped(logs, ledger):
    await ledger.open_cursor("s", EARLIEST)
    await append(ledger, entries(10))
    await roll(ledger)
    await append(ledger, entries(10, start=10))
    await ledger._list.change(lambda layout: layout.remove([0]))
    again = await logs.open()
    assert again.cursors["s"].mark == (0, 9)
    assert await drain(again.cursors["s"]) == entries(10, start=10)


# The end.


async def test_a_closed_log_is_whole_on_disk(logs, ledger):
    cursor = await ledger.open_cursor("s", EARLIEST)
    await append(ledger, entries(10))
    cursor.acknowledge([Position(0, 0), Position(0, 5)])
    await ledger.close()
    await ledger.close()
    assert ledger.layout.open_id is None
    assert logs.cache.size_bytes == 0
    for refused in (append(ledger, entries(1)), ledger.open_cursor("t", EARLIEST)):
        with pytest.raises(Fenced, match="closed"):
            await refused
    again = await logs.open()
    assert again.cursors["s"].backlog == 8


async def test_acknowledgements_after_closing_disturb_nobody(logs, ledger):
    cursor = await ledger.open_cursor("s", EARLIEST)
    await append(ledger, entries(10))
    await ledger.close()
    again = await logs.open()
    cursor.acknowledge_cumulative(Position(0, 9))
    await logs.clock.pass_time(1)
    assert (await logs.open()).cursors["s"].backlog == 10
    assert again.cursors["s"].backlog == 10


async def test_closing_waits_for_an_append_under_way(logs, ledger):
    await append(ledger, entries(1))
    logs.ledgers.appends.close()
    logs.ledgers.closes.close()
    appending = logs.tasks.spawn("append", append(ledger, entries(2, start=1)))
    await turns()
    closing = logs.tasks.spawn("close", ledger.close())
    await turns()
    logs.ledgers.appends.open()
    assert await appending == (0, 1)
    logs.ledgers.closes.open()
    await closing
    assert await everything(await logs.open()) == entries(3)


async def test_a_log_that_another_broker_took_closes_quietly(logs, ledger):
    cursor = await ledger.open_cursor("s", EARLIEST)
    await append(ledger, entries(10))
    cursor.acknowledge([Position(0, 0)])
    again = await logs.open(metadata=GatedMetadataStore(logs.tree))
    await append(again, entries(1, start=10))
    await ledger.close()
    assert await everything(again) == entries(11)


async def test_one_failed_save_does_not_keep_the_others_from_being_saved(logs, ledger):
    cursors = [await ledger.open_cursor(str(index), EARLIEST) for index in range(5)]
    await append(ledger, entries(10))
    for cursor in cursors:
        cursor.acknowledge_cumulative(Position(0, 4))
    await roll(ledger)
    logs.metadata.puts.failures = [WriteFailed("disk full")]
    with pytest.raises(WriteFailed):
        await ledger.close()
    backlogs = [cursor.backlog for cursor in (await logs.open()).cursors.values()]
    assert sorted(backlogs) == [5, 5, 5, 5, 10]


async def test_a_deleted_log_leaves_nothing(logs, ledger):
    await ledger.open_cursor("s", EARLIEST)
    ledger.open_reader("r", EARLIEST)
    await append(ledger, entries(10))
    await roll(ledger)
    await append(ledger, entries(10))
    await ledger.close()
    await ledger.delete()
    assert logs.ledgers.existing == set()
    assert logs.tree.records == {}
    assert await logs.metadata.get(PATH) is None
    fresh = await logs.open()
    assert (fresh.entry_count, fresh.cursors) == (0, {})
    await append(fresh, entries(1))


async def test_a_log_deleted_during_a_rollover_leaves_nothing(logs, ledger):
    await append(ledger, entries(10))
    logs.clock.seconds += 1_000_000
    logs.ledgers.creates.close()
    appending = logs.tasks.spawn("append", append(ledger, entries(1)))
    await turns()
    deleting = logs.tasks.spawn("delete", ledger.delete())
    await turns()
    logs.ledgers.creates.open()
    await asyncio.wait([appending, deleting])
    assert isinstance(appending.exception(), Fenced)
    assert deleting.exception() is None
    assert logs.ledgers.existing == set()
    assert logs.tree.records == {}


async def test_a_former_owner_cannot_delete_the_log(logs, ledger):
    await append(ledger, entries(10))
    again = await logs.open()
    with pytest.raises(Fenced):
        await ledger.delete()
    assert await everything(again) == entries(10)


async def test_a_log_makes_its_own_saver_where_it_is_given_none(logs):
    ledger = await ManagedLedger.open(
        NAME,
        metadata=logs.metadata,
        ledgers=logs.ledgers,
        cache=logs.cache,
        clock=logs.clock,
        tasks=logs.tasks,
    )
    cursor = await ledger.open_cursor("s", EARLIEST)
    await append(ledger, entries(3))
    cursor.acknowledge_cumulative(Position(0, 1))
    await logs.clock.pass_time(1)
    assert (await logs.open()).cursors["s"].mark == (0, 1)
