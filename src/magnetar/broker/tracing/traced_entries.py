"""Entries that were traced when they were published, so that what delivers them is traced, too."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, Generic, TypeVar

FOLLOWED_MAX: Final = 10_000
"""Entries; with one more, the oldest is followed no further."""

Span = TypeVar("Span")


class TracedEntries(Generic[Span]):
    """The last entries that were traced, by ledger and id, with the span of each."""

    __slots__ = ("_by_ledger", "_order")

    def __init__(self) -> None:
        self._by_ledger: dict[int, dict[int, Span]] = {}
        self._order: deque[tuple[int, int]] = deque()

    def add(self, ledger_id: int, entry_id: int, span: Span) -> None:
        self._by_ledger.setdefault(ledger_id, {})[entry_id] = span
        self._order.append((ledger_id, entry_id))
        if len(self._order) > FOLLOWED_MAX:
            ledger_id, entry_id = self._order.popleft()
            its = self._by_ledger[ledger_id]
            del its[entry_id]
            if not its:
                del self._by_ledger[ledger_id]

    def among(self, ledger_id: int, entry_ids: Iterable[int]) -> Iterator[tuple[int, Span]]:
        """The traced entries among these."""
        its = self._by_ledger.get(ledger_id)
        if its is not None:
            for entry_id in entry_ids:
                if entry_id in its:
                    yield entry_id, its[entry_id]
