from base64 import b64encode

import pytest

from magnetar.broker.admin.messages.outgoing import MESSAGES_MAX, Reading
from magnetar.broker.admin.messages.stored import messages_in
from magnetar.errors import InvalidValue
from magnetar.model.position import Position
from magnetar.schemas.plain import writer_of
from magnetar.schemas.schema import Payload


def read(*messages, writes=None, checks=len):
    return Reading(writes or writer_of(None), checks).all(list(messages))


def test_a_message_becomes_an_entry_that_says_the_same():
    [message] = read(
        {
            "key": "k",
            "orderingKey": b64encode(b"o").decode(),
            "properties": {"a": "b"},
            "eventTime": 7,
            "deliverAt": "1970-01-01T00:00:01Z",
            "sequenceId": 12,
            "value": "hello",
        }
    )
    assert message.sequence_id == 12
    [found] = messages_in(Position(1, 2), message.entry("me", 3, 1000, bytes(8)))
    assert (found.payload, found.key, found.ordering_key) == (b"hello", "k", b"o")
    assert (found.properties, found.event_time_ms) == ({"a": "b"}, 7)
    assert (found.deliver_at_ms, found.producer, found.sequence_id) == (1000, "me", 3)
    assert found.schema_version == bytes(8)


def test_a_payload_is_base64_and_held_to_the_schema():
    seen = []
    [message] = read({"payload": "/wA="}, checks=seen.append)
    assert (message.payload, seen) == (b"\xff\x00", [b"\xff\x00"])


def test_no_value_removes_a_key():
    [message] = read({"key": "YQ==", "keyBase64": True, "value": None})
    [found] = messages_in(Position(1, 2), message.entry("me", 3, 1000, None))
    assert (found.null_value, found.key_bytes, found.payload) == (True, b"a", b"")


def test_a_schema_may_have_its_key_beside_the_payload():
    [message] = read({"value": 1}, writes=lambda _: Payload(b"v", b"k"))
    assert (message.payload, message.key, message.key_b64) == (b"v", "aw==", True)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (7, "not an object"),
        ({}, "either a value, or a payload"),
        ({"value": 1, "payload": ""}, "either a value, or a payload"),
        ({"value": 1, "ttl": 5, "tags": 1}, "tags, ttl is none of"),
        ({"payload": "%"}, "payload is not base64"),
        ({"value": 1, "orderingKey": 5}, "orderingKey is not base64"),
        ({"value": 1, "key": 5}, "key is not text"),
        ({"value": 1, "key": "%", "keyBase64": True}, "key is not base64"),
        ({"value": 1, "properties": {"a": 1}}, "object of texts"),
        ({"value": 1, "eventTime": True}, "eventTime is neither"),
        ({"value": 1, "eventTime": -1}, "out of range"),
        ({"value": 1, "deliverAt": "soon"}, "is no time"),
        ({"value": 1, "sequenceId": -1}, "whole number"),
    ],
)
def test_a_bad_message_is_named_by_its_index(message, said):
    with pytest.raises(InvalidValue, match=rf"^messages\[1\]: .*{said}"):
        read({"value": "good"}, message)


def test_there_must_be_messages_and_not_too_many():
    for found in (None, [], {}):
        with pytest.raises(InvalidValue, match="send"):
            Reading(writer_of(None), len).all(found)
    with pytest.raises(InvalidValue, match="at most 1000"):
        read(*[{"value": 1}] * (MESSAGES_MAX + 1))
