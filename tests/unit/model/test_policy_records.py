import pytest

from magnetar.errors import InvalidValue, Refused
from magnetar.model.policies import Policies
from magnetar.model.policy_records import NamespacePolicies, TopicPolicies, policies_in
from magnetar.model.policy_values import (
    BacklogQuota,
    BacklogQuotaPolicy,
    DispatchRate,
    RetentionPolicies,
    SubscriptionPolicies,
)

HERE = "standalone"

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
        {"max_producers_per_topic": "three"},
    ],
)
def test_records_that_are_not_as_they_should_be_are_refused(stored):
    with pytest.raises(InvalidValue):
        NamespacePolicies.from_json(stored, HERE)


STORED_OF_TOPIC = {
    "retentionPolicies": {"retentionTimeInMinutes": 10, "retentionSizeInMB": 20},
    "backLogQuotaMap": {"message_age": {"limitTime": 5, "policy": "producer_exception"}},
    "schemaValidationEnforced": False,
    "subscriptionPolicies": {"s": {"dispatchRate": {"dispatchThrottlingRateInMsg": 7}}},
    "later": {"x": [1]},
}


def test_a_topics_policies_are_read_by_their_names_in_pulsar():
    read = TopicPolicies.from_json(STORED_OF_TOPIC).policies
    assert read == Policies(
        retention=RetentionPolicies(10, 20),
        backlog_quota_age=BacklogQuota(0, 5, BacklogQuotaPolicy.EXCEPTION),
        schema_validation_enforced=False,
        of_subscriptions={"s": SubscriptionPolicies(DispatchRate(messages=7))},
    )


def test_a_topics_record_keeps_what_it_does_not_know():
    record = TopicPolicies.from_json(STORED_OF_TOPIC)
    assert record.to_json() == STORED_OF_TOPIC
    written = record.with_policies(retention=None, message_size_max=9).to_json()
    assert written == {
        **{k: v for k, v in STORED_OF_TOPIC.items() if k != "retentionPolicies"},
        "maxMessageSize": 9,
    }
    assert TopicPolicies.from_json(written).policies.message_size_max == 9


def test_what_is_set_for_one_subscription_leaves_the_others():
    one, other = (SubscriptionPolicies(DispatchRate(messages=n)) for n in (1, 2))
    record = TopicPolicies().with_policies(of_subscriptions={"a": one})
    record = record.with_policies(of_subscriptions={"b": other})
    assert record.policies.of_subscriptions == {"a": one, "b": other}
    record = record.with_policies(of_subscriptions={"a": None}, message_size_max=3)
    assert record.policies == Policies(of_subscriptions={"b": other}, message_size_max=3)
    assert record.with_policies(of_subscriptions={"b": None}).to_json() == {"maxMessageSize": 3}


@pytest.mark.parametrize("empty", [NamespacePolicies.fresh(HERE), TopicPolicies()])
def test_retention_must_keep_more_than_a_backlog_may_have(empty):
    megabyte = 1024 * 1024
    quota = BacklogQuota(10 * megabyte, 60, BacklogQuotaPolicy.HOLD)
    limited = empty.with_policies(backlog_quota_size=quota)
    for minutes, megabytes in ((60, 10), (1, -1), (-1, 9)):
        with pytest.raises(Refused, match="Retention Quota must exceed configured backlog quota"):
            limited.with_policies(retention=RetentionPolicies(minutes, megabytes))
    kept = limited.with_policies(retention=RetentionPolicies(2, 11))
    larger = BacklogQuota(11 * megabyte, 0, BacklogQuotaPolicy.HOLD)
    with pytest.raises(Refused, match="Backlog Quota exceeds configured retention quota"):
        kept.with_policies(backlog_quota_size=larger)
    limited.with_policies(retention=RetentionPolicies(-1, -1))
    limited.with_policies(retention=RetentionPolicies(0, 0))


def test_what_a_subscription_has_of_its_own_is_written_and_read_again():
    policies = Policies(of_subscriptions={"s": SubscriptionPolicies(DispatchRate(1, 2, True, 3))})
    written = TopicPolicies(policies).to_json()
    assert TopicPolicies.from_json(written).policies == policies
