"""Acknowledgements in transactions. They wait for nothing but the end of the loop's iteration.

What is acknowledged in a transaction counts when that is committed. Until then the broker keeps it
apart, for the subscription as a whole, and delivers it again when the transaction is aborted; so
nothing of it is remembered with the plain ones (``acknowledgements.py``).

A broker keeps single messages of a batch apart, too, each for one transaction: what it is told is a
bit set with zeros for those that are acknowledged now, and for no others.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from magnetar.client.gather_all import gather_all
from magnetar.client.message import Message, entries_of
from magnetar.client.transaction import Transaction, TransactionState
from magnetar.errors import MagnetarError, TransactionConflict
from magnetar.model.position import MessageId, Position
from magnetar.model.timer_wheel import TimerWheel
from magnetar.wire import requests

from .ack_receipts import Begun
from .acknowledgements import words

IDS_MAX: Final = 1000  # Entries that one command names, so that no frame grows too large.

Ask = Callable[[Callable[[int], bytes]], Awaitable[object]]


@dataclass(slots=True)
class _Group:
    """The acknowledgements of a transaction on one topic."""

    entries: dict[Position, int] = field(default_factory=dict)  # A bit for each acknowledged one.
    sizes: dict[Position, int] = field(default_factory=dict)  # Of the batches of those entries.
    through: tuple[Position, int, int] | None = None  # Cumulative: entry, bits left, batch size.
    twice: Position | None = None  # An entry of which a message is acknowledged once more.
    answer: Begun | None = None

    def add(self, message: Message[Any] | MessageId) -> None:
        index, size = _place_in_batch(message)
        places = entries_of(message)
        bit = 0 if len(places) > 1 or index < 0 or size <= 1 else 1 << index
        for place in places:
            before = self.entries.get(place)
            if before is not None and (not before or not bit or before & bit):
                self.twice = place
            self.entries[place] = bit and (before or 0) | bit
            self.sizes[place] = size if bit else 0

    def whole(self, position: Position) -> bool:
        size = self.sizes[position]
        return not size or self.entries[position] == (1 << size) - 1

    def commands(self, consumer_id: int, txn: Transaction) -> Iterator[Callable[[int], bytes]]:
        """The requests to send, each made with its request id."""
        positions = iter(self.entries)
        while some := list(islice(positions, IDS_MAX)):
            sets = [[] if self.whole(each) else self._left(each) for each in some]
            sizes = [self.sizes[each] if left else 0 for each, left in zip(some, sets, strict=True)]
            yield _command(consumer_id, some, sets, sizes, txn, cumulative=False)
        if self.through is not None:
            position, left, size = self.through
            sets = [words(left)] if left else [[]]
            size = size if left else 0
            yield _command(consumer_id, [position], sets, [size], txn, cumulative=True)

    def _left(self, position: Position) -> list[int]:
        return words(((1 << self.sizes[position]) - 1) & ~self.entries[position])


class TransactionAcks:
    """The acknowledgements of one consumer that are in transactions."""

    def __init__(
        self,
        consumer_id: int,
        topic: str,
        subscription: str,
        *,
        ask: Ask,
        ask_again: Callable[[Iterable[Position]], None],
        wheel: TimerWheel[Position],
    ) -> None:
        """``ask`` sends a request, also over the next connection, and brings the answer.

        ``ask_again`` has the broker deliver entries again; ``wheel`` loses those that are
        acknowledged.
        """
        self._id = consumer_id
        self._topic = topic
        self._subscription = subscription
        self._ask = ask
        self._ask_again = ask_again
        self._wheel = wheel
        self._waiting: dict[Transaction, _Group] = {}
        self._to_ask_for: dict[Transaction, dict[Position, None]] = {}  # If it is not committed.

    def acknowledge(
        self, txn: Transaction, messages: Iterable[Message[Any] | MessageId]
    ) -> Awaitable[None]:
        """Acknowledge messages; awaited, it brings the broker's answer."""
        txn._check_open()
        group, answer = self._group(txn)
        for message in messages:
            group.add(message)
        return answer

    def acknowledge_cumulative(
        self, txn: Transaction, message: Message[Any] | MessageId
    ) -> Awaitable[None]:
        """Acknowledge a message and all before it."""
        txn._check_open()
        group, answer = self._group(txn)
        place = entries_of(message)[-1]
        index, size = _place_in_batch(message)
        left = (1 << size) - (1 << (index + 1)) if 0 <= index < size - 1 else 0
        if group.through is None or (place, -left) > (group.through[0], -group.through[1]):
            group.through = place, left, size
        self._ask_after(txn, [place])
        return answer

    def _group(self, txn: Transaction) -> tuple[_Group, Begun]:
        group = self._waiting.get(txn)
        if group is None or group.answer is None:
            group = self._waiting[txn] = _Group()
            group.answer = Begun(txn._run("acknowledge", self._send(txn, group)))
        return group, group.answer

    async def _send(self, txn: Transaction, group: _Group) -> None:
        try:
            await txn._acknowledges_on(self._topic, self._subscription)
        finally:
            del self._waiting[txn]  # What comes from now on is another group.
        for position in group.entries:
            if group.whole(position):
                self._wheel.discard(position)
        if group.through is not None:
            self._wheel.discard_through(group.through[0])
        try:
            if group.twice is not None:
                raise TransactionConflict(
                    f"a message of {group.twice} was acknowledged twice in transaction {txn.id}: "
                    "it was delivered again meanwhile"
                )
            await gather_all(self._answered(each) for each in group.commands(self._id, txn))
        except MagnetarError as error:
            self._ask_after(txn, group.entries)
            if group.twice is not None or not isinstance(error, TransactionConflict):
                raise
            raise TransactionConflict(
                f"messages of {self._topic}, subscription {self._subscription}, were acknowledged "
                f"before, maybe in a transaction that has not ended. The broker says: {error}"
            ) from error

    async def _answered(self, build: Callable[[int], bytes]) -> None:
        await self._ask(build)

    def _ask_after(self, txn: Transaction, positions: Iterable[Position]) -> None:
        """Ask for these again unless the transaction is committed.

        A broker delivers again by itself what an aborted transaction has acknowledged, but not
        what a cumulative acknowledgement did, nor what it refused to acknowledge.
        """
        self._to_ask_for.setdefault(txn, {}).update(dict.fromkeys(positions))
        txn._tell_of_end(self._ended)

    def _ended(self, txn: Transaction) -> None:
        positions = self._to_ask_for.pop(txn)
        if txn.state is not TransactionState.COMMITTED:
            self._ask_again(positions)


def _place_in_batch(message: Message[Any] | MessageId) -> tuple[int, int]:
    """A message's index in its batch, and how many that has; -1 and 0 outside one."""
    if isinstance(message, Message):
        return message.batch_index, message.delivery.batch_size
    return message.batch_index, message.batch_size


def _command(
    consumer_id: int,
    positions: list[Position],
    sets: list[list[int]],
    sizes: list[int],
    txn: Transaction,
    *,
    cumulative: bool,
) -> Callable[[int], bytes]:
    def build(request_id: int) -> bytes:
        return requests.ack(
            consumer_id,
            positions,
            ack_sets=sets if any(sets) else None,
            batch_sizes=sizes,
            cumulative=cumulative,
            txn=txn.id,
            request_id=request_id,
        )

    return build
