"""Entries as clients write them."""

from magnetar.inner.plain.batches import Single
from magnetar.message import batch, compression, metadata
from magnetar.message.compression import CompressionType
from magnetar.message.entry import join
from magnetar.model.position import Position

PLACE = Position(3, 7)


def entry_of(payload=b"x", *, kind=CompressionType.NONE, publish_time_ms=1000, **fields):
    said = metadata.build(
        "p", 5, publish_time_ms, compression=kind, uncompressed_size=len(payload), **fields
    )
    return join(said, compression.compress(kind, payload))


def batch_of(*payloads, details=None, kind=CompressionType.NONE, publish_time_ms=1000):
    packed = batch.pack(list(payloads), first_sequence_id=5, details=details)
    return entry_of(packed, kind=kind, publish_time_ms=publish_time_ms, message_count=len(payloads))


def single(**fields):
    return Single(**fields)
