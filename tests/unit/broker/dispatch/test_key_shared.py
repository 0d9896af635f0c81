"""Key_Shared: whose an entry is, and what it must wait for."""

import pytest
from unit.broker.dispatch.receivers import Receiver, World, keyed

from magnetar.broker.dispatch.blocked import Blocked, Why
from magnetar.broker.dispatch.hash_ranges import AutoSplitRanges, StickyRanges
from magnetar.broker.dispatch.key_shared import KEY_KNOWN_SIZE_MAX, KeyShared, KnownSlots
from magnetar.model.hashing import murmur3_32

SLOTS = {key: murmur3_32(key.encode()) % 65_536 for key in map(str, range(50))}
LOW = [key for key, slot in SLOTS.items() if slot < 32_768]
HIGH = [key for key, slot in SLOTS.items() if slot >= 32_768]


@pytest.fixture
def world():
    return World(
        KeyShared(
            AutoSplitRanges(),
            ordered=True,
            look_ahead_per_consumer_max=3,
            look_ahead_max=5,
            keys_known_max=9,
            chunked_messages_max=9,
        )
    )


def join(world, name, **fields):
    receiver = Receiver(name, **fields)
    world.strategy.join(receiver)
    return receiver


def test_an_entry_goes_to_the_owner_of_its_keys_slot(world):
    join(world, "high")
    join(world, "low")  # A newcomer takes the lower half.
    assert world.offer(*keyed(LOW[0], HIGH[0], LOW[1])) == {"low": [0, 2], "high": [1]}


def test_what_is_new_waits_behind_what_waits_of_its_slot(world):
    join(world, "high")
    low = join(world, "low", permits=1)
    run = keyed(LOW[0], LOW[1], LOW[1], HIGH[0])
    assert world.offer(*run[:2]) == {"low": [0]}
    low.permits = 1
    assert world.offer(*run[2:]) == {"high": [1]}, "not the second before the first"
    assert world.strategy.blocked(0.0) is None
    assert world.due(run, 1) == {"low": [1]}
    slot = world.strategy.blocked(0.0).slot
    assert world.strategy.ranges.select(slot).name == "low"
    assert world.strategy.blocked(0.0) == Blocked(Why.NO_PERMITS, "low", slot)


def test_a_slot_drains_while_its_former_owner_holds_entries_of_it(world):
    high = join(world, "high")
    run = keyed(LOW[0], LOW[0], LOW[1])
    assert world.offer(run[0]) == {"high": [0]}
    join(world, "low")
    world.now += 20
    assert world.offer(*run[1:]) == {"low": [1]}, "the other slot does not drain"
    reason = world.strategy.blocked(world.now)
    assert reason == Blocked(Why.SLOT_DRAINS, "high", SLOTS[LOW[0]], 20.0)
    assert world.strategy.due(9) == []
    assert world.acknowledge(high, 0), "the slot is free"
    assert world.due(run) == {"low": [1]}


def test_slots_that_nobody_declared_are_not_delivered():
    sticky = KeyShared(
        StickyRanges(),
        ordered=False,
        look_ahead_per_consumer_max=3,
        look_ahead_max=5,
        keys_known_max=9,
        chunked_messages_max=9,
    )
    world = World(sticky)
    join(world, "low", hash_ranges=[(0, 32_767)])
    assert world.offer(*keyed(HIGH[0], LOW[0])) == {"low": [1]}
    assert sticky.blocked(0.0) == Blocked(Why.SLOT_UNOWNED, slot=SLOTS[HIGH[0]])


def test_so_many_entries_wait_before_reading_on_stops(world):
    join(world, "only", permits=0)
    for number, may_read in enumerate([True, True, True, False]):
        assert world.strategy.may_read() is may_read, number
        world.offer(*keyed(LOW[number]))
    join(world, "other", permits=0)  # Three for each of two, but five for all.
    assert world.strategy.may_read()
    world.offer(*keyed(LOW[4]))
    assert not world.strategy.may_read()


def test_each_owner_gets_a_fair_part_of_what_is_due(world):
    high, low = join(world, "high", permits=0), join(world, "low", permits=0)
    run = keyed(*LOW[:8], *HIGH[:4])
    assert world.offer(*run) == {}
    high.permits = low.permits = 10
    assert world.due(run, 4) == {"low": [0, 1], "high": [8, 9]}


def test_what_came_back_meanwhile_goes_before_what_was_due(world):
    low = join(world, "only", permits=1)
    run = keyed(LOW[0], LOW[0])
    assert world.offer(*run) == {"only": [0]}
    low.permits, table = 5, world.strategy.table
    [due] = world.strategy.due(9)
    table.dequeue(1, [due.entry_id])  # It is read from disk now, and meanwhile:
    table.wait(1, table.release(low, 1, [0]))
    assert world.offer_again(run, [due.entry_id]) == {}
    assert world.due(run) == {"only": [0, 1]}


def test_slots_of_short_keys_are_remembered():
    asked = []
    known = KnownSlots(lambda key: asked.append(key) or 7)
    edge, long = b"e" * KEY_KNOWN_SIZE_MAX, b"l" * (KEY_KNOWN_SIZE_MAX + 1)
    assert [known[key] for key in (edge, edge, long, long)] == [7] * 4
    assert (asked, list(known)) == ([edge, long, long], [edge])
