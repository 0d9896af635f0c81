"""Policies say and refuse what theirs do."""

import pulsar
import pytest

from magnetar import compat

BOTH = pytest.mark.parametrize("client", [pulsar, compat], ids=["official", "ours"])


@BOTH
def test_a_batch_policy_says_what_it_was_told(client):
    policy = client.ConsumerBatchReceivePolicy(10, -1, -1).policy()
    assert (policy.getMaxNumMessages(), policy.getMaxNumBytes(), policy.getTimeoutMs()) == (
        10,
        -1,
        -1,
    )
    only_time = client.ConsumerBatchReceivePolicy(-1, -1, 5).policy()
    assert (only_time.getMaxNumMessages(), only_time.getMaxNumBytes()) == (-1, 10 * 1024 * 1024)


@BOTH
@pytest.mark.parametrize("limits", [(0, 0, 0), (-1, -1, 0), (-1, -1, -1)])
def test_a_batch_policy_needs_a_limit(client, limits):
    with pytest.raises(ValueError, match="must be specified"):
        client.ConsumerBatchReceivePolicy(*limits)


@BOTH
def test_a_key_shared_policy_says_what_it_was_told(client):
    policy = client.ConsumerKeySharedPolicy()
    assert (policy.key_shared_mode.name, policy.sticky_ranges) == ("AutoSplit", [])
    assert policy.allow_out_of_order_delivery is False
    sticky = client.ConsumerKeySharedPolicy(
        client.KeySharedMode.Sticky, allow_out_of_order_delivery=True, sticky_ranges=[(0, 10)]
    )
    assert (sticky.key_shared_mode.name, sticky.sticky_ranges) == ("Sticky", [(0, 10)])
    assert sticky.policy().is_allow_out_of_order_delivery()


@BOTH
@pytest.mark.parametrize("ranges", [None, [], [(0, 70_000)], [(0, 10), (5, 20)]])
def test_sticky_ranges_that_are_none_are_refused(client, ranges):
    with pytest.raises(ValueError, match=r"ranges|Ranges"):
        client.ConsumerKeySharedPolicy(client.KeySharedMode.Sticky, sticky_ranges=ranges)


def test_a_range_that_ends_before_it_begins_is_refused():
    with pytest.raises(ValueError, match="not above"):
        compat.ConsumerKeySharedPolicy(compat.KeySharedMode.Sticky, sticky_ranges=[(5, 1)])


@BOTH
def test_a_dead_letter_policy_says_what_it_was_told(client):
    policy = client.ConsumerDeadLetterPolicy(3)
    assert (policy.max_redeliver_count, policy.dead_letter_topic) == (3, "")
    assert policy.initial_subscription_name == ""
    named = client.ConsumerDeadLetterPolicy(3, "dead", "first").policy()
    assert (named.getDeadLetterTopic(), named.getInitialSubscriptionName()) == ("dead", "first")


@BOTH
@pytest.mark.parametrize("count", [None, 0, -1])
def test_a_dead_letter_policy_needs_a_count(client, count):
    with pytest.raises(ValueError, match="greater than 0"):
        client.ConsumerDeadLetterPolicy(count)


def test_a_builder_makes_policies_of_their_own():
    made = compat.DeadLetterPolicyBuilder().maxRedeliverCount(2)
    first = made.build()
    second = made.deadLetterTopic("dead").build()
    assert (first.getDeadLetterTopic(), second.getDeadLetterTopic()) == ("", "dead")
    assert second.getMaxRedeliverCount() == 2
