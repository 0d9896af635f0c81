"""Where each entry of each ledger lies: the first entry and the place of every block.

Held in memory, 16 bytes a block, never per entry. Belongs to the event loop.
"""

import asyncio
from array import array
from bisect import bisect_left, bisect_right
from typing import Final

from magnetar.errors import CorruptEntry, EntryNotFound

from .format import HEAD_SIZE, located, location
from .segment_format import Group
from .segments import Segment

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
        self.moved = False  # Compaction moved a block of it since the start.
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
        self.moved = True
        self.locations[bisect_left(self.firsts, first)] = place

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


def group_of(segment: Segment, ledger: Ledger) -> Group | None:
    """What a full segment holds of a ledger; None: only reading its records would tell.

    Moved blocks lie anywhere. All others lie in their ledger's order, one behind the other. The
    first record of a ledger is the one that says it was created.
    """
    if ledger.moved:
        return None
    generation = segment.generation
    start = bisect_left(ledger.locations, location(generation, 0))
    stop = bisect_left(ledger.locations, location(generation + 1, 0), start)
    group = Group(ledger.ledger_id)
    group.created = ledger.generations[0] == generation
    group.ended_at = ledger.next_entry_id if ledger.ended_in == generation else None
    if start < stop:
        last = stop == len(ledger.firsts)
        group.firsts = ledger.firsts[start:stop]
        group.locations = ledger.locations[start:stop]
        group.next_entry_id = ledger.next_entry_id if last else ledger.firsts[stop]
        marked = HEAD_SIZE if ledger.mark_at == generation else 0
        group.records_size = segment.ledgers[ledger.ledger_id] - marked
        heads = HEAD_SIZE * (stop - start) + 8 * (group.next_entry_id - group.firsts[0])
        group.body_size = group.records_size - heads
    return group


def generation_of(place: int) -> int:
    """The segment a place is in."""
    return located(place)[0]
