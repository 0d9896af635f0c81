"""Which transactions have ended, as far as one topic or subscription was told. Pure.

What comes late, of a transaction that has ended, must be refused even where nothing came before its
end: nobody would end it again.
"""

from heapq import heappop, heappush
from typing import Final

from magnetar.model.txn_id import TxnId

ENDED_MAX: Final = 10_000
"""So many transactions that ended last are known by their ids, to refuse what is late."""


class EndedTransactions:
    """The ends that one topic or subscription was told of."""

    __slots__ = ("_begun", "_last", "low_watermarks")

    def __init__(self) -> None:
        self.low_watermarks: dict[int, int] = {}
        """By coordinator: all its transactions up to this number have ended."""
        self._last: dict[TxnId, None] = {}
        self._begun: dict[int, list[int]] = {}  # By coordinator: heaps of those that began here.

    def __contains__(self, transaction: TxnId) -> bool:
        if transaction.least_bits <= self.low_watermarks.get(transaction.most_bits, -1):
            return True
        return transaction in self._last

    def begin(self, transaction: TxnId) -> None:
        """The first of a transaction came."""
        heappush(self._begun.setdefault(transaction.most_bits, []), transaction.least_bits)

    def end(self, transaction: TxnId) -> None:
        self._last[transaction] = None
        if len(self._last) > ENDED_MAX:
            del self._last[next(iter(self._last))]

    def raise_watermark(self, coordinator: int, least_bits: int) -> list[TxnId]:
        """All transactions up to a number have ended. Return those that began here, once."""
        if least_bits > self.low_watermarks.get(coordinator, -1):
            self.low_watermarks[coordinator] = least_bits
        begun, found = self._begun.get(coordinator, []), []
        while begun and begun[0] <= least_bits:
            found.append(TxnId(coordinator, heappop(begun)))
        return found
