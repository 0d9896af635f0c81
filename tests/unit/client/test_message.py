import pytest
from support.heads import head_of

from magnetar.client.message import Delivery, Message
from magnetar.inner.plain.batches import Single
from magnetar.message.entry import join
from magnetar.message.metadata import build, parse
from magnetar.model.position import ChunkedMessageId, MessageId, Position
from magnetar.schemas.primitives import StringSchema

TOPIC = "persistent://public/default/t"


def delivery(*, batch_size=0, chunks=(), **metadata):
    parsed = parse(join(build("p", 7, 1_000, **metadata), b""))
    return Delivery(
        TOPIC, Position(3, 4), 1, batch_size, parsed, 2, redelivered=True, chunks=chunks
    )


def test_a_message_of_its_own_entry_has_the_entrys_metadata():
    message = Message(
        delivery(
            key="k",
            ordering_key=b"o",
            properties={"a": "b"},
            event_time_ms=5,
        ),
        -1,
        b"",
        b"data",
    )
    assert (message.data, message.key, message.key_bytes) == (b"data", "k", b"k")
    assert (message.ordering_key, message.properties) == (b"o", {"a": "b"})
    assert (message.event_time_ms, message.publish_time_ms) == (5, 1_000)
    assert (message.producer_name, message.sequence_id) == ("p", 7)
    assert message.message_id == MessageId(3, 4, 1)
    assert (message.topic, message.partition) == (TOPIC, 1)
    assert (message.redelivery_count, message.redelivered) == (2, True)


def test_a_message_in_a_batch_has_its_own():
    head = head_of(Single(key="own", properties={"x": "y"}, event_time_ms=9), 4, 12)
    message = Message(delivery(batch_size=5, key="first of all"), 3, head, b"data")
    assert (message.key, message.properties, message.event_time_ms) == ("own", {"x": "y"}, 9)
    assert message.sequence_id == 12
    assert message.message_id == MessageId(3, 4, 1, 3, 5)
    plain = Message(delivery(batch_size=5, key="first of all"), 0, head_of(Single(), 4, 7), b"")
    assert plain.key is None
    assert plain.key_bytes is None
    assert plain.event_time_ms is None


def test_a_message_may_name_the_version_of_its_schema():
    named = Message(delivery(schema_version=bytes(7) + b"\x05"), -1, b"", b"")
    assert named.schema_version == 5
    assert Message(delivery(), -1, b"", b"").schema_version is None


def test_keys_in_bytes_come_back_as_bytes():
    message = Message(delivery(key="AP8=", key_b64=True), -1, b"", b"")
    assert message.key == "AP8="
    assert message.key_bytes == b"\x00\xff"


@pytest.mark.parametrize("key", ["a", "key!", "k\u00e9y"])
def test_a_key_that_is_not_the_base64_it_claims_to_be_comes_as_it_is(key):
    alone = Message(delivery(key=key, key_b64=True), -1, b"", b"")
    batched = Message(delivery(batch_size=1), 0, head_of(Single(key=key, key_b64=True), 0, 0), b"")
    for message in (alone, batched):
        assert message.key == key
        assert message.key_bytes == message.key_as_sent == key.encode()


def test_a_chunked_message_is_named_by_its_last_entry():
    chunks = (Position(3, 1), Position(3, 4))
    found = Message(delivery(chunks=chunks), -1, b"", b"").message_id
    assert found == ChunkedMessageId.of(3, 4, 1, first_chunk=Position(3, 1))


def test_it_prints_what_and_where_not_its_bytes():
    message = Message(delivery(), -1, b"", b"secret")
    assert repr(message) == f"Message({TOPIC} 3:4:1, 6 bytes)"


def test_a_value_is_decoded_by_the_schema_and_without_it_the_payload():
    message = Message(delivery(), -1, b"", b"x")
    assert message.value == b"x"
    message.delivery.decode = StringSchema().decoder(None)
    assert message.value == "x"
