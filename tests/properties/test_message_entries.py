"""Entries, batches and chunks: the quick way writes and reads what protobuf would."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.errors import CorruptEntry
from magnetar.inner.plain.batches import Single
from magnetar.message import batch, chunk, compression, entry, metadata
from magnetar.message.compression import CompressionType
from magnetar.model.position import Position
from magnetar.model.varint import varint, varint_value
from magnetar.proto import PulsarApi_pb2 as pb

NUMBERS = st.integers(0, 300) | st.integers(0, 2**64 - 1)
texts = st.text(max_size=20)
properties = st.dictionaries(texts, texts, max_size=3)

singles = st.builds(
    Single,
    key=st.none() | texts,
    key_b64=st.booleans(),
    ordering_key=st.none() | st.binary(max_size=5),
    properties=properties,
    event_time_ms=st.none() | NUMBERS,
    sequence_id=st.none() | NUMBERS,
    null_value=st.booleans(),
    compacted_out=st.booleans(),
)


@st.composite
def batches(draw):
    """Payloads, of one size or of many, the first sequence id, and details of some of them."""
    count = draw(st.integers(1, 60))
    size = draw(st.none() | st.integers(0, 40))
    sizes = st.integers(0, 300) if size is None else st.just(size)
    payloads = [b"x" * each for each in draw(st.lists(sizes, min_size=count, max_size=count))]
    first = draw(st.integers(0, 20_000) | st.integers(0, 2**63))
    details = draw(st.dictionaries(st.integers(0, count - 1), singles, max_size=5))
    return payloads, first, details


@given(batches())
def test_a_batch_is_packed_as_protobuf_would(drawn):
    payloads, first, details = drawn
    plain = b""
    for index, payload in enumerate(payloads):
        detail = details.get(index, Single())
        head = pb.SingleMessageMetadata(payload_size=len(payload), sequence_id=first + index)
        if detail.sequence_id is not None:
            head.sequence_id = detail.sequence_id
        for key, value in detail.properties.items():
            head.properties.add(key=key, value=value)
        for name, value in {
            "partition_key": detail.key,
            "partition_key_b64_encoded": detail.key_b64 or None,
            "ordering_key": detail.ordering_key,
            "event_time": detail.event_time_ms,
            "null_value": detail.null_value or None,
            "compacted_out": detail.compacted_out or None,
        }.items():
            if value is not None:
                setattr(head, name, value)
        data = head.SerializeToString()
        plain += len(data).to_bytes(4) + data + payload
    assert batch.pack(payloads, first_sequence_id=first, details=details) == plain


def unpacked_plainly(payload, count):
    heads, bodies = [], []
    while len(heads) < count:
        size = int.from_bytes(payload[:4])
        heads.append(payload[4 : 4 + size])
        body_size = pb.SingleMessageMetadata.FromString(heads[-1]).payload_size
        bodies.append(payload[4 + size : 4 + size + body_size])
        payload = payload[4 + size + body_size :]
    return heads, bodies


@given(batches(), st.data())
def test_a_batch_is_unpacked_as_protobuf_would(drawn, draws):
    payloads, first, details = drawn
    packed = batch.pack(payloads, first_sequence_id=first, details=details)
    count = draws.draw(st.integers(0, len(payloads)))
    heads, bodies = batch.unpack(packed, count)
    assert (heads, bodies) == unpacked_plainly(packed, count)
    assert bodies == payloads[:count]
    for index, head in enumerate(heads):
        expected = details.get(index, Single())
        if expected.sequence_id is None:
            expected = expected._replace(sequence_id=first + index)
        assert batch.parse_single(head) == expected


@given(batches(), st.data())
def test_a_damaged_batch_is_corrupt_or_says_something_else(drawn, draws):
    payloads, first, _ = drawn
    packed = batch.pack(payloads, first_sequence_id=first)
    at = draws.draw(st.integers(0, len(packed)))
    damaged = packed[:at] + draws.draw(st.binary(max_size=3)) + packed[at + 1 :]
    try:
        heads, bodies = batch.unpack(damaged, len(payloads))
    except CorruptEntry:
        return
    assert (heads, bodies) == unpacked_plainly(damaged, len(payloads))


@given(
    name=texts,
    sequence_id=NUMBERS,
    publish_time_ms=NUMBERS,
    fields=st.fixed_dictionaries(
        {},
        optional={
            "message_count": st.integers(1, 2**31 - 1),
            "highest_sequence_id": NUMBERS,
            "key": texts,
            "ordering_key": st.binary(max_size=9),
            "properties": properties,
            "event_time_ms": NUMBERS,
        },
    ),
)
def test_metadata_is_written_as_protobuf_would(name, sequence_id, publish_time_ms, fields):
    made = metadata.build(name, sequence_id, publish_time_ms, **fields)
    plain = pb.MessageMetadata(
        producer_name=name,
        sequence_id=sequence_id,
        publish_time=publish_time_ms,
        num_messages_in_batch=fields.get("message_count"),
        highest_sequence_id=fields.get("highest_sequence_id"),
        partition_key=fields.get("key"),
        ordering_key=fields.get("ordering_key"),
        event_time=fields.get("event_time_ms"),
    )
    for key, value in fields.get("properties", {}).items():
        plain.properties.add(key=key, value=value)
    assert made == plain.SerializeToString()
    data = entry.join(made, b"X payload")
    assert metadata.message_count(data) == fields.get("message_count", 1)
    assert metadata.publish_time_ms(data) == publish_time_ms


@given(st.binary(max_size=60))
def test_an_entry_of_any_bytes_is_read_or_corrupt(data):
    try:
        metadata.parse(data)
    except CorruptEntry:
        with pytest.raises(CorruptEntry):
            metadata.peek(data)
    else:
        metadata.peek(data)
    metadata.message_count(data)
    metadata.publish_time_ms(data)
    metadata.sticky_key(data)


@given(st.sampled_from(CompressionType), st.binary(max_size=2000))
def test_what_is_compressed_comes_back(kind, data):
    packed = compression.compress(kind, data)
    assert compression.decompress(kind, packed, len(data), size_max=2000) == data


@given(st.sampled_from(CompressionType), st.binary(max_size=100), st.integers(0, 200))
def test_bytes_of_any_kind_are_corrupt_or_of_the_right_size(kind, data, size):
    try:
        original = compression.decompress(kind, data, size, size_max=200)
    except CorruptEntry:
        return
    assert len(original) == (size if kind != CompressionType.NONE else len(data))


@given(st.lists(st.binary(min_size=1, max_size=30), min_size=1, max_size=5), st.randoms())
def test_chunks_of_messages_come_together_in_any_order_between_them(payloads, chance):
    queues = [
        [
            (metadata.ChunkInfo(str(number), index, len(parts), len(payload)), part)
            for index, part in enumerate(parts)
        ]
        for number, payload in enumerate(payloads)
        for parts in [chunk.split(payload, 4)]
    ]
    assembly = chunk.Reassembly(messages_max=10, age_max_s=60, size_max=30)
    found, at, positions = {}, 0, {}
    while any(queues):
        place, part = chance.choice([queue for queue in queues if queue]).pop(0)
        positions.setdefault(place.uuid, []).append(Position(1, at))
        whole = assembly.add(place, part, Position(1, at), now=0.0)
        at += 1
        if whole is not None:
            found[place.uuid] = whole
    assert found == {
        str(number): (payload, tuple(positions[str(number)]))
        for number, payload in enumerate(payloads)
    }
    assert assembly.take_dropped() == []


@given(NUMBERS)
def test_a_varint_comes_back(number):
    assert varint_value(varint(number)) == number


KEYED = st.builds(
    lambda fields: pb.MessageMetadata(
        **{name: value for name, value in fields.items() if value is not None}
    ),
    st.fixed_dictionaries(
        {
            "producer_name": st.sampled_from(["p", "", "x" * 200]),
            "sequence_id": NUMBERS,
            "publish_time": NUMBERS,
            "properties": st.lists(st.builds(pb.KeyValue, key=texts, value=texts), max_size=1),
            "replicated_from": st.none() | texts,
            "partition_key": st.none() | texts | st.just("k" * 200) | st.just("a2V5"),
            "partition_key_b64_encoded": st.none() | st.booleans(),
            "ordering_key": st.none() | st.binary(max_size=5),
            "compression": st.none() | st.integers(0, 4),
            "uncompressed_size": st.none() | st.integers(0, 2**32 - 1),
            "num_messages_in_batch": st.none() | st.integers(-5, 1000),
            "event_time": st.none() | NUMBERS,
            "schema_version": st.none() | st.binary(max_size=9),
        }
    ),
)


@given(KEYED, st.binary(max_size=20), st.none() | st.tuples(st.integers(0), st.integers(0, 255)))
def test_a_key_is_found_quickly_where_it_is_found_at_all(keyed, payload, damage):
    data = bytearray(entry.join(keyed.SerializeToString(), payload))
    if damage is not None:
        data[damage[0] % len(data)] = damage[1]
    assert metadata.sticky_key(bytes(data)) == metadata._any_key(bytes(data))


def test_the_quick_way_to_a_key_is_taken():
    plain = pb.MessageMetadata(
        producer_name="p", sequence_id=300, publish_time=2**40, partition_key="k", event_time=7
    )
    assert metadata._plain_key(entry.join(plain.SerializeToString(), b"")) == b"k"


def test_a_key_that_is_not_text_is_the_same_either_way():
    plain = pb.MessageMetadata(
        producer_name="p", sequence_id=300, publish_time=2**40, partition_key="key"
    )
    data = entry.join(plain.SerializeToString().replace(b"key", b"k\xff\xfe"), b"")
    assert metadata.sticky_key(data) == metadata._any_key(data) != b"k\xff\xfe"
