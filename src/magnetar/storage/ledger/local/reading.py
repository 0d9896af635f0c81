"""Entries back from the disk. Blocking, for a thread; every entry is verified.

Blocks that lie near one another are read in one call, large entries each in one of its own.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from magnetar.errors import CorruptEntry
from magnetar.storage.ledger.store import LedgerEntries

from .disk import File, Files
from .format import (
    HEAD_SIZE,
    Head,
    Kind,
    Stamp,
    checksum,
    head_at,
    head_intact,
    located,
    location,
    tables_at,
)
from .index import lost

READ_MIN: Final = 4096
READ_MAX: Final = 1024 * 1024
"""Bytes that one call reads at least, and at most unless a table or an entry is larger."""

LARGE: Final = 32 * 1024
"""Entries of this size on average are read one by one: joining reads would copy them twice."""


class Source(NamedTuple):
    """A segment's file, and what its records bear."""

    path: Path
    stamp: Stamp


class Plan(NamedTuple):
    """Blocks of one ledger to be read, and the files they are in."""

    ledger_id: int
    firsts: Sequence[int]
    locations: Sequence[int]
    sources: Mapping[int, Source]


def read_entries(
    files: Files, plan: Plan, first: int, count_max: int, bytes_max: int
) -> LedgerEntries:
    """Entries from ``first`` on. Raises CorruptEntry when the first cannot be read."""
    data: list[bytes] = []
    checksums: list[int] = []
    room = bytes_max
    with closing(_Window(files, plan.sources)) as window:
        for index in range(len(plan.firsts)):
            wanted = first + len(data)
            try:
                some = _read_block(
                    window, plan, index, wanted, count_max=count_max - len(data), bytes_max=room
                )
            except CorruptEntry:
                if data:
                    break
                raise
            data += some.data
            checksums += some.checksums
            room -= sum(map(len, some.data))
            if room <= 0 or len(data) >= count_max:
                break
            if index + 1 < len(plan.firsts) and first + len(data) < plan.firsts[index + 1]:
                break  # The block was cut short by damage, or damage took a block away.
    return LedgerEntries(data, checksums)


class _Window:
    """The part of the log that is in memory."""

    def __init__(self, files: Files, sources: Mapping[int, Source]) -> None:
        self._files = files
        self._sources = sources
        self._file: File | None = None
        self._generation = -1
        self._start = 0
        self.bytes = b""

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def source(self, generation: int) -> Source:
        return self._sources[generation]

    def find(self, generation: int, offset: int, size: int) -> int:
        """The index in ``bytes`` of what lies at ``offset``; -1 when not all of it is there."""
        at = offset - self._start
        here = self._generation == generation and at >= 0 and at + size <= len(self.bytes)
        return at if here else -1

    def have(self, generation: int, offset: int, size: int) -> int:
        """As ``find``, after reading what is missing. Where the file ends, less is there."""
        at = self.find(generation, offset, size)
        if at >= 0:
            return at
        self.bytes = self.direct(generation, offset, max(size, READ_MIN))
        self._start = offset
        return 0

    def direct(self, generation: int, offset: int, size: int) -> bytes:
        """Read past the window."""
        if self._generation != generation:
            self.close()
            self._file = self._files.open(self._sources[generation].path)
            self._generation = generation
            self.bytes = b""
        assert self._file is not None, "the segment was opened above"
        return self._file.read(offset, size)


def _read_block(
    window: _Window,
    plan: Plan,
    index: int,
    wanted: int,
    *,
    count_max: int,
    bytes_max: int,
) -> LedgerEntries:
    """Entries of one block from ``wanted`` on."""
    generation, offset = located(plan.locations[index])
    if window.find(generation, offset, HEAD_SIZE) < 0:
        window.have(generation, offset, _ahead(plan.locations, index, bytes_max))
    head, lengths, checksums = _head(window, plan, generation, offset, wanted)
    skip = wanted - head.first
    if not 0 <= skip < head.entries:
        raise lost(plan.ledger_id, wanted)
    stop = min(skip + count_max, head.entries)
    total = 0
    for at in range(skip, stop):
        total += lengths[at]
        if total >= bytes_max:
            stop = at + 1
            break
    start = offset + HEAD_SIZE + 8 * head.entries + sum(lengths[:skip])
    if total >= LARGE * (stop - skip):
        data = []
        for length in lengths[skip:stop]:
            data.append(window.direct(generation, start, length))
            start += length
    else:
        base = window.have(generation, start, total)
        data = []
        for length in lengths[skip:stop]:
            data.append(window.bytes[base : base + length])
            base += length
    expected = checksums[skip:stop]
    found = tuple(map(checksum, data))
    if found != expected:
        good = next(
            i for i, pair in enumerate(zip(found, expected, strict=True)) if pair[0] != pair[1]
        )
        if not good:
            raise lost(plan.ledger_id, wanted, f" in {window.source(generation).path}")
        del data[good:]
        expected = expected[:good]
    return LedgerEntries(data, list(expected))


def _ahead(locations: Sequence[int], index: int, room: int) -> int:
    """How many bytes to read at once: up to the last block that starts within what is wanted."""
    here = locations[index]
    reach = here + min(max(2 * room, READ_MIN), READ_MAX)
    last = here
    for place in islice(locations, index + 1, None):
        if not last < place <= reach:
            break
        last = place
    if last > here:
        return last - here + HEAD_SIZE
    return min(room + HEAD_SIZE, 64 * 1024)


def _head(
    window: _Window, plan: Plan, generation: int, offset: int, wanted: int
) -> tuple[Head, tuple[int, ...], tuple[int, ...]]:
    """The verified header of a block, with its tables."""
    head, at = _verified(window, generation, offset)
    if head is None or head.kind != Kind.BLOCK or head.ledger_id != plan.ledger_id:
        raise lost(plan.ledger_id, wanted, f" in {window.source(generation).path}")
    return head, *tables_at(window.bytes, at, head)


def _verified(window: _Window, generation: int, offset: int) -> tuple[Head | None, int]:
    """A header, with its tables in the window, and where it lies there; None: it is damaged."""
    stamp = window.source(generation).stamp
    at = window.have(generation, offset, HEAD_SIZE)
    head = head_at(window.bytes, at, stamp)
    if head is None:
        return None, at
    at = window.have(generation, offset, HEAD_SIZE + 8 * head.entries)
    return (head if head_intact(window.bytes, at, stamp, head) else None), at


def read_records(
    files: Files, source: Source, offsets: Sequence[int], bytes_max: int
) -> list[tuple[int, Head, bytes]]:
    """Whole records of one segment, with their places, until ``bytes_max``; at least one.

    Headers are verified, bodies are not: damage moves along with a block, and is found by readers.
    Raises CorruptEntry for a damaged header.
    """
    records = []
    size = 0
    path, generation = source.path, source.stamp.generation
    with closing(_Window(files, {generation: source})) as window:
        for offset in offsets:
            head, _ = _verified(window, generation, offset)
            if head is None:
                raise CorruptEntry(f"{path} is damaged at offset {offset}")
            record = window.direct(generation, offset, head.size)
            if len(record) < head.size:
                raise CorruptEntry(f"{path} ends before offset {offset + head.size}")
            records.append((location(generation, offset), head, record))
            size += head.size
            if size >= bytes_max:
                break
    return records
