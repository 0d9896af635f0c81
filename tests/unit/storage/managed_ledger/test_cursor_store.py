import asyncio

import pytest
from support.loop import until_idle
from unit.storage.managed_ledger.logs import NAME, PATH, load_cursors, open_list

from magnetar.errors import CorruptEntry, Fenced, WriteFailed
from magnetar.model.position import Position
from magnetar.storage.codec.cursor import CursorState, decode_cursor, encode_cursor
from magnetar.storage.managed_ledger.ack_set import AckSet
from magnetar.storage.managed_ledger.cursor_store import CursorStore, state_of
from magnetar.storage.managed_ledger.layout import Layout

CURSOR = f"{PATH}/a%2Fb+c"


@pytest.fixture
async def ledger_list(logs):
    opened, _ = await open_list(logs)
    return opened


@pytest.fixture
def store(logs, ledger_list):
    return CursorStore(NAME, logs.factory(), ledger_list)


def acks_with(*ranges):
    layout = Layout()
    layout.begin(3)
    layout.grow(99, 1)
    acks = AckSet(Position(3, -1))
    for first, last in ranges:
        acks.add_range(3, first, last, layout)
    return acks, layout


def value(text):
    return CursorState(Position(3, int(text)))


async def stored(logs):
    record = await logs.metadata.get(CURSOR)
    return None if record is None else decode_cursor(record.value, source=CURSOR).mark.entry_id


def test_a_record_is_bounded_and_keeps_the_oldest():
    acks, layout = acks_with(*((entry, entry) for entry in range(1, 50, 2)))
    for entry in range(50, 60):
        acks.add_batch(Position(3, entry), [1], layout)
    acks.add_redeliveries(3, range(40, 60), layout)
    state = state_of(acks, {}, ranges_max=4)
    assert state.ranges == {3: ([1, 3, 5, 7], [1, 3, 5, 7])}
    assert [place.entry_id for place, _ in state.batches] == [50, 51, 52, 53]
    assert state.redeliveries == {3: ([40, 42, 44, 46], [1, 1, 1, 1])}


def test_the_bound_is_over_all_ledgers():
    acks, layout = acks_with((1, 1), (3, 3), (5, 5))
    layout.seal(99, 1, 0)
    layout.begin(4)
    layout.grow(99, 1)
    acks.add_range(4, 7, 7, layout)
    acks.add_range(4, 9, 9, layout)
    state = state_of(acks, {}, ranges_max=4)
    assert state.ranges == {3: ([1, 3, 5], [1, 3, 5]), 4: ([7], [7])}


async def test_cursors_are_found_by_their_names(store):
    for index in range(200):
        await store.create(f"s/{index}", value(str(index)))
    found = await load_cursors(store)
    assert {name: state.mark.entry_id for name, (state, _) in found.items()} == {
        f"s/{index}": index for index in range(200)
    }


async def test_a_damaged_cursor_is_not_passed_over(logs, store):
    await logs.metadata.put(CURSOR, b"?")
    with pytest.raises(CorruptEntry):
        await load_cursors(store)


async def test_a_record_is_saved_and_deleted(logs, store):
    record = await store.create("a/b c", value("1"))
    await record.save(lambda: value("2"))
    assert await stored(logs) == 2
    await record.delete()
    assert await stored(logs) is None
    await record.save(lambda: value("3"))
    assert await stored(logs) is None, "nothing brings it back"


async def test_a_save_has_what_was_true_when_it_was_asked_for(logs, store):
    record = await store.create("a/b c", value("1"))
    logs.metadata.puts.close()
    now = ["2"]
    first = logs.tasks.spawn("save", record.save(lambda: value(now[0])))
    await until_idle()
    now[0] = "3"
    second = logs.tasks.spawn("save", record.save(lambda: value(now[0])))
    third = logs.tasks.spawn("save", record.save(lambda: value(now[0])))
    await until_idle()
    logs.metadata.puts.open()
    await asyncio.gather(first, second, third)
    assert await stored(logs) == 3
    assert logs.metadata.paths_put.count(CURSOR) == 3, "creation, the first, the others as one"


async def test_deleting_waits_for_a_save_under_way(logs, store):
    record = await store.create("a/b c", value("1"))
    logs.metadata.puts.close()
    save = logs.tasks.spawn("save", record.save(lambda: value("2")))
    await until_idle()
    deletion = logs.tasks.spawn("delete", record.delete())
    await until_idle()
    assert not deletion.done()
    logs.metadata.puts.open()
    await asyncio.gather(save, deletion)
    assert await stored(logs) is None


async def test_cancelling_the_await_does_not_take_the_save_back(logs, store):
    record = await store.create("a/b c", value("1"))
    logs.metadata.puts.close()
    save = logs.tasks.spawn("save", record.save(lambda: value("2")))
    await until_idle()
    save.cancel()
    logs.metadata.puts.open()
    await until_idle()
    assert await stored(logs) == 2
    await record.save(lambda: value("3"))
    assert await stored(logs) == 3


async def test_a_failed_save_is_reported_and_can_be_made_again(logs, store):
    record = await store.create("a/b c", value("1"))
    logs.metadata.puts.failures = [WriteFailed("disk full")]
    with pytest.raises(WriteFailed):
        await record.save(lambda: value("2"))
    await record.save(lambda: value("2"))
    assert await stored(logs) == 2


async def test_the_owner_overwrites_what_a_former_owner_wrote(logs, store):
    record = await store.create("a/b c", value("1"))
    await logs.metadata.put(CURSOR, encode_cursor(value("9"), name="a"))
    await record.save(lambda: value("2"))
    assert await stored(logs) == 2
    await logs.metadata.delete(CURSOR)
    await record.save(lambda: value("3"))
    assert await stored(logs) == 3


async def test_a_former_owner_does_not_write_over_the_owner(logs, store):
    record = await store.create("a/b c", value("1"))
    await open_list(logs)
    await logs.metadata.put(CURSOR, encode_cursor(value("9"), name="a"))
    with pytest.raises(Fenced):
        await record.save(lambda: value("2"))
    assert await stored(logs) == 9
    with pytest.raises(Fenced):
        await store.create("another", value("1"))


async def test_creating_takes_the_place_of_what_a_former_owner_created(logs, store):
    await logs.metadata.put(CURSOR, encode_cursor(value("9"), name="a"))
    record = await store.create("a/b c", value("1"))
    assert await stored(logs) == 1
    await record.save(lambda: value("2"))
    assert await stored(logs) == 2


async def test_a_closed_record_is_left_alone(logs, store):
    record = await store.create("a/b c", value("1"))
    await record.close()
    await record.save(lambda: value("2"))
    assert await stored(logs) == 1
