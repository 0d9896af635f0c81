"""Where each entry of each ledger lies: the first entry and the place of every block.

Held in memory, 16 bytes a block, never per entry. Belongs to the event loop.
"""

import asyncio
from array import array
from bisect import bisect_left, bisect_right
from typing import Final

from magnetar.errors import CorruptEntry, EntryNotFound

from .format import HEAD_SIZE, TABLES_SIZE, located, location
from .segment_format import Group
from .segments import Moved, Segment

_NO_BLOCKS: Final = array("Q")


class Ledger:
    """One ledger: what has been answered, and where it lies."""

    __slots__ = (
        "appending",
        "closed_because",
        "deleted",
        "ended",
        "ended_in",
        "firsts",
        "generations",
        "idle",
        "ledger_id",
        "locations",
        "mark_at",
        "moved",
        "next_entry_id",
        "reserved",
        "size_bytes",
    )

    def __init__(self, ledger_id: int, *, closed_because: str = "") -> None:
        self.ledger_id = ledger_id
        self.closed_because = closed_because  # Invariant: once not empty, nothing is appended.
        self.deleted = False
        self.ended = False  # An ENDED record is written, or on its way: it says how many entries.
        self.next_entry_id = 0  # One behind the last entry that was answered.
        self.size_bytes = 0
        self.reserved = 0  # Invariant: >= next_entry_id; appends under way lie between.
        self.firsts = _NO_BLOCKS  # Invariant: ascending, parallel to locations.
        self.locations = _NO_BLOCKS
        self.generations: tuple[int, ...] = ()  # The segments that hold a record of it.
        self.mark_at: int | None = None  # The segment with its newest CREATED or ENDED record.
        self.ended_in: int | None = None  # Where an ENDED record of it landed, if any did.
        self.moved = 0  # Compaction has moved none of the blocks from this one on.
        self.appending = 0
        self.idle: asyncio.Future[None] | None = None

    async def settled(self) -> None:
        """Return when no append is under way."""
        while self.appending:
            if self.idle is None:
                self.idle = asyncio.get_running_loop().create_future()
            await asyncio.shield(self.idle)

    def fail(self) -> None:
        """An append failed."""
        self.appending -= 1
        self._settle()

    def _settle(self) -> None:
        if not self.appending and self.idle is not None:
            self.idle.set_result(None)
            self.idle = None

    def add(self, first: int, count: int, place: int, body_size: int) -> None:
        """The next block was answered: one append is no longer under way."""
        firsts = self.firsts
        if firsts is _NO_BLOCKS:
            self.firsts = firsts = array("Q")
            self.locations = array("Q")
        firsts.append(first)
        self.locations.append(place)
        self.next_entry_id = first + count
        self.size_bytes += body_size
        self.appending -= 1
        if self.idle is not None:
            self._settle()

    def place(self, first: int) -> int | None:
        """Where the block lies that starts with entry ``first``; None: no block does."""
        at = bisect_left(self.firsts, first)
        if at == len(self.firsts) or self.firsts[at] != first:
            return None
        return self.locations[at]

    def move(self, first: int, place: int) -> None:
        """The block that starts with entry ``first`` lies at ``place`` now."""
        at = bisect_left(self.firsts, first)
        self.locations[at] = place
        self.moved = max(self.moved, at + 1)

    def blocks(self, first: int, count_max: int) -> "tuple[array[int], array[int]]":
        """First entries and places of the blocks with entries ``first`` to ``first + count_max``.

        Raises EntryNotFound beyond the end, and CorruptEntry where damage has taken the block.
        """
        if not 0 <= first < self.next_entry_id:
            raise EntryNotFound(
                f"ledger {self.ledger_id} has no entry {first}: "
                f"it ends at entry {self.next_entry_id - 1}"
            )
        start = bisect_right(self.firsts, first) - 1
        stop = bisect_left(self.firsts, first + count_max)
        if start < 0:
            raise lost(self.ledger_id, first)
        return self.firsts[start:stop], self.locations[start:stop]

    def merge(self, firsts: "array[int]", locations: "array[int]") -> list[int]:
        """Add the blocks a later segment holds, ascending, while recovering.

        Returns the places of blocks that are no longer needed: a copy made by compaction replaces
        its original.
        """
        if not firsts:
            return []
        if not self.firsts:
            self.firsts, self.locations = firsts, locations
            return []
        last = self.firsts[-1]
        self.firsts += firsts
        self.locations += locations
        if firsts[0] > last:
            return []
        blocks: dict[int, int] = {}
        replaced = []
        for first, place in zip(self.firsts, self.locations, strict=True):
            if first in blocks:
                replaced.append(blocks[first])
            blocks[first] = place
        self.firsts = array("Q", sorted(blocks))
        self.locations = array("Q", [blocks[first] for first in self.firsts])
        return replaced


def lost(ledger_id: int, entry_id: int, where: str = "") -> CorruptEntry:
    """The error for an entry whose bytes are damaged or gone."""
    return CorruptEntry(
        f"entry {entry_id} of ledger {ledger_id} is damaged on disk{where}; it cannot be read, "
        "other entries can: skip it, or restore the data folder from a backup"
    )


def hold(segment: Segment, ledger: Ledger, size: int) -> None:
    """``segment`` has a record of ``ledger``; ``size`` bytes of it are alive."""
    held = segment.ledgers.get(ledger.ledger_id)
    if held is None:
        ledger.generations += (segment.generation,)
        held = 0
    segment.ledgers[ledger.ledger_id] = held + size
    segment.live += size


def release(segment: Segment, ledger: Ledger, size: int) -> None:
    """``size`` bytes of ``ledger`` in ``segment`` are dead."""
    segment.ledgers[ledger.ledger_id] -= size
    segment.live -= size


def group_of(segment: Segment, ledger: Ledger) -> Group:
    """What a full segment holds of a ledger, from what is known of both.

    Blocks lie in their ledger's order, one behind the other, but for those that were moved here.
    The first record of a ledger is the one that says it was created.
    """
    ledger_id, generation = ledger.ledger_id, segment.generation
    start = bisect_left(ledger.locations, segment.base, ledger.moved)
    stop = bisect_left(ledger.locations, location(generation + 1, 0), start)
    group = Group(ledger_id)
    group.created = ledger.generations[0] == generation or ledger_id in segment.marked
    group.ended_at = ledger.next_entry_id if ledger.ended_in == generation else None
    group.firsts = ledger.firsts[start:stop]
    group.locations = ledger.locations[start:stop]
    entries = 0
    if start < stop:
        last = stop == len(ledger.firsts)
        group.next_entry_id = ledger.next_entry_id if last else ledger.firsts[stop]
        entries = group.next_entry_id - group.firsts[0]
    moved = segment.moved.get(ledger_id)
    if moved:
        entries += _add_moved(group, moved)
    marked = HEAD_SIZE if ledger.mark_at == generation else 0
    group.records_size = segment.ledgers[ledger_id] - marked
    tables = HEAD_SIZE * len(group.firsts) + TABLES_SIZE * entries
    group.body_size = group.records_size - tables
    return group


def _add_moved(group: Group, moved: list[Moved]) -> int:
    """Add blocks that are older than the others. Returns how many entries they hold."""
    moved.sort()
    group.firsts = array("Q", [block.first for block in moved]) + group.firsts
    group.locations = array("Q", [block.place for block in moved]) + group.locations
    group.next_entry_id = max(group.next_entry_id, moved[-1].first + moved[-1].entries)
    return sum(block.entries for block in moved)


def generation_of(place: int) -> int:
    """The segment a place is in."""
    return located(place)[0]
