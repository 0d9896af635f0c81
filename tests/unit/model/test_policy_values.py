from dataclasses import fields

import pytest

from magnetar.errors import InvalidValue
from magnetar.model import policy_values as values
from magnetar.model.policy_values import (
    AutoTopicCreationOverride,
    BacklogQuota,
    BacklogQuotaPolicy,
    DelayedDeliveryPolicies,
    DispatchRate,
    InactiveTopicDeleteMode,
    InactiveTopicPolicies,
    PersistencePolicies,
    PublishRate,
    ResourceGroup,
    RetentionPolicies,
    SubscribeRate,
)

ZEROES = (
    "Invalid retention policy: Setting a single time or size limit to 0 is invalid when one of the "
    "limits has a non-zero value."
)
STORED = {"publishRateInMsgs": 1, "dispatchRateInBytes": 4}


@pytest.mark.parametrize(
    ("value", "json"),
    [
        (RetentionPolicies(100, 50), {"retentionTimeInMinutes": 100, "retentionSizeInMB": 50}),
        (
            BacklogQuota(2000, -1, BacklogQuotaPolicy.HOLD),
            {"limitSize": 2000, "limitTime": -1, "policy": "producer_request_hold"},
        ),
        (
            DispatchRate(10, 1000, True, 2),
            {
                "dispatchThrottlingRateInMsg": 10,
                "dispatchThrottlingRateInByte": 1000,
                "relativeToPublishRate": True,
                "ratePeriodInSecond": 2,
            },
        ),
        (
            PublishRate(10, 1000),
            {"publishThrottlingRateInMsg": 10, "publishThrottlingRateInByte": 1000},
        ),
        (
            SubscribeRate(5, 30),
            {"subscribeThrottlingRatePerConsumer": 5, "ratePeriodInSecond": 30},
        ),
        (
            PersistencePolicies(2, 2, 1, 1.5),
            {
                "bookkeeperEnsemble": 2,
                "bookkeeperWriteQuorum": 2,
                "bookkeeperAckQuorum": 1,
                "managedLedgerMaxMarkDeleteRate": 1.5,
            },
        ),
        (
            InactiveTopicPolicies(InactiveTopicDeleteMode.NO_SUBSCRIPTIONS, 60, True),
            {
                "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
                "maxInactiveDurationSeconds": 60,
                "deleteWhileInactive": True,
            },
        ),
        (
            DelayedDeliveryPolicies(2000, True, 60000),
            {"tickTime": 2000, "active": True, "maxDeliveryDelayInMillis": 60000},
        ),
        (
            AutoTopicCreationOverride(True, "partitioned", 3),
            {"allowAutoTopicCreation": True, "topicType": "partitioned", "defaultNumPartitions": 3},
        ),
        (AutoTopicCreationOverride(False), {"allowAutoTopicCreation": False}),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_value_is_the_json_that_pulsar_answered(value, json):
    assert values.to_json(value) == json
    assert values.from_json(type(value), json, "policy") == value


def test_what_json_leaves_out_has_pulsars_default():
    assert values.from_json(PublishRate, {}, "rate") == PublishRate(-1, -1)
    assert values.from_json(DispatchRate, {}, "rate") == DispatchRate(0, 0, False, 0)
    assert values.from_json(AutoTopicCreationOverride, {}, "auto").allowed is False


def test_every_field_says_what_it_is_called_in_json():
    for kind in (RetentionPolicies, BacklogQuota, AutoTopicCreationOverride, PersistencePolicies):
        assert [one.name for one in values.fields_of(kind)] == [one.name for one in fields(kind)]
    assert [one.key for one in values.fields_of(RetentionPolicies)] == [
        "retentionTimeInMinutes",
        "retentionSizeInMB",
    ]


def test_a_word_that_pulsar_does_not_know_is_read_as_none():
    read = values.from_json(InactiveTopicPolicies, {"inactiveTopicDeleteMode": "zzz"}, "p")
    assert read.delete_mode is None


@pytest.mark.parametrize(
    ("kind", "json"),
    [
        (RetentionPolicies, []),
        (RetentionPolicies, {"retentionTimeInMinutes": "x"}),
        (RetentionPolicies, {"retentionTimeInMinutes": True}),
        (RetentionPolicies, {"retentionTimeInMinutes": 2**63}),
        (int, "1.5"),
        (bool, 1.0),
        (tuple[str, ...], "Shared"),
        (tuple[str, ...], [[1]]),
        (PersistencePolicies, {"managedLedgerMaxMarkDeleteRate": "fast"}),
    ],
)
def test_json_of_another_type_is_refused(kind, json):
    with pytest.raises(InvalidValue):
        values.from_json(kind, json, "policy")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (RetentionPolicies(0, 5), ZEROES),
        (RetentionPolicies(5, 0), ZEROES),
        (RetentionPolicies(-1, 0), ZEROES),
        (RetentionPolicies(-2, 5), "Invalid retention policy: time limit must be >= -1"),
        (RetentionPolicies(5, -2), "Invalid retention policy: size limit must be >= -1"),
        (BacklogQuota(5), "the attribute policy cannot be null"),
        (PersistencePolicies(0, 0, 0), "Bookkeeper-Ensemble must be <= 5 and > 0."),
        (PersistencePolicies(6, 2, 1), "Bookkeeper-Ensemble must be <= 5 and > 0."),
        (PersistencePolicies(1, 2, 1), "Ensemble (1) >= WriteQuorum (2) >= AckQuorum (1)"),
        (
            AutoTopicCreationOverride(True, "partitioned"),
            "[defaultNumPartitions] cannot be null when the type is partitioned.",
        ),
        (
            AutoTopicCreationOverride(True, "partitioned", 0),
            "[defaultNumPartitions] cannot be less than 1 for partition type.",
        ),
        (
            AutoTopicCreationOverride(True, "non-partitioned", 2),
            "[defaultNumPartitions] is not allowed to be set when the type is non-partition.",
        ),
        (AutoTopicCreationOverride(True, "zzz"), "Unknown topic type [zzz]"),
        (AutoTopicCreationOverride(True), "Unknown topic type [null]"),
    ],
)
def test_values_that_cannot_be_are_refused_in_pulsars_words(value, text):
    with pytest.raises(InvalidValue) as refused:
        value.check()
    assert text in str(refused.value)


@pytest.mark.parametrize("value", [(0, 0), (-1, -1), (5, 5), (-1, 5), (5, -1)])
def test_retention_is_both_limits_or_none(value):
    RetentionPolicies(*value).check()


def test_retention_counts_in_seconds_and_bytes_and_has_no_limit_below_nought():
    assert (RetentionPolicies(2, 3).time_s, RetentionPolicies(2, 3).size_bytes) == (120, 3 << 20)
    assert (RetentionPolicies(-1, -1).time_s, RetentionPolicies(-1, -1).size_bytes) == (-1, -1)


def test_a_topic_that_is_made_by_using_it_has_the_partitions_it_is_said_to():
    assert AutoTopicCreationOverride(True, "partitioned", 3).partitions_made == 3
    assert AutoTopicCreationOverride(True, "non-partitioned").partitions_made == 0


def test_a_group_is_read_and_written_by_pulsars_names():
    group = ResourceGroup.from_json(STORED)
    assert group == ResourceGroup(publish_messages=1, dispatch_bytes=4)
    assert group.to_json() == STORED
    with pytest.raises(InvalidValue, match="publishRateInMsgs"):
        ResourceGroup.from_json({"publishRateInMsgs": "many"})


def test_a_change_keeps_the_limits_it_does_not_name():
    changed = ResourceGroup(1, 2, 3).changed_by(ResourceGroup(publish_bytes=5, dispatch_bytes=6))
    assert changed == ResourceGroup(1, 5, 3, 6)
