"""What the types of subscriptions are called, and which have one active consumer."""

from magnetar.model.subscriptions import SubscriptionType


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
