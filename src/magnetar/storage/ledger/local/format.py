"""The bytes of a record in a segment file. Pure.

A record is a header, two tables and a body; all integers are little-endian:

    offset  size
         0     8  salt of the segment it was written to
         8     4  CRC-32C of bytes 12 to the end of the tables, seeded with salt and generation
        12     1  kind
        13     1  flags: 1 = several entries were joined, and bytes 16-20 are their CRC-32C
        14     2  zero
        16     4  CRC-32C of the body, or zero
        20     8  synced: everything before this offset of the segment was on disk by then
        28     8  ledger id
        36     8  BLOCK: first entry id; ENDED: number of entries; else zero
        44     8  size of the body
        52     4  number of entries
        56     8  zero
        64   4*n  length of each entry
             4*n  CRC-32C of each entry
             ...  the entries' bytes, back to back

A segment's stamp, its generation and eight random bytes, tells its records from all other bytes:
from what an earlier life of the file left behind, and from records that somebody put into an entry.
Nobody who writes entries knows the salt, so nobody can forge a record. Bodies of large entries are
covered by the entries' own checksums; small ones also by one over all of them, which lets recovery
check a thousand of them in one call. ``synced`` tells recovery a damaged record (something later
was written after it was safely on disk) from one that a crash tore.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

import google_crc32c

JOIN_BELOW = 512
"""Entries smaller than this on average are joined before they are written (bytes)."""

HEAD_SIZE = 64
TABLES_SIZE = 8
"""What a block takes beside its entries: a header, and a line in both tables for each entry."""

ENTRIES_MAX = 65_536
"""Entries in one block: longer runs become several blocks. No header with more is believed."""

NUMBER_MAX = 2**63 - 1
"""The largest id or count. No header with a greater one is believed."""

SALT_SIZE = 8
GENERATION_MAX = 2**28 - 1
OFFSET_BITS = 36
"""A location is generation << 36 | offset: segments below 64 GiB, 268 million of them."""

_COVERED = struct.Struct("<BB2xIQQQQI8x")
_COVERED_OF_ONE = struct.Struct(_COVERED.format + "II")
_ONE = struct.Struct(f"<{SALT_SIZE}sI" + _COVERED_OF_ONE.format.removeprefix("<"))
_JOINED = 1
_COVERED_FROM = 12
_SYNCED_AT = 20


checksum: Callable[[bytes], int] = google_crc32c.value
_checksum_on: Callable[[int, bytes], int] = google_crc32c.extend


class Kind(IntEnum):
    """What a record says."""

    BLOCK = 1
    CREATED = 2
    ENDED = 3
    DELETED = 4


_BLOCK = int(Kind.BLOCK)


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


def encode_entry(  # noqa: PLR0917 keywords cost a fifth of its time, and it runs for every append
    stamp: Stamp, synced: int, ledger_id: int, first: int, entry: bytes, entry_checksum: int
) -> tuple[bytes, bytes]:
    """A block of one entry, as pieces. The entry's own checksum covers the body."""
    size = len(entry)
    covered = _COVERED_OF_ONE.pack(
        _BLOCK, 0, 0, synced, ledger_id, first, size, 1, size, entry_checksum
    )
    crc = _checksum_on(stamp.seed, covered).to_bytes(4, "little")
    return stamp.salt + crc + covered, entry


def encode_block(
    stamp: Stamp,
    synced: int,
    ledger_id: int,
    first: int,
    *,
    data: Sequence[bytes],
    lengths: Sequence[int],
    checksums: Sequence[int],
) -> list[bytes]:
    """A block of entries, as pieces to be written one after the other."""
    count = len(data)
    size = sum(lengths)
    joined = count > 1 and size < JOIN_BELOW * count
    bodies = [b"".join(data)] if joined else data
    covered = _COVERED.pack(
        _BLOCK,
        _JOINED if joined else 0,
        checksum(bodies[0]) if joined else 0,
        synced,
        ledger_id,
        first,
        size,
        count,
    )
    tables = struct.pack(f"<{2 * count}I", *lengths, *checksums)
    return [_record(stamp, covered + tables), *bodies]


def encode_mark(kind: Kind, stamp: Stamp, synced: int, ledger_id: int, first: int = 0) -> bytes:
    """A record without entries: a ledger was created, ended or deleted."""
    return _record(stamp, _COVERED.pack(kind, 0, 0, synced, ledger_id, first, 0, 0))


def move(record: bytes, head: Head, stamp: Stamp, synced: int) -> list[bytes]:
    """The same record for another segment, as pieces. All but ``synced`` stays as it is.

    So do flags and fields that this version does not know.
    """
    body_at = HEAD_SIZE + TABLES_SIZE * head.entries
    before, after = record[_COVERED_FROM:_SYNCED_AT], record[_SYNCED_AT + 8 : body_at]
    covered = before + synced.to_bytes(8, "little") + after
    return [_record(stamp, covered), record[body_at:]]


def head_at(buffer: bytes, at: int, stamp: Stamp) -> Head | None:
    """The header at ``at`` if one with this stamp seems to start there; not yet verified."""
    if at + HEAD_SIZE > len(buffer) or not buffer.startswith(stamp.salt, at):
        return None
    head = Head._make(_COVERED.unpack_from(buffer, at + _COVERED_FROM))
    if head.entries > ENTRIES_MAX or head.ledger_id | head.first > NUMBER_MAX:
        return None
    return head


def head_intact(buffer: bytes, at: int, stamp: Stamp, head: Head) -> bool:
    """Whether header and tables are what was written, and all of them are in ``buffer``."""
    end = at + HEAD_SIZE + 8 * head.entries
    if end > len(buffer):
        return False
    covered = buffer[at + _COVERED_FROM : end]
    crc = int.from_bytes(buffer[at + 8 : at + 12], "little")
    return _checksum_on(stamp.seed, covered) == crc


def lone_entries(
    buffer: bytes, at: int, stamp: Stamp, *, verify_bodies: bool
) -> Iterator[tuple[int, int, int, int, int]]:
    """Blocks of one entry that lie whole in ``buffer``, one behind the other, from ``at`` on.

    Of each: its place in the buffer, synced, ledger id, entry id, size of the entry. Ends before
    the first record that is none, or that is damaged.
    """
    salt, seed, one = stamp.salt, stamp.seed, HEAD_SIZE + 8
    while at + one <= len(buffer):
        mark, crc, kind, flags, _, synced, ledger_id, first, size, count, length, body_crc = (
            _ONE.unpack_from(buffer, at)
        )
        body = at + one
        end = body + size
        if (
            count != 1
            or mark != salt
            or kind != _BLOCK
            or flags
            or length != size
            or end > len(buffer)
            or ledger_id | first > NUMBER_MAX
            or _checksum_on(seed, buffer[at + _COVERED_FROM : body]) != crc
            or (verify_bodies and checksum(buffer[body:end]) != body_crc)
        ):
            return
        yield at, synced, ledger_id, first, size
        at = end


def tables_at(buffer: bytes, at: int, head: Head) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The entries' lengths and checksums of the record whose header is at ``at``."""
    count = head.entries
    both = struct.unpack_from(f"<{2 * count}I", buffer, at + HEAD_SIZE)
    return both[:count], both[count:]


def body_intact(buffer: bytes, at: int, head: Head) -> bool:
    """Whether the body, all of it in ``buffer``, is what was written."""
    start = at + HEAD_SIZE + 8 * head.entries
    if head.flags & _JOINED:
        return checksum(buffer[start : start + head.body_size]) == head.body_checksum
    lengths, checksums = tables_at(buffer, at, head)
    for length, expected in zip(lengths, checksums, strict=True):
        if checksum(buffer[start : start + length]) != expected:
            return False
        start += length
    return True
