"""Where each entry of each ledger lies: the first entry and the place of every block.

Held in memory, 16 bytes a block, never per entry. Belongs to the event loop.
"""

import asyncio
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import field, replace
from enum import Enum
from typing import Final

from magnetar.errors import CorruptEntry, EntryNotFound
from magnetar.inner.record import HEAD_SIZE, TABLES_SIZE
from magnetar.late_dataclass import dataclass

from .format import location
from .segment_format import Group
from .segments import Segment

_NO_BLOCKS: Final = array("Q")


class LedgerState(Enum):
    """The states of a ledger."""

    OPEN = "takes entries"
    FENCED = "takes no more; appends under way may still be answered"
    ENDED = "a record says how many entries it has, or is on its way"
    DELETED = "gone, with everything it held"


TRANSITIONS: Final[Mapping[LedgerState, frozenset[LedgerState]]] = {
    LedgerState.OPEN: frozenset({LedgerState.FENCED}),
    LedgerState.FENCED: frozenset({LedgerState.ENDED, LedgerState.DELETED}),
    LedgerState.ENDED: frozenset({LedgerState.DELETED}),
    LedgerState.DELETED: frozenset({LedgerState.DELETED}),  # The deletion is repeated.
}
"""Which states may follow each."""


@dataclass(slots=True, eq=False)
class Ledger:
    """One ledger: what has been answered, and where it lies."""

    ledger_id: int
    state: LedgerState = LedgerState.OPEN
    closed_because: str = ""  # Invariant: empty while it is open, and only then.
    next_entry_id: int = 0  # One behind the last entry that was answered.
    size_bytes: int = 0
    reserved: int = 0  # Invariant: >= next_entry_id; appends under way lie between.
    firsts: "array[int]" = field(default_factory=lambda: _NO_BLOCKS)
    locations: "array[int]" = field(default_factory=lambda: _NO_BLOCKS)
    # Invariant: firsts ascend, and locations are parallel to them.
    marked_in: Segment | None = None  # Has its newest CREATED or ENDED record.
    moved: int = 0  # From this block on they lie in order; notes tell of those before it.
    appending: int = 0
    idle: asyncio.Future[None] | None = None

    def fence(self, because: str) -> None:
        """Take no more entries; the first reason stays."""
        if self.state is LedgerState.OPEN:
            self.to(LedgerState.FENCED)
            self.closed_because = because

    def delete(self) -> None:
        """Refuse every read and append from now on."""
        self.fence("it was deleted")
        self.to(LedgerState.DELETED)
        self.closed_because = "it was deleted"

    def to(self, state: LedgerState) -> None:
        """Change its state."""
        change = f"{self.ledger_id}: {self.state.name} to {state.name}"
        assert state in TRANSITIONS[self.state], change
        self.state = state

    @property
    def deleted(self) -> bool:
        return self.state is LedgerState.DELETED

    def mark(self, segment: Segment) -> None:
        """Note that its newest CREATED or ENDED record lies in ``segment``; the former is dead."""
        if self.marked_in is not None:
            self.marked_in.release(self.ledger_id, HEAD_SIZE)
        segment.hold(self.ledger_id, HEAD_SIZE)
        self.marked_in = segment

    async def settled(self) -> None:
        """Return when no append is under way."""
        while self.appending:
            if self.idle is None:
                self.idle = asyncio.get_running_loop().create_future()
            await asyncio.shield(self.idle)

    def fail(self) -> None:
        """Note that an append under way has failed."""
        self.appending -= 1
        self._settle()

    def _settle(self) -> None:
        if not self.appending and self.idle is not None:
            self.idle.set_result(None)
            self.idle = None

    def add(self, first: int, count: int, place: int, body_size: int) -> None:
        """Note the next block: it was answered, and its append is no longer under way."""
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
        """Where the block lies that starts with entry ``first``; None if no block does."""
        at = bisect_left(self.firsts, first)
        if at == len(self.firsts) or self.firsts[at] != first:
            return None
        return self.locations[at]

    def move(self, first: int, place: int) -> None:
        """Note that the block which starts with entry ``first`` lies at ``place`` now."""
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
            self.firsts, self.locations = firsts[:], locations[:]
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


def group_of(segment: Segment, ledger: Ledger) -> Group:
    """The part of a ledger in a full segment: its blocks in the index, and what the notes add."""
    ledger_id, notes = ledger.ledger_id, segment.notes
    noted = notes.groups.get(ledger_id, Group(ledger_id))
    ended = ledger_id in notes.ended
    group = replace(
        noted,
        created=ledger_id in notes.created,
        ended_at=ledger.next_entry_id if ended else None,
    )
    start = bisect_left(ledger.locations, segment.base, ledger.moved)
    stop = bisect_left(ledger.locations, location(segment.generation + 1, 0), start)
    if start < stop:
        last = stop == len(ledger.firsts)
        group.next_entry_id = ledger.next_entry_id if last else ledger.firsts[stop]
        group.firsts = noted.firsts + ledger.firsts[start:stop]
        group.locations = noted.locations + ledger.locations[start:stop]
        mark = HEAD_SIZE if ledger.marked_in is segment else 0
        group.records_size = segment.ledgers[ledger_id] - mark
        entries = group.next_entry_id - ledger.firsts[start]
        tables = HEAD_SIZE * (stop - start) + TABLES_SIZE * entries
        group.body_size += group.records_size - noted.records_size - tables
    group.sort()
    return group
