import pytest

from magnetar.model.stats import SubscriptionStats, TopicStats


@pytest.mark.parametrize(("removed", "expected"), [(0, 30), (5, 35)])
def test_what_a_topic_delivered_is_what_its_subscriptions_did_and_those_that_are_gone(
    removed, expected
):
    stats = TopicStats(
        msg_out_of_removed=removed,
        bytes_out_of_removed=removed * 10,
        subscriptions={
            name: SubscriptionStats(msg_out_counter=count, bytes_out_counter=count * 10)
            for name, count in (("a", 10), ("b", 20))
        },
    )
    assert stats.msg_out_counter == expected
    assert stats.bytes_out_counter == expected * 10
