"""What Pulsar's brokers store before a message: its checksum, as it came over the wire. Pure.

    [0e02 size(4) BrokerEntryMetadata] [0e01 crc32c(4)] message

What a broker of Pulsar's may have written of its own before that is passed over. Here a message
travels with its checksum beside it (``ledger/store.py``).
"""

import struct
from collections.abc import Iterable, Mapping
from typing import Final

_CHECKSUM: Final = b"\x0e\x01"
_BROKER_ENTRY_METADATA: Final = b"\x0e\x02"
_SIZE: Final = struct.Struct(">I")
_BEFORE_SIZE: Final = len(_BROKER_ENTRY_METADATA) + _SIZE.size
_MESSAGES: Final = b"managed-ledger"

HEAD_SIZE: Final = len(_CHECKSUM) + _SIZE.size


def holds_messages(told: Mapping[str, bytes]) -> bool:
    """Whether a ledger of which this is told is of a log, and not of a cursor or of a schema."""
    return told.get("component") == _MESSAGES and "pulsar/cursor" not in told


def heads(checksums: Iterable[int]) -> list[bytes]:
    """Return what goes before messages with these checksums."""
    return [_CHECKSUM + number for number in map(_SIZE.pack, checksums)]


def message_of(stored: bytes) -> bytes:
    """Return the message alone. A client may have sent it without a checksum."""
    start = 0
    if stored.startswith(_BROKER_ENTRY_METADATA) and len(stored) >= _BEFORE_SIZE:
        (size,) = _SIZE.unpack_from(stored, len(_BROKER_ENTRY_METADATA))
        start = _BEFORE_SIZE + size
    if stored.startswith(_CHECKSUM, start):
        start += HEAD_SIZE
    return stored[start:]
