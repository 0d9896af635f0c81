"""message/compaction.py: which messages stay."""

import pytest

from magnetar.errors import CorruptEntry, LimitReached
from magnetar.inner.plain.batches import Single
from magnetar.message import batch, compaction, compression
from magnetar.message.compaction import MESSAGES_AT_ONCE, LastMessages, last_index
from magnetar.message.compression import CompressionType
from magnetar.message.entry import join, split
from magnetar.model.position import Position
from magnetar.proto import PulsarApi_pb2 as pb


def run(work):
    """Do it all; the number of pauses, and what it returns."""
    pauses = 0
    while True:
        try:
            next(work)
        except StopIteration as end:
            return pauses, end.value
        pauses += 1


def entry(payload=b"v", **fields):
    metadata = pb.MessageMetadata(producer_name="p", sequence_id=0, publish_time=1, **fields)
    return join(metadata.SerializeToString(), payload)


def batched(*messages, kind=CompressionType.NONE, **fields):
    """A batch of (key, body)."""
    details = {index: Single(key=key) for index, (key, _) in enumerate(messages)}
    payload = batch.pack([body for _, body in messages], first_sequence_id=0, details=details)
    return entry(
        compression.compress(kind, payload),
        num_messages_in_batch=len(messages),
        compression=kind,
        uncompressed_size=len(payload),
        **fields,
    )


def compacted(entries, **options):
    last = LastMessages(keys_max=100, **options)
    for index, each in enumerate(entries):
        run(last.note(Position(1, index), each))
    sifted = [run(last.sift(Position(1, index), each))[1] for index, each in enumerate(entries)]
    return {index: each for index, each in enumerate(sifted) if each is not None}


def messages_in(found):
    """Key and body of each message in a batch, None for one that is gone."""
    metadata, payload = split(found)
    parsed = pb.MessageMetadata.FromString(metadata)
    whole = compression.decompress(
        parsed.compression, payload, parsed.uncompressed_size, size_max=1000
    )
    heads, bodies = batch.unpack(whole, parsed.num_messages_in_batch)
    return [
        None if head.compacted_out else (head.key, body)
        for head, body in zip(map(batch.parse_single, heads), bodies, strict=True)
    ]


def test_the_last_message_of_each_key_stays_as_it_is():
    entries = [entry(partition_key=key) for key in ("a", "b", "a", "c")]
    assert compacted(entries) == {index: entries[index] for index in (1, 2, 3)}


@pytest.mark.parametrize(
    ("payload", "fields", "removes"),
    [
        (b"", {}, True),  # As the C++ and the Python client send it.
        (b"", {"uncompressed_size": 0}, True),  # As the Java client does.
        (b"", {"null_value": True}, True),
        (b"", {"uncompressed_size": 0, "null_value": True}, True),
        (b"x\x9c\x03\0", {"uncompressed_size": 0, "compression": CompressionType.ZLIB}, True),
        (b"x", {"null_value": True}, False),
        (b"x", {"uncompressed_size": 1}, False),
    ],
)
def test_an_empty_message_removes_its_key(payload, fields, removes):
    entries = [entry(partition_key="a"), entry(payload, partition_key="a", **fields)]
    assert compacted(entries) == ({} if removes else {1: entries[1]})


def test_a_key_may_come_back_after_it_was_removed():
    entries = [entry(b"", partition_key="a", uncompressed_size=0), entry(partition_key="a")]
    assert compacted(entries) == {1: entries[1]}


def test_messages_without_a_key_go_unless_they_are_retained():
    entries = [entry(), batched((None, b"x"), ("a", b"y"))]
    assert messages_in(compacted(entries)[1]) == [None, ("a", b"y")]
    assert compacted(entries, retain_null_key=True) == dict(enumerate(entries))


@pytest.mark.parametrize("kind", CompressionType)
def test_messages_of_a_batch_go_one_by_one(kind):
    entries = [
        batched(("a", b"1"), ("b", b"1"), ("c", b"1"), kind=kind),
        batched(("d", b"1"), ("b", b""), ("a", b"2"), ("a", b"3"), kind=kind),
        batched(("c", b""), ("d", b"2"), kind=kind),
    ]
    left = compacted(entries)
    assert sorted(left) == [1, 2]
    assert messages_in(left[1]) == [None, None, None, ("a", b"3")]
    assert messages_in(left[2]) == [None, ("d", b"2")]


def test_what_is_gone_from_a_batch_is_written_as_pulsar_does():
    """As recorded from Apache Pulsar 4.0.7."""
    payload = bytes.fromhex("000000071201651801400a000000071201671801400b31")
    told = {"num_messages_in_batch": 2, "highest_sequence_id": 11, "uncompressed_size": 20}
    [left] = compacted([entry(payload.replace(b"\x65\x18\x01", b"\x65\x18\x00"), **told)]).values()
    assert split(left)[1].hex() == "0000000418002001000000071201671801400b31"
    assert pb.MessageMetadata.FromString(split(left)[0]).highest_sequence_id == 11


def test_a_batch_is_compacted_again():
    first = compacted([batched(("a", b"1"), ("b", b"1")), entry(partition_key="a")])
    left = compacted([first[0], first[1], entry(partition_key="b")])
    assert sorted(left) == [1, 2]
    again = compacted([first[0], first[1]])
    assert again[0] is first[0], "nothing was removed this time"


def test_what_nobody_can_look_into_stays():
    keys = [pb.EncryptionKeys(key="k", value=b"v")]
    entries = [
        batched(("a", b"1"), encryption_keys=keys, partition_key="a"),
        entry(b"no batch", num_messages_in_batch=3),
        b"\x00\x00\x00\x09short",
        b"\x00\x00\x00\x02\xff\xffnothing",
        entry(partition_key="a"),
    ]
    assert compacted(entries) == dict(enumerate(entries))


def test_a_batch_that_would_grow_too_large_stays(monkeypatch):
    monkeypatch.setattr(compaction, "BATCH_SIZE_MAX", 100)
    large = batched(("a", b"x" * 100), kind=CompressionType.ZLIB)
    small = batched(("a", b"x" * 10), kind=CompressionType.ZLIB)
    entries = [large, small, entry(partition_key="a")]
    assert compacted(entries) == {0: large, 2: entries[2]}


def test_an_encrypted_message_has_its_key_in_clear():
    keys = [pb.EncryptionKeys(key="k", value=b"v")]
    entries = [
        entry(partition_key="a", encryption_keys=keys, uncompressed_size=1),
        entry(partition_key="b", encryption_keys=keys, uncompressed_size=1),
        entry(b"16 bytes of tag.", partition_key="a", encryption_keys=keys, uncompressed_size=0),
    ]
    assert compacted(entries) == {1: entries[1]}


def chunk(uuid, index, key="a"):
    told = {"uuid": uuid, "chunk_id": index, "num_chunks_from_msg": 2, "total_chunk_msg_size": 2}
    return entry(partition_key=key, **told) if key else entry(**told)


def test_chunks_of_a_message_stay_or_go_together():
    entries = [
        chunk("u", 0),
        chunk("v", 0),
        chunk("u", 1),
        chunk("v", 1),
        chunk("w", 0),  # The rest of it comes later.
        chunk("x", 0, None),
        chunk("x", 1, None),
    ]
    assert sorted(compacted(entries)) == [1, 3, 4]
    assert sorted(compacted([*entries, entry(partition_key="a")])) == [4, 7]


def test_what_brokers_wrote_for_brokers_goes():
    assert compacted([entry(partition_key="a", marker_type=10)]) == {}


def test_long_keys_are_told_apart():
    keys = ["k" * 32, "k" * 33, "k" * 1000, "k" * 1001]
    entries = [entry(partition_key=key) for key in [*keys, keys[2]]]
    assert sorted(compacted(entries)) == [0, 1, 3, 4]


def test_the_same_number_in_another_ledger_is_another_place():
    last = LastMessages(keys_max=10)
    places = {
        Position(1, 0): batched(("b", b"1"), ("a", b"1")),
        Position(2, 0): batched(("a", b"2")),
    }
    for position, each in places.items():
        run(last.note(position, each))
    first, second = (run(last.sift(position, each))[1] for position, each in places.items())
    assert messages_in(first) == [("b", b"1"), None]
    assert messages_in(second) == [("a", b"2")]


def test_keys_are_limited():
    last = LastMessages(keys_max=2)
    for index, key in enumerate("ab"):
        run(last.note(Position(1, index), entry(partition_key=key)))
    with pytest.raises(LimitReached, match="compactionKeysMax"):
        run(last.note(Position(1, 2), entry(partition_key="c")))


@pytest.mark.parametrize(
    "noted", [[("u", 0), ("v", 0)], [("u", 0), ("u", 1)]], ids=["unfinished", "whole"]
)
def test_messages_in_chunks_count_as_keys_do(noted):
    """A message in chunks takes a place for its uuid, and one for its key when it is whole."""
    last = LastMessages(keys_max=1)
    first, second = (chunk(uuid, index) for uuid, index in noted)
    run(last.note(Position(1, 0), first))
    with pytest.raises(LimitReached, match="more than 1 keys"):
        run(last.note(Position(1, 1), second))


def test_others_get_their_turn_within_a_batch_and_between_entries():
    many = batched(*((str(index), b"x") for index in range(3 * MESSAGES_AT_ONCE)))
    last = LastMessages(keys_max=10_000)
    assert run(last.note(Position(1, 0), many))[0] == 3
    assert run(last.sift(Position(1, 0), many)) == (3, many)
    pauses = sum(
        run(last.note(Position(1, index), entry()))[0] for index in range(MESSAGES_AT_ONCE)
    )
    assert pauses == 1


def test_messages_are_counted():
    last = LastMessages(keys_max=10)
    entries = [entry(partition_key="a"), batched(("a", b"1"), ("b", b"1"), (None, b"1"))]
    for index, each in enumerate(entries):
        run(last.note(Position(1, index), each))
    for index, each in enumerate(entries):
        run(last.sift(Position(1, index), each))
    assert (last.message_count, last.kept_count) == (4, 2)


def test_the_last_message_that_is_there():
    whole = batched(("a", b"1"), ("b", b"1"), ("c", b"1"))
    left = compacted([whole, entry(partition_key="c")])
    assert (last_index(whole), last_index(left[0]), last_index(left[1])) == (2, 1, -1)
    assert last_index(entry(b"no batch", num_messages_in_batch=3)) == 2
    with pytest.raises(CorruptEntry):
        last_index(b"\x00\x00\x00\x09short")
