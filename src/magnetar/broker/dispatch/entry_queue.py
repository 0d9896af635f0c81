"""Entries that wait to be assigned, in log order. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, repeat

from magnetar.model.position import Position


class EntryQueue:
    """A sorted set of entries. They come and go in lists."""

    __slots__ = ("_ledgers",)

    def __init__(self) -> None:
        # Invariant: ledgers ascend, and none is empty.
        self._ledgers: dict[int, _LedgerQueue] = {}

    def __bool__(self) -> bool:
        return bool(self._ledgers)

    def __iter__(self) -> Iterator[Position]:
        for ledger_id, here in self._ledgers.items():
            yield from map(Position, repeat(ledger_id), here.ordered)

    def by_ledger(self) -> Mapping[int, Sequence[int]]:
        """Ledgers and the entry ids of each, both ascending."""
        return {ledger_id: here.ordered for ledger_id, here in self._ledgers.items()}

    def add(self, ledger_id: int, entry_ids: Iterable[int]) -> list[int]:
        """Queue entries; those already queued stay once. Returns the others, ascending."""
        here = self._ledgers.get(ledger_id)
        if here is not None:
            return here.add(entry_ids)
        here = _LedgerQueue()
        fresh = here.add(entry_ids)
        if fresh:
            self._ledgers[ledger_id] = here
            if len(self._ledgers) > 1:
                self._ledgers = dict(sorted(self._ledgers.items()))
        return fresh

    def discard(self, ledger_id: int, entry_ids: Iterable[int]) -> list[int]:
        """Take entries out. Returns those that were queued, ascending."""
        here = self._ledgers.get(ledger_id)
        if here is None:
            return []
        gone = here.discard(entry_ids)
        if not here.members:
            del self._ledgers[ledger_id]
        return gone

    def first(self, count_max: int) -> list[Position]:
        """The first ``count_max`` positions, in log order; they stay queued."""
        return list(islice(self, count_max))


class _LedgerQueue:
    """Queued entries of one ledger."""

    __slots__ = ("members", "ordered")

    def __init__(self) -> None:
        self.members: set[int] = set()
        self.ordered: list[int] = []  # Invariant: ascending, the same entries as in members.

    def add(self, entry_ids: Iterable[int]) -> list[int]:
        members, ordered = self.members, self.ordered
        fresh = sorted(set(entry_ids).difference(members))
        if not fresh:
            return fresh
        members.update(fresh)
        # They are mostly neighbours: nothing that waits lies between them.
        at = bisect_left(ordered, fresh[0])
        if bisect_left(ordered, fresh[-1], at) == at:
            ordered[at:at] = fresh
        else:
            ordered.extend(fresh)
            ordered.sort()  # Timsort merges the two parts.
        return fresh

    def discard(self, entry_ids: Iterable[int]) -> list[int]:
        members, ordered = self.members, self.ordered
        gone = sorted(members.intersection(entry_ids))
        if not gone:
            return []
        members.difference_update(gone)
        # They are mostly neighbours, and the first ones: look only where they lie.
        start = bisect_left(ordered, gone[0])
        stop = bisect_right(ordered, gone[-1], start)
        if stop - start == len(gone):
            del ordered[start:stop]
        else:
            ordered[start:stop] = filter(members.__contains__, ordered[start:stop])
        return gone


def by_ledger(positions: Iterable[Position]) -> dict[int, list[int]]:
    """Entry ids by ledger, each in the order they come in."""
    found: dict[int, list[int]] = {}
    for ledger_id, entry_id in positions:
        here = found.get(ledger_id)
        if here is None:
            found[ledger_id] = [entry_id]
        else:
            here.append(entry_id)
    return found
