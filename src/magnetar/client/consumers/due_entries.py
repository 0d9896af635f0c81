"""Entries that are due a fixed time after each was added. Pure."""

from collections.abc import Iterable

from magnetar.model.position import Position


class DueEntries:
    """Entries, each of which is due ``delay_s`` after it was added last."""

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._due: dict[Position, float] = {}  # Invariant: times ascend, as they are added.

    def __len__(self) -> int:
        return len(self._due)

    @property
    def first(self) -> float | None:
        """When the first one is due."""
        return next(iter(self._due.values()), None)

    def add(self, positions: Iterable[Position], now: float) -> None:
        for position in positions:
            self._due.pop(position, None)
            self._due[position] = now + self._delay_s

    def discard(self, position: Position) -> None:
        self._due.pop(position, None)

    def discard_through(self, mark: Position) -> None:
        for position in [each for each in self._due if each <= mark]:
            del self._due[position]

    def take(self, now: float) -> list[Position]:
        """Take the entries that are due."""
        taken = []
        for position, due in self._due.items():
            if due > now:
                break
            taken.append(position)
        for position in taken:
            del self._due[position]
        return taken

    def clear(self) -> None:
        self._due.clear()
