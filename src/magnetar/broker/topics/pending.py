"""Entries in a consumer's hands: delivered, and not yet acknowledged or given back. Pure.

Entries are told apart by ledger and entry id, and come and go in lists: what is done to each of
them is done by loops in C.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat

from magnetar.model.position import Position


class Pending:
    """For each entry, how many of its messages are not acknowledged; at least one."""

    __slots__ = ("_ledgers", "messages")

    def __init__(self) -> None:
        self._ledgers: dict[int, dict[int, int]] = {}  # Invariant: none is empty.
        self.messages = 0  # Invariant: the sum of all counts.

    def __bool__(self) -> bool:
        return bool(self._ledgers)

    def __len__(self) -> int:
        return sum(map(len, self._ledgers.values()))

    def __contains__(self, position: Position) -> bool:
        return position.entry_id in self._ledgers.get(position.ledger_id, ())

    def __iter__(self) -> Iterator[Position]:
        """In log order."""
        for ledger_id in sorted(self._ledgers):
            yield from map(Position, repeat(ledger_id), sorted(self._ledgers[ledger_id]))

    def by_ledger(self) -> Iterable[tuple[int, Iterable[int]]]:
        """Ledgers and the entry ids of each, in any order."""
        return self._ledgers.items()

    def in_order(self) -> dict[int, list[int]]:
        """Ledgers and the entry ids of each, both ascending."""
        return {ledger_id: sorted(self._ledgers[ledger_id]) for ledger_id in sorted(self._ledgers)}

    def get(self, position: Position) -> int:
        """How many messages of an entry are pending; 0 for one that is not in hand."""
        here = self._ledgers.get(position.ledger_id)
        return 0 if here is None else here.get(position.entry_id, 0)

    def add(self, ledger_id: int, entry_ids: Iterable[int], counts: Sequence[int]) -> None:
        """Entries that are not in hand yet, at least one, and the messages of each."""
        here = self._ledgers.setdefault(ledger_id, {})
        here.update(zip(entry_ids, counts, strict=True))
        self.messages += sum(counts)

    def reduce(self, position: Position, count: int) -> None:
        """``count`` messages, 1 or more, of an entry in hand are still pending."""
        here = self._ledgers[position.ledger_id]
        self.messages -= here[position.entry_id] - count
        here[position.entry_id] = count

    def take(self, ledger_id: int, entry_ids: Sequence[int]) -> Sequence[int]:
        """Let go of these. Returns those that were in hand, each once."""
        here = self._ledgers.get(ledger_id)
        if here is None:
            return []
        counts = list(map(here.pop, entry_ids, repeat(0)))
        self.messages -= sum(counts)
        if not here:
            del self._ledgers[ledger_id]
        if 0 not in counts:
            return entry_ids
        return [entry_id for entry_id, count in zip(entry_ids, counts, strict=True) if count]

    def take_all(self) -> dict[int, list[int]]:
        """Let go of everything. Returns it as ``in_order`` does."""
        taken = self.in_order()
        self._ledgers.clear()
        self.messages = 0
        return taken


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
