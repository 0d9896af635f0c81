import pytest
from unit.broker.admin.messages.entries import PLACE, batch_of, entry_of, single

from magnetar.broker.admin.messages import stored
from magnetar.broker.admin.messages.stored import compression_name, id_json, messages_in
from magnetar.message import metadata
from magnetar.message.compression import CompressionType
from magnetar.message.entry import join
from magnetar.message.metadata import ChunkInfo, EncryptedKey


def one(entry):
    [found] = messages_in(PLACE, entry)
    return found


def test_a_message_says_all_that_is_known_of_it():
    found = one(
        entry_of(
            b"hello",
            key="k",
            ordering_key=b"o",
            properties={"a": "b"},
            event_time_ms=7,
            deliver_at_ms=9,
            schema_version=bytes(8),
        )
    )
    assert (found.id, found.batch_size) == ((3, 7, -1), 0)
    assert (found.payload, found.size, found.key, found.key_bytes) == (b"hello", 5, "k", b"k")
    assert (found.ordering_key, found.properties, found.event_time_ms) == (b"o", {"a": "b"}, 7)
    assert (found.producer, found.sequence_id, found.deliver_at_ms) == ("p", 5, 9)
    assert id_json(found, 2) == {
        "ledgerId": 3,
        "entryId": 7,
        "partitionIndex": 2,
        "batchIndex": -1,
    }


@pytest.mark.parametrize("kind", CompressionType)
def test_batches_are_unpacked_whatever_they_are_compressed_with(kind):
    details = {1: single(key="k", properties={"n": "1"}, event_time_ms=4)}
    found = list(messages_in(PLACE, batch_of(b"a", b"bc", details=details, kind=kind)))
    assert [each.payload for each in found] == [b"a", b"bc"]
    assert [each.id for each in found] == [(3, 7, 0), (3, 7, 1)]
    assert [each.sequence_id for each in found] == [5, 6]
    assert (found[1].key, found[1].properties, found[1].event_time_ms) == ("k", {"n": "1"}, 4)
    assert {each.batch_size for each in found} == {2}


def test_what_compaction_took_out_is_left_out():
    found = messages_in(PLACE, batch_of(b"a", b"", details={1: single(compacted_out=True)}))
    assert [each.batch_index for each in found] == [0]


def test_an_encrypted_message_names_who_can_read_it():
    said = metadata.build("p", 5, 1000, message_count=3)
    said += metadata.build_encryption([EncryptedKey("alice", b"key", {})]) + metadata.build_iv(b"i")
    found = one(join(said, b"secret"))
    assert (found.payload, found.encryption_keys, found.batch_size) == (None, ("alice",), 3)
    assert found.unreadable == "encrypted for alice"


def test_a_chunk_is_named():
    found = one(entry_of(b"part", chunk=ChunkInfo("u", 1, 3, 12)))
    assert found.unreadable == "chunk 2 of 3 of a message of 12 bytes"
    assert found.payload == b"part"


def test_what_nobody_can_read_says_why(monkeypatch):
    broken = one(b"\x00\x00\xff\xff")
    assert "metadata up to byte" in broken.unreadable
    torn = batch_of(b"a", b"b")[:-1]
    assert "does not end within it" in one(torn).unreadable
    monkeypatch.setattr(stored, "UNPACKED_BYTES_MAX", 10)
    large = one(entry_of(b"x" * 11, kind=CompressionType.ZSTD))
    assert "at most 10 are accepted" in large.unreadable


def test_a_key_of_bytes_is_read_from_base64():
    assert one(entry_of(key="YQ==", key_b64=True)).key_bytes == b"a"
    assert one(entry_of(key="a", key_b64=True)).key_bytes == b"a"
    assert one(entry_of()).key_bytes is None


def test_ways_to_compress_have_names():
    assert (compression_name(3), compression_name(77)) == ("ZSTD", "77")
