"""Reads a segment's records from front to back: to seal it, or to find out what a crash left.

Blocking, for a thread. The records of one segment were written in order, and each says how much
of the segment was safely on disk before it. So a bad place with a later record that vouches for it
is damage: the records around it stay, and the entries in it are lost. A bad place that no record
vouches for is where a crash tore the log: nothing behind it was ever answered, and it is cut off
there.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from magnetar.errors import StorageError

from .disk import File
from .format import (
    HEAD_SIZE,
    SALT_SIZE,
    Head,
    Kind,
    Stamp,
    body_intact,
    location,
    lone_entries,
)
from .segment_format import (
    PAGE,
    TRAILER_SIZE,
    BadFormat,
    Contents,
    Group,
    SegmentHeader,
    decode_footer,
    decode_header,
    footer_place,
    header_size,
)
from .segments import Segment
from .window import Window

WINDOW: Final = 1024 * 1024
"""Bytes read at once."""


class _Doubtful(NamedTuple):
    offset: int
    head: Head


@dataclass(slots=True)
class Scan:
    """What a segment's records say."""

    end: int  # Where the last record that counts ends.
    synced: int  # Everything before this was on disk when the last record was written.
    groups: dict[int, Group] = field(default_factory=dict)
    deletions: list[int] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)  # Offsets of records that are lost.
    torn: bool = False  # Something that was never answered lies behind the end.

    @property
    def contents(self) -> Contents:
        return Contents(self.groups, self.deletions, self.end)


def read_header(file: File, path: Path) -> SegmentHeader:
    """A segment's header. Raises StorageError, naming the file."""
    try:
        page = file.read(0, PAGE)
        size = header_size(page)
        return decode_header(page if size == PAGE else file.read(0, size))
    except BadFormat as bad:
        raise StorageError(
            f"{path} cannot be used: {bad}. Restore the file from a backup, or, to go on without "
            "the ledgers in it, move it out of the folder"
        ) from bad


def find_footer(file: File, stamp: Stamp) -> tuple[int, int] | None:
    """Where the footer starts and how long it is, if the segment ends in one."""
    size = file.size()
    place = footer_place(file.read(max(0, size - TRAILER_SIZE), TRAILER_SIZE), stamp)
    return place if place is not None and sum(place) == size else None


def read_footer(file: File, stamp: Stamp) -> Contents | None:
    """What the footer says; None when there is none, or it is damaged."""
    place = find_footer(file, stamp)
    return None if place is None else decode_footer(file.read(*place), stamp)


def scan(
    file: File,
    stamp: Stamp,
    start: int,
    limit: int,
    *,
    newest: bool,
    verify_bodies: bool,
    read_min: int = WINDOW,
) -> Scan:
    """Read the records between ``start`` and ``limit``.

    ``newest``: nobody knows how far the log got, and what nothing vouches for is cut off.
    Otherwise all of it was answered, and what is bad there is damage.
    """
    window = Window(file, stamp, read_min=read_min, end=min(limit, file.size()))
    result = Scan(end=start, synced=start)
    doubtful: list[_Doubtful] = []  # What lies behind the first bad place.
    bad: list[int] = []
    at = start
    while at < window.end:
        head = window.head(at)
        if head is None:
            bad.append(at)
            at = _next_record(window, at + 1)
            continue
        if verify_bodies and not _body_intact(window, at, head):
            bad.append(at)
        if bad:
            doubtful.append(_Doubtful(at, head))
        else:
            _note(result, stamp.generation, at, head)
        at += head.size
        if head.entries == 1 and not bad:
            at = _note_lone_entries(result, window, at, verify_bodies=verify_bodies)
    cut = window.end
    if newest:
        vouched = max([result.synced, *(found.head.synced for found in doubtful)])
        cut = min((place for place in bad if place >= vouched), default=cut)
    for found in doubtful:
        if found.offset < cut:
            _note(result, stamp.generation, *found)
    result.damaged = [place for place in bad if place < result.end]
    result.torn = newest and (
        any(found.offset >= cut for found in doubtful) or file.read(cut, SALT_SIZE) == stamp.salt
    )
    for group in result.groups.values():
        group.sort()
    return result


def _note_lone_entries(result: Scan, window: Window, at: int, *, verify_bodies: bool) -> int:
    """Note blocks of one entry, faster. Returns where the first record lies that needs care."""
    index = window.have(at, 1)
    stamp, start, groups, newest = window.stamp, window.start, result.groups, 0
    base = location(stamp.generation, start)
    entries = lone_entries(window.bytes, index, stamp, verify_bodies=verify_bodies)
    for index, synced, ledger_id, first, size in entries:
        if synced > start + index:
            break
        group = groups.get(ledger_id)
        if group is None:
            group = groups[ledger_id] = Group(ledger_id)
        group.firsts.append(first)
        group.locations.append(base + index)
        group.next_entry_id = max(group.next_entry_id, first + 1)
        group.body_size += size
        whole = size + HEAD_SIZE + 8
        group.records_size += whole
        at = start + index + whole
        newest = synced
    result.end, result.synced = at, max(result.synced, newest)
    return at


def _note(result: Scan, generation: int, at: int, head: Head) -> None:
    """Note a record that counts."""
    result.synced = max(result.synced, head.synced)
    result.end = at + head.size
    if head.kind == Kind.DELETED:
        result.deletions.append(head.ledger_id)
        return
    group = result.groups.get(head.ledger_id)
    if group is None:
        group = result.groups[head.ledger_id] = Group(head.ledger_id)
    if head.kind == Kind.BLOCK:
        group.add_block(head, location(generation, at))
    elif head.kind == Kind.CREATED:
        group.created = True
    elif head.kind == Kind.ENDED:
        group.ended_at = head.first


def read_contents(file: File, segment: Segment) -> Contents:
    """What the records of a segment say, all of which were answered."""
    scanned = scan(
        file, segment.stamp, segment.start, segment.tail, newest=False, verify_bodies=False
    )
    return scanned.contents._replace(end=segment.tail)


def _body_intact(window: Window, at: int, head: Head) -> bool:
    index = window.have(at, head.size)
    return index + head.size <= len(window.bytes) and body_intact(window.bytes, index, head)


def _next_record(window: Window, at: int) -> int:
    """Where the next intact record starts; the end, when there is none."""
    mark = window.stamp.salt
    while at < window.end:
        index = window.have(at, min(HEAD_SIZE, window.end - at))
        found = window.bytes.find(mark, index)
        if found < 0:
            at = max(at + 1, window.start + len(window.bytes) - len(mark) + 1)
            continue
        at = window.start + found
        if window.head(at) is not None:
            return at
        at += 1
    return window.end
