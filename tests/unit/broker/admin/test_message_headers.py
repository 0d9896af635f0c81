import json
from base64 import b64encode

import pytest

from magnetar.broker.admin.message_headers import headers, payload
from magnetar.errors import CorruptEntry, MessageTooLarge
from magnetar.message.compression import CompressionType, compress
from magnetar.message.entry import join
from magnetar.model.position import Position
from magnetar.proto import PulsarApi_pb2 as pb

AT = Position(3, 4)
FIRST = {"producer_name": "p", "sequence_id": 7, "publish_time": 1_700_000_000_000}


def entry(body=b"x", **fields):
    return join(pb.MessageMetadata(**{**FIRST, **fields}).SerializeToString(), body)


def shown(**fields):
    return {name.removeprefix("X-Pulsar-"): v for name, v in headers(AT, entry(**fields)).items()}


def test_a_plain_message_has_few():
    assert shown() == {
        "Message-ID": "3:4",
        "PROPERTY": "{}",
        "publish-time": "2023-11-14T22:13:20Z",
        "producer-name": "p",
        "sequence-id": "7",
        "Is-Encrypted": "false",
        "txn-uncommitted": "false",
    }


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"event_time": 1}, {"event-time": "1970-01-01T00:00:00.001Z"}),
        ({"deliver_at_time": 1000}, {"deliver-at-time": "1970-01-01T00:00:01Z"}),
        ({"partition_key": "k"}, {"partition-key": "k"}),
        ({"partition_key": "a\r\nb: c"}, {"partition-key": "a??b: c"}),
        (
            {"partition_key": "aw==", "partition_key_b64_encoded": True},
            {"partition-key": "aw==", "partition-key-b64-encoded": "true"},
        ),
        ({"compression": 1, "uncompressed_size": 5}, {"compression": "LZ4"}),
        ({"uncompressed_size": 5}, {"uncompressed-size": "5"}),
        ({"num_messages_in_batch": 8}, {"num-batch-message": "8", "batch-size": "11"}),
        ({"null_value": True}, {"null-value": "true"}),
        ({"marker_type": 10}, {"marker-type": "10"}),
        (
            {"txnid_most_bits": 1, "txnid_least_bits": 2},
            {"txnid-most-bits": "1", "txnid-least-bits": "2"},
        ),
        ({"ordering_key": b"\x00"}, {"Base64-ordering-key": "AA=="}),
        ({"schema_version": bytes(8)}, {"Base64-schema-version": "AAAAAAAAAAA="}),
        (
            {"uuid": "u", "chunk_id": 1, "num_chunks_from_msg": 3, "total_chunk_msg_size": 99},
            {"uuid": "u", "chunk-id": "1", "num-chunks-from-msg": "3", "PROPERTY-CHUNK-ID": "1"},
        ),
    ],
)
def test_what_the_metadata_has_is_a_header(fields, expected):
    assert expected.items() <= shown(**fields).items()


def test_properties_are_one_header_whatever_is_in_them():
    pairs = [pb.KeyValue(key="a\n", value="ä"), pb.KeyValue(key="b", value="")]
    value = shown(properties=pairs)["PROPERTY"]
    assert value.isascii()
    assert json.loads(value) == {"a\n": "ä", "b": ""}


def test_a_time_beyond_all_calendars_is_a_number():
    assert shown(publish_time=2**63)["publish-time"] == str(2**63)


def test_keys_of_encryption_are_named_and_the_payload_is_left_as_it_is():
    fields = {
        "encryption_keys": [pb.EncryptionKeys(key="k1", value=b"v")],
        "encryption_param": b"\x01",
        "compression": 1,
        "uncompressed_size": 100,
    }
    found = shown(**fields)
    assert found["Is-Encrypted"] == "true"
    assert found["Base64-encryption-keys"] == b64encode(b"k1").decode()
    assert payload(entry(b"secret", **fields), size_max=1000) == b"secret"


@pytest.mark.parametrize("kind", CompressionType)
def test_a_payload_is_what_was_sent(kind):
    body = compress(kind, b"hello" * 9)
    assert payload(entry(body, compression=kind, uncompressed_size=45), size_max=45) == b"hello" * 9


def test_no_more_is_unpacked_than_a_message_may_have():
    bomb = entry(
        compress(CompressionType.ZLIB, bytes(10**6)), compression=2, uncompressed_size=10**6
    )
    with pytest.raises(MessageTooLarge):
        payload(bomb, size_max=1000)


@pytest.mark.parametrize("read", [lambda e: headers(AT, e), lambda e: payload(e, size_max=9)])
def test_an_entry_that_nobody_can_read_is_an_error_of_ours(read):
    with pytest.raises(CorruptEntry):
        read(b"\xff\xff\xff\xffx")
