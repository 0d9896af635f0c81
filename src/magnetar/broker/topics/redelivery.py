"""What is to be delivered again, and how often each entry already was. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, repeat

from magnetar.model.position import Position


class ReplayQueue:
    """Entries that were read but are in nobody's hands, in log order."""

    __slots__ = ("_ledgers",)

    def __init__(self) -> None:
        # Invariant: ledgers ascend, and none is empty.
        self._ledgers: dict[int, _Waiting] = {}

    def __bool__(self) -> bool:
        return bool(self._ledgers)

    def __len__(self) -> int:
        return sum(len(waiting.ordered) for waiting in self._ledgers.values())

    def __contains__(self, position: Position) -> bool:
        here = self._ledgers.get(position.ledger_id)
        return here is not None and position.entry_id in here.members

    def __iter__(self) -> Iterator[Position]:
        for ledger_id, here in self._ledgers.items():
            yield from map(Position, repeat(ledger_id), here.ordered)

    def by_ledger(self) -> Iterable[tuple[int, Sequence[int]]]:
        """Ledgers and the entry ids of each, both ascending."""
        return [(ledger_id, here.ordered) for ledger_id, here in self._ledgers.items()]

    def add(self, ledger_id: int, entry_ids: Iterable[int]) -> list[int]:
        """Queue entries; those already queued stay once. Returns the others."""
        here = self._ledgers.get(ledger_id)
        if here is not None:
            return here.add(entry_ids)
        here = _Waiting()
        fresh = here.add(entry_ids)
        if fresh:
            newest = not self._ledgers or ledger_id > next(reversed(self._ledgers))
            self._ledgers[ledger_id] = here
            if not newest:
                self._ledgers = dict(sorted(self._ledgers.items()))
        return fresh

    def discard(self, ledger_id: int, entry_ids: Iterable[int]) -> list[int]:
        """Forget entries: delivered, acknowledged or trimmed. Returns those that were queued."""
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

    def clear(self) -> None:
        self._ledgers.clear()


class _Waiting:
    """What waits of one ledger."""

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
        # Mostly neighbours: nothing that waits lies between them.
        at = bisect_left(ordered, fresh[0])
        if bisect_left(ordered, fresh[-1], at) == at:
            ordered[at:at] = fresh
        else:
            ordered.extend(fresh)
            ordered.sort()  # nearly sorted input: timsort merges the two parts
        return fresh

    def discard(self, entry_ids: Iterable[int]) -> list[int]:
        members, ordered = self.members, self.ordered
        gone = sorted(members.intersection(entry_ids))
        if not gone:
            return []
        members.difference_update(gone)
        # Mostly neighbours, and mostly the first ones: look only where they lie.
        start = bisect_left(ordered, gone[0])
        stop = bisect_right(ordered, gone[-1], start)
        if stop - start == len(gone):
            del ordered[start:stop]
        else:
            ordered[start:stop] = filter(members.__contains__, ordered[start:stop])
        return gone


class RedeliveryCounts:
    """How often each unacknowledged entry was asked for again. In memory only, as in Pulsar."""

    __slots__ = ("_ledgers",)

    def __init__(self) -> None:
        self._ledgers: dict[int, dict[int, int]] = {}  # Invariant: none is empty.

    def __bool__(self) -> bool:
        return bool(self._ledgers)

    def add(self, ledger_id: int, entry_ids: Sequence[int]) -> None:
        """These are asked for once more."""
        if not entry_ids:
            return
        counts = self._ledgers.setdefault(ledger_id, {})
        before = map(counts.get, entry_ids, repeat(0))
        counts.update(zip(entry_ids, list(map((1).__add__, before)), strict=True))

    def of(self, ledger_id: int, entry_ids: Iterable[int]) -> list[int] | None:
        """The counts of these entries; None when all are 0."""
        counts = self._ledgers.get(ledger_id)
        if counts is None:
            return None
        found = list(map(counts.get, entry_ids, repeat(0)))
        return found if any(found) else None

    def discard(self, ledger_id: int, entry_ids: Iterable[int]) -> None:
        counts = self._ledgers.get(ledger_id)
        if counts is None:
            return
        for entry_id in entry_ids:
            counts.pop(entry_id, None)
        if not counts:
            del self._ledgers[ledger_id]

    def clear(self) -> None:
        self._ledgers.clear()
