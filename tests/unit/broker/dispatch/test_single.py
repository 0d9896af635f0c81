"""Exclusive and Failover: one consumer gets everything, as far as its permits go."""

import pytest
from unit.broker.dispatch.receivers import Receiver, World, entry, keyed

from magnetar.broker.dispatch.blocked import Blocked, Why
from magnetar.broker.dispatch.single import Single, SingleInRanges
from magnetar.errors import ConsumerAssignFailed


def least(consumers):
    return min(consumers, key=lambda each: each.name)


@pytest.fixture
def single():
    return Single(least)


def test_who_is_elected_is_served_once_it_may_be(single):
    a = Receiver("a")
    assert single.blocked(0.0) == Blocked(Why.NO_CONSUMER)
    single.join(Receiver("b"))
    single.join(a)
    assert (single.active, list(single.receivers)) == (a, [])
    assert single.blocked(0.0) == Blocked(Why.FAILOVER_DELAY, "a")
    single.serve()
    assert list(single.receivers) == [a]
    assert single.blocked(0.0) is None


def test_a_standby_that_comes_or_goes_changes_nothing(single):
    a, b = Receiver("a"), Receiver("b")
    single.join(a)
    single.serve()
    single.join(b)
    assert list(single.receivers) == [a]
    single.leave(b)
    assert list(single.receivers) == [a]
    single.leave(a)
    assert (single.active, list(single.receivers)) == (None, [])
    single.serve()
    assert list(single.receivers) == []


def test_entries_go_out_while_there_are_permits(single):
    a = Receiver("a", permits=4)
    single.join(a)
    single.serve()
    world = World(single)
    assert world.offer(entry(), entry()) == {"a": [0, 1]}
    assert world.offer(entry(), entry(batch=5), entry()) == {"a": [0, 1]}
    assert a.permits == -4
    assert world.offer(entry()) == {}
    assert single.blocked(0.0) == Blocked(Why.NO_PERMITS, "a")


def test_a_consumer_that_asks_for_some_slots_gets_their_entries_alone():
    single = SingleInRanges(least)
    with pytest.raises(ConsumerAssignFailed, match="start > end"):
        single.join(Receiver("wrong", hash_ranges=((9, 1),)))
    assert single.active is None
    a = Receiver("a", permits=3, hash_ranges=((0, 30_000), (32_000, 32_300)))
    single.join(a)
    single.serve()
    world = World(single)  # The slots of a, b and c are 27058, 32259 and 54879.
    assert world.offer(*keyed("c", "a", "c", "b")) == {"a": [1, 3]}
    assert world.offer(*keyed("c", "c")) == {}
    assert world.offer(*keyed("c", "a", "b", "a")) == {"a": [1]}
    single.leave(a)
    single.join(Receiver("b", hash_ranges=((0, 65_535),)))
    single.serve()
    assert world.offer(*keyed("a", "b", "c")) == {"b": [0, 1, 2]}
