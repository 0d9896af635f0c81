"""Messages that no consumer received: on their way out, and out of a batch."""

import pulsar
import pytest

from magnetar import compat
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.compat.message import sent
from magnetar.inner.plain.batches import Single
from magnetar.message.batch import pack

BOTH = pytest.mark.parametrize("client", [pulsar, compat], ids=["official", "ours"])


def test_a_router_sees_what_is_sent():
    message = sent(
        OutgoingMessage(
            bytearray(b"x"), key="k", ordering_key=b"o", properties={"a": "b"}, event_time_ms=5
        )
    )
    assert (message.data(), message.value()) == (b"x", b"x")
    assert (message.partition_key(), message.ordering_key()) == ("k", "o")
    assert (message.properties(), message.event_timestamp()) == ({"a": "b"}, 5)
    assert str(message.message_id()) == "(-1,-1,-1,-1)"
    assert (message.topic_name(), message.producer_name()) == ("", "")
    assert (message.publish_timestamp(), message.redelivery_count()) == (0, 0)
    assert (message.schema_version(), message.int_schema_version()) == ("", -1)
    assert (message.has_null_value(), message.encryption_context()) == (False, None)
    assert message.decoded() == b"x"


@BOTH
def test_a_batch_is_taken_apart(client):
    payload = pack(
        [b"a", b"b"], first_sequence_id=5, details={1: Single(key="k", properties={"p": "q"})}
    )
    batch = client.MessageBatch().with_message_id(client.MessageId(1, 2, 3, -1))
    first, second = batch.parse_from(payload, 2)
    assert (first.data(), str(first.message_id())) == (b"a", "(2,3,1,0)")
    assert (second.data(), str(second.message_id())) == (b"b", "(2,3,1,1)")
    assert (second.partition_key(), second.properties()) == ("k", {"p": "q"})
    with pytest.raises(TypeError, match="unknown message id type"):
        client.MessageBatch().with_message_id(5)


def test_what_is_no_batch_is_refused():
    with pytest.raises(compat.InvalidMessage):
        compat.MessageBatch().parse_from(b"xx", 1)
