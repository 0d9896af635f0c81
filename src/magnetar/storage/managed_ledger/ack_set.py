"""What is acknowledged on a cursor: everything up to a mark, ranges beyond it, bits of batches.

The messages of a batch may be acknowledged one by one. The *ack set* of its entry has one bit per
message, in 64-bit words, least significant first, and 1 means pending, as in the protocol. An ack
set only loses bits; the entry is acknowledged when none is left. Of entries that are not
acknowledged it is also known how often consumers asked for them again. Pure.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import add, and_
from typing import Any

from magnetar.model.position import Position
from magnetar.storage.managed_ledger.entry_ranges import EntryRanges, Range, ranges_of
from magnetar.storage.managed_ledger.layout import Layout


class AckSet:
    """Only ``reset`` and ``unacknowledge`` make it smaller. Ignores positions that do not exist."""

    __slots__ = ("batches", "beyond", "changes", "mark", "ranges", "redeliveries")

    def __init__(self, mark: Position) -> None:
        # Invariant: everything at or before the mark is acknowledged.
        self.mark = mark
        # Invariant: no ledger has empty ranges, and no range reaches or adjoins the mark.
        self.ranges: dict[int, EntryRanges] = {}
        # Invariant: the entries are not acknowledged, and every ack set has a 1.
        self.batches: dict[int, dict[int, list[int]]] = {}
        # Invariant: the entries are not acknowledged, and were asked for again once or more.
        self.redeliveries: dict[int, dict[int, int]] = {}
        # Invariant: this is the number of entries in ``ranges``.
        self.beyond = 0
        # It grows with every change, so that a cursor knows whether there is anything to save.
        self.changes = 0

    def add_entries(self, ledger_id: int, entry_ids: Sequence[int], log: Layout) -> None:
        """Acknowledge entries of one ledger, in any order."""
        if entry_ids:
            self._add_ranges(ledger_id, ranges_of(entry_ids), log)

    def add_range(self, ledger_id: int, first: int, last: int, log: Layout) -> None:
        """Acknowledge entries ``first`` to ``last``."""
        if first <= last:
            self._add_ranges(ledger_id, [(first, last)], log)

    def advance(self, position: Position, log: Layout) -> None:
        """Acknowledge everything up to ``position``."""
        end = log.last_entry_id(position.ledger_id)
        if end is not None and -1 <= position.entry_id <= end:
            self.raise_mark(position, log)

    def raise_mark(self, mark: Position, log: Layout) -> None:
        """Move the mark to a place that need not exist (any more), but never back."""
        if mark > self.mark:
            self._set_mark(mark)
            self._settle(log)

    def add_batch(self, position: Position, words: Sequence[int], log: Layout) -> None:
        """Take the ack set ``words`` together with what is known of the batch at ``position``."""
        end = log.last_entry_id(position.ledger_id)
        if end is None or not 0 <= position.entry_id <= end or self.covers(position):
            return
        known = self.ack_set(position)
        # Words beyond the shorter of the two are all 0 there, so they are in the conjunction.
        left = list(words) if known is None else list(map(and_, known, words))
        if not any(left):
            self.add_entries(position.ledger_id, [position.entry_id], log)
        elif left != known:
            self.batches.setdefault(position.ledger_id, {})[position.entry_id] = left
            self.changes += 1

    def add_redeliveries(
        self, ledger_id: int, entry_ids: Sequence[int], log: Layout, *, counts: Iterable[int] = ()
    ) -> None:
        """Count that these entries, which ascend, were asked for again: once, or ``counts`` often.

        Those that are acknowledged, and those that do not exist, are ignored.
        """
        end = log.last_entry_id(ledger_id)
        added = dict(zip(entry_ids, counts or repeat(1), strict=False))
        if end is None:
            return
        left = self.missing(ledger_id, entry_ids)
        left = left[bisect_left(left, 0) : bisect_right(left, end)]
        if not left:
            return
        here = self.redeliveries.setdefault(ledger_id, {})
        before = map(here.get, left, repeat(0))
        here.update(zip(left, list(map(add, before, map(added.__getitem__, left))), strict=True))
        self.changes += 1

    def redeliveries_of(self, ledger_id: int, entry_ids: Iterable[int]) -> list[int] | None:
        """Return how often each of these was asked for again; None when none was."""
        here = self.redeliveries.get(ledger_id)
        if here is None:
            return None
        found = list(map(here.get, entry_ids, repeat(0)))
        return found if any(found) else None

    def reset(self, mark: Position) -> None:
        """Start again from ``mark``, with nothing acknowledged beyond it."""
        self.mark = mark
        self.ranges.clear()
        self.batches.clear()
        self.redeliveries.clear()
        self.beyond = 0
        self.changes += 1

    def unacknowledge(self, positions: Sequence[Position], log: Layout) -> None:
        """Let these, which ascend, be acknowledged no longer; all others stay as they are."""
        positions = [each for each in positions if log.locate(each) == each]
        if not positions:
            return
        wanted: dict[int, EntryRanges] = {}
        for ledger_id, entry_id in positions:
            wanted.setdefault(ledger_id, EntryRanges()).add(entry_id, entry_id)
        acknowledged = [
            (ledger_id, first, last)
            for ledger_id, here in self.ranges.items()
            for first, last in zip(here.starts, here.ends, strict=True)
        ]
        if positions[0] <= self.mark:
            low, high = log.previous_position(positions[0]), self.mark
            for ledger_id in log.ledger_ids:
                if low.ledger_id <= ledger_id <= high.ledger_id:
                    first = low.entry_id + 1 if ledger_id == low.ledger_id else 0
                    last = log.last_entry_id(ledger_id) or 0
                    if ledger_id == high.ledger_id:
                        last = high.entry_id
                    acknowledged.append((ledger_id, first, last))
            self.mark = low
        self.ranges.clear()
        self.beyond = 0
        self.changes += 1
        for ledger_id, first, last in sorted(acknowledged):
            left = wanted.get(ledger_id, EntryRanges()).gaps(first, last)
            if left:
                self._add_beyond(ledger_id, left)

    def covers(self, position: Position) -> bool:
        """Say whether the entry at ``position`` is acknowledged."""
        if position <= self.mark:
            return True
        here = self.ranges.get(position.ledger_id)
        return here is not None and here.end_of(position.entry_id) is not None

    def ack_set(self, position: Position) -> list[int] | None:
        """Return the ack set of a batch that is acknowledged in part; None for any other entry."""
        here = self.batches.get(position.ledger_id)
        return None if here is None else here.get(position.entry_id)

    def gaps(self, ledger_id: int, first: int, last: int) -> list[Range]:
        """Return which of entries ``first`` to ``last`` are not acknowledged."""
        if ledger_id <= self.mark.ledger_id:
            if ledger_id < self.mark.ledger_id:
                return []
            first = max(first, self.mark.entry_id + 1)
        here = self.ranges.get(ledger_id)
        if here is not None:
            return here.gaps(first, last)
        return [(first, last)] if first <= last else []

    def missing(self, ledger_id: int, entry_ids: Sequence[int]) -> Sequence[int]:
        """Return those of ``entry_ids``, which ascend, that are not acknowledged."""
        if ledger_id <= self.mark.ledger_id:
            if ledger_id < self.mark.ledger_id:
                return []
            entry_ids = entry_ids[bisect_right(entry_ids, self.mark.entry_id) :]
        here = self.ranges.get(ledger_id)
        if here is None:
            return entry_ids
        return [entry_id for entry_id in entry_ids if here.end_of(entry_id) is None]

    def _add_ranges(self, ledger_id: int, ranges: Sequence[Range], log: Layout) -> None:
        """Add ascending ranges of one ledger: first those that adjoin the mark, then the others."""
        end = log.last_entry_id(ledger_id)
        if end is None or ledger_id < self.mark.ledger_id:
            return
        if ranges[0][0] < 0 or ranges[-1][1] > end:
            ranges = [
                (max(first, 0), min(last, end))
                for first, last in ranges
                if last >= 0 and first <= end
            ]
        done = 0
        if ledger_id == self.mark.ledger_id:
            while done < len(ranges) and ranges[done][0] <= self.mark.entry_id + 1:
                if ranges[done][1] > self.mark.entry_id:
                    self._set_mark(Position(ledger_id, ranges[done][1]))
                done += 1
        if done < len(ranges):
            self._add_beyond(ledger_id, ranges[done:])
        self._settle(log)

    def _add_beyond(self, ledger_id: int, ranges: Sequence[Range]) -> None:
        here = self.ranges.setdefault(ledger_id, EntryRanges())
        added = 0
        for first, last in ranges:
            new = here.add(first, last)
            added += new
            if new:
                self._forget(ledger_id, first, last)
        if added:
            self.beyond += added
            self.changes += 1

    def _set_mark(self, mark: Position) -> None:
        """Move the mark on, and forget what lies at or before it."""
        before, self.mark = self.mark, mark
        self.changes += 1
        if self.ranges:
            for ledger_id in [known for known in self.ranges if known <= mark.ledger_id]:
                here = self.ranges[ledger_id]
                passed = ledger_id < mark.ledger_id
                self.beyond -= here.drop_through(here.ends[-1] if passed else mark.entry_id)
                if not here:
                    del self.ranges[ledger_id]
        if self.batches or self.redeliveries:
            for known in (self.batches, self.redeliveries):
                for ledger_id in [each for each in known if each < mark.ledger_id]:
                    del known[ledger_id]
            first = before.entry_id + 1 if before.ledger_id == mark.ledger_id else 0
            self._forget(mark.ledger_id, first, mark.entry_id)

    def _settle(self, log: Layout) -> None:
        """Move the mark over the ranges that adjoin it."""
        while self.ranges:
            following = log.next_position(self.mark)
            here = self.ranges.get(following.ledger_id)
            end = None if here is None else here.end_of(following.entry_id)
            if end is None:
                return
            self._set_mark(Position(following.ledger_id, end))

    def _forget(self, ledger_id: int, first: int, last: int) -> None:
        """Forget what is known of entries that are acknowledged now."""
        if self.batches:
            _drop(self.batches, ledger_id, first, last)
        if self.redeliveries:
            _drop(self.redeliveries, ledger_id, first, last)


def _drop(ledgers: dict[int, dict[int, Any]], ledger_id: int, first: int, last: int) -> None:
    here = ledgers.get(ledger_id)
    if here is None:
        return
    if last - first < len(here):
        gone = [entry for entry in range(first, last + 1) if entry in here]
    else:
        gone = [entry for entry in here if first <= entry <= last]
    for entry in gone:
        del here[entry]
    if not here:
        del ledgers[ledger_id]
