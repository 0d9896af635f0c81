"""message/batch.py: many messages in one payload."""

import pytest
from unit.inner.builds import both_builds

from magnetar.errors import CorruptEntry
from magnetar.inner.plain.batches import Single
from magnetar.message import batch
from magnetar.message.batch import pack, parse_single, unpack, unpack_as
from magnetar.proto import PulsarApi_pb2 as pb

pytestmark = both_builds


@pytest.fixture(autouse=True)
def _packed_by(loops, monkeypatch):
    monkeypatch.setattr(batch, "inner", loops)


def packed_plainly(payloads, first, details=None):
    """One by one, as protobuf writes it."""
    out = b""
    for index, payload in enumerate(payloads):
        single = (details or {}).get(index, Single())
        number = first + index if single.sequence_id is None else single.sequence_id
        head = pb.SingleMessageMetadata(
            properties=[pb.KeyValue(key=k, value=v) for k, v in single.properties.items()],
            partition_key=single.key,
            payload_size=len(payload),
            compacted_out=single.compacted_out or None,
            event_time=single.event_time_ms,
            partition_key_b64_encoded=single.key_b64 or None,
            ordering_key=single.ordering_key,
            sequence_id=number,
            null_value=single.null_value or None,
        ).SerializeToString()
        out += len(head).to_bytes(4) + head + payload
    return out


PAYLOADS = {
    "none": [],
    "one": [b"one"],
    "equal": [b"%05d" % index for index in range(2500)],
    "of all sizes": [b"x" * (index * 7 % 300) for index in range(500)],
    "empty": [b""] * 20,
    "large": [bytes(40_000)] * 10,
}


@pytest.mark.parametrize("name", PAYLOADS)
@pytest.mark.parametrize("first", [0, 100, 16_000, 2**40])
def test_plain_messages_are_packed_and_unpacked(name, first):
    payloads = PAYLOADS[name]
    packed = pack(payloads, first_sequence_id=first)
    assert packed == packed_plainly(payloads, first)
    heads, bodies = unpack(packed, len(payloads))
    assert bodies == payloads
    assert [parse_single(head).sequence_id for head in heads] == [
        first + index for index in range(len(payloads))
    ]


def test_messages_that_are_more_than_their_bytes_stand_among_others():
    payloads = [b"%04d" % index for index in range(40)]
    details = {
        0: Single(key="k"),
        20: Single(
            key="a2V5",
            key_b64=True,
            ordering_key=b"\xff",
            properties={"a": "b"},
            event_time_ms=5,
            null_value=True,
        ),
        39: Single(sequence_id=7),
    }
    packed = pack(payloads, first_sequence_id=100, details=details)
    assert packed == packed_plainly(payloads, 100, details)
    heads, bodies = unpack(packed, 40)
    assert bodies == payloads
    assert parse_single(heads[0]) == Single(key="k", sequence_id=100)
    details[20] = details[20]._replace(sequence_id=120)
    assert parse_single(heads[20]) == details[20]
    assert parse_single(heads[39]).sequence_id == 7
    assert parse_single(heads[1]) == Single(sequence_id=101)


def test_what_others_write_is_unpacked_too():
    data = b""
    for index in range(50):
        head = pb.SingleMessageMetadata(payload_size=2, partition_key=f"key-{index % 3}")
        head.compacted_out = index == 4
        head = head.SerializeToString()
        data += len(head).to_bytes(4) + head + b"%02d" % index
    heads, bodies = unpack(data, 50)
    assert bodies == [b"%02d" % index for index in range(50)]
    assert [parse_single(head).compacted_out for head in heads].index(True) == 4
    assert parse_single(heads[0]).sequence_id is None


def test_messages_come_as_tuples_whatever_form_their_heads_have():
    unusual = pb.SingleMessageMetadata(payload_size=2).SerializeToString() + b"\xf8\x7f\x01"
    packed = pack([b"a", b"b"], first_sequence_id=0)
    packed += len(unusual).to_bytes(4) + unusual + b"cc" + pack([b"d"], first_sequence_id=3)
    for count in (2, 4):
        heads, bodies = unpack(packed, count)
        rows = [("owner", *row) for row in zip(range(count), heads, bodies, strict=True)]
        assert unpack_as(tuple, "owner", packed, count) == rows
        assert unpack_as(tuple, "owner", b"??" + packed, count, start=2) == rows
    with pytest.raises(CorruptEntry):
        unpack_as(tuple, "owner", packed, 5)


def test_fewer_messages_may_be_asked_for():
    packed = pack([b"aa"] * 30, first_sequence_id=0)
    assert unpack(packed, 12)[1] == [b"aa"] * 12
    assert unpack(packed, 0) == ([], [])


BROKEN = {
    "nothing": b"",
    "half a size": b"\0\0\0",
    "no metadata": b"\0\0\0\x09abc",
    "metadata that is none": b"\0\0\0\x02\xff\xff",
    "no size of the body": b"\0\0\0\0",
    "a body cut off": pack([b"abcdef"], first_sequence_id=0)[:-1],
    "a negative size": b"\0\0\0\x0b\x18" + b"\xff" * 9 + b"\x01",
    "the second one missing": pack([b"abcdef"], first_sequence_id=0),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_batch_that_ends_too_early_is_corrupt(name):
    with pytest.raises(CorruptEntry):
        unpack(BROKEN[name], 2)


def test_a_batch_may_end_with_a_broken_message():
    packed = pack([b"abcdef"] * 30, first_sequence_id=0)
    with pytest.raises(CorruptEntry, match="message 29 of 30"):
        unpack(packed[:-1], 30)


def test_a_head_of_another_length_than_its_size_says_is_read_as_protobuf_does():
    head = b"\x18\x02\x40\x05\x48\x01"  # null_value behind what is usual
    data = len(head).to_bytes(4) + head + b"ab"
    heads, bodies = unpack(data * 2, 2)
    assert (heads, bodies) == ([head] * 2, [b"ab"] * 2)
    assert parse_single(head).null_value


def test_a_head_that_cannot_be_read_is_corrupt():
    with pytest.raises(CorruptEntry, match="cannot be read"):
        parse_single(b"\x18")


def test_text_that_is_none_is_text_all_the_same():
    assert parse_single(b"\x12\x01\xff\x18\x00").key == "\ufffd"
