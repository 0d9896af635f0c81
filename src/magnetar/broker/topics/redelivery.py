"""What is to be delivered again, and how often each entry already was. Pure."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from magnetar.model.position import Position


class ReplayQueue:
    """Entries that were read but are in nobody's hands, in log order."""

    def __init__(self) -> None:
        self._members: set[Position] = set()
        self._ordered: list[Position] = []  # Invariant: sorted, the same positions as _members.

    def __len__(self) -> int:
        return len(self._ordered)

    def __contains__(self, position: Position) -> bool:
        return position in self._members

    def __iter__(self) -> Iterator[Position]:
        return iter(self._ordered)

    def add(self, positions: Collection[Position]) -> None:
        """Queue ``positions``; those already queued stay once."""
        fresh = set(positions).difference(self._members)
        if not fresh:
            return
        self._members.update(fresh)
        if len(fresh) == 1:
            insort(self._ordered, fresh.pop())
        else:
            self._ordered.extend(fresh)
            self._ordered.sort()  # nearly sorted input: timsort merges the two parts

    def discard(self, positions: Iterable[Position]) -> None:
        """Forget ``positions``: delivered, acknowledged or trimmed."""
        gone = self._members.intersection(positions)
        if not gone:
            return
        self._members -= gone
        # Mostly neighbours, and mostly the first ones: look only where they lie.
        ordered = self._ordered
        start = bisect_left(ordered, min(gone))
        stop = bisect_right(ordered, max(gone), start)
        if stop - start == len(gone):
            del ordered[start:stop]
        else:
            ordered[start:stop] = [p for p in ordered[start:stop] if p not in gone]

    def first(self, count_max: int) -> list[Position]:
        """The first ``count_max`` positions, in log order; they stay queued."""
        return list(islice(self._ordered, count_max))

    def clear(self) -> None:
        self._members.clear()
        self._ordered.clear()


class RedeliveryCounts:
    """How often each unacknowledged entry was asked for again. In memory only, as in Pulsar."""

    def __init__(self) -> None:
        self._counts: dict[Position, int] = {}

    def __bool__(self) -> bool:
        return bool(self._counts)

    def add(self, positions: Iterable[Position]) -> None:
        counts = self._counts
        for position in positions:
            counts[position] = counts.get(position, 0) + 1

    def of(self, ledger_id: int, first_entry_id: int, count: int) -> list[int] | None:
        """The counts of consecutive entries; None when all are 0."""
        if not self._counts:
            return None
        get = self._counts.get
        found = [
            get(Position(ledger_id, entry), 0)
            for entry in range(first_entry_id, first_entry_id + count)
        ]
        return found if any(found) else None

    def discard(self, positions: Iterable[Position]) -> None:
        if self._counts:
            for position in positions:
                self._counts.pop(position, None)

    def clear(self) -> None:
        self._counts.clear()
