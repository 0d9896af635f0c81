"""Reads a segment's records from front to back: to seal it, or to find out what a crash left.

Blocking, for a thread. The records of one segment were written in order, and each says how much
of the segment was safely on disk before it; of the newest segment the mark beside it says so, too.
So a bad place with a later record or a mark that vouches for it is damage: the records around it
stay, and the entries in it are lost. A bad place that nothing vouches for is where a crash tore the
log, and it is cut off there.
"""

from dataclasses import field
from pathlib import Path
from typing import Final, NamedTuple

from magnetar.errors import StorageError
from magnetar.inner.plain.records import Blocks, Mark
from magnetar.inner.record import HEAD_SIZE, SALT_SIZE
from magnetar.late_dataclass import dataclass
from magnetar.model.log_damage import NOTHING_CUT, Cut

from .disk import File
from .format import Kind, Stamp, located
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


class _Found(NamedTuple):
    """Records one behind the other: where they start and end, and what they say."""

    start: int
    end: int
    synced: int
    blocks: list[Blocks]
    marks: list[Mark]

    @property
    def records(self) -> int:
        return sum(len(blocks[1]) for blocks in self.blocks) + len(self.marks)


@dataclass(slots=True)
class Scan:
    """The contents of a segment, read from its records."""

    end: int  # Where the last record that counts ends.
    synced: int  # Everything before this was on disk when the last record was written.
    groups: dict[int, Group] = field(default_factory=dict)
    deletions: list[int] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)  # Offsets of records that are lost.
    cut: Cut = NOTHING_CUT  # What lies behind the end, and does not count.

    @property
    def contents(self) -> Contents:
        return Contents(self.groups, self.deletions, self.end)

    def group(self, ledger_id: int) -> Group:
        """A ledger as the records read so far describe it."""
        group = self.groups.get(ledger_id)
        if group is None:
            group = self.groups[ledger_id] = Group(ledger_id)
        return group


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
    synced: int = 0,
    read_min: int = WINDOW,
) -> Scan:
    """Read the records between ``start`` and ``limit``.

    ``newest``: nobody knows how far the log got, and what nothing vouches for is cut off.
    ``synced`` is what the mark says of it. Otherwise all of it was answered, and what is bad there
    is damage.
    """
    window = Window(file, stamp, read_min=read_min, end=min(limit, file.size()))
    result = Scan(end=start, synced=start)
    bad: list[int] = []
    doubtful = _read(window, result, bad, verify_bodies=verify_bodies, synced=synced)
    cut = window.end
    if newest:
        vouched = max([synced, result.synced, *(found.synced for found in doubtful)])
        cut = min((place for place in bad if place >= vouched), default=cut)
    for found in doubtful:
        if found.start < cut:
            _note(result, found)
    if result.end == window.end < synced:  # The file was longer.
        bad.append(window.end)
    result.end = max(result.end, min(synced, window.end))
    result.synced = max(result.synced, min(synced, window.end))
    result.damaged = [place for place in bad if place < result.end or place == window.end]
    if newest:
        behind = [found for found in doubtful if found.start >= cut]
        result.cut = _cut_off(window, behind, [place for place in bad if place >= cut])
    for group in result.groups.values():
        group.sort()
    return result


def _read(
    window: Window, result: Scan, bad: list[int], *, verify_bodies: bool, synced: int
) -> list[_Found]:
    """Note the records before the first bad place; return those behind it, and all ``bad`` places.

    Where a record ought to begin at ``synced``, and none does, is one, too.
    """
    doubtful: list[_Found] = []
    at = result.end
    while at < window.end:
        head = window.head(at)
        if head is None:
            bad.append(at)
            gap, at = at, _next_record(window, at + 1)
            if gap < synced < at:
                bad.append(synced)
            continue
        if verify_bodies:
            window.have(at, head.size)
        found = _Found(at, *window.records(at, window.end, verify_bodies=verify_bodies))
        if found.end == at:  # The body is damaged; it keeps its place.
            bad.append(at)
            found = _Found(at, *window.records(at, at + head.size, verify_bodies=False))
        if bad:
            doubtful.append(found)
        else:
            _note(result, found)
        at = found.end
    return doubtful


def _cut_off(window: Window, behind: list[_Found], bad: list[int]) -> Cut:
    """Count what lies behind the end: records that can be read, and those that begin at least."""
    read = {found.start for found in behind}
    begun = [
        place
        for place in bad
        if place not in read and window.file.read(place, SALT_SIZE) == window.stamp.salt
    ]
    places = [place for found in behind for blocks in found.blocks for place in blocks[2]]
    heads = [window.head(located(place)[1]) for place in places]
    return Cut(
        len(begun) + sum(found.records for found in behind),
        sum(head.entries for head in heads if head is not None),
    )


def _note(result: Scan, found: _Found) -> None:
    """Note records that count."""
    result.synced = max(result.synced, found.synced)
    result.end = found.end
    for blocks in found.blocks:
        result.group(blocks[0]).add(blocks)
    for kind, ledger_id, number in found.marks:
        if kind == Kind.DELETED:
            result.deletions.append(ledger_id)
        elif kind == Kind.CREATED:
            result.group(ledger_id).created = True
        elif kind == Kind.ENDED:
            result.group(ledger_id).ended_at = number
        else:  # Of a later version.
            result.group(ledger_id)


def read_contents(file: File, segment: Segment) -> Contents:
    """What the records of a segment say, all of which were answered."""
    scanned = scan(
        file, segment.stamp, segment.start, segment.tail, newest=False, verify_bodies=False
    )
    return scanned.contents._replace(end=segment.tail)


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
