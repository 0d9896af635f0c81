"""The part of a segment's file that is in memory, and the records in it. Blocking, for a thread."""

from magnetar.inner import cut_records
from magnetar.inner.plain.records import Blocks, Mark
from magnetar.inner.record import HEAD_SIZE, NUMBER_MAX

from .disk import File
from .format import Head, Stamp, head_at, head_intact, location


class Window:
    """Moves over a file as it is asked for; reads at least ``read_min`` bytes at once."""

    def __init__(self, file: File, stamp: Stamp, *, read_min: int, end: int = NUMBER_MAX) -> None:
        self.file = file
        self.stamp = stamp
        self.end = end  # Nothing behind this is read.
        self.start = 0
        self.bytes = b""
        self._read_min = read_min

    def find(self, at: int, size: int) -> int:
        """The index in ``bytes`` of what lies at ``at``; -1 when not all of it is there."""
        index = at - self.start
        return index if index >= 0 and index + size <= len(self.bytes) else -1

    def have(self, at: int, size: int) -> int:
        """As ``find``, after reading what is missing. Where the file ends, less is there."""
        index = self.find(at, size)
        if index >= 0:
            return index
        self.bytes = self.file.read(at, min(max(size, self._read_min), self.end - at))
        self.start = at
        return 0

    def head(self, at: int) -> Head | None:
        """The verified header of a record at ``at`` that ends before the end; its tables follow."""
        if at + HEAD_SIZE > self.end:
            return None
        index = self.have(at, HEAD_SIZE)
        head = head_at(self.bytes, index, self.stamp)
        # A record says what was synced before it: one that claims more was not written by us.
        if head is None or at + head.size > self.end or head.synced > at:
            return None
        index = self.have(at, HEAD_SIZE + 8 * head.entries)
        return head if head_intact(self.bytes, index, self.stamp, head) else None

    def records(
        self, at: int, end: int, *, verify_bodies: bool
    ) -> tuple[int, int, list[Blocks], list[Mark]]:
        """What ``cut_records`` finds in memory from ``at`` on: where that ends, and the rest."""
        start, stamp = self.start, self.stamp
        place = location(stamp.generation, start)
        cut, synced, blocks, marks = cut_records(
            self.bytes, at - start, end - start, place, stamp.salt, stamp.seed, verify_bodies
        )
        return start + cut, synced, blocks, marks
