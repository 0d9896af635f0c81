"""What consumers hold, and how it gets out of their hands."""

import asyncio

import pytest
from unit.broker.topics.conftest import attached

from magnetar.broker.dispatch.shared import Shared
from magnetar.broker.topics.subscriptions.held_entries import HeldEntries
from magnetar.model.position import Position
from magnetar.model.subscriptions import SubscriptionType


class World:
    """Two consumers, of which the first holds entries 0 to 5 of ledger 1."""

    def __init__(self, unacked_max=0, at_once_max=100):
        self.strategy, self.woken = Shared(chunked_messages_max=9, waiting_chunks_max=9), 0
        self.table = self.strategy.table
        self.counted = []
        self.expired = set()
        self.held = HeldEntries(
            self.strategy,
            self.table,
            at_once_max=at_once_max,
            wake=self.wake,
            missing=lambda _, entry_ids: [e for e in entry_ids if e not in self.expired],
            count_redeliveries=lambda ledger_id, entry_ids: self.counted.append(
                (ledger_id, list(entry_ids))
            ),
        )
        self.a, self.b = (self.consumer(name, unacked_max) for name in "ab")
        self.table.hand_over(self.a, 1, range(6), [1, 1, 1, 1, 1, 3], 0.0)

    def wake(self):
        self.woken += 1

    def consumer(self, name, unacked_max):
        consumer = attached(SubscriptionType.SHARED, name, unacked_max=unacked_max)
        consumer.add_permits(100)
        self.strategy.join(consumer)
        return consumer


@pytest.fixture
def world():
    return World()


def test_acknowledged_is_what_anybody_holds(world):
    assert not world.held.acknowledged(world.a, 1, [0, 1, 1])
    assert not world.held.acknowledged(world.b, 1, [2, 99])
    assert (world.a.unacked, world.table.held(world.a)) == (6 - 1, {1: [3, 4, 5]})


def test_more_may_go_out_when_a_consumer_holds_less_than_it_may():
    world = World(unacked_max=9)
    assert world.held.acknowledged(world.b, 1, [0])
    assert world.held.acknowledged_part(world.a, Position(1, 5), 1)
    assert not world.held.acknowledged_part(world.a, Position(1, 5), 1)
    assert world.a.unacked == 5


def test_messages_of_a_batch_are_acknowledged_by_whoever_has_them(world):
    world.held.acknowledged_part(world.b, Position(1, 5), 1)
    assert (world.a.unacked, world.b.unacked) == (6, 0)


async def test_what_is_given_back_waits_and_is_counted(world):
    world.held.redeliver(world.a, [Position(1, 2), Position(1, 2), Position(1, 77)])
    assert list(world.table.queues[None]) == [(1, 2)]
    assert (world.counted, world.woken) == ([(1, [2])], 1)
    assert world.held.acknowledged(world.b, 1, [2]), "it waits no longer"


async def test_what_a_consumer_that_is_gone_held_is_not_counted(world):
    world.held.release(None, world.table.leave(world.a))
    assert world.table.waiting_count == 6
    assert world.counted == []


async def test_much_is_given_back_in_parts():
    world = World(at_once_max=4)
    world.held.redeliver(world.a, None)
    assert (world.table.waiting_count, world.woken) == (4, 0)
    await asyncio.sleep(0)
    assert (world.table.waiting_count, world.woken) == (6, 1)


def test_what_was_acknowledged_for_its_consumer_does_not_wait_when_it_is_given_back(world):
    world.table.group(1, [1, 2], ["uuid", "uuid"])
    world.expired = {1, 2, 4}
    world.held.redeliver(world.a, [Position(1, 2), Position(1, 0)])
    assert (world.table.waiting(), world.counted) == ({1: [0]}, [(1, [0])])
    world.held.release(None, world.table.leave(world.a))
    assert world.table.waiting() == {1: [0, 3, 5]}
    assert list(world.table.groups_of(1, [1, 2])) == []
