from dataclasses import fields

import pytest

from magnetar.client.consumers.config import ConsumerConfig, ConsumerOptions
from magnetar.client.consumers.dead_letter_policy import DeadLetterPolicy
from magnetar.errors import InvalidValue
from magnetar.model.subscriptions import KeySharedPolicy, SubscriptionType


def test_the_keyword_arguments_are_the_settings():
    settings = {field.name: field.type for field in fields(ConsumerConfig)}
    assert settings == ConsumerOptions.__annotations__


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("receiver_queue_size", -1),
        ("ack_group_time_s", -0.1),
        ("type", "Shared"),
        ("initial_position", 0),
        ("name", b"name"),
        ("subscription_properties", ["a"]),
        ("ack_timeout_s", 0.9),
        ("ack_timeout_tick_s", 0),
        ("ack_timeout_backoff", 2.0),
        ("negative_ack_backoff", "2"),
        ("dead_letter_policy", DeadLetterPolicy(1)),
        ("enable_retry", True),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(setting, value):
    with pytest.raises(InvalidValue, match=setting if value != "" else "name"):
        ConsumerConfig(**{setting: value})


def test_a_policy_is_a_policy():
    with pytest.raises(InvalidValue, match="dead_letter_policy is 3; it must be a DeadLetterPol"):
        ConsumerConfig(type=SubscriptionType.SHARED, dead_letter_policy=3)


@pytest.mark.parametrize("setting", ["properties", "subscription_properties"])
def test_properties_stay_as_they_were_given(setting):
    given = {"a": "b"}
    made = ConsumerConfig(**{setting: given})
    given["a"] = 5
    assert getattr(made, setting) == {"a": "b"}


@pytest.mark.parametrize("kind", [SubscriptionType.SHARED, SubscriptionType.KEY_SHARED])
def test_only_one_active_consumer_reads_compacted(kind):
    assert ConsumerConfig(type=SubscriptionType.FAILOVER, read_compacted=True).read_compacted
    with pytest.raises(InvalidValue, match="read_compacted"):
        ConsumerConfig(type=kind, read_compacted=True)


def test_only_key_shared_subscriptions_have_a_policy_of_keys():
    policy = KeySharedPolicy(allow_out_of_order_delivery=True)
    made = ConsumerConfig(type=SubscriptionType.KEY_SHARED, key_shared_policy=policy)
    assert made.key_shared_policy is policy
    with pytest.raises(InvalidValue, match="key_shared_policy"):
        ConsumerConfig(type=SubscriptionType.SHARED, key_shared_policy=policy)
    with pytest.raises(InvalidValue, match="must be a KeySharedPolicy"):
        ConsumerConfig(type=SubscriptionType.KEY_SHARED, key_shared_policy=[(0, 5)])
