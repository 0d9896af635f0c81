import pytest

from magnetar.broker.tracing.traceparent import LOOKED_INTO_MAX, Parent, parent_in, parent_of
from magnetar.message.entry import join
from magnetar.proto import PulsarApi_pb2 as pb

TRACE, SPAN = 0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x00F067AA0BA902B7
SAMPLED = f"00-{TRACE:032x}-{SPAN:016x}-01"
NOT_SAMPLED = f"00-{TRACE:032x}-{SPAN:016x}-00"
NOTHING = f"00-{0:032x}-{SPAN:016x}-01"


def message(properties=None, payload=b"payload", **fields):
    metadata = pb.MessageMetadata(producer_name="p", sequence_id=1, publish_time=1, **fields)
    for key, value in (properties or {}).items():
        metadata.properties.add(key=key, value=value)
    return join(metadata.SerializeToString(), payload)


def packed(*properties, size=10):
    """A batch's payload; each of its messages has one property."""
    payload = b""
    for key, value in properties:
        single = pb.SingleMessageMetadata(payload_size=size)
        single.properties.add(key=key, value=value)
        data = single.SerializeToString()
        payload += len(data).to_bytes(4) + data + bytes(size)
    return payload


def test_it_is_found_among_the_properties():
    assert parent_of(message({"a": "b", "traceparent": SAMPLED})) == Parent(TRACE, SPAN, True)
    assert parent_of(message({"traceparent": NOT_SAMPLED})) == Parent(TRACE, SPAN, False)
    assert parent_of(message({"a": "b"})) is None


@pytest.mark.parametrize("value", ["", "00-12-34-01", SAMPLED.upper(), NOTHING, "ff" + SAMPLED[2:]])
def test_what_is_no_traceparent_is_none(value):
    assert parent_of(message({"traceparent": value})) is None
    assert value == SAMPLED.upper() or parent_in(value) is None


def test_of_a_batch_the_first_that_is_sampled_counts():
    payload = packed(("a", "b"), ("traceparent", NOT_SAMPLED), ("traceparent", SAMPLED))
    assert parent_of(message({}, payload, num_messages_in_batch=3)).sampled
    payload = packed(("a", "b"), ("traceparent", NOT_SAMPLED))
    assert parent_of(message({}, payload, num_messages_in_batch=2)).sampled is False


def test_the_payload_of_a_message_says_nothing():
    payload = packed(("traceparent", SAMPLED))
    assert parent_of(message({}, payload)) is None
    compressed = {"num_messages_in_batch": 1, "compression": pb.LZ4, "uncompressed_size": 1}
    assert parent_of(message({}, payload, **compressed)) is None


def test_it_is_looked_for_in_the_beginning_only():
    payload = packed(("a", "b"), ("traceparent", SAMPLED), size=LOOKED_INTO_MAX)
    assert parent_of(message({}, payload, num_messages_in_batch=2)) is None


@pytest.mark.parametrize(
    "entry", [b"", b"\xff\xff\xff\xff", message({"traceparent": SAMPLED})[:75]]
)
def test_an_entry_that_nobody_can_read_has_none(entry):
    assert parent_of(entry) is None


def test_requests_have_it_in_a_header():
    assert parent_in(SAMPLED) == Parent(TRACE, SPAN, True)
    assert parent_in(f" {NOT_SAMPLED} ") == Parent(TRACE, SPAN, False)
    assert parent_in("01" + SAMPLED[2:] + "-more") == Parent(TRACE, SPAN, True)
    assert parent_in("") is None
    assert parent_in("ä" * 55) is None
