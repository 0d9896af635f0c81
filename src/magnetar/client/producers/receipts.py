"""What the application gets back for what it sent."""

import asyncio
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import repeat
from typing import Final, overload

from magnetar.client.outgoing_message import Settled
from magnetar.client.transaction import Transaction
from magnetar.errors import MagnetarError
from magnetar.model.position import ChunkedMessageId, MessageId, Position
from magnetar.model.txn_id import TxnId


@dataclass(slots=True)
class Stored:
    """Consecutive messages of one entry: ``count`` of them, from index ``first`` in the batch.

    ``batch_size`` 0 says that the entry is no batch; ``first`` is then -1. ``first_chunk`` is set
    when the message was split over several entries, of which this is the last.
    """

    ledger_id: int
    entry_id: int
    partition: int
    first: int
    count: int
    batch_size: int
    first_chunk: Position | None = None

    def ids(self) -> Iterator[MessageId]:
        if self.count == 1:
            return iter((self.id_at(0),))
        indexes = range(self.first, self.first + self.count)
        places = zip(
            repeat(self.ledger_id),
            repeat(self.entry_id),
            repeat(self.partition),
            indexes,
            repeat(self.batch_size),
            strict=False,
        )
        return map(MessageId._make, places)

    def id_at(self, index: int) -> MessageId:
        if self.first_chunk is not None:
            return ChunkedMessageId.of(
                self.ledger_id, self.entry_id, self.partition, first_chunk=self.first_chunk
            )
        return MessageId(
            self.ledger_id, self.entry_id, self.partition, self.first + index, self.batch_size
        )


class SentIds(Sequence[MessageId]):
    """The ids of many sent messages, in their order; each is made when it is looked at."""

    def __init__(self, stored: list[Stored]) -> None:
        self._stored = stored
        self._ends: list[int] = []
        end = 0
        for span in stored:
            end += span.count
            self._ends.append(end)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[MessageId]:
        for span in self._stored:
            yield from span.ids()

    @overload
    def __getitem__(self, index: int) -> MessageId: ...

    @overload
    def __getitem__(self, index: slice) -> list[MessageId]: ...

    def __getitem__(self, index: int | slice) -> MessageId | list[MessageId]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"message {index} of {len(self)}")
        at = bisect_right(self._ends, place)
        span = self._stored[at]
        return span.id_at(place - (self._ends[at] - span.count))


class ManyReceipts:
    """Collects the receipts of one ``send_many``."""

    txn_id: TxnId | None = None  # The transaction that all is sent in.

    def __init__(self) -> None:
        self._stored: list[Stored | None] = []
        self._missing = 0
        self._error: MagnetarError | None = None
        self._all: asyncio.Future[None] | None = None  # Set while the application waits.

    def part(self) -> "ReceiptPart":
        """Expect one more receipt, of the next run of messages."""
        self._stored.append(None)
        self._missing += 1
        return ReceiptPart(self, len(self._stored) - 1)

    async def ids(self) -> SentIds:
        """Wait for every receipt. Raises the first error, once all are settled."""
        if self._missing:
            self._all = asyncio.get_running_loop().create_future()
            await self._all
        if self._error is not None:
            raise self._error
        return SentIds([span for span in self._stored if span is not None])

    def settled(self, slot: int, outcome: Stored | MagnetarError) -> None:
        if isinstance(outcome, Stored):
            self._stored[slot] = outcome
        elif self._error is None:
            self._error = outcome
        self._missing -= 1
        if not self._missing and self._all is not None and not self._all.done():
            self._all.set_result(None)


class ManyInTransaction(ManyReceipts):
    """The same in a transaction, which is told of each."""

    def __init__(self, txn: Transaction) -> None:
        super().__init__()
        self.txn_id = txn.id
        self._txn = txn

    def part(self) -> "ReceiptPart":
        self._txn._begin_work()
        return super().part()

    def settled(self, slot: int, outcome: Stored | MagnetarError) -> None:
        super().settled(slot, outcome)
        self._txn._end_work(None if isinstance(outcome, Stored) else outcome)


class ReceiptPart:
    """The receipt of one run of messages of a ``send_many``, all in one entry."""

    __slots__ = ("_many", "_slot")

    def __init__(self, many: ManyReceipts, slot: int) -> None:
        self._many = many
        self._slot = slot

    def settle(self, outcome: Stored | MagnetarError) -> bool:
        self._many.settled(self._slot, outcome)
        return True


class Notice:
    """Tells how one message ended, and then settles its waiter, if it has one."""

    __slots__ = ("_tell", "_waiter")

    def __init__(self, tell: Settled, waiter: "Waiter | None") -> None:
        self._tell = tell
        self._waiter = waiter

    def settle(self, outcome: Stored | MagnetarError) -> bool:
        """Return whether there was a waiter."""
        if isinstance(outcome, Stored):
            self._tell(outcome.id_at(0), None)
        else:
            self._tell(None, outcome)
        return self._waiter is not None and settle(self._waiter, outcome)


class InTransaction:
    """Settles the waiter of a message, and tells the transaction that it was sent in."""

    __slots__ = ("_txn", "_waiter")

    def __init__(self, txn: Transaction, waiter: asyncio.Future[MessageId]) -> None:
        self._txn = txn
        self._waiter = waiter
        txn._begin_work()

    def settle(self, outcome: Stored | MagnetarError) -> bool:
        settle(self._waiter, outcome)
        self._txn._end_work(None if isinstance(outcome, Stored) else outcome)
        return True  # The transaction raises an error when it is to be committed.


_OURS: Final = (ReceiptPart, Notice, InTransaction)
Waiter = asyncio.Future[MessageId] | Future[MessageId] | ReceiptPart | Notice | InTransaction


def settle(waiter: Waiter, outcome: Stored | MagnetarError) -> bool:
    """Settle a waiter. Returns whether it still waited."""
    if isinstance(waiter, _OURS):
        return waiter.settle(outcome)
    if waiter.done():
        return not waiter.cancelled()
    if isinstance(outcome, Stored):
        waiter.set_result(outcome.id_at(0))
    else:
        waiter.set_exception(outcome)
    return True
