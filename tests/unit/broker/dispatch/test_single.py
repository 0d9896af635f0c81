"""Exclusive and Failover: one consumer gets everything, as far as its permits go."""

import pytest
from unit.broker.dispatch.receivers import Receiver, World, entry

from magnetar.broker.dispatch.blocked import Blocked, Why
from magnetar.broker.dispatch.single import Single


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
