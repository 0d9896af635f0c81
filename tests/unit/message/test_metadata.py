"""message/metadata.py: what an entry says of itself."""

from base64 import b64encode

import pytest

from magnetar.errors import CorruptEntry
from magnetar.message.compression import CompressionType
from magnetar.message.entry import join
from magnetar.message.metadata import (
    ChunkInfo,
    EncryptedKey,
    Encryption,
    build,
    build_encryption,
    build_iv,
    build_transaction,
    copied,
    message_count,
    parse,
    peek,
    publish_time_ms,
    schema_version,
    sticky_key,
    transaction_of,
    with_transaction,
)
from magnetar.model.txn_id import TxnId
from magnetar.proto import PulsarApi_pb2 as pb

UNREADABLE = [b"", b"\0\0", b"\0\0\0\x09short", join(b"\xff" * 9, b"x"), join(b"", b"x")]


def entry(payload=b"payload", **fields):
    return join(build("p", 7, 1000, **fields), payload)


def test_an_entry_says_who_sent_it_and_when():
    found = parse(entry())
    assert (found.producer_name, found.sequence_id, found.publish_time_ms) == ("p", 7, 1000)
    assert entry()[found.payload_start :] == b"payload"
    assert (found.is_batch, found.message_count) == (False, 1)
    assert (found.key, found.ordering_key, found.event_time_ms, found.chunk) == (None,) * 4
    assert (found.properties, found.encryption, found.null_value) == ({}, None, False)
    assert (found.compression, found.uncompressed_size) == (CompressionType.NONE, 0)


def test_everything_that_is_written_is_read():
    place = ChunkInfo("u", 1, 3, 500)
    found = parse(
        entry(
            message_count=5,
            highest_sequence_id=11,
            key="a2V5",
            key_b64=True,
            ordering_key=b"\xff",
            properties={"a": "1", "b": ""},
            event_time_ms=5,
            compression=CompressionType.ZSTD,
            uncompressed_size=99,
            null_value=True,
            chunk=place,
        )
    )
    assert (found.is_batch, found.message_count) == (True, 5)
    assert not found.is_plain_batch
    assert parse(entry(message_count=5)).is_plain_batch
    assert (found.key, found.key_b64, found.ordering_key) == ("a2V5", True, b"\xff")
    assert (found.properties, found.event_time_ms) == ({"a": "1", "b": ""}, 5)
    assert (found.compression, found.uncompressed_size) == (CompressionType.ZSTD, 99)
    assert (found.null_value, found.chunk) == (True, place)


def test_a_batch_of_one_is_a_batch():
    found = parse(entry(message_count=1))
    assert (found.is_batch, found.message_count) == (True, 1)


def test_an_encrypted_entry_says_for_whom():
    keys = (EncryptedKey("k", b"v", {"version": "1"}), EncryptedKey("l", b"w", {}))
    head = build("p", 7, 1000) + build_encryption(keys) + build_iv(b"iv")
    assert parse(join(head, b"")).encryption == Encryption(keys, b"iv", "")


def test_an_entry_says_in_which_transaction_it_is_sent():
    head = build("p", 7, 1000) + build_transaction(TxnId(3, 2**64 - 1))
    assert peek(join(head, b"")).transaction == TxnId(3, 2**64 - 1)


def test_a_broker_sees_what_it_needs():
    seen = peek(entry(message_count=5, chunk=ChunkInfo("u", 2, 3, 10)))
    assert (seen.is_batch, seen.message_count, seen.publish_time_ms) == (True, 5, 1000)
    assert (seen.producer_name, seen.sequence_id, seen.compression) == ("p", 7, 0)
    assert (seen.chunk, seen.chunk.last) == (ChunkInfo("u", 2, 3, 10), True)
    assert (peek(entry()).chunk, peek(entry()).unusual) == (None, False)


@pytest.mark.parametrize(
    ("fields", "name", "value", "unusual"),
    [
        ({"marker_type": 20}, "marker_type", 20, True),
        ({"txnid_most_bits": 3, "txnid_least_bits": 4}, "transaction", (3, 4), False),
    ],
)
def test_a_broker_sees_markers_and_transactions(fields, name, value, unusual):
    found = pb.MessageMetadata(producer_name="p", sequence_id=0, publish_time=0, **fields)
    seen = peek(join(found.SerializeToString(), b""))
    assert (getattr(seen, name), seen.unusual) == (value, unusual)


def test_a_delay_is_seen_and_is_nothing_unusual():
    found = pb.MessageMetadata(producer_name="p", sequence_id=0, publish_time=0)
    found.deliver_at_time = 5_000
    seen = peek(join(found.SerializeToString(), b""))
    assert (seen.deliver_at_ms, seen.unusual) == (5_000, False)


def test_a_message_in_one_chunk_is_no_chunk():
    assert parse(entry(chunk=ChunkInfo("u", 0, 1, 10))).chunk is None


@pytest.mark.parametrize("count", [1, 88, 5000])
def test_messages_are_counted(count):
    assert message_count(entry(message_count=count)) == count


def test_an_entry_without_batch_is_one_message_even_if_it_looks_like_more():
    assert message_count(entry()) == 1
    assert message_count(entry(key="XXX")) == 1
    assert message_count(join(build("p", 1, 2), b"\x58\x05")) == 1


def test_the_time_of_publication_is_found():
    assert publish_time_ms(entry()) == 1000


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({}, b"p-7"),
        ({"key": "k"}, b"k"),
        ({"key": ""}, b""),
        ({"key": b64encode(b"\xff\xfe").decode(), "key_b64": True}, b"\xff\xfe"),
        ({"key": "k", "ordering_key": b"o"}, b"o"),
        ({"key": "k", "schema_version": b"\x7f" + bytes(7)}, b"k"),
        ({"key": "k", "schema_version": b"odd"}, b"k"),
        ({"key": "not base64", "key_b64": True}, b"not base64"),
    ],
)
def test_an_entry_has_a_key_by_which_it_sticks_to_a_consumer(fields, key):
    assert sticky_key(entry(**fields)) == key


@pytest.mark.parametrize("bad", UNREADABLE)
def test_an_entry_that_nobody_can_read_is_corrupt(bad):
    with pytest.raises(CorruptEntry):
        parse(bad)
    with pytest.raises(CorruptEntry):
        peek(bad)


@pytest.mark.parametrize("bad", [*UNREADABLE, join(b"\x58\xff", b"")])
def test_an_entry_that_nobody_can_read_stops_nobody(bad):
    assert (message_count(bad), publish_time_ms(bad), sticky_key(bad)) == (1, 0, b"")


def test_text_that_is_none_is_text_all_the_same():
    metadata = build("p", 1, 2, key="k", properties={"n": "v"})
    broken = metadata.replace(b"\x01p", b"\x01\xff").replace(b"\x01k", b"\x01\xfe")
    found = parse(join(broken.replace(b"\x01v", b"\x01\xfd"), b""))
    assert (found.producer_name, found.key, found.properties) == (
        "\ufffd",
        "\ufffd",
        {"n": "\ufffd"},
    )
    assert sticky_key(join(broken, b"")) == "\ufffd".encode()


def test_compression_without_a_size_is_a_mistake():
    with pytest.raises(AssertionError, match="uncompressed_size"):
        build("p", 1, 2, compression=CompressionType.LZ4)


def test_required_fields_alone_are_written_as_protobuf_would():
    plain = pb.MessageMetadata(producer_name="näme", sequence_id=2**64 - 1, publish_time=1)
    assert build("näme", 2**64 - 1, 1) == plain.SerializeToString()


def test_the_version_of_a_schema_is_found():
    version = bytes(7) + b"\x02"
    entry = join(build("p", 1, 2, key="k", schema_version=version), b"payload")
    assert parse(entry).schema_version == schema_version(entry) == version
    assert schema_version(join(build("p", 1, 2), b"payload")) is None
    assert schema_version(b"nonsense") is None


def test_what_is_published_again_is_of_no_transaction():
    said = pb.MessageMetadata(
        producer_name="p", sequence_id=1, publish_time=2, txnid_most_bits=3, txnid_least_bits=4
    )
    again = pb.MessageMetadata.FromString(copied(said.SerializeToString(), "q", 5, 6))
    assert again == pb.MessageMetadata(producer_name="q", sequence_id=5, publish_time=6)


def test_a_transaction_is_found_by_its_fields():
    said = {"producer_name": "p", "sequence_id": 0, "publish_time": 0}
    named = pb.MessageMetadata(**said, txnid_most_bits=2**40, txnid_least_bits=0)
    looks_so = pb.MessageMetadata(**said, ordering_key=b"\xb8\x01\xb0\x01")
    for found, expected in ((named, (2**40, 0)), (looks_so, None)):
        assert transaction_of(join(found.SerializeToString(), b"")) == expected
    assert transaction_of(b"\0\0\0\x03\xb8\x01\x07") is None


def test_metadata_that_names_no_transaction_is_completed():
    said = {"producer_name": "p", "sequence_id": 0, "publish_time": 0}
    sent = pb.MessageMetadata(**said).SerializeToString()
    found = with_transaction(join(sent, b"payload"), (2**40, 7))
    named = pb.MessageMetadata(**said, txnid_most_bits=2**40, txnid_least_bits=7)
    assert found == join(named.SerializeToString(), b"payload")
    assert transaction_of(found) == (2**40, 7)
