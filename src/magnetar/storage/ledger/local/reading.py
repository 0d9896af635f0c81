"""Entries back from the disk. Blocking, for a thread; every entry is verified.

Blocks that lie near one another are read in one call, large entries each in one of its own.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from magnetar.errors import CorruptEntry
from magnetar.inner import checksum, cut_entries
from magnetar.inner.record import HEAD_SIZE
from magnetar.storage.ledger.store import LedgerEntries

from .disk import Files
from .format import Head, Kind, Stamp, located, location, tables_at
from .index import lost
from .window import Window

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
    windows: dict[int, Window] = {}
    with ExitStack() as opened:
        for index, place in enumerate(plan.locations):
            wanted = first + len(data)
            generation = located(place)[0]
            window = windows.get(generation)
            if window is None:
                source = plan.sources[generation]
                file = opened.enter_context(closing(files.open(source.path)))
                window = windows[generation] = Window(file, source.stamp, read_min=READ_MIN)
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


def _read_block(
    window: Window,
    plan: Plan,
    index: int,
    wanted: int,
    *,
    count_max: int,
    bytes_max: int,
) -> LedgerEntries:
    """Entries of one block from ``wanted`` on."""
    generation, offset = located(plan.locations[index])
    if window.find(offset, HEAD_SIZE) < 0:
        window.have(offset, _ahead(plan.locations, index, bytes_max))
    head = _block_head(window, plan, generation, offset, wanted)
    lengths, checksums = tables_at(window.bytes, offset - window.start, head)
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
    lengths, checksums = lengths[skip:stop], checksums[skip:stop]
    data = []
    if total < LARGE * len(lengths):
        at = window.have(start, total)
        data = cut_entries(window.bytes, at, lengths, checksums)
    else:
        for length, expected in zip(lengths, checksums, strict=True):
            entry = window.file.read(start, length)
            if checksum(entry) != expected:
                break
            data.append(entry)
            start += length
    if lengths and not data:
        raise _damaged(plan, generation, wanted)
    return LedgerEntries(data, checksums[: len(data)])


def _block_head(window: Window, plan: Plan, generation: int, offset: int, wanted: int) -> Head:
    head = window.head(offset)
    if head is None or head.kind != Kind.BLOCK or head.ledger_id != plan.ledger_id:
        raise _damaged(plan, generation, wanted)
    return head


def _damaged(plan: Plan, generation: int, entry_id: int) -> CorruptEntry:
    return lost(plan.ledger_id, entry_id, f" in {plan.sources[generation].path}")


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


def read_records(
    files: Files, source: Source, offsets: Sequence[int], bytes_max: int
) -> list[tuple[int, Head, bytes]]:
    """Whole records of one segment, with their places, until ``bytes_max``; at least one.

    Headers are verified, bodies are not: damage moves along with a block, and is found by readers.
    Raises CorruptEntry for a damaged header.
    """
    records = []
    size = 0
    path, stamp = source
    with closing(files.open(path)) as file:
        window = Window(file, stamp, read_min=READ_MIN)
        for offset in offsets:
            head = window.head(offset)
            if head is None:
                raise CorruptEntry(f"{path} is damaged at offset {offset}")
            record = file.read(offset, head.size)
            if len(record) < head.size:
                raise CorruptEntry(f"{path} ends before offset {offset + head.size}")
            records.append((location(stamp.generation, offset), head, record))
            size += head.size
            if size >= bytes_max:
                break
    return records
