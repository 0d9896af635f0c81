"""A stored entry as Pulsar's administrators get it: what it says of itself, as headers. Pure."""

import json
from base64 import b64encode
from typing import Final

from magnetar.broker.admin.stats import instant
from magnetar.message import metadata
from magnetar.message.compression import CompressionType, decompress
from magnetar.message.metadata import ChunkInfo, Encryption, Metadata, Peek
from magnetar.model.position import Position

_FRAME_BYTES: Final = 10
"""Of an entry, what Pulsar counts with a batch: magic number, checksum and size of the metadata."""


def headers(
    position: Position, entry: bytes, *, aborted: bool = False, uncommitted: bool = False
) -> dict[str, str]:
    """Everything that the metadata of an entry has, and whether readers get it.

    ``aborted``: it is of a transaction that was; ``uncommitted``: it lies behind the first message
    of one that is open. Raises CorruptEntry.
    """
    seen = metadata.peek(entry)
    named = _named(position, metadata.parse(entry), seen, len(entry))
    named["txn-uncommitted"] = _flag(uncommitted)
    if seen.transaction is not None:
        named["txn-aborted"] = _flag(aborted)
    return {f"X-Pulsar-{name}": _safe(value) for name, value in named.items() if value is not None}


def payload(entry: bytes, *, size_max: int) -> bytes:
    """What was published, not compressed any more, unless it is encrypted or a part of a message.

    A batch is ``size(4) SingleMessageMetadata payload`` for each message. Raises CorruptEntry,
    MessageTooLarge.
    """
    found = metadata.parse(entry)
    stored = entry[found.payload_start :]
    if found.encryption is not None or found.chunk is not None:
        return stored
    return decompress(found.compression, stored, found.uncompressed_size, size_max=size_max)


def _named(
    position: Position, found: Metadata, seen: Peek, size_bytes: int
) -> dict[str, str | None]:
    named = {
        "Message-ID": str(position),
        "PROPERTY": json.dumps(found.properties, separators=(",", ":")),
        "publish-time": instant(found.publish_time_ms),
        "producer-name": found.producer_name,
        "sequence-id": str(found.sequence_id),
        "Is-Encrypted": _flag(found.encryption is not None),
        "event-time": _time(found.event_time_ms),
        "deliver-at-time": _time(seen.deliver_at_ms),
        "partition-key": found.key,
        "partition-key-b64-encoded": _flag(True) if found.key_b64 else None,
        "compression": _compression(found.compression),
        "uncompressed-size": _number(found.uncompressed_size or None),
        "null-value": _flag(True) if found.null_value else None,
        "marker-type": _number(seen.marker_type),
        "Base64-ordering-key": _base64(found.ordering_key),
        "Base64-schema-version": _base64(found.schema_version),
    }
    if found.is_batch:
        named["num-batch-message"] = str(found.message_count)
        named["batch-size"] = str(size_bytes - found.payload_start + _FRAME_BYTES)
    if seen.transaction is not None:
        named["txnid-most-bits"], named["txnid-least-bits"] = map(str, seen.transaction)
    return named | _chunk(found.chunk) | _encryption(found.encryption)


def _chunk(place: ChunkInfo | None) -> dict[str, str | None]:
    if place is None:
        return {}
    return {
        "uuid": place.uuid,
        "chunk-id": str(place.index),
        "num-chunks-from-msg": str(place.count),
        "total-chunk-msg-size": str(place.total_size),
        "PROPERTY-CHUNK-ID": str(place.index),
        "PROPERTY-TOTAL-CHUNKS": str(place.count),
    }


def _encryption(found: Encryption | None) -> dict[str, str | None]:
    if found is None:
        return {}
    names = ",".join(key.name for key in found.keys)
    return {
        "encryption-algo": found.algorithm,
        "Base64-encryption-param": _base64(found.param),
        "Base64-encryption-keys": _base64(names.encode()),
    }


def _compression(number: int) -> str | None:
    if not number:
        return None
    known = number in {int(kind) for kind in CompressionType}
    return CompressionType(number).name if known else str(number)


def _flag(value: bool) -> str:  # noqa: FBT001  (of one place)
    return "true" if value else "false"


def _number(value: int | None) -> str | None:
    return None if value is None else str(value)


def _time(time_ms: int | None) -> str | None:
    return None if time_ms is None else instant(time_ms)


def _base64(value: bytes | None) -> str | None:
    return None if value is None else b64encode(value).decode()


def _safe(value: str) -> str:
    """A header has one line and no control characters."""
    return "".join(char if char.isprintable() else "?" for char in value)
