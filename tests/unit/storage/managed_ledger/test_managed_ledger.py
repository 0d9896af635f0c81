import asyncio

import pytest
from support.loop import until_idle
from unit.storage.managed_ledger.logs import (
    BYTES_MAX,
    PATH,
    GatedMetadataStore,
    acknowledge,
    append,
    data_of,
    drain,
    entries,
    everything,
)

from magnetar.errors import Fenced, LedgerFenced, WriteFailed
from magnetar.message.entry_traits import EntryTraits
from magnetar.model.position import EARLIEST, LATEST, Position


async def test_appended_entries_lie_one_after_the_other(ledger):
    assert await append(ledger, entries(3)) == (0, 0)
    assert await append(ledger, entries(2, start=3)) == (0, 3)
    assert (ledger.layout.first, ledger.last_position) == ((0, 0), (0, 4))
    assert (ledger.entry_count, ledger.size_bytes) == (5, 5)
    assert ledger.next_position(Position(0, 4)) == (0, 5)
    assert ledger.layout.entries_between(Position(0, 0), Position(0, 4)) == 4
    assert await everything(ledger) == entries(5)


async def test_an_appended_run_is_in_memory_as_it_was_appended(ledger):
    cursor = ledger.open_reader("reader", EARLIEST)
    data, traits = entries(3), EntryTraits([1, 5, 2])
    await append(ledger, data, traits)
    (run,) = cursor.reader.cached(100, BYTES_MAX)
    assert (run.data, run.traits) == (data, traits)
    assert await ledger.read(EARLIEST, 100, BYTES_MAX) is run
    assert cursor.reader.cached(100, BYTES_MAX) == []


async def test_properties_outlive_a_rollover_and_a_new_owner(logs, ledger):
    await ledger.change_properties({"epoch": "1"})
    await append(ledger, entries(3))
    await ledger.change_properties({"epoch": "2"})
    await ledger.close()
    again = await logs.open()
    assert again.properties == {"epoch": "2"}
    with pytest.raises(Fenced):
        await ledger.change_properties({"epoch": "3"})


async def test_what_nobody_reads_is_not_kept_in_memory(logs, ledger):
    await append(ledger, entries(3))
    assert logs.cache.size_bytes == 0
    cursor = ledger.open_reader("reader", Position(0, 3))
    await append(ledger, entries(2, start=3))
    assert data_of(cursor.reader.cached(100, BYTES_MAX)) == entries(2, start=3)
    assert (await ledger.read(EARLIEST, 100, BYTES_MAX)).data == entries(3)


async def test_a_new_log_begins_with_an_empty_ledger(logs, ledger):
    assert ledger.entry_count == 0
    assert (ledger.layout.first, ledger.last_position) == ((0, 0), (0, -1))
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
    assert (again.layout.first, again.last_position) == ((0, 0), (0, 1))
    assert logs.ledgers.existing == {0}


async def test_nothing_is_visible_before_it_is_durable(logs, ledger):
    await append(ledger, entries(1))
    logs.ledgers.appends.close()
    appending = logs.tasks.spawn("append", append(ledger, entries(2, start=1)))
    await until_idle()
    assert ledger.last_position == (0, 0)
    assert await everything(ledger) == entries(1)
    logs.ledgers.appends.open()
    await appending
    assert await everything(ledger) == entries(3)


async def test_appends_follow_each_other_before_they_are_answered(logs, ledger):
    logs.ledgers.appends.close()
    appends = []
    for start in (0, 2, 4):
        assert ledger.takes_more
        appends.append(asyncio.ensure_future(append(ledger, entries(2, start=start))))
        await until_idle()
    assert ledger.entry_count == 0
    logs.ledgers.appends.open()
    assert await asyncio.gather(*appends) == [(0, 0), (0, 2), (0, 4)]
    assert await everything(ledger) == entries(6)


async def test_one_append_at_a_time_while_a_ledger_is_begun(logs, ledger):
    await append(ledger, entries(1))
    logs.clock.move(logs.settings.ledger_age_max_s)
    assert not ledger.takes_more
    logs.ledgers.creates.close()
    first = asyncio.ensure_future(append(ledger, entries(1, start=1)))
    await until_idle()
    assert not ledger.takes_more
    with pytest.raises(AssertionError, match="one append"):
        await append(ledger, entries(1))
    logs.ledgers.creates.open()
    assert await first == (1, 0)
    assert ledger.takes_more


async def test_an_append_that_fails_fails_all_behind_it(logs, ledger):
    """Even where the store stored them."""
    logs.ledgers.appends.close()
    logs.ledgers.appends.failures = [WriteFailed("disk full")]
    appends = []
    for start in range(3):
        appends.append(asyncio.ensure_future(append(ledger, entries(1, start=start))))
        await until_idle()
    logs.ledgers.appends.open()
    answers = await asyncio.gather(*appends, return_exceptions=True)
    assert [type(answer) for answer in answers] == [Fenced] * 3
    assert logs.counts.appends_failed == 3
    assert ledger.fenced
    assert not ledger.takes_more


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
    await until_idle()
    appending.cancel()
    await until_idle()
    logs.ledgers.appends.open()
    await until_idle()
    await append(ledger, entries(1, start=2))
    assert await everything(ledger) == entries(3)


async def test_a_closed_log_is_whole_on_disk(logs, ledger):
    cursor = await ledger.open_cursor("s", EARLIEST)
    await append(ledger, entries(10))
    acknowledge(cursor, [Position(0, 0), Position(0, 5)])
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
    await logs.clock.advance(1)
    assert (await logs.open()).cursors["s"].backlog == 10
    assert again.cursors["s"].backlog == 10


async def test_closing_waits_for_an_append_under_way(logs, ledger):
    await append(ledger, entries(1))
    logs.ledgers.appends.close()
    logs.ledgers.closes.close()
    appending = logs.tasks.spawn("append", append(ledger, entries(2, start=1)))
    await until_idle()
    closing = logs.tasks.spawn("close", ledger.close())
    await until_idle()
    logs.ledgers.appends.open()
    assert await appending == (0, 1)
    logs.ledgers.closes.open()
    await closing
    assert await everything(await logs.open()) == entries(3)


async def test_a_log_that_another_broker_took_closes_quietly(logs, ledger):
    cursor = await ledger.open_cursor("s", EARLIEST)
    await append(ledger, entries(10))
    acknowledge(cursor, [Position(0, 0)])
    again = await logs.open(metadata=GatedMetadataStore(logs.tree))
    await append(again, entries(1, start=10))
    await ledger.close()
    assert await everything(again) == entries(11)


async def test_one_failed_save_does_not_keep_the_others_from_being_saved(logs, ledger):
    cursors = [await ledger.open_cursor(str(index), EARLIEST) for index in range(5)]
    await append(ledger, entries(10))
    for cursor in cursors:
        cursor.acknowledge_cumulative(Position(0, 4))
    await logs.roll(ledger)
    logs.metadata.puts.failures = [WriteFailed("disk full")]
    with pytest.raises(WriteFailed):
        await ledger.close()
    backlogs = [cursor.backlog for cursor in (await logs.open()).cursors.values()]
    assert sorted(backlogs) == [5, 5, 5, 5, 10]


async def test_a_deleted_log_leaves_nothing(logs, ledger):
    await ledger.open_cursor("s", EARLIEST)
    ledger.open_reader("r", EARLIEST)
    await append(ledger, entries(10))
    await logs.roll(ledger)
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
    logs.clock.move(1_000_000)
    logs.ledgers.creates.close()
    appending = logs.tasks.spawn("append", append(ledger, entries(1)))
    await until_idle()
    deleting = logs.tasks.spawn("delete", ledger.delete())
    await until_idle()
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
