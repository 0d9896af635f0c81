import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.errors import InvalidValue
from magnetar.model.policies import (
    ROWS,
    Combined,
    Policies,
    combine,
)
from magnetar.model.policy_rows import Level
from magnetar.model.policy_values import (
    BacklogQuota,
    DispatchRate,
    RetentionPolicies,
    SubscriptionPolicies,
)

some_policies = st.builds(
    Policies,
    retention=st.none() | st.builds(RetentionPolicies, st.integers(-1, 9), st.integers(-1, 9)),
    producers_per_topic_max=st.none() | st.integers(0, 3),
    message_ttl_s=st.none() | st.integers(0, 3),
    subscription_types=st.none() | st.just(("Shared",)),
    backlog_quota_age=st.none() | st.builds(BacklogQuota, limit_time_s=st.integers(0, 9)),
)
some_levels = st.builds(Combined.of, st.sampled_from(Level), some_policies)


@given(some_levels, some_levels, some_levels)
def test_combining_is_associative(a, b, c):
    assert combine(combine(a, b), c) == combine(a, combine(b, c)) == combine(a, b, c)


def test_the_field_of_a_policy_says_whether_it_acts():
    assert ROWS["retention"].acts
    assert not any(ROWS[name].acts for name in ("persistence", "migrated", "shadow_topics"))


def test_an_empty_list_leaves_a_policy_to_the_level_below():
    broker = Combined.of(Level.BROKER, Policies(subscription_types=("Shared",)))
    namespace = Combined.of(Level.NAMESPACE, Policies(subscription_types=()))
    combined = combine(broker, namespace)
    assert combined.policies.subscription_types == ("Shared",)
    assert combined.levels == {"subscription_types": Level.BROKER}


@given(st.lists(some_levels, max_size=4))
def test_the_last_one_that_sets_a_policy_decides_and_is_named(several):
    combined = combine(*several)
    for name in Policies.__slots__:
        setting = [each for each in several if getattr(each.policies, name) is not None]
        value = getattr(combined.policies, name)
        if setting:
            assert value == getattr(setting[-1].policies, name)
            assert combined.levels[name] is setting[-1].levels[name]
        else:
            assert value is None
            assert name not in combined.levels


def test_a_topic_is_stronger_than_its_namespace_and_that_than_the_broker():
    broker = Combined.of(
        Level.BROKER,
        Policies(producers_per_topic_max=1, message_ttl_s=1, unacked_per_consumer_max=1),
    )
    namespace = Combined.of(Level.NAMESPACE, Policies(producers_per_topic_max=2, message_ttl_s=2))
    topic = Combined.of(Level.TOPIC, Policies(producers_per_topic_max=3))
    found = combine(broker, namespace, topic)
    assert found.policies == Policies(
        producers_per_topic_max=3, message_ttl_s=2, unacked_per_consumer_max=1
    )
    assert found.levels == {
        "producers_per_topic_max": Level.TOPIC,
        "message_ttl_s": Level.NAMESPACE,
        "unacked_per_consumer_max": Level.BROKER,
    }


@pytest.mark.parametrize(
    ("policies", "text"),
    [
        (Policies(producers_per_topic_max=-1), "max_producers_per_topic must be 0 or more"),
        (Policies(retention=RetentionPolicies(0, 5)), "Invalid retention policy"),
        (Policies(subscription_types=("Zzz",)), "Unknown subscription type Zzz: use Exclusive"),
    ],
)
def test_values_that_cannot_be_are_refused(policies, text):
    with pytest.raises(InvalidValue, match=text):
        policies.check()
    Policies(producers_per_topic_max=0, subscription_types=("Shared", "Key_Shared")).check()


def test_a_subscriptions_own_rate_is_stronger_than_its_topics():
    own, all_of_them = DispatchRate(messages=1), DispatchRate(messages=2)
    policies = Policies(
        subscription_dispatch_rate=all_of_them,
        of_subscriptions={"a": SubscriptionPolicies(own), "b": SubscriptionPolicies()},
    )
    assert [policies.dispatch_rate_of(name) for name in "abc"] == [own, all_of_them, all_of_them]
    assert Policies().dispatch_rate_of("a") is None


def test_administrators_know_a_policy_by_its_name_in_json():
    assert ROWS["retention"].json_name == "retention_policies"
    assert ROWS["dispatch_rate"].json_name == "topicDispatchRate"
