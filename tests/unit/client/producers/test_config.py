from dataclasses import fields

import pytest

from magnetar.client.encryption.keys import FileKeyReader
from magnetar.client.producers.config import ProducerConfig, ProducerOptions
from magnetar.errors import InvalidValue


def test_the_keyword_arguments_are_the_settings():
    settings = {field.name: field.type for field in fields(ProducerConfig)}
    assert settings == ProducerOptions.__annotations__


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("batch_messages_max", 0),
        ("max_pending_messages", 0),
        ("send_timeout_s", -1),
        ("name", ""),
        ("initial_sequence_id", -2),
        ("compression", "lz4"),
        ("hashing", None),
        ("routing", "single"),
        ("access_mode", "EXCLUSIVE"),
        ("block_if_queue_full", 1),
        ("max_pending_messages_across_partitions", -1),
        ("encryption_keys", "orders"),
        ("encryption_keys", ["orders"]),
        ("crypto_key_reader", FileKeyReader()),
        ("crypto_failure_action", "SEND"),
        ("batch_delay_s", "1"),
        ("properties", {"a": None}),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(setting, value):
    with pytest.raises(InvalidValue, match=setting if value != "" else "name"):
        ProducerConfig(**{setting: value})


def test_properties_stay_as_they_were_given():
    given = {"a": "b"}
    made = ProducerConfig(properties=given)
    given["a"] = 5
    assert made.properties == {"a": "b"}
