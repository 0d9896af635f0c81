"""An entry of a compacted ledger. Pure.

    ledgerId(8) entryId(8) checksum(4) entry

The numbers are big-endian. They say where the entry was in its log, and its own checksum; what the
ledger store keeps beside it is the checksum of all of this.
"""

import struct
from typing import Final, NamedTuple

from magnetar import inner
from magnetar.errors import CorruptEntry
from magnetar.model.position import Position

_HEAD: Final = struct.Struct(">qqI")


class CompactedEntry(NamedTuple):
    """An entry that stayed, with its position and its checksum."""

    position: Position
    data: bytes
    checksum: int


def encode_compacted(entry: CompactedEntry) -> tuple[bytes, int]:
    """Return the bytes to be stored, and their checksum."""
    ledger_id, entry_id = entry.position
    stored = _HEAD.pack(ledger_id, entry_id, entry.checksum) + entry.data
    return stored, inner.checksum(stored)


def decode_compacted(stored: bytes) -> CompactedEntry:
    """Raises CorruptEntry."""
    if len(stored) < _HEAD.size:
        raise CorruptEntry(f"An entry of {len(stored)} bytes in a compacted ledger: compact again")
    ledger_id, entry_id, checksum = _HEAD.unpack_from(stored)
    return CompactedEntry(Position(ledger_id, entry_id), stored[_HEAD.size :], checksum)
