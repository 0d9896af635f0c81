"""Entries that are due at some time, in slots: what is due within one tick comes together. Pure.

A slot is a set of entries and the time when it is emptied, a multiple of the tick: never before
an entry is due, and less than a tick after it. An entry is in one slot at a time. Adding, moving
and discarding one costs the same however many there are.
"""

from collections.abc import Iterable
from math import ceil
from typing import Final

from magnetar.model.position import Position


class TimerWheel:
    """Entries, and when each is due."""

    entries: Final[dict[Position, set[Position]]]  # Each with its slot.

    def __init__(self) -> None:
        self.entries = {}
        self._slots: dict[float, set[Position]] = {}  # By the time when it is emptied.

    @property
    def first(self) -> float | None:
        """When the first slot is to be emptied."""
        return min(self._slots, default=None)

    def add(self, positions: Iterable[Position], due: float, tick_s: float) -> float:
        """Add those that are not here yet. Returns when their slot is to be emptied."""
        slot_due, slot = self._slot(due, tick_s)
        for position in positions:
            if position not in self.entries:
                self.entries[position] = slot
                slot.add(position)
        return slot_due

    def move(self, positions: Iterable[Position], due: float, tick_s: float) -> float:
        """Add entries, or give them another time. Returns when their slot is to be emptied."""
        slot_due, slot = self._slot(due, tick_s)
        for position in positions:
            self.discard(position)
            self.entries[position] = slot
            slot.add(position)
        return slot_due

    def discard(self, position: Position) -> None:
        slot = self.entries.pop(position, None)
        if slot is not None:
            slot.remove(position)

    def discard_through(self, mark: Position) -> None:
        for position in [each for each in self.entries if each <= mark]:
            self.discard(position)

    def take(self, now: float) -> list[Position]:
        """Empty the slots whose time has come. Returns their entries, in no order."""
        taken: list[Position] = []
        for due in [each for each in self._slots if each <= now]:
            taken += self._slots.pop(due)
        for position in taken:
            del self.entries[position]
        return taken

    def clear(self) -> None:
        self.entries.clear()
        self._slots.clear()

    def _slot(self, due: float, tick_s: float) -> tuple[float, set[Position]]:
        slot_due = ceil(due / tick_s) * tick_s
        if slot_due < due:  # The division was rounded down.
            slot_due += tick_s
        slot = self._slots.get(slot_due)
        if slot is None:
            slot = self._slots[slot_due] = set()
        return slot_due, slot
