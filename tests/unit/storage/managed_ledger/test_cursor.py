from dataclasses import replace

import pytest
from unit.storage.managed_ledger.logs import (
    PATH,
    acknowledge,
    append,
    drain,
    entries,
    places,
)

from magnetar.errors import Fenced, WriteFailed
from magnetar.model.position import EARLIEST, LATEST, Position


async def test_the_backlog_is_what_is_not_acknowledged(logs, ledger, cursor):
    await append(ledger, entries(10))
    await logs.roll(ledger)
    await append(ledger, entries(10, start=10))
    assert cursor.backlog == 20
    acknowledge(cursor, places(0, 1) + places(5, 6) + places(3, 4, ledger_id=1))
    assert cursor.backlog == 14
    cursor.acknowledge_cumulative(Position(1, 3))
    assert (cursor.backlog, cursor.mark) == (5, (1, 4))
    await append(ledger, entries(2, start=20))
    assert cursor.backlog == 7


async def test_a_thousand_scattered_acknowledgements_are_a_few_ranges(ledger, cursor):
    await append(ledger, entries(3000))
    scattered = [place for place in places(0, 2999) if place.entry_id % 100]
    acknowledge(cursor, scattered[::2] + scattered[1::2][::-1])
    assert cursor.backlog == 30
    assert len(cursor.acks.ranges[0]) == 30


async def test_a_batch_is_acknowledged_message_by_message(ledger, cursor):
    await append(ledger, entries(3))
    place = Position(0, 1)
    assert not cursor.acks.batches
    cursor.acknowledge_batch(place, [0b110])
    assert cursor.acks.batches
    assert cursor.ack_set(place) == [0b110]
    assert not cursor.is_acknowledged(place)
    cursor.acknowledge_batch(place, [0b001])
    assert cursor.is_acknowledged(place)
    assert cursor.ack_set(place) is None
    assert cursor.backlog == 2


async def test_the_place_before_an_entry(logs, ledger, cursor):
    await append(ledger, entries(3))
    await logs.roll(ledger)
    await append(ledger, entries(3))
    assert cursor.previous(Position(1, 2)) == (1, 1)
    assert cursor.previous(Position(1, 0)) == (0, 2)
    assert cursor.previous(Position(0, 0)) == (0, -1)
    assert cursor.previous(Position(1, 3)) == cursor.mark, "no such entry"


async def test_acknowledgements_survive(logs, ledger, cursor):
    await append(ledger, entries(10))
    acknowledge(cursor, places(0, 1) + places(4, 5))
    cursor.acknowledge_batch(Position(0, 8), [0b101])
    await ledger.close()
    again = (await logs.open()).cursors["s"]
    assert (again.mark, again.reader.read_position, again.backlog) == ((0, 1), (0, 2), 6)
    assert again.ack_set(Position(0, 8)) == [0b101]
    assert await drain(again) == entries(2, start=2) + entries(4, start=6)


async def test_redelivery_counts_survive(logs, ledger, cursor):
    await append(ledger, entries(10))
    cursor.count_redeliveries(0, [5, 2, 7])
    cursor.count_redeliveries(0, [5])
    acknowledge(cursor, places(7, 7))
    await logs.clock.advance(1)
    cursor.count_redeliveries(0, [2])
    crashed = (await logs.open()).cursors["s"]
    assert crashed.redeliveries_of(0, range(10)) == [0, 0, 1, 0, 0, 2, 0, 0, 0, 0]
    await ledger.close()
    again = (await logs.open()).cursors["s"]
    assert again.redeliveries_of(0, [2, 5]) == [2, 2], "closing saves what was counted last"
    again.acknowledge_cumulative(Position(0, 5))
    assert again.redeliveries_of(0, range(10)) is None


async def test_more_redelivery_counts_than_are_saved_do_not_fit_the_record(logs):
    logs.settings = replace(logs.settings, cursor_ranges_max=3)
    ledger = await logs.open()
    cursor = await ledger.open_cursor("s", EARLIEST)
    await append(ledger, entries(10))
    cursor.count_redeliveries(0, [7, 8, 9])
    assert cursor.fits_its_record
    cursor.count_redeliveries(0, [1])
    assert not cursor.fits_its_record
    await ledger.close()
    again = (await logs.open()).cursors["s"]
    assert again.redeliveries_of(0, [1, 7, 8, 9]) == [1, 1, 1, 0], "the oldest are kept"


async def test_acknowledgements_are_saved_after_a_while(logs, ledger, cursor):
    await append(ledger, entries(10))
    acknowledge(cursor, places(0, 4))
    await logs.clock.advance(1)
    acknowledge(cursor, places(5, 6))
    crashed = await logs.open()
    assert crashed.cursors["s"].mark == (0, 4), "what was not saved is delivered again"


async def test_what_is_saved_is_not_saved_again(logs, ledger, cursor):
    await append(ledger, entries(10))
    acknowledge(cursor, places(0, 4))
    await cursor.flush()
    await cursor.flush()
    acknowledge(cursor, places(0, 4))
    await logs.clock.advance(5)
    assert logs.metadata.paths_put.count(f"{PATH}/s") == 2, "once created, once saved"
    assert logs.counts.cursors_saved == 1
    assert logs.saver.idle


async def test_a_failed_save_leaves_it_to_be_saved(logs, ledger, cursor):
    await append(ledger, entries(10))
    acknowledge(cursor, places(0, 4))
    logs.metadata.puts.failures = [WriteFailed("disk full")]
    with pytest.raises(WriteFailed):
        await cursor.flush()
    await cursor.flush()
    assert (await logs.open()).cursors["s"].mark == (0, 4)


async def test_a_reader_is_not_kept(logs, ledger):
    await append(ledger, entries(10))
    reader = ledger.open_reader("r", Position(0, 4))
    assert not reader.durable
    assert reader.backlog == 6
    acknowledge(reader, places(4, 5))
    await reader.flush()
    await logs.clock.advance(1)
    await ledger.close()
    assert "r" not in (await logs.open()).cursors


async def test_only_the_oldest_ranges_are_kept(logs, ledger):
    settings = logs.settings
    assert settings.cursor_ranges_max == 10_000
    cursor = await ledger.open_cursor("s", EARLIEST)
    await append(ledger, entries(20_100))
    acknowledge(cursor, [place for place in places(0, 20_099) if place.entry_id % 2])
    await ledger.close()
    again = (await logs.open()).cursors["s"]
    assert again.backlog == 20_100 - 10_000
    assert again.is_acknowledged(Position(0, 19_999))
    assert not again.is_acknowledged(Position(0, 20_001))


async def test_acknowledgements_of_entries_that_a_crash_took_back_are_forgotten(logs, ledger):
    cursor = await ledger.open_cursor("s", EARLIEST)
    await append(ledger, entries(10))
    cursor.acknowledge_cumulative(Position(0, 9))
    await cursor.flush()
    logs.ledgers.lost_after = 5
    again = await logs.open()
    assert again.last_position == (0, 5)
    assert again.cursors["s"].mark == (0, 5)
    await append(again, entries(3))
    assert again.cursors["s"].backlog == 3


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        (EARLIEST, 0),
        (Position(0, -1), 0),
        (Position(0, 3), 3),
        (Position(0, 10), 10),  # Beyond its ledger's end: the next.
        (Position(1, 4), 14),
        (Position(1, 10), 20),  # Beyond the end.
        (Position(7, 0), 20),  # A newer ledger.
        (LATEST, 20),
    ],
)
async def test_after_a_reset_reading_begins_at_the_place(logs, ledger, cursor, position, expected):
    await append(ledger, entries(10))
    await logs.roll(ledger)
    await append(ledger, entries(10, start=10))
    acknowledge(cursor, places(0, 7))
    acknowledge(cursor, places(2, 3, ledger_id=1))
    await cursor.reset(position)
    assert cursor.backlog == 20 - expected
    assert await drain(cursor) == entries(20 - expected, start=expected)
    await append(ledger, entries(1, start=20))
    assert await drain(cursor) == entries(1, start=20)


async def test_a_reset_is_durable(logs, ledger, cursor):
    await append(ledger, entries(10))
    cursor.acknowledge_cumulative(Position(0, 9))
    await cursor.reset(Position(0, 2), [0b10])
    crashed = (await logs.open()).cursors["s"]
    assert crashed.reader.read_position == (0, 2)
    assert crashed.ack_set(Position(0, 2)) == [0b10]


async def test_a_reset_elsewhere_drops_the_ack_set(ledger, cursor):
    await append(ledger, entries(10))
    await cursor.reset(Position(5, 0), [0b10])
    assert not cursor.acks.batches


async def test_a_reset_on_an_empty_log(ledger, cursor):
    for position in (EARLIEST, LATEST, Position(3, 3)):
        await cursor.reset(position)
        assert not cursor.reader.has_more
    await append(ledger, entries(2))
    assert await drain(cursor) == entries(2)


async def test_a_reset_by_a_former_owner_is_refused(logs, ledger, cursor):
    await append(ledger, entries(10))
    again = await logs.open()
    again.cursors["s"].acknowledge_cumulative(Position(0, 7))
    await again.cursors["s"].flush()
    with pytest.raises(Fenced):
        await cursor.reset(Position(0, 5))


async def test_a_trimmed_log_moves_marks_to_what_is_left(logs, ledger, cursor):
    await append(ledger, entries(10))
    await logs.roll(ledger)
    await append(ledger, entries(10, start=10))
    ledger.layout.remove([0])
    cursor.clamp()
    assert cursor.mark == (0, 9)
    assert cursor.backlog == 10
    assert await drain(cursor) == entries(10, start=10)
    cursor.clamp()
    assert cursor.mark == (0, 9)


async def test_properties_may_come_later(logs, ledger, cursor):
    await append(ledger, entries(2))
    acknowledge(cursor, places(0, 0))
    await cursor.flush()
    await cursor.set_properties({"k": "v"})
    crashed = (await logs.open()).cursors["s"]
    assert (crashed.properties, crashed.mark) == ({"k": "v"}, (0, 0))
