import pytest
from support.loop import until_idle
from unit.storage.managed_ledger.logs import (
    BYTES_MAX,
    acknowledge,
    append,
    data_of,
    drain,
    entries,
    places,
)

from magnetar.errors import EntryNotFound
from magnetar.model.position import EARLIEST, LATEST, Position


async def test_entries_come_once_and_in_order(ledger, cursor):
    for start in range(0, 100, 7):
        await append(ledger, entries(7, start=start))
    assert data_of(cursor.reader.cached(50, BYTES_MAX)) == entries(50)
    assert data_of(cursor.reader.cached(1000, BYTES_MAX)) == entries(55, start=50)
    assert cursor.reader.cached(1000, BYTES_MAX) == []
    assert not cursor.reader.has_more
    await append(ledger, entries(1, start=105))
    assert cursor.reader.has_more
    assert data_of(cursor.reader.cached(1000, BYTES_MAX)) == entries(1, start=105)


async def test_cursors_that_read_the_same_get_the_same_runs(ledger):
    cursors = [ledger.open_reader(str(index), EARLIEST) for index in range(5)]
    for start in (0, 20):
        await append(ledger, entries(20, start=start))
        runs = [cursor.reader.cached(1000, BYTES_MAX) for cursor in cursors]
        assert all(run is runs[0][0] for (run,) in runs)
    await append(ledger, entries(100, start=40))
    parts = [cursor.reader.cached(30, BYTES_MAX) for cursor in cursors]
    assert all(part is parts[0][0] for (part,) in parts)


async def test_a_read_keeps_to_its_limits(ledger, cursor):
    for start in range(0, 300, 100):
        await append(ledger, entries(100, start=start, size=10))
    assert len(data_of(cursor.reader.cached(150, BYTES_MAX))) == 150
    assert len(data_of(cursor.reader.cached(1000, 700))) == 70
    assert len(data_of(cursor.reader.cached(1000, 1))) == 1


@pytest.mark.usefixtures("cursor")
async def test_what_is_not_in_memory_must_be_awaited(logs, ledger):
    await append(ledger, entries(30))
    await ledger.close()
    again = (await logs.open()).cursors["s"]
    assert again.reader.cached(10, BYTES_MAX) is None
    assert data_of(await again.reader.read(10, BYTES_MAX)) == entries(10)
    ahead = data_of(again.reader.cached(100, BYTES_MAX))
    assert ahead == entries(20, start=10), "it was read ahead"
    assert await again.reader.read(10, BYTES_MAX) == []


async def test_reading_crosses_ledgers(logs, ledger, cursor):
    for start in range(0, 50, 10):
        await append(ledger, entries(10, start=start))
        await logs.roll(ledger)
    assert data_of(cursor.reader.cached(25, BYTES_MAX)) == entries(25)
    assert await drain(cursor) == entries(25, start=25)


async def test_acknowledged_entries_are_left_out(ledger, cursor):
    await append(ledger, entries(20))
    acknowledge(cursor, [*places(3, 5), *places(10, 10), *places(18, 19)])
    runs = cursor.reader.cached(1000, BYTES_MAX)
    assert [(run.first_entry_id, len(run)) for run in runs] == [(0, 3), (6, 4), (11, 7)]
    assert cursor.reader.cached(1000, BYTES_MAX) == []


async def test_what_is_acknowledged_does_not_count_as_read(ledger, cursor):
    """A read returns nothing only at the end, or its reader would wait for ever."""
    for start in range(0, 40, 10):
        await append(ledger, entries(10, start=start))
    acknowledge(cursor, places(1, 30))
    assert data_of(cursor.reader.cached(1, BYTES_MAX)) == entries(1)
    assert data_of(cursor.reader.cached(1, BYTES_MAX)) == entries(1, start=31)


async def test_what_is_acknowledged_is_not_read_from_disk(logs, ledger, cursor):
    await append(ledger, entries(9000))
    acknowledge(cursor, places(1, 8998))
    await ledger.close()
    again = (await logs.open()).cursors["s"]
    assert await drain(again, 1) == [*entries(1), *entries(1, start=8999)]
    assert logs.ledgers.reads.passed == 2


async def test_where_all_is_acknowledged_nothing_is_read(logs, ledger, cursor):
    await append(ledger, entries(10))
    acknowledge(cursor, places(1, 9))
    await ledger.close()
    again = (await logs.open()).cursors["s"]
    again.reader.read_position = Position(0, 1)
    assert await again.reader.read(10, BYTES_MAX) == []
    assert logs.ledgers.reads.passed == 0
    assert not again.reader.has_more


@pytest.mark.parametrize("from_disk", [False, True])
async def test_nothing_that_the_log_hides_is_read(ledger, from_disk):
    if not from_disk:  # Without a cursor nothing is kept in memory.
        ledger.open_reader("keeps it in memory", EARLIEST)
    await append(ledger, entries(10))
    cursor = ledger.open_reader("limited", EARLIEST)
    ledger.show_to(Position(0, 2))
    assert await drain(cursor) == entries(3)
    assert (cursor.reader.has_more, cursor.reader.cached(10, BYTES_MAX)) == (False, [])
    cursor.acknowledge_entries(0, [3, 4])
    ledger.show_to(Position(0, 3))
    assert await drain(cursor) == [], "what is acknowledged does not lead beyond it"
    ledger.show_to(None)
    assert await drain(cursor) == entries(5, start=5)


async def test_a_mark_beyond_the_read_position_moves_it(ledger, cursor):
    await append(ledger, entries(20))
    assert len(data_of(cursor.reader.cached(3, BYTES_MAX))) == 3
    cursor.acknowledge_cumulative(Position(0, 9))
    assert data_of(cursor.reader.cached(100, BYTES_MAX)) == entries(10, start=10)
    cursor.acknowledge_cumulative(Position(0, 12))
    assert cursor.reader.cached(100, BYTES_MAX) == []


async def test_rewinding_reads_again_what_is_not_acknowledged(ledger, cursor):
    await append(ledger, entries(10))
    cursor.reader.cached(100, BYTES_MAX)
    acknowledge(cursor, [*places(0, 1), *places(5, 5)])
    cursor.reader.rewind()
    assert cursor.reader.read_position == (0, 2)
    assert data_of(cursor.reader.cached(100, BYTES_MAX)) == entries(3, start=2) + entries(
        4, start=6
    )


async def test_a_reader_may_set_its_place_back(ledger, cursor):
    await append(ledger, entries(10))
    cursor.reader.cached(100, BYTES_MAX)
    cursor.reader.read_position = Position(0, 7)
    assert data_of(cursor.reader.cached(100, BYTES_MAX)) == entries(3, start=7)


@pytest.mark.usefixtures("cursor")
@pytest.mark.parametrize("move", ["rewind", "acknowledge", "reset"])
async def test_a_place_that_moves_during_a_read_counts(logs, ledger, move):
    await append(ledger, entries(20))
    await ledger.close()
    again = (await logs.open()).cursors["s"]
    again.reader.read_position = Position(0, 5)
    logs.ledgers.reads.close()
    reading = logs.tasks.spawn("read", again.reader.read(100, BYTES_MAX))
    await until_idle()
    if move == "rewind":
        again.reader.rewind()
    elif move == "acknowledge":
        again.acknowledge_cumulative(Position(0, 9))
    else:
        await again.reset(Position(0, 15))
    logs.ledgers.reads.open()
    expected = {"rewind": 0, "acknowledge": 10, "reset": 15}[move]
    assert data_of(await reading) == entries(20 - expected, start=expected)
    assert not again.reader.has_more


async def test_entries_are_read_where_they_are_asked_for(logs, ledger, cursor):
    await append(ledger, entries(100))
    await logs.roll(ledger)
    await append(ledger, entries(100, start=100))
    acknowledge(cursor, places(11, 12))
    place = cursor.reader.read_position
    asked = [*places(10, 13), *places(50, 50), *places(98, 99), *places(0, 2, ledger_id=1)]
    runs = await cursor.reader.read_at(asked)
    assert [(run.ledger_id, run.first_entry_id, len(run)) for run in runs] == [
        (0, 10, 1), (0, 13, 1), (0, 50, 1), (0, 98, 2), (1, 0, 3),
    ]  # fmt: skip
    assert cursor.reader.read_position == place
    assert await cursor.reader.read_at([]) == []


async def test_scattered_entries_are_picked_from_whole_runs_in_memory(ledger, cursor):
    for start in range(0, 900, 300):
        await append(ledger, entries(300, start=start))
    acknowledge(cursor, places(0, 3) + places(7, 7) + places(305, 305))
    found = cursor.reader.cached_at(0, [-1, 2, 5, 7, 299, 304, 305, 306, 899, 900, 5000])
    picked = [(run.first_entry_id, len(run), list(indexes)) for run, indexes in found]
    assert picked == [(0, 300, [5, 299]), (300, 300, [4, 6]), (600, 300, [299])]
    assert cursor.reader.cached_at(0, [1, 2]) == []
    assert cursor.reader.cached_at(9, [1]) == []


@pytest.mark.usefixtures("cursor")
async def test_scattered_entries_that_are_not_in_memory_must_be_awaited(logs, ledger):
    await append(ledger, entries(5000))
    await ledger.close()
    again = (await logs.open(cached=False)).cursors["s"]
    assert again.reader.cached_at(0, [5, 4990]) is None
    again.acknowledge_cumulative(Position(0, 4999))
    assert again.reader.cached_at(0, [5, 4990]) == []


async def test_entries_that_do_not_exist_are_not_read(ledger, cursor):
    await append(ledger, entries(10))
    asked = [*places(8, 12), *places(0, 3, ledger_id=9), Position(0, -1), EARLIEST, LATEST]
    assert data_of(await cursor.reader.read_at(asked)) == entries(2, start=8)


@pytest.mark.parametrize("uncached", [False, True])
@pytest.mark.usefixtures("cursor")
async def test_entries_are_read_from_disk_where_they_are_asked_for(logs, ledger, uncached):
    await append(ledger, entries(5000))
    await ledger.close()
    again = (await logs.open(cached=False)).cursors["s"]
    asked = places(5, 1500) + places(4990, 4999)
    runs = await again.reader.read_at(asked, uncached=uncached)
    assert data_of(runs) == entries(1496, start=5) + entries(10, start=4990)


@pytest.mark.usefixtures("cursor")
async def test_entries_that_lie_apart_are_read_alone(logs, ledger):
    await append(ledger, entries(5000))
    await ledger.close()
    again = (await logs.open(cached=False)).cursors["s"]
    runs = await again.reader.read_at([*places(7, 7), *places(900, 901)], uncached=True)
    assert [(run.first_entry_id, len(run)) for run in runs] == [(7, 1), (900, 2)]
    assert again.reader.cached_at(0, [8]) is None


async def test_entries_that_are_trimmed_while_they_are_read_are_left_out(logs, ledger):
    await append(ledger, entries(10))
    await ledger.close()
    again = await logs.open()
    await append(again, entries(10, start=10))
    cursor = again.open_reader("r", EARLIEST)
    logs.ledgers.reads.close()
    reading = logs.tasks.spawn(
        "read", cursor.reader.read_at([*places(0, 3), *places(5, 6, ledger_id=1)])
    )
    await until_idle()
    again.layout.remove([0])
    logs.ledgers.reads.failures = [EntryNotFound("0:0")]
    logs.ledgers.reads.open()
    assert data_of(await reading) == entries(2, start=15)
