"""What an entry says of itself: all of it, or the few fields a broker peeks at. Pure."""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from google.protobuf.message import DecodeError, EncodeError

from magnetar import inner
from magnetar.errors import CorruptEntry
from magnetar.late_dataclass import dataclass
from magnetar.model.position import signed
from magnetar.model.txn_id import TxnId
from magnetar.proto import PulsarApi_pb2 as pb

from .compression import CompressionType
from .entry import join, payload_start
from .keys import decoded_key

_NUM_MESSAGES = b"\x58"  # the tag of num_messages_in_batch
_PRODUCER_NAME = 0x0A  # likewise
_TRANSACTION = b"\xb8\x01"  # likewise, of txnid_most_bits

OF_SUBSCRIPTIONS = range(10, 14)
"""The types of the markers that go to other clusters: ``subscription_markers.py``."""
SNAPSHOT = 12
"""The one of these that stays."""

# What metadata says of how it was published, and not of the message.
_OF_THE_FIRST_TIME = (
    "highest_sequence_id",
    "deliver_at_time",
    "replicated_from",
    "schema_version",
    "txnid_most_bits",
    "txnid_least_bits",
)

# Of what ``build`` writes, in its order.
_TAGS = [0x0A, 0x10, 0x18, 0x22, 0x32, 0x3A, 0x40, 0x48, 0x58, 0x60]
_TAGS += [130, 136, 146, 152, 192, 200, 210, 216, 224, 232]

_TRANSACTION_TAGS = [176, 184]

# Sequence id, publish time and the size of the key, which in most metadata follow the producer's
# name; and fields that may follow the key, numbers and the version of a schema: none of them says
# what key is meant.
_VARINT = rb"[\x80-\xff]{0,8}[\x00-\x7f]"
_UP_TO_KEY = re.compile(rb"\x10%b\x18%b\x32([\x00-\x7f])" % (_VARINT, _VARINT)).match
_AFTER_KEY = re.compile(
    rb"(?:[\x40\x48\x58\x60]%b|\x82\x01\x08.{8})*" % _VARINT, re.DOTALL
).fullmatch


@dataclass(frozen=True, slots=True)
class ChunkInfo:
    """Which part of a message an entry is, when the message was split."""

    uuid: str
    index: int  # 0-based
    count: int
    total_size: int  # bytes of the whole payload as it was split: compressed

    @property
    def last(self) -> bool:
        return self.index == self.count - 1


@dataclass(frozen=True, slots=True)
class EncryptedKey:
    """The key that a payload is encrypted with, itself encrypted for the owner of ``name``."""

    name: str
    value: bytes
    metadata: Mapping[str, str]  # As the sender's key reader gave it.


@dataclass(frozen=True, slots=True)
class Encryption:
    """How a payload is encrypted, and for whom."""

    keys: tuple[EncryptedKey, ...]
    param: bytes  # The initialisation vector.
    algorithm: str  # As the sender says, which most leave out.


@dataclass(slots=True)
class Metadata:
    """The metadata of an entry that a consumer needs.

    In a batch key, properties, event time and sequence id are those of each message (``batch.py``).
    """

    payload_start: int  # where the payload begins in the entry
    producer_name: str
    sequence_id: int
    publish_time_ms: int
    is_batch: bool
    message_count: int  # 1 outside a batch; never negative
    key: str | None
    key_b64: bool  # the key is bytes, written as base64
    ordering_key: bytes | None
    properties: dict[str, str]
    event_time_ms: int | None
    compression: int  # a CompressionType, if it is one that is known
    uncompressed_size: int
    null_value: bool
    chunk: ChunkInfo | None
    encryption: Encryption | None
    schema_version: bytes | None  # as the broker told the producer
    in_transaction: bool

    @property
    def is_plain_batch(self) -> bool:
        """Whether the payload is messages as they are packed, and nothing else."""
        return (
            self.is_batch
            and not self.compression
            and self.encryption is None
            and self.chunk is None
        )


class Peek(NamedTuple):
    """The metadata of an entry that a broker needs."""

    is_batch: bool
    message_count: int  # 1 outside a batch; never negative
    producer_name: str
    sequence_id: int
    publish_time_ms: int
    compression: int
    chunk: ChunkInfo | None
    marker_type: int | None  # of what a broker wrote for brokers
    deliver_at_ms: int | None
    transaction: tuple[int, int] | None  # the most and the least significant bits of its id
    replicated_from: str | None  # the cluster that it was published in

    @property
    def is_marker(self) -> bool:
        """Whether a broker wrote it for brokers."""
        return self.marker_type is not None

    @property
    def ends_message(self) -> bool:
        """Whether a message is whole with it: it is no marker, nor a chunk that another follows."""
        return self.marker_type is None and (self.chunk is None or self.chunk.last)

    @property
    def unusual(self) -> bool:
        """Whether a broker must do more with the entry than pass it on, now or later.

        What is part of a transaction is known by its position (``transaction_buffer.py``).
        """
        return (self.chunk, self.marker_type) != (None, None)


def parse(entry: bytes) -> Metadata:
    """Raises CorruptEntry."""
    start = payload_start(entry)
    found = _parsed(entry[4:start])
    return Metadata(
        start,
        text(found.producer_name),
        found.sequence_id,
        found.publish_time,
        found.HasField("num_messages_in_batch"),
        max(found.num_messages_in_batch, 0),
        text(found.partition_key) if found.HasField("partition_key") else None,
        found.partition_key_b64_encoded,
        found.ordering_key if found.HasField("ordering_key") else None,
        {text(pair.key): text(pair.value) for pair in found.properties},
        found.event_time if found.HasField("event_time") else None,
        found.compression,
        found.uncompressed_size,
        found.null_value,
        _chunk_place(found),
        _encryption(found) if found.encryption_keys else None,
        found.schema_version if found.HasField("schema_version") else None,
        found.HasField("txnid_most_bits"),
    )


def peek(entry: bytes) -> Peek:
    """Raises CorruptEntry."""
    found = _parsed(entry[4 : payload_start(entry)])
    return Peek(
        found.HasField("num_messages_in_batch"),
        max(found.num_messages_in_batch, 0),
        text(found.producer_name),
        found.sequence_id,
        found.publish_time,
        found.compression,
        _chunk_place(found),
        found.marker_type if found.HasField("marker_type") else None,
        found.deliver_at_time if found.HasField("deliver_at_time") else None,
        (found.txnid_most_bits, found.txnid_least_bits)
        if found.HasField("txnid_most_bits")
        else None,
        text(found.replicated_from) if found.HasField("replicated_from") else None,
    )


def transaction_of(entry: bytes) -> tuple[int, int] | None:
    """The transaction that an entry names; None where it names none, or nobody can read it."""
    if _TRANSACTION not in entry[4 : 4 + int.from_bytes(entry[:4])]:
        return None
    try:
        return peek(entry).transaction
    except CorruptEntry:
        return None


def with_transaction(entry: bytes, transaction: tuple[int, int]) -> bytes:
    """An entry whose metadata names none, naming it. Raises CorruptEntry.

    Fields of protocol buffers may be appended, so that the rest stays as it was sent.
    """
    most, least = transaction
    named = pb.MessageMetadata(txnid_least_bits=least, txnid_most_bits=most)
    start = payload_start(entry)
    return join(entry[4:start] + named.SerializePartialToString(), entry[start:])


def published(entry: bytes) -> tuple[str, int | None]:
    """The producer's name and the highest sequence id; None for a chunk that is not the last.

    Raises CorruptEntry.
    """
    found = _parsed(entry[4 : payload_start(entry)])
    chunk = _chunk_place(found)
    whole = chunk is None or chunk.last
    highest = max(signed(found.sequence_id), signed(found.highest_sequence_id))
    return text(found.producer_name), highest if whole else None


def message_count(entry: bytes) -> int:
    """How many messages an entry holds; 1 if its metadata is corrupt."""
    # Most entries without a batch do not have the tag's byte at all.
    if _NUM_MESSAGES not in entry[4 : 4 + int.from_bytes(entry[:4])]:
        return 1
    try:
        return peek(entry).message_count
    except CorruptEntry:
        return 1


def schema_version(entry: bytes) -> bytes | None:
    """The version of the schema that an entry was written with; None if it names none."""
    try:
        found = _parsed(entry[4 : payload_start(entry)])
    except CorruptEntry:
        return None
    return found.schema_version if found.HasField("schema_version") else None


def publish_time_ms(entry: bytes) -> int:
    """When the entry was published, by its producer's clock; 0 if its metadata is corrupt."""
    try:
        return peek(entry).publish_time_ms
    except CorruptEntry:
        return 0


def sticky_key(entry: bytes) -> bytes:
    """By what a Key_Shared subscription chooses the entry's consumer; b"" if nobody can read it.

    The ordering key, or else the key, or else a name for the entry.
    """
    return _plain_key(entry) or _any_key(entry)


def _plain_key(entry: bytes) -> bytes | None:
    """The key, if the metadata is as most clients write it when there is one; else None."""
    head = entry[4:6]
    if len(head) < 2 or head[0] != _PRODUCER_NAME or head[1] > 0x7F:
        return None
    found = _UP_TO_KEY(entry, 6 + head[1])
    if found is None:
        return None
    start, stop = found.end(), 4 + int.from_bytes(entry[:4])
    end = start + found[1][0]
    key = entry[start:end]
    if end > stop or stop > len(entry) or not key.isascii():
        return None
    return key if end == stop or _AFTER_KEY(entry, end, stop) else None


def _any_key(entry: bytes) -> bytes:
    try:
        found = _parsed(entry[4 : payload_start(entry)])
        if found.HasField("ordering_key"):
            return found.ordering_key
        if not found.HasField("partition_key"):
            return f"{text(found.producer_name)}-{found.sequence_id}".encode()
        key = text(found.partition_key).encode()
        return decoded_key(key) if found.partition_key_b64_encoded else key
    except CorruptEntry:
        return b""


def build(
    producer_name: str,
    sequence_id: int,
    publish_time_ms: int,
    *,
    message_count: int | None = None,
    highest_sequence_id: int | None = None,
    key: str | None = None,
    key_b64: bool = False,
    ordering_key: bytes | None = None,
    properties: Mapping[str, str] | None = None,
    event_time_ms: int | None = None,
    deliver_at_ms: int | None = None,
    compression: CompressionType = CompressionType.NONE,
    uncompressed_size: int | None = None,
    null_value: bool = False,
    replicate_to: Sequence[str] | None = None,
    chunk: ChunkInfo | None = None,
    schema_version: bytes | None = None,
) -> bytes:
    """The metadata of a message, or of a batch of ``message_count``, as it goes into the entry.

    ``key_b64``: the key is bytes, already written as base64. ``uncompressed_size`` is needed with
    a ``compression``; without one, 0 says that the message removes its key.
    """
    compressed = compression != CompressionType.NONE
    assert not compressed or uncompressed_size is not None, "compression needs uncompressed_size"
    return inner.write_fields(
        _TAGS,
        [
            producer_name.encode(),
            sequence_id,
            publish_time_ms,
            pairs(properties) if properties else None,
            None if key is None else key.encode(),
            [name.encode() for name in replicate_to] if replicate_to else None,
            compression if compressed else None,
            uncompressed_size,
            message_count,
            event_time_ms,
            schema_version,
            key_b64 or None,
            ordering_key,
            deliver_at_ms,
            highest_sequence_id,
            null_value or None,
            chunk.uuid.encode() if chunk else None,
            chunk.count if chunk else None,
            chunk.total_size if chunk else None,
            chunk.index if chunk else None,
        ],
    )


def copied(
    metadata: bytes,
    producer_name: str,
    sequence_id: int,
    publish_time_ms: int,
    *,
    without: Container[str] = (),
    schema_version: bytes | None = None,
) -> bytes:
    """The metadata of the same payload when it is published again, without these properties.

    Its delay is over, it was published nowhere else, and it is of no transaction. Raises
    CorruptEntry.
    """
    found = _parsed(metadata)
    kept = [pair for pair in found.properties if text(pair.key) not in without]
    del found.properties[:]
    found.properties.extend(kept)
    for field in _OF_THE_FIRST_TIME:
        found.ClearField(field)
    found.producer_name, found.sequence_id = producer_name, sequence_id
    found.publish_time = publish_time_ms
    if schema_version:
        found.schema_version = schema_version
    return found.SerializeToString()


def replica(
    entry: bytes,
    here: str,
    there: str,
    *,
    source: tuple[str, str],
    schema_version: bytes | None,
) -> bytes | None:
    """The copy of an entry for another cluster, as ``replicas.py`` says; None: it does not go.

    ``source`` is the property that names its place, in place of another of that key. Raises
    CorruptEntry.
    """
    start = payload_start(entry)
    found = _parsed(entry[4:start])
    targets = list(map(text, found.replicate_to))
    if found.HasField("replicated_from"):
        return None
    if found.HasField("marker_type") and found.marker_type not in OF_SUBSCRIPTIONS:
        return None
    if targets and there not in targets:
        return None
    if schema_version is not None:
        found.schema_version = schema_version
    kept = [pair for pair in found.properties if text(pair.key) != source[0]]
    del found.properties[:]
    found.properties.extend(kept)
    found.properties.add(key=source[0], value=source[1])
    found.replicated_from = here
    found.ClearField("txnid_most_bits")
    found.ClearField("txnid_least_bits")
    return join(found.SerializeToString(), entry[start:])


def build_encryption(keys: Iterable[EncryptedKey]) -> bytes:
    """What metadata says of the keys of an encrypted payload, to be put at its end."""
    return inner.write_fields(
        [0x6A],
        [
            [
                inner.write_fields(
                    [0x0A, 0x12, 0x1A], [key.name.encode(), key.value, pairs(key.metadata)]
                )
                for key in keys
            ]
        ],
    )


def build_transaction(txn: TxnId) -> bytes:
    """The same of the transaction that it is sent in."""
    return inner.write_fields(_TRANSACTION_TAGS, [txn.least_bits, txn.most_bits])


def build_iv(iv: bytes) -> bytes:
    """The same of the initialisation vector."""
    return inner.write_fields([0x7A], [iv])


def pairs(properties: Mapping[str, str]) -> list[bytes]:
    """Properties as KeyValues."""
    return [
        inner.write_fields([0x0A, 0x12], [key.encode(), value.encode()])
        for key, value in properties.items()
    ]


def text(value: str | bytes) -> str:
    """A string field as text: protobuf hands out bytes where they are not UTF-8."""
    return value if isinstance(value, str) else value.decode(errors="replace")


def _parsed(data: bytes) -> pb.MessageMetadata:
    try:
        metadata = pb.MessageMetadata.FromString(data)
        metadata.SerializeToString()  # finds missing fields, which parsing does not
    except (DecodeError, EncodeError) as error:
        raise CorruptEntry(f"metadata that cannot be read: {error}") from error
    return metadata


def _encryption(found: pb.MessageMetadata) -> Encryption:
    return Encryption(
        tuple(
            EncryptedKey(
                text(key.key),
                key.value,
                {text(pair.key): text(pair.value) for pair in key.metadata},
            )
            for key in found.encryption_keys
        ),
        found.encryption_param,
        text(found.encryption_algo),
    )


def _chunk_place(found: pb.MessageMetadata) -> ChunkInfo | None:
    if not found.HasField("uuid") or found.num_chunks_from_msg < 2:
        return None
    return ChunkInfo(
        text(found.uuid), found.chunk_id, found.num_chunks_from_msg, found.total_chunk_msg_size
    )
