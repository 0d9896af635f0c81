"""The bytes of a segment file around its records. Pure.

    header (padded to 4 KiB) | record | record | ... | [footer | trailer]

Header, all integers little-endian:

    offset  size
         0     8  magic "MAGNETAR"
         8     4  CRC-32C of bytes 12 to the end of the tables
        12     4  format version: 2
        16     8  generation: 1 for the first segment, one more for each after it
        24     8  next ledger id: all ids below were given away, and are never given again
        32     4  number of deleted ledgers
        36     4  number of ends
        40     8  where the first record starts
        48     8  flags: 1 = the file had an earlier life
        56     8  salt: random bytes, made anew for every life of a file
        64   8*n  deleted ledgers that still have records in older segments
           16*m  ends: generation, end offset, for each older segment that has no footer yet

The ends say how far to believe those older segments: what lies behind was never answered. Sealed
segments end in a footer, so that a restart need not read their records:

    number of ledgers (4) | number of deletions (4) | ids of ledgers deleted in here (8 each)
    per ledger:  id (8) | next entry id (8) | bytes of entries (8) | bytes of records (8)
                 | number of entries it ended with (8) | flags (4): 1 = created, 2 = ended
                 | number of blocks (4) | first entry of each block (8 each) | locations (8 each)

and a trailer, the last 32 bytes of the file:

    magic "MgFt" | CRC-32C of the footer and bytes 8-32 of the trailer, seeded like a record's
    | salt (8) | end of the records, start of the footer (8) | size of the footer (8)
"""

import struct
import sys
from array import array
from dataclasses import field
from itertools import islice
from operator import lt
from typing import NamedTuple

from magnetar.inner import checksum
from magnetar.inner.plain.records import Blocks
from magnetar.inner.record import NUMBER_MAX, SALT_SIZE
from magnetar.late_dataclass import dataclass

from .format import Stamp, location, stamped

VERSION = 2
PAGE = 4096
TRAILER_SIZE = 32
HEADER_SIZE_MAX = 2**30

_MAGIC = b"MAGNETAR"
_HEADER = struct.Struct(f"<8sIIQQIIQQ{SALT_SIZE}s")
_COVERED_FROM = 12
_RECYCLED = 1
_FOOTER = struct.Struct("<II")
_GROUP = struct.Struct("<QQQQQII")
_TRAILER = struct.Struct(f"<4sI{SALT_SIZE}sQQ")
_TRAILER_MAGIC = b"MgFt"
_CREATED = 1
_ENDED = 2


class BadFormat(ValueError):
    """Bytes are not what they should be; the text says how, and the caller adds where."""


class SegmentHeader(NamedTuple):
    """A segment's header: about itself and the segments before it."""

    stamp: Stamp
    next_ledger_id: int
    deleted: list[int]
    ends: dict[int, int]
    start: int
    recycled: bool

    @property
    def generation(self) -> int:
        return self.stamp.generation


@dataclass(slots=True, eq=False)
class Group:
    """What one segment holds of one ledger."""

    ledger_id: int
    next_entry_id: int = 0
    body_size: int = 0
    records_size: int = 0
    created: bool = False
    ended_at: int | None = None
    firsts: "array[int]" = field(default_factory=lambda: array("Q"))
    locations: "array[int]" = field(default_factory=lambda: array("Q"))

    def add(self, blocks: Blocks) -> None:
        """Add blocks, as ``cut_records`` finds them."""
        _, firsts, places, behind, bodies, records = blocks
        self.firsts.extend(firsts)
        self.locations.extend(places)
        self.next_entry_id = max(self.next_entry_id, behind)
        self.body_size += bodies
        self.records_size += records

    def sort(self) -> None:
        """Put the blocks in order: those that compaction moved lie behind younger ones."""
        if not all(map(lt, self.firsts, islice(self.firsts, 1, None))):
            blocks = dict(zip(self.firsts, self.locations, strict=True))
            self.firsts = array("Q", sorted(blocks))
            self.locations = array("Q", [blocks[first] for first in self.firsts])


class Contents(NamedTuple):
    """What a segment holds: its ledgers, the deletions noted in it, and where its records end."""

    groups: dict[int, Group]
    deletions: list[int]
    end: int


def encode_header(
    stamp: Stamp,
    next_ledger_id: int,
    deleted: list[int],
    ends: dict[int, int],
    *,
    recycled: bool,
) -> bytes:
    """A segment's header, padded; its length is where the first record starts."""
    flat = [number for pair in ends.items() for number in pair]
    tables = struct.pack(f"<{len(deleted) + len(flat)}Q", *deleted, *flat)
    start = -(-(_HEADER.size + len(tables)) // PAGE) * PAGE
    flags = _RECYCLED if recycled else 0
    draft = _HEADER.pack(
        _MAGIC,
        0,
        VERSION,
        stamp.generation,
        next_ledger_id,
        len(deleted),
        len(ends),
        start,
        flags,
        stamp.salt,
    )
    covered = draft[_COVERED_FROM:] + tables
    return (_MAGIC + checksum(covered).to_bytes(4, "little") + covered).ljust(start, b"\0")


def starts_segment(page: bytes) -> bool:
    """Whether a file that begins like this is a segment, or was one once."""
    return page.startswith(_MAGIC)


def header_size(page: bytes) -> int:
    """How many bytes a header takes, from its first page. Raises BadFormat."""
    if len(page) < _HEADER.size or not starts_segment(page):
        raise BadFormat("it does not start like a segment")
    _, _, version, _, _, _, _, start, _, _ = _HEADER.unpack_from(page)
    if 0 < version < VERSION:
        raise BadFormat(
            f"its format version is {version}, of a time before the first release, and this "
            f"Magnetar reads {VERSION}"
        )
    if version != VERSION:
        raise BadFormat(f"its format version is {version}, and this Magnetar reads {VERSION}")
    if not PAGE <= start <= HEADER_SIZE_MAX or start % PAGE:
        raise BadFormat("its header is damaged")
    return int(start)


def decode_header(header: bytes) -> SegmentHeader:
    """A whole header. Raises BadFormat."""
    size = header_size(header)
    _, crc, _, generation, next_ledger_id, deletions, ends, start, flags, salt = (
        _HEADER.unpack_from(header)
    )
    tables_end = _HEADER.size + 8 * deletions + 16 * ends
    if tables_end > size or len(header) < size:
        raise BadFormat("its header is damaged")
    if checksum(header[_COVERED_FROM:tables_end]) != crc or next_ledger_id > NUMBER_MAX:
        raise BadFormat("its header is damaged")
    numbers = struct.unpack_from(f"<{deletions + 2 * ends}Q", header, _HEADER.size)
    pairs = numbers[deletions:]
    return SegmentHeader(
        Stamp(generation, salt),
        next_ledger_id,
        list(numbers[:deletions]),
        dict(zip(pairs[::2], pairs[1::2], strict=True)),
        start,
        bool(flags & _RECYCLED),
    )


def encode_footer(stamp: Stamp, contents: Contents) -> bytes:
    """Footer and trailer, to be written where the records end."""
    parts = [
        _FOOTER.pack(len(contents.groups), len(contents.deletions)),
        struct.pack(f"<{len(contents.deletions)}Q", *contents.deletions),
    ]
    for group in contents.groups.values():
        flags = (_CREATED if group.created else 0) | (0 if group.ended_at is None else _ENDED)
        parts += (
            _GROUP.pack(
                group.ledger_id,
                group.next_entry_id,
                group.body_size,
                group.records_size,
                group.ended_at or 0,
                flags,
                len(group.firsts),
            ),
            _to_bytes(group.firsts),
            _to_bytes(group.locations),
        )
    footer = b"".join(parts)
    trailer = _TRAILER.pack(_TRAILER_MAGIC, 0, stamp.salt, contents.end, len(footer))[8:]
    crc = stamped(stamp, footer + trailer)
    return footer + _TRAILER_MAGIC + crc.to_bytes(4, "little") + trailer


def footer_place(trailer: bytes, stamp: Stamp) -> tuple[int, int] | None:
    """Where the footer starts and how long it is with its trailer, or None."""
    if len(trailer) != TRAILER_SIZE:
        return None
    magic, _, salt, end, size = _TRAILER.unpack(trailer)
    if magic != _TRAILER_MAGIC or salt != stamp.salt:
        return None
    return end, size + TRAILER_SIZE


def decode_footer(footer_and_trailer: bytes, stamp: Stamp) -> Contents | None:
    """Decode a footer; None when it is damaged, or impossible although its checksum is right."""
    at = len(footer_and_trailer) - TRAILER_SIZE
    if at < _FOOTER.size:
        return None
    footer, trailer = footer_and_trailer[:at], footer_and_trailer[at:]
    _, crc, _, end, _ = _TRAILER.unpack(trailer)
    if stamped(stamp, footer + trailer[8:]) != crc:
        return None
    try:
        contents = _contents(footer, end)
    except (struct.error, ValueError):
        return None
    blocks = [group.locations for group in contents.groups.values() if group.locations]
    first, behind = location(stamp.generation, 0), location(stamp.generation, end)
    inside = all(first <= min(places) and max(places) < behind for places in blocks)
    return contents if inside else None


def _contents(footer: bytes, end: int) -> Contents:
    """Raises struct.error and ValueError for counts that the footer has no room for."""
    ledgers, deleted = _FOOTER.unpack_from(footer)
    deletions = list(struct.unpack_from(f"<{deleted}Q", footer, _FOOTER.size))
    at = _FOOTER.size + 8 * deleted
    groups = {}
    for _ in range(ledgers):
        ledger_id, next_id, body, records, ended_at, flags, blocks = _GROUP.unpack_from(footer, at)
        middle = at + _GROUP.size + 8 * blocks
        if max(ledger_id, next_id, ended_at) > NUMBER_MAX or middle + 8 * blocks > len(footer):
            raise ValueError("numbers that nothing of ours has")
        groups[ledger_id] = Group(
            ledger_id,
            next_id,
            body,
            records,
            bool(flags & _CREATED),
            ended_at if flags & _ENDED else None,
            _from_bytes(footer[at + _GROUP.size : middle]),
            _from_bytes(footer[middle : middle + 8 * blocks]),
        )
        at = middle + 8 * blocks
    return Contents(groups, deletions, end)


def _to_bytes(numbers: "array[int]") -> bytes:
    if sys.byteorder == "big":
        numbers = array("Q", numbers)
        numbers.byteswap()
    return numbers.tobytes()


def _from_bytes(data: bytes) -> "array[int]":
    numbers = array("Q")
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
