"""Entries of one ledger, as disjoint, ascending ranges of entry ids. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from operator import sub

Range = tuple[int, int]
"""The first entry of a range and the last one."""


class EntryRanges:
    """Ranges that are added in any order, and removed from below. Look-ups are bisections."""

    __slots__ = ("ends", "starts")

    def __init__(self) -> None:
        # Invariant: both are equally long and ascend, and start <= end < next start - 1.
        self.starts: list[int] = []
        self.ends: list[int] = []

    def __len__(self) -> int:
        return len(self.starts)

    def add(self, first: int, last: int) -> int:
        """Add ``first`` to ``last``; return how many of these entries are new."""
        starts, ends = self.starts, self.ends
        if not ends or first > ends[-1] + 1:  # Most are added in order.
            starts.append(first)
            ends.append(last)
            return last - first + 1
        low = bisect_left(ends, first - 1)
        high = bisect_right(starts, last + 1)
        known = 0
        if low < high:
            known = _entries_in(starts[low:high], ends[low:high])
            first = min(first, starts[low])
            last = max(last, ends[high - 1])
        starts[low:high] = (first,)
        ends[low:high] = (last,)
        return last - first + 1 - known

    def drop_through(self, entry_id: int) -> int:
        """Remove everything up to ``entry_id``; return how many entries were removed."""
        starts, ends = self.starts, self.ends
        whole = bisect_right(ends, entry_id)
        dropped = _entries_in(starts[:whole], ends[:whole])
        del starts[:whole], ends[:whole]
        if starts and starts[0] <= entry_id:
            dropped += entry_id + 1 - starts[0]
            starts[0] = entry_id + 1
        return dropped

    def end_of(self, entry_id: int) -> int | None:
        """Return the last entry of the range that has ``entry_id``; None when no range has it."""
        index = bisect_left(self.ends, entry_id)
        if index < len(self.starts) and self.starts[index] <= entry_id:
            return self.ends[index]
        return None

    def start_of(self, entry_id: int) -> int | None:
        """Return the first entry of the range that has ``entry_id``; None when no range has it."""
        index = bisect_left(self.ends, entry_id)
        if index < len(self.starts) and self.starts[index] <= entry_id:
            return self.starts[index]
        return None

    def gaps(self, first: int, last: int) -> list[Range]:
        """Return which of ``first`` to ``last`` are in no range."""
        starts, ends = self.starts, self.ends
        found: list[Range] = []
        index = bisect_left(ends, first)
        while first <= last and index < len(starts) and starts[index] <= last:
            if first < starts[index]:
                found.append((first, starts[index] - 1))
            first = ends[index] + 1
            index += 1
        if first <= last:
            found.append((first, last))
        return found


def _entries_in(starts: list[int], ends: list[int]) -> int:
    return sum(ends) - sum(starts) + len(starts)


def ranges_of(entry_ids: Iterable[int]) -> list[Range]:
    """Return the fewest ascending ranges of entries, which may repeat. There must be one entry."""
    unique = set(entry_ids)
    first, last = min(unique), max(unique)
    if last - first + 1 == len(unique):
        return [(first, last)]
    ascending = sorted(unique)
    # A range ends where the next entry is not its neighbour.
    steps = map(sub, ascending[1:], ascending)
    cuts = [index for index, step in enumerate(steps, 1) if step != 1]
    return [
        (ascending[start], ascending[stop - 1])
        for start, stop in zip([0, *cuts], [*cuts, len(ascending)], strict=True)
    ]
