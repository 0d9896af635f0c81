import random

import pytest

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.client.producers.batching import Batch, PackedBatch
from magnetar.client.producers.encoding import FRAME_PADDING, Encoder, key_text
from magnetar.errors import MessageTooLarge
from magnetar.inner.plain.batches import Single
from magnetar.message.batch import pack, parse_single, unpack
from magnetar.message.compression import CompressionType, decompress
from magnetar.message.metadata import EncryptedKey, build_encryption, parse
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire.frames import FrameDecoder

MEGABYTE = 1 << 20


def encoder(compression=CompressionType.NONE, *, chunking=False):
    made = Encoder(3, compression, chunking=chunking)
    made.producer_name = "p"
    return made


def sent(pieces):
    """The frame as a broker sees it: the run, the entry's metadata, and its payload."""
    [run] = FrameDecoder().feed(b"".join(pieces))
    [entry] = run.data
    metadata = parse(entry)
    return run, metadata, entry[metadata.payload_start :]


def batch(*messages, first=10):
    made = Batch(first, 99.0)
    for index, message in enumerate(messages):
        if isinstance(message, OutgoingMessage):
            made.details[index] = message
            made.payloads.append(message.value)
        else:
            made.payloads.append(message)
    made.size_bytes = sum(map(len, made.payloads))
    return made


def test_a_batch_is_one_entry_with_every_message_in_it():
    made = batch(
        b"one",
        OutgoingMessage(b"two", key="k", ordering_key=b"o", properties={"a": "b"}, event_time_ms=5),
        b"three",
    )
    send = encoder().batch(made, MEGABYTE, 1_234)
    run, metadata, payload = sent(send.pieces)
    assert run.producer_id == 3
    assert run.message_counts == [3]
    assert (run.sequences, run.highest) == ([10], [12])
    assert metadata.is_batch
    assert (metadata.message_count, metadata.sequence_id, metadata.publish_time_ms) == (3, 10, 1234)
    heads, payloads = unpack(payload, 3)
    assert payloads == [b"one", b"two", b"three"]
    singles = [parse_single(head) for head in heads]
    assert [single.sequence_id for single in singles] == [10, 11, 12]
    assert (singles[0].key, singles[1].key, singles[1].ordering_key) == (None, "k", b"o")
    assert (singles[1].properties, singles[1].event_time_ms) == ({"a": "b"}, 5)
    assert (send.sequence_id, send.last_sequence_id) == (10, 12)
    assert (send.message_count, send.batch_size, send.size_bytes) == (3, 3, 11)
    assert send.deadline == 99.0


def test_the_batch_shows_its_first_messages_key():
    made = batch(OutgoingMessage(b"1", key=b"\xff", ordering_key=b"o"), b"2")
    _, metadata, _ = sent(encoder().batch(made, MEGABYTE, 0).pieces)
    assert (metadata.key, metadata.key_b64, metadata.ordering_key) == ("/w==", True, b"o")


@pytest.mark.parametrize("kind", CompressionType)
def test_a_packed_batch_is_the_same_entry_as_one_of_its_messages(kind):
    made = batch(OutgoingMessage(b"1", key=b"\xff", ordering_key=b"o"), b"2")
    details = {0: Single("/w==", True, b"o")}
    payload = pack([b"1", b"2"], first_sequence_id=10, details=details)
    packed = PackedBatch(payload, 2, 10, made.size_bytes, b"\xff", b"o")
    assert encoder(kind).batch(Batch.of(packed, 99.0), MEGABYTE, 0).pieces == (
        encoder(kind).batch(made, MEGABYTE, 0).pieces
    )


@pytest.mark.parametrize("kind", CompressionType)
def test_payloads_are_compressed_as_a_whole(kind):
    made = batch(b"a" * 1000, b"b" * 1000)
    _, metadata, payload = sent(encoder(kind).batch(made, MEGABYTE, 0).pieces)
    assert metadata.compression == kind
    if kind != CompressionType.NONE:
        assert len(payload) < 500
    plain = decompress(kind, payload, metadata.uncompressed_size, size_max=MEGABYTE)
    assert unpack(plain, 2)[1] == [b"a" * 1000, b"b" * 1000]


def test_a_delay_is_counted_from_when_it_was_sent():
    [send] = encoder().single(batch(OutgoingMessage(b"x", deliver_after_s=1.5)), MEGABYTE, 77)
    run, _, _ = sent(send.pieces)
    assert list(run.traits.due_ms) == [1_577]


def test_a_message_without_a_value_says_so():
    nothing = OutgoingMessage(b"", key="k", null_value=True)
    [send] = encoder().single(batch(nothing), MEGABYTE, 77)
    assert sent(send.pieces)[1].null_value
    _, _, payload = sent(encoder().batch(batch(nothing, b"x"), MEGABYTE, 77).pieces)
    heads, bodies = unpack(payload, 2)
    assert [parse_single(head).null_value for head in heads] == [True, False]
    assert bodies == [b"", b"x"]


@pytest.mark.parametrize(
    ("given", "written"), [(("a", "b"), ["a", "b"]), ((), ["__local__"]), (None, [])]
)
def test_a_message_may_name_the_clusters_that_get_it(given, written):
    message = OutgoingMessage(b"x", key="k", replication_clusters=given)
    [send] = encoder().single(batch(message), MEGABYTE, 77)
    entry = b"".join(send.pieces)
    found = [
        name
        for name in ("a", "b", "__local__")
        if b"\x3a%c%b" % (len(name), name.encode()) in entry
    ]
    assert found == written


def test_one_message_alone_is_no_batch():
    message = OutgoingMessage(b"data", key="k", properties={"a": "b"}, event_time_ms=5)
    [send] = encoder(CompressionType.ZLIB).single(batch(message), MEGABYTE, 77)
    run, metadata, payload = sent(send.pieces)
    assert run.message_counts == [1]
    assert run.highest == [0]
    assert not metadata.is_batch
    assert (metadata.key, metadata.properties, metadata.event_time_ms) == ("k", {"a": "b"}, 5)
    assert decompress(metadata.compression, payload, 4, size_max=10) == b"data"
    assert (send.message_count, send.batch_size, send.chunked) == (1, 0, None)


@pytest.mark.parametrize(("data", "told"), [(b"", True), (b"x", False)])
def test_a_message_that_removes_its_key_says_that_it_is_empty(data, told):
    """Pulsar's compaction keeps it otherwise."""
    message = OutgoingMessage(data, key="k")
    [send] = encoder(CompressionType.NONE).single(batch(message), MEGABYTE, 77)
    metadata_bytes = send.pieces[-1][4 : 4 + int.from_bytes(send.pieces[-1][:4])]
    found = pb.MessageMetadata.FromString(metadata_bytes)
    assert found.HasField("uncompressed_size") is told


def test_what_is_too_large_is_refused_before_it_is_sent():
    with pytest.raises(MessageTooLarge, match="chunking=True"):
        encoder().single(batch(b"x" * 1001), 1000, 0)
    with pytest.raises(MessageTooLarge, match="batch_bytes_max"):
        encoder().batch(batch(b"x" * 600, b"y" * 600), 1000, 0)
    huge = OutgoingMessage(b"x", properties={"p": "v" * (1000 + FRAME_PADDING)})
    with pytest.raises(MessageTooLarge, match="keys and properties"):
        encoder().single(batch(huge), 1000, 0)
    too_large = batch(OutgoingMessage(b"x" * 2000, key="k" * 1000))
    too_large.size_bytes = 3000
    with pytest.raises(MessageTooLarge, match="no room"):
        encoder(chunking=True).single(too_large, 1000, 0)


def test_the_limit_is_on_the_compressed_payload():
    [send] = encoder(CompressionType.ZSTD).single(batch(b"x" * 100_000), 1000, 0)
    assert len(b"".join(send.pieces)) < 1000


def test_a_large_message_is_split_over_entries_of_one_number():
    body = bytes(range(256)) * 20
    sends = encoder(chunking=True).single(batch(body, first=4), 1000, 0)
    assert len(sends) == 7
    parts = []
    for index, send in enumerate(sends):
        run, metadata, payload = sent(send.pieces)
        assert run.sequences == [4]
        assert metadata.chunk is not None
        assert (metadata.chunk.uuid, metadata.chunk.index) == ("p-4", index)
        assert (metadata.chunk.count, metadata.chunk.total_size) == (7, len(body))
        assert len(run.data[0]) <= 1000
        parts.append(payload)
    assert b"".join(parts) == body
    assert [send.message_count for send in sends] == [0] * 6 + [1]
    assert [send.size_bytes for send in sends] == [0] * 6 + [len(body)]
    assert len({id(send.chunked) for send in sends}) == 1


def test_keys_are_hashed_and_written_as_text():
    assert (key_text("a"), key_text(b"\xff"), key_text(None)) == ("a", "/w==", None)


class Sealed:
    """Encrypts in a way that anybody can undo."""

    tag_size = 16
    overhead = 40

    def encrypt(self, payload):
        return payload[::-1] + bytes(16), build_encryption([EncryptedKey("k", b"v", {})])


def test_what_travels_is_compressed_then_split_then_encrypted():
    made = Encoder(1, CompressionType.ZLIB, chunking=True, encryptor=Sealed())
    made.producer_name = "p"
    payload = random.Random(1).randbytes(3000)
    sends = made.single(batch(payload), 1500, 1000)
    found = [sent(send.pieces) for send in sends]
    bodies = [body for _, _, body in found]
    assert len(bodies) == 3
    assert all(len(body) <= 1500 for body in bodies)
    assert all(body[-16:] == bytes(16) for body in bodies)
    whole = b"".join(body[:-16][::-1] for body in bodies)
    assert decompress(CompressionType.ZLIB, whole, 3000, size_max=3000) == payload
    [key] = found[0][1].encryption.keys
    assert key.name == "k"


def test_the_limit_is_on_the_encrypted_payload():
    made = Encoder(1, CompressionType.NONE, chunking=False, encryptor=Sealed())
    made.single(batch(bytes(84)), 100, 1000)
    with pytest.raises(MessageTooLarge):
        made.single(batch(bytes(85)), 100, 1000)
    with pytest.raises(MessageTooLarge):
        made.batch(batch(bytes(60)), 64, 1000)
