"""Reasons, and their sentences."""

import pytest
from unit.broker.dispatch.receivers import Receiver

from magnetar.broker.dispatch.blocked import Blocked, Why, all_blocked, receiver_blocked


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"permits": 0}, Why.NO_PERMITS),
        ({"writable": False}, Why.NOT_WRITABLE),
        ({"unacked_max": 3, "unacked": 3, "writable": False}, Why.CONSUMER_UNACKED),
    ],
)
def test_a_consumer_is_blocked_by_what_must_change_first(fields, why):
    assert receiver_blocked(Receiver("a", **fields)) == Blocked(why, "a")
    assert receiver_blocked(Receiver("a")) is None


def test_consumers_are_blocked_when_all_of_them_are():
    full, free = Receiver("a", permits=0), Receiver("b")
    assert all_blocked([full, free]) is None
    assert all_blocked([full]) == Blocked(Why.NO_PERMITS, "a")
    assert all_blocked([]) == Blocked(Why.NO_CONSUMER)


def test_a_reason_is_a_sentence():
    assert str(Blocked(Why.SLOT_DRAINS, "a", 7, 12.4)) == (
        "consumer a has held entries of hash slot 7 for 12 s"
    )
    assert str(Blocked(Why.DELAYED, until_ms=1_700_000_000_250)) == (
        "what is left is delayed, the next message until 2023-11-14T22:13:20.250+00:00"
    )
    assert str(Blocked(Why.SLOT_UNOWNED, slot=9)) == "no consumer has declared hash slot 9"
