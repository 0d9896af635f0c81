import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.errors import InvalidValue
from magnetar.model.policies import (
    Combined,
    Level,
    NamespacePolicies,
    Policies,
    combine,
    json_name,
    policies_in,
)
from magnetar.model.policy_values import (
    BacklogQuota,
    BacklogQuotaPolicy,
    DispatchRate,
    RetentionPolicies,
)

HERE = "standalone"

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


STORED = {
    "replication_clusters": [HERE],
    "bundles": {"boundaries": ["0x00000000", "0xffffffff"], "numBundles": 1},
    "deleted": False,
    "retention_policies": {"retentionTimeInMinutes": 10, "retentionSizeInMB": 20, "later": 1},
    "backlog_quota_map": {
        "destination_storage": {"limitSize": 5, "policy": "producer_exception"},
        "later_kind": {"limitSize": 6},
    },
    "topicDispatchRate": {
        HERE: {"dispatchThrottlingRateInMsg": 7, "ratePeriodInSecond": 1},
        "elsewhere": {"dispatchThrottlingRateInMsg": 8},
    },
    "max_topics_per_namespace": 9,
    "later": {"x": [1]},
}


def test_a_namespaces_policies_are_read_by_their_names_in_pulsar():
    read = NamespacePolicies.from_json(STORED, HERE).policies
    assert read.retention == RetentionPolicies(10, 20)
    assert read.backlog_quota_size == BacklogQuota(5, 0, BacklogQuotaPolicy.EXCEPTION)
    assert read.backlog_quota_age is None
    assert read.dispatch_rate == DispatchRate(messages=7, period_s=1)
    assert read.topics_per_namespace_max == 9
    assert policies_in(STORED, "elsewhere").dispatch_rate == DispatchRate(messages=8)


def test_a_record_read_and_written_is_the_same_with_fields_of_later_versions():
    assert NamespacePolicies.from_json(STORED, HERE).to_json() == STORED


def test_a_change_touches_nothing_else():
    changed = NamespacePolicies.from_json(STORED, HERE).with_policies(
        dispatch_rate=DispatchRate(messages=1), topics_per_namespace_max=None, message_ttl_s=5
    )
    written = changed.to_json()
    assert written["topicDispatchRate"] == {
        HERE: {
            "dispatchThrottlingRateInMsg": 1,
            "dispatchThrottlingRateInByte": 0,
            "relativeToPublishRate": False,
            "ratePeriodInSecond": 0,
        },
        "elsewhere": {"dispatchThrottlingRateInMsg": 8},
    }
    assert written["message_ttl_in_seconds"] == 5
    assert "max_topics_per_namespace" not in written
    same = {"retention_policies", "backlog_quota_map", "later", "bundles", "replication_clusters"}
    assert {key: written[key] for key in same} == {key: STORED[key] for key in same}
    assert NamespacePolicies.from_json(written, HERE) == changed


def test_a_policy_that_is_removed_takes_later_versions_part_of_it_along():
    written = NamespacePolicies.from_json(STORED, HERE).with_policies(retention=None).to_json()
    assert "retention_policies" not in written


def test_policies_show_pulsar_s_defaults_and_what_was_set():
    shown = NamespacePolicies.from_json({"message_ttl_in_seconds": 5}, HERE).shown()
    assert shown["message_ttl_in_seconds"] == 5
    assert shown["schema_compatibility_strategy"] == "UNDEFINED"
    assert shown["bundles"]["numBundles"] == 4
    assert shown["deleted"] is False


def test_what_pulsar_shows_by_default_is_not_set():
    shown = NamespacePolicies.fresh(HERE).shown()
    assert NamespacePolicies.from_json(shown, HERE).policies == Policies(
        replication_clusters=(HERE,)
    )


def test_a_namespace_without_stored_values_starts_fresh():
    fresh = NamespacePolicies.fresh(HERE)
    assert NamespacePolicies.from_json(fresh.to_json(), HERE) == fresh


@pytest.mark.parametrize(
    "stored",
    [
        {"bundles": 5},
        {"topicDispatchRate": 5},
        {"retention_policies": 5},
        {"max_producers_per_topic": "3"},
    ],
)
def test_records_that_are_not_as_they_should_be_are_refused(stored):
    with pytest.raises(InvalidValue):
        NamespacePolicies.from_json(stored, HERE)


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


def test_administrators_know_a_policy_by_its_name_in_json():
    assert json_name("retention") == "retention_policies"
    assert json_name("dispatch_rate") == "topicDispatchRate"
