"""The send queue of one producer: open batches, then the sends that have no receipt yet.

One bound on messages and one on bytes hold for both parts together. Two timers run while they
have something to wait for: one for the open batches, one for the deadline of the oldest send.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import Final, TypeAlias, TypeVar, cast

from magnetar.checks import check_data
from magnetar.client.memory_limit import MemoryLimit
from magnetar.client.outgoing_message import Buffer, OutgoingMessage, not_sent, prepare
from magnetar.client.own_loop import check_loop
from magnetar.client.producers.config import ProducerConfig
from magnetar.client.statistics import Latencies
from magnetar.clock import Clock
from magnetar.errors import MagnetarError, MemoryFull, QueueFull, TimedOut, UnknownFailure
from magnetar.model.position import Position

from .batching import Batch, BatchPerKey, OneBatch, OpenBatches, PackedBatch, fitting, renumber
from .encoding import Encoder
from .flushes import Flushes
from .pending import PendingSend, PendingSends
from .receipts import ManyReceipts, Notice, Stored, Waiter, settle

log = logging.getLogger(__name__)
S = TypeVar("S")

HandedWhole: TypeAlias = tuple[bytes, OutgoingMessage | None, Waiter | None]
Handed: TypeAlias = bytes | HandedWhole
"""A message from another thread: just its payload, or what ``put`` takes."""

MESSAGE_SIZE_DEFAULT: Final = 5 * 1024 * 1024  # Until the broker has said otherwise.


class SendQueue:
    """Takes messages from the application, and hands frames to the connection."""

    size_max: int  # The bytes of payload that the broker takes in one entry.
    next_sequence_id: int
    last_sequence_id: int  # The highest that has a receipt; -1 before the first.
    closed: MagnetarError | None  # Why the queue takes nothing more.
    trouble: MagnetarError | None  # Why there is no receipt; None after a receipt.
    unreported: MagnetarError | None  # The first error that the application has not been told.
    latencies: Latencies | None  # Where those of sends are noted.

    def __init__(
        self,
        topic: str,
        partition: int,
        config: ProducerConfig,
        encoder: Encoder,
        *,
        clock: Clock,
        write: Callable[[list[bytes]], None],
        memory: MemoryLimit | None = None,
    ) -> None:
        """``write`` gets each frame once; it drops what it cannot send now."""
        self.size_max = MESSAGE_SIZE_DEFAULT
        self.next_sequence_id = 0
        self.last_sequence_id = -1
        self.closed = None
        self.trouble = None
        self.unreported = None
        self.latencies = None
        self._topic = topic
        self._partition = partition
        self._config = config
        self._encoder = encoder
        self._clock = clock
        self._write = write
        self._loop = asyncio.get_running_loop()
        self._timeout_s = config.send_timeout_s or float("inf")
        self._batches: OpenBatches[Waiter] = BatchPerKey() if config.batch_by_key else OneBatch()
        self._batch_size_max = config.batch_bytes_max if config.batching else 0
        self._batch_timer: asyncio.TimerHandle | None = None
        self._pending: PendingSends[Waiter] = PendingSends(
            messages_max=config.max_pending_messages,
            bytes_max=config.max_pending_bytes,
            memory=memory,
        )
        self._memory = memory
        self._deadline_timer: asyncio.TimerHandle | None = None
        self._room = asyncio.Event()
        self._flushes = Flushes(self._loop)

    @property
    def pending(self) -> PendingSends[Waiter]:
        return self._pending

    @property
    def full(self) -> bool:
        """``put`` would refuse a message."""
        return self._pending.full

    def check_room(self, messages: int = 0, size_bytes: int = 0) -> None:
        """Raises QueueFull when full with so many more, or why it is closed. On any thread."""
        if self.closed is not None:
            raise self.closed
        if not self._pending.has_room(messages, size_bytes):
            raise self._no_room(messages, size_bytes)

    def put(self, data: bytes, details: OutgoingMessage | None, waiter: Waiter | None) -> None:
        """Take one message, as ``message.prepare`` returned it.

        Raises QueueFull when full, the reason when closed, InvalidValue, MessageTooLarge.
        """
        try:
            self.check_room()
        except MagnetarError as error:
            not_sent(details, error)
            raise
        self._put_open(data, details, waiter)

    def take(self, handed: Sequence[Handed]) -> None:
        """Take messages that were let in before, beyond the bounds too. Errors go to who waits."""
        for kind, group in groupby(handed, type):
            if kind is bytes:
                self._take_plain(list(cast("Iterator[bytes]", group)))
                continue
            for data, details, waiter in cast("Iterator[HandedWhole]", group):
                try:
                    self._put_open(data, details, waiter)
                except MagnetarError as error:
                    self.fail(waiter, error)

    def fail(self, waiter: Waiter | None, error: MagnetarError) -> None:
        """Tell who waits for a message, or the next flush, that it was not taken."""
        waiters = [] if waiter is None else [(0, 1, waiter)]
        self._fail(waiters, 1, error, self._pending.appended + 1)

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
        for at, message in enumerate(messages):
            if self._pending.full:
                await self.room()
                try:
                    self.check_room()
                except MagnetarError as error:
                    for rest in messages[at:]:
                        not_sent(rest, error)
                    raise
            self._put_one(message, receipts)

    async def put_packed(self, batches: Sequence[PackedBatch]) -> None:
        """As ``put_many``, of batches with ids of their own; raises what went wrong before, too."""
        for packed in batches:
            await self._admission()
            self._raise_unreported()
            self.close_batches()
            batch: Batch[Waiter] = Batch.of(packed, self._clock.now() + self._timeout_s)
            self.next_sequence_id = batch.last_sequence_id + 1
            self._pending.admit(len(batch), batch.size_bytes)
            self._send_batch(batch)
        self._raise_unreported()

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
        batches = self._batches.take()
        renumber(batches)
        for batch in batches:
            self._send_batch(batch)

    def unanswered(self) -> Iterator[list[bytes]]:
        """The frames that have no receipt yet, in order: a new connection gets them again."""
        return (send.pieces for send in self._pending)

    async def settled(self) -> MagnetarError | None:
        """Wait until all that was put has a receipt or has failed; return the first error."""
        flush = self._flushes.begin()
        self.close_batches()
        flush.until = self._pending.appended
        self._progress()
        await flush.settled
        return flush.error

    async def flush(self) -> None:
        """As ``settled``. Raises an error that the application has not been told, or the first."""
        self._raise_unreported(await self.settled())

    def stored(self, sequence_id: int, position: Position) -> bool:
        """Take a receipt. Returns False when receipts do not come in the order of sends."""
        send = self._pending.answered(sequence_id)
        if send is None:
            return not self._pending.out_of_order(sequence_id)
        if self.latencies is not None:
            self.latencies.add(self._clock.now() - send.deadline + self._timeout_s)
        first_chunk = None
        if send.chunked is not None:
            send.chunked.first = send.chunked.first or position
            first_chunk = send.chunked.first
        self.last_sequence_id = max(self.last_sequence_id, send.last_sequence_id)
        self.trouble = None
        for first, count, waiter in send.waiters:
            index = first if send.batch_size else -1
            place = Stored(*position, self._partition, index, count, send.batch_size, first_chunk)
            settle(waiter, place)
        self._progress()
        return True

    def refused(self, sequence_id: int, error: MagnetarError) -> None:
        """Fail a message that the broker will never store."""
        self._fail_sends(self._pending.refused(sequence_id), error)
        self._progress()

    def fail_all(self, error: MagnetarError) -> None:
        """Fail all that was put, and take nothing more."""
        self.closed = self.closed or error
        for timer in (self._batch_timer, self._deadline_timer):
            if timer is not None:
                timer.cancel()
        for batch in self._batches.take():
            self._fail_batch(batch, error)
        self._fail_sends(self._pending.expired(float("inf")), error)
        self._progress()
        self._room.set()

    def _no_room(self, messages: int, size_bytes: int) -> QueueFull:
        memory = self._memory
        if memory is not None and not memory.has_room(size_bytes):
            return MemoryFull(
                f"the client's producers hold {memory.used_bytes + size_bytes} bytes without a "
                f"receipt, and may hold {memory.limit_bytes} (memory_limit_bytes): await ready() "
                "before sending more"
            )
        return QueueFull(
            f"the queue to {self._topic} is full ({self._pending.messages + messages} messages, "
            f"{self._pending.size_bytes + size_bytes} bytes): await ready() before sending more"
        )

    def _raise_unreported(self, failed: MagnetarError | None = None) -> None:
        error, self.unreported = self.unreported or failed, None
        if error is not None:
            raise error

    async def _admission(self) -> None:
        if self._pending.full or self.closed is not None:
            await self.room()
            self.check_room()

    async def _until_room(self) -> None:
        while self.closed is None and self._pending.full:
            self._room.clear()
            if self._memory is not None and self._memory.full:
                self._memory.when_free(self._room.set)
            self.close_batches()  # What cannot be encoded makes room at once.
            await self._room.wait()

    async def _put_plain(self, messages: Sequence[bytes], receipts: ManyReceipts | None) -> None:
        ends = list(accumulate(map(len, messages), initial=0))
        at = 0
        while at < len(messages):
            await self._admission()
            at = self._put_some(messages, ends, at, self._pending.room, receipts)

    def _take_plain(self, messages: Sequence[bytes]) -> None:
        ends = list(accumulate(map(len, messages), initial=0))
        at = 0
        while at < len(messages):
            try:
                if self.closed is not None:
                    raise self.closed
                at = self._put_some(messages, ends, at, len(messages), None)
            except MagnetarError as error:
                self.fail(None, error)
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
        if batch and self.next_sequence_id != batch.first_sequence_id + len(batch):
            self.close_batches()  # A message with an id or a key of its own came in between.
        batch = self._batch_for(None, self._take_sequence_ids(len(run), None))
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
            self._take_sequence_ids(1, details), self._clock.now() + self._timeout_s, [data]
        )
        batch.size_bytes = size
        if details is not None:
            batch.details[0] = details
        if waiter is not None:
            batch.waiters.append((0, 1, waiter))
        try:
            sends = self._encoded(self._encoder.single, batch)
        except MagnetarError:
            self.next_sequence_id = before
            raise
        self._pending.admit(1, size)
        for send in sends:
            self._send(send)

    def _batch_for(self, key: str | bytes | None, sequence_id: int) -> Batch[Waiter]:
        batch = self._batches.batch_for(key)
        if batch is None:
            check_loop(self._loop)
            batch = Batch(sequence_id, self._clock.now() + self._timeout_s)
            self._batches.open(key, batch)
        return batch

    def _take_sequence_ids(self, count: int, details: OutgoingMessage | None) -> int:
        first = self.next_sequence_id
        if details is not None and details.sequence_id is not None:
            first = details.sequence_id
        self.next_sequence_id = first + count
        return first

    def _added(self, batch: Batch[Waiter], messages: int, size: int) -> None:
        self._pending.admit(messages, size)
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

    def _encoded(self, encode: Callable[[Batch[Waiter], int, int], S], batch: Batch[Waiter]) -> S:
        """Encode a batch. Raises MessageTooLarge, and UnknownFailure for a mistake of ours."""
        try:
            return encode(batch, self.size_max, self._clock.wall_ms())
        except MagnetarError:
            raise
        except Exception as error:
            log.exception("producer.encoding_failed topic=%s messages=%d", self._topic, len(batch))
            raise UnknownFailure(
                f"{len(batch)} messages to {self._topic} could not be encoded: {error!r}"
            ) from error

    def _send_batch(self, batch: Batch[Waiter]) -> None:
        try:
            send = self._encoded(self._encoder.batch, batch)
        except MagnetarError as error:
            self._fail_batch(batch, error)
            self._progress()
        else:
            self._send(send)

    def _send(self, send: PendingSend[Waiter]) -> None:
        self._pending.append(send)
        self._write(send.pieces)
        if self._deadline_timer is None and self._config.send_timeout_s:
            self._deadline_timer = self._loop.call_later(self._timeout_s, self._check_deadlines)

    def _check_deadlines(self) -> None:
        self._deadline_timer = None
        now = self._clock.now()
        self._fail_sends(self._pending.expired(now), self._timed_out())
        self._progress()
        if len(self._pending):
            wait_s = max(self._pending.first_deadline - now, 0.0)
            self._deadline_timer = self._loop.call_later(wait_s, self._check_deadlines)

    def _timed_out(self) -> TimedOut:
        because = "" if self.trouble is None else f"; the last error was: {self.trouble}"
        error = TimedOut(
            f"no receipt from {self._topic} within {self._timeout_s:g} s; "
            f"the message may have been stored all the same{because}"
        )
        error.__cause__ = self.trouble
        return error

    def _fail_batch(self, batch: Batch[Waiter], error: MagnetarError) -> None:
        self._pending.release(len(batch), batch.size_bytes)
        self._pending.failed_messages += len(batch)
        self._fail(batch.waiters, len(batch), error, self._pending.appended + 1)

    def _fail_sends(self, sends: list[PendingSend[Waiter]], error: MagnetarError) -> None:
        for send in sends:
            self._fail(send.waiters, send.message_count, error, send.number)

    def _fail(
        self,
        waiters: list[tuple[int, int, Waiter]],
        message_count: int,
        error: MagnetarError,
        number: int,
    ) -> None:
        """Tell the error to all who wait for these messages, or flush the send of this number."""
        told = 0
        for _, count, waiter in waiters:
            if settle(waiter, error):
                told += count
        if told < message_count:
            self.unreported = self.unreported or error
        self._flushes.failed(number, error)

    def _progress(self) -> None:
        if not self._pending.full:
            self._room.set()
        self._flushes.settled(self._pending.settled)
