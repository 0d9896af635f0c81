import pytest
from support.loop import until_idle
from unit.storage.managed_ledger.logs import (
    acknowledge,
    append,
    drain,
    entries,
)

from magnetar.errors import AlreadyExists, WriteFailed
from magnetar.model.position import EARLIEST, LATEST, Position


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
    assert not cursor.reader.has_more
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
    await until_idle()
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
    acknowledge(cursor, [Position(0, 0)])
    for name in ("s", "r", "never was"):
        await ledger.delete_cursor(name)
    await logs.clock.advance(1)
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
    acknowledge(cursor, [Position(0, 0)])
    await cursor.flush()
    assert (await logs.open()).cursors["s"].mark == (0, 0)
    await ledger.delete_cursor("s")
    assert (await logs.open()).cursors == {}
