"""The send queue of one producer: open batches, then the sends that have no receipt yet.

One bound on messages and one on bytes hold for both parts together. A timer runs while there are
open batches.
"""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from typing import TypeAlias, cast

from magnetar.checks import check_data
from magnetar.client.memory_limit import MemoryLimit
from magnetar.client.outgoing_message import Buffer, OutgoingMessage, not_sent, prepare
from magnetar.client.own_loop import check_loop
from magnetar.client.producers.config import ProducerConfig
from magnetar.clock import Clock
from magnetar.errors import MagnetarError
from magnetar.model.txn_id import TxnId

from .batching import Batch, BatchPerKey, OneBatch, OpenBatches, PackedBatch, fitting, renumber
from .encoding import Encoder
from .pending import PendingSends
from .receipts import ManyReceipts, Notice, Waiter
from .sends import Sends, Write

HandedWhole: TypeAlias = tuple[bytes, OutgoingMessage | None, Waiter | None]
Handed: TypeAlias = bytes | HandedWhole
"""A message from another thread: just its payload, or what ``put`` takes."""


class SendQueue:
    """Takes messages from the application, and hands frames to the connection."""

    next_sequence_id: int
    closed: MagnetarError | None  # Why the queue takes nothing more.
    pending: PendingSends[Waiter]  # What was admitted and has no receipt yet.
    sends: Sends  # What left the open batches.

    def __init__(
        self,
        topic: str,
        partition: int,
        config: ProducerConfig,
        encoder: Encoder,
        *,
        clock: Clock,
        write: Write,
        memory: MemoryLimit | None = None,
    ) -> None:
        """``write`` gets each frame once; it drops what it cannot send now."""
        self.next_sequence_id = 0
        self.closed = None
        self._topic = topic
        self._config = config
        self._now = clock.now
        self._timeout_s = config.send_timeout_s or float("inf")
        self._loop = asyncio.get_running_loop()
        self._batches: OpenBatches[Waiter] = BatchPerKey() if config.batch_by_key else OneBatch()
        self._batch_size_max = config.batch_bytes_max if config.batching else 0
        self._batch_timer: asyncio.TimerHandle | None = None
        self._txn: TxnId | None = None  # The transaction of what is in open batches.
        self.pending = PendingSends(
            messages_max=config.max_pending_messages,
            bytes_max=config.max_pending_bytes,
            memory=memory,
        )
        self._memory = memory
        self.sends = Sends(
            topic, partition, config, encoder, self.pending, clock=clock, write=write
        )

    @property
    def topic(self) -> str:
        """Where it sends to: a topic, or a partition."""
        return self._topic

    @property
    def full(self) -> bool:
        """``put`` would refuse a message."""
        return self.pending.full

    def check_room(self, messages: int = 0, size_bytes: int = 0) -> None:
        """Raises QueueFull when full with so many more, or why it is closed. On any thread."""
        if self.closed is not None:
            raise self.closed
        if not self.pending.has_room(messages, size_bytes):
            raise self.pending.no_room(self._topic, messages, size_bytes)

    def put(
        self,
        data: bytes,
        details: OutgoingMessage | None,
        waiter: Waiter | None,
        txn: TxnId | None = None,
    ) -> None:
        """Take one message, as ``message.prepare`` returned it, in a transaction if there is one.

        Raises QueueFull when full, the reason when closed, InvalidValue, MessageTooLarge.
        """
        try:
            self.check_room()
            if txn is not self._txn:
                self._go_over(txn)
            self._put(data, details, waiter)
        except MagnetarError as error:
            not_sent(details, error)
            raise

    def take(self, handed: Sequence[Handed]) -> None:
        """Take messages that were let in before, even beyond the bounds. Waiters get errors."""
        if self._txn is not None:
            self._go_over(None)
        for kind, group in groupby(handed, type):
            if kind is bytes:
                self._take_plain(list(cast("Iterator[bytes]", group)))
                continue
            for data, details, waiter in cast("Iterator[HandedWhole]", group):
                try:
                    self._put_open(data, details, waiter)
                except MagnetarError as error:
                    self.sends.fail(waiter, error)

    def _put_open(
        self, data: bytes, details: OutgoingMessage | None, waiter: Waiter | None
    ) -> None:
        try:
            if self.closed is not None:
                raise self.closed
            self._put(data, details, waiter)
        except MagnetarError as error:
            not_sent(details, error)
            raise

    def _put(self, data: bytes, details: OutgoingMessage | None, waiter: Waiter | None) -> None:
        if details is not None and details.on_settled is not None:
            waiter = Notice(details.on_settled, waiter)
        if type(data) is not bytes:
            check_data(data)
        size = len(data) if details is None else len(data) + details.more_size
        if size >= self._batch_size_max or (details is not None and details.alone):
            self.close_batches()
            self._put_single(data, details, size, waiter)
            return
        if self._batches.size_bytes + size > self._batch_size_max:
            self.close_batches()
        if details is not None and details.sequence_id is not None:
            self._part_from_stored(details.sequence_id)
        sequence_id = self._take_sequence_ids(1, details)
        batch = self._batch_for(None if details is None else details.key, sequence_id)
        index = len(batch.payloads)
        if details is not None and details.sequence_id is not None:
            batch.ids_given = True
        if sequence_id != batch.first_sequence_id + index:
            details = details or OutgoingMessage(data)
            details.sequence_id = sequence_id
        if details is not None:
            batch.details[index] = details
        if waiter is not None:
            batch.waiters.append((index, 1, waiter))
        batch.payloads.append(data)
        self._added(batch, 1, size)

    async def put_many(
        self, messages: Sequence[bytes | Buffer | OutgoingMessage], receipts: ManyReceipts | None
    ) -> None:
        """Take all messages, waiting for room; the last batch may still be open afterwards.

        The error of a message goes to its receipt, or is raised where none is wanted. Raises the
        reason when the queue is closed, and QueueFull where the producer shall not wait.
        """
        if self._batch_size_max and set(map(type, messages)) <= {bytes}:
            await self._put_plain(messages, receipts)  # type: ignore[arg-type]  # Just checked.
            return
        txn = None if receipts is None else receipts.txn_id
        for at, message in enumerate(messages):
            if self.pending.full:
                await self.room()
                try:
                    self.check_room()
                except MagnetarError as error:
                    for rest in messages[at:]:
                        not_sent(rest, error)
                    raise
            if txn is not self._txn:
                self._go_over(txn)
            self._put_one(message, receipts)

    async def put_packed(
        self, batches: Sequence[PackedBatch], receipts: ManyReceipts | None = None
    ) -> None:
        """As ``put_many``, of batches with ids of their own; raises what went wrong before, too."""
        txn = None if receipts is None else receipts.txn_id
        for packed in batches:
            await self._admission()
            self.sends.raise_unreported()
            self.close_batches()
            batch: Batch[Waiter] = Batch.of(packed, self._now() + self._timeout_s, txn)
            if receipts is not None:
                batch.waiters.append((0, len(batch), receipts.part()))
            self.next_sequence_id = batch.last_sequence_id + 1
            self.pending.admit(len(batch), batch.size_bytes)
            self.sends.send_batch(batch)
        self.sends.raise_unreported()

    async def ready(self) -> None:
        """Return when there is room. Raises the reason when the queue is closed."""
        await self._until_room()
        if self.closed is not None:
            raise self.closed

    async def room(self) -> None:
        """Wait for room, unless the producer shall not; ``put`` says if there is none."""
        if self._config.block_if_queue_full:
            await self._until_room()

    def close_batches(self) -> None:
        """Send what waits in open batches."""
        if self._batch_timer is not None:
            self._batch_timer.cancel()
            self._batch_timer = None
        if not self._batches.messages:
            return
        for batch in renumber(self._batches.take()):
            self.sends.send_batch(batch)

    async def settled(self) -> MagnetarError | None:
        """Wait until all that was put has a receipt or has failed; return the first error."""
        flush = self.sends.flush()
        self.close_batches()
        return await self.sends.settled(flush)

    async def flush(self) -> None:
        """As ``settled``. Raises an error that the application has not been told, or the first."""
        self.sends.raise_unreported(await self.settled())

    def fail_sent(self, error: MagnetarError) -> None:
        """Fail all that was put until now."""
        self.close_batches()
        self.sends.fail_pending(error)

    def fail_all(self, error: MagnetarError) -> None:
        """Fail all that was put, and take nothing more."""
        self.closed = self.closed or error
        if self._batch_timer is not None:
            self._batch_timer.cancel()
        for batch in self._batches.take():
            self.sends.fail_batch(batch, error)
        self.sends.fail_all(error)

    def _go_over(self, txn: TxnId | None) -> None:
        """Send what is open of another transaction: a batch is in one, or in none."""
        self.close_batches()
        self._txn = txn

    async def _admission(self) -> None:
        if self.pending.full or self.closed is not None:
            await self.room()
            self.check_room()

    async def _until_room(self) -> None:
        while self.closed is None and self.pending.full:
            self.sends.room.clear()
            if self._memory is not None and self._memory.full:
                self._memory.when_free(self.sends.room.set)
            self.close_batches()  # What cannot be encoded makes room at once.
            await self.sends.room.wait()

    async def _put_plain(self, messages: Sequence[bytes], receipts: ManyReceipts | None) -> None:
        ends = list(accumulate(map(len, messages), initial=0))
        txn = None if receipts is None else receipts.txn_id
        at = 0
        while at < len(messages):
            await self._admission()
            if txn is not self._txn:
                self._go_over(txn)
            at = self._put_some(messages, ends, at, self.pending.room, receipts)

    def _take_plain(self, messages: Sequence[bytes]) -> None:
        ends = list(accumulate(map(len, messages), initial=0))
        at = 0
        while at < len(messages):
            try:
                if self.closed is not None:
                    raise self.closed
                at = self._put_some(messages, ends, at, len(messages), None)
            except MagnetarError as error:
                self.sends.fail(None, error)
                at += 1

    def _put_some(
        self,
        messages: Sequence[bytes],
        ends: list[int],
        at: int,
        room: int,
        receipts: ManyReceipts | None,
    ) -> int:
        """Put those from ``at`` on that the open batch has room for. Returns where they end."""
        messages_left = self._config.batch_messages_max - self._batches.messages
        bytes_left = self._batch_size_max - 1 - self._batches.size_bytes
        stop = fitting(ends, at, min(messages_left, room), bytes_left)
        if stop == at:  # It is too big for what is left of the batch, or for any.
            self._put_one(messages[at], receipts)
            return at + 1
        part = None if receipts is None else receipts.part()
        self._put_run(messages[at:stop], ends[stop] - ends[at], part)
        return stop

    def _put_run(self, run: Sequence[bytes], size: int, waiter: Waiter | None) -> None:
        batch = self._batches.batch_for(None)
        first = self.next_sequence_id
        if batch is not None and first != batch.first_sequence_id + len(batch):
            self.close_batches()  # A message with an id or a key of its own came in between.
        batch = self._batch_for(None, first)
        self.next_sequence_id = first + len(run)
        if waiter is not None:
            batch.waiters.append((len(batch), len(run), waiter))
        batch.payloads += run
        self._added(batch, len(run), size)

    def _put_one(
        self, message: bytes | Buffer | OutgoingMessage, receipts: ManyReceipts | None
    ) -> None:
        if receipts is None:
            self._put_open(*prepare(message), None)
            return
        part = receipts.part()
        try:
            self._put_open(*prepare(message), part)
        except MagnetarError as error:
            part.settle(error)

    def _put_single(
        self, data: bytes, details: OutgoingMessage | None, size: int, waiter: Waiter | None
    ) -> None:
        check_loop(self._loop)
        before = self.next_sequence_id
        batch: Batch[Waiter] = Batch(
            self._take_sequence_ids(1, details), self._now() + self._timeout_s, [data]
        )
        batch.txn = self._txn
        batch.size_bytes = size
        if details is not None:
            batch.details[0] = details
        if waiter is not None:
            batch.waiters.append((0, 1, waiter))
        try:
            self.sends.send_single(batch)
        except MagnetarError:
            self.next_sequence_id = before
            raise

    def _batch_for(self, key: str | bytes | None, sequence_id: int) -> Batch[Waiter]:
        batch = self._batches.batch_for(key)
        if batch is None:
            check_loop(self._loop)
            batch = Batch(sequence_id, self._now() + self._timeout_s)
            batch.txn = self._txn
            self._batches.open(key, batch)
        return batch

    def _part_from_stored(self, sequence_id: int) -> None:
        """Keep what the broker has stored out of a batch with what it has not.

        It would take the whole batch for sent before, by its first id.
        """
        if self.next_sequence_id - 1 <= self.sends.last_sequence_id < sequence_id:
            self.close_batches()

    def _take_sequence_ids(self, count: int, details: OutgoingMessage | None) -> int:
        first = self.next_sequence_id
        if details is not None and details.sequence_id is not None:
            first = details.sequence_id
        self.next_sequence_id = first + count
        return first

    def _added(self, batch: Batch[Waiter], messages: int, size: int) -> None:
        self.pending.admit(messages, size)
        batch.size_bytes += size
        self._batches.messages += messages
        self._batches.size_bytes += size
        if (
            self._batches.messages >= self._config.batch_messages_max
            or self._batches.size_bytes >= self._batch_size_max
        ):
            self.close_batches()
        elif self._batch_timer is None:
            self._batch_timer = self._loop.call_later(
                self._config.batch_delay_s, self.close_batches
            )
