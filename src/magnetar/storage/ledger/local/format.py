"""Records of a segment file, one by one: ``inner/record.py`` says what they look like. Pure."""

import struct
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from google_crc32c import extend

from magnetar.inner import checksum, record
from magnetar.inner.record import (
    COVERED,
    COVERED_FROM,
    ENTRIES_MAX,
    HEAD_SIZE,
    NUMBER_MAX,
    OFFSET_BITS,
    SALT_SIZE,
    TABLES_SIZE,
)

GENERATION_MAX = 2**28 - 1
_SYNCED_AT = 20

_checksum_on: Callable[[int, bytes], int] = extend


class Kind(IntEnum):
    """The kind of a record."""

    BLOCK = record.BLOCK
    CREATED = 2
    ENDED = 3
    DELETED = 4


class Stamp:
    """What tells the bytes of one life of one segment file from all others."""

    __slots__ = ("generation", "salt", "seed")

    def __init__(self, generation: int, salt: bytes) -> None:
        assert len(salt) == SALT_SIZE, f"a salt has {SALT_SIZE} bytes"
        self.generation = generation
        self.salt = salt  # Every record starts with it.
        # Every checksum begins with the seed.
        self.seed = checksum(salt + generation.to_bytes(8, "little"))


class Head(NamedTuple):
    """A record's header, without salt and checksum."""

    kind: int
    flags: int
    body_checksum: int
    synced: int
    ledger_id: int
    first: int
    body_size: int
    entries: int

    @property
    def size(self) -> int:
        """Bytes of the whole record."""
        return HEAD_SIZE + TABLES_SIZE * self.entries + self.body_size


def location(generation: int, offset: int) -> int:
    """Where a record lies, as one number: they sort in the order of the log."""
    return generation << OFFSET_BITS | offset


def located(place: int) -> tuple[int, int]:
    """The generation and the offset that ``location`` packed."""
    return place >> OFFSET_BITS, place & ((1 << OFFSET_BITS) - 1)


def stamped(stamp: Stamp, data: bytes) -> int:
    """The checksum of bytes of a segment with this stamp."""
    return _checksum_on(stamp.seed, data)


def _record(stamp: Stamp, covered: bytes) -> bytes:
    """Header and tables, from what their checksum covers."""
    return stamp.salt + _checksum_on(stamp.seed, covered).to_bytes(4, "little") + covered


def encode_mark(kind: Kind, stamp: Stamp, synced: int, ledger_id: int, first: int = 0) -> bytes:
    """A record without entries: a ledger was created, ended or deleted."""
    return _record(stamp, COVERED.pack(kind, 0, 0, synced, ledger_id, first, 0, 0))


def move(record: bytes, head: Head, stamp: Stamp, synced: int) -> list[bytes]:
    """Copy a record for another segment, as pieces. All but ``synced`` stays as it is.

    So do flags and fields that this version does not know.
    """
    body_at = HEAD_SIZE + TABLES_SIZE * head.entries
    before, after = record[COVERED_FROM:_SYNCED_AT], record[_SYNCED_AT + 8 : body_at]
    covered = before + synced.to_bytes(8, "little") + after
    return [_record(stamp, covered), record[body_at:]]


def head_at(buffer: bytes, at: int, stamp: Stamp) -> Head | None:
    """The header at ``at`` if one with this stamp seems to start there; not yet verified."""
    if at + HEAD_SIZE > len(buffer) or not buffer.startswith(stamp.salt, at):
        return None
    head = Head._make(COVERED.unpack_from(buffer, at + COVERED_FROM))
    if head.entries > ENTRIES_MAX or head.ledger_id | head.first > NUMBER_MAX:
        return None
    return head


def head_intact(buffer: bytes, at: int, stamp: Stamp, head: Head) -> bool:
    """Whether header and tables are what was written, and all of them are in ``buffer``."""
    end = at + HEAD_SIZE + 8 * head.entries
    if end > len(buffer):
        return False
    covered = buffer[at + COVERED_FROM : end]
    crc = int.from_bytes(buffer[at + 8 : at + 12], "little")
    return _checksum_on(stamp.seed, covered) == crc


def tables_at(buffer: bytes, at: int, head: Head) -> tuple[list[int], list[int]]:
    """The entries' lengths and checksums of the record whose header is at ``at``."""
    count = head.entries
    both = struct.unpack_from(f"<{2 * count}I", buffer, at + HEAD_SIZE)
    return [*both[:count]], [*both[count:]]
