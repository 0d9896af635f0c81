"""Entries that are due at some time, in slots: what is due within one tick comes together. Pure.

A slot is a set of entries and the time when it is emptied, a multiple of the tick: never before
an entry is due, and less than a tick after it. An entry is in one slot at a time. Adding, moving
and discarding one costs the same however many there are.

Entries are named by what they are: the positions of messages, the ids of transactions.
"""

from collections.abc import Iterable
from math import ceil
from typing import Final, Generic, TypeVar

T = TypeVar("T", bound=tuple[int, int])


class TimerWheel(Generic[T]):
    """Entries, and when each is due."""

    def __init__(self) -> None:
        self.entries: Final[dict[T, set[T]]] = {}  # Each with its slot.
        self._slots: dict[float, set[T]] = {}  # By the time when it is emptied.

    @property
    def first(self) -> float | None:
        """When the first slot is to be emptied."""
        return min(self._slots, default=None)

    def add(self, entries: Iterable[T], due: float, tick_s: float) -> float:
        """Add those that are not here yet. Returns when their slot is to be emptied."""
        slot_due, slot = self._slot(due, tick_s)
        for entry in entries:
            if entry not in self.entries:
                self.entries[entry] = slot
                slot.add(entry)
        return slot_due

    def move(self, entries: Iterable[T], due: float, tick_s: float) -> float:
        """Add entries, or give them another time. Returns when their slot is to be emptied."""
        slot_due, slot = self._slot(due, tick_s)
        for entry in entries:
            self.discard(entry)
            self.entries[entry] = slot
            slot.add(entry)
        return slot_due

    def discard(self, entry: T) -> None:
        slot = self.entries.pop(entry, None)
        if slot is not None:
            slot.remove(entry)

    def discard_through(self, mark: T) -> None:
        for entry in [each for each in self.entries if each <= mark]:
            self.discard(entry)

    def take(self, now: float) -> list[T]:
        """Empty the slots whose time has come. Returns their entries, in no order."""
        taken: list[T] = []
        for due in [each for each in self._slots if each <= now]:
            taken += self._slots.pop(due)
        for entry in taken:
            del self.entries[entry]
        return taken

    def clear(self) -> None:
        self.entries.clear()
        self._slots.clear()

    def _slot(self, due: float, tick_s: float) -> tuple[float, set[T]]:
        slot_due = ceil(due / tick_s) * tick_s
        if slot_due < due:  # The division was rounded down.
            slot_due += tick_s
        slot = self._slots.get(slot_due)
        if slot is None:
            slot = self._slots[slot_due] = set()
        return slot_due, slot
