"""What the types of subscriptions are called, and which have one active consumer."""

import pytest

from magnetar.errors import InvalidValue
from magnetar.model.subscriptions import KeySharedPolicy, SubscriptionType


def test_types_print_as_pulsar_prints_them():
    assert [kind.printed for kind in SubscriptionType] == [
        "Exclusive",
        "Shared",
        "Failover",
        "Key_Shared",
    ]


def test_exclusive_and_failover_have_one_active_consumer():
    single = [kind for kind in SubscriptionType if kind.single_active]
    assert single == [SubscriptionType.EXCLUSIVE, SubscriptionType.FAILOVER]


@pytest.mark.parametrize(
    "ranges",
    [
        [5],
        ["ab"],
        [(0, 1.5)],
        7,
        [(5, 4)],
        [(-1, 4)],
        [(0, 65_536)],
        [(0, 5), (5, 9)],
        [(0, 9), (20, 30), (2, 3)],
        [],
        (),
    ],
)
def test_ranges_that_no_broker_takes_are_refused(ranges):
    with pytest.raises(InvalidValue, match="sticky_ranges"):
        KeySharedPolicy(sticky_ranges=ranges)


def test_ranges_stay_as_they_were_given():
    given = [(10, 65_535), (0, 5)]
    policy = KeySharedPolicy(sticky_ranges=given)
    given.clear()
    assert policy.sticky_ranges == ((10, 65_535), (0, 5))
