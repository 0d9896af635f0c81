"""Markers: entries that brokers append for brokers, and no consumer gets. Pure."""

from enum import IntEnum
from typing import Final

from magnetar import inner

from .entry import join


class MarkerType(IntEnum):
    """The kinds of markers that are written here, as Pulsar numbers them."""

    TXN_COMMIT = 21
    TXN_ABORT = 22


_PRODUCER: Final = b"pulsar.txn.marker"
# Producer, sequence id, publish time, marker type, and both halves of a transaction's id.
_TAGS: Final = [0x0A, 0x10, 0x18, 160, 176, 184]


def end_of_transaction(
    transaction: tuple[int, int], publish_time_ms: int, *, commit: bool
) -> bytes:
    """The entry that says how a transaction ended for a topic."""
    kind = MarkerType.TXN_COMMIT if commit else MarkerType.TXN_ABORT
    most, least = transaction
    return join(
        inner.write_fields(_TAGS, [_PRODUCER, 0, publish_time_ms, int(kind), least, most]), b""
    )
