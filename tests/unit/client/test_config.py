from dataclasses import fields
from functools import partial

import pytest

from magnetar.client.config import (
    ClientConfig,
    ClientOptions,
    ConsumerConfig,
    ConsumerOptions,
    ProducerConfig,
    ProducerOptions,
)
from magnetar.errors import InvalidValue
from magnetar.model.subscriptions import SubscriptionType


@pytest.mark.parametrize(
    ("config", "options", "missing"),
    [
        (ClientConfig, ClientOptions, {"service_url"}),
        (ProducerConfig, ProducerOptions, set()),
        (ConsumerConfig, ConsumerOptions, set()),
    ],
)
def test_the_keyword_arguments_are_the_settings(config, options, missing):
    settings = {field.name: field.type for field in fields(config) if field.name not in missing}
    assert settings == options.__annotations__


@pytest.mark.parametrize(
    ("config", "setting", "value"),
    [
        (partial(ClientConfig, service_url="pulsar://h"), "lookup_redirects_max", -1),
        (partial(ClientConfig, service_url="pulsar://h"), "partitions_refresh_s", "often"),
        (ProducerConfig, "batch_messages_max", 0),
        (ProducerConfig, "max_pending_messages", 0),
        (ProducerConfig, "send_timeout_s", -1),
        (ProducerConfig, "name", ""),
        (ProducerConfig, "initial_sequence_id", -2),
        (ProducerConfig, "compression", "lz4"),
        (ProducerConfig, "hashing", None),
        (ProducerConfig, "routing", "single"),
        (ProducerConfig, "batch_delay_s", "1"),
        (ProducerConfig, "properties", {"a": None}),
        (ConsumerConfig, "receiver_queue_size", 0),
        (ConsumerConfig, "ack_group_time_s", -0.1),
        (ConsumerConfig, "type", "Shared"),
        (ConsumerConfig, "initial_position", 0),
        (ConsumerConfig, "name", b"name"),
        (ConsumerConfig, "subscription_properties", ["a"]),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(config, setting, value):
    with pytest.raises(InvalidValue, match=setting if value != "" else "name"):
        config(**{setting: value})


@pytest.mark.parametrize(
    ("config", "setting"),
    [
        (ProducerConfig, "properties"),
        (ConsumerConfig, "properties"),
        (ConsumerConfig, "subscription_properties"),
    ],
)
def test_properties_stay_as_they_were_given(config, setting):
    given = {"a": "b"}
    made = config(**{setting: given})
    given["a"] = 5
    assert getattr(made, setting) == {"a": "b"}


@pytest.mark.parametrize("kind", [SubscriptionType.SHARED, SubscriptionType.KEY_SHARED])
def test_only_one_active_consumer_reads_compacted(kind):
    assert ConsumerConfig(type=SubscriptionType.FAILOVER, read_compacted=True).read_compacted
    with pytest.raises(InvalidValue, match="read_compacted"):
        ConsumerConfig(type=kind, read_compacted=True)
