"""The sends of one producer: they are encoded, written and answered, and flushes wait for them.

A send is one entry: a message, a batch, or a chunk of a large message. It stays here until its
receipt comes, and is written again after a reconnection, in the same order and with the same
sequence ids, by which the broker knows what it has stored already. Receipts come in that order.

One timer runs while there is a send that may be given up: for the deadline of the oldest.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from magnetar.client.producers.config import ProducerConfig
from magnetar.client.statistics import Latencies
from magnetar.clock import Clock
from magnetar.errors import MagnetarError, TimedOut, UnknownFailure
from magnetar.model.position import Position

from .batching import Batch
from .encoding import Encoder
from .pending import PendingSend, PendingSends
from .receipts import Stored, Waiter, settle

log = logging.getLogger(__name__)
S = TypeVar("S")

Write: TypeAlias = Callable[[list[bytes]], None]

MESSAGE_SIZE_DEFAULT: Final = 5 * 1024 * 1024  # Until the broker has said otherwise.


@dataclass(slots=True, eq=False)
class Flush:
    """A caller that waits until the sends up to a number are settled."""

    settled: asyncio.Future[None]
    until: float = float("inf")  # The number; infinity while it is not known yet.
    error: MagnetarError | None = None  # The first error of a send that it waits for.


class Flushes:
    """Keeps the flushes of one producer, in the order of their numbers."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: list[Flush] = []

    def begin(self) -> Flush:
        """Begin one that waits for all that is sent until its number is known."""
        flush = Flush(self._loop.create_future())
        self._waiting.append(flush)
        return flush

    def failed(self, number: int, error: MagnetarError) -> None:
        """Note that the send of this number has failed."""
        for flush in self._waiting:
            if number <= flush.until:
                flush.error = flush.error or error

    def settled(self, number: int) -> None:
        """End the flushes that wait for nothing behind this number."""
        while self._waiting and self._waiting[0].until <= number:
            flush = self._waiting.pop(0)
            if not flush.settled.done():
                flush.settled.set_result(None)


class Sends:
    """Sends what was admitted, and settles its waiters."""

    size_max: int  # The bytes of payload that the broker takes in one entry.
    last_sequence_id: int  # The highest that has a receipt; -1 before the first.
    trouble: MagnetarError | None  # Why there is no receipt; None after a receipt.
    unreported: MagnetarError | None  # The first error that the application has not been told.
    unreported_messages: int  # How many messages failed without its being told.
    latencies: Latencies | None  # Where those of sends are noted.
    room: asyncio.Event  # Set each time there is room for more, and at the end.

    def __init__(
        self,
        topic: str,
        partition: int,
        config: ProducerConfig,
        encoder: Encoder,
        pending: PendingSends[Waiter],
        *,
        clock: Clock,
        write: Write,
    ) -> None:
        """``write`` gets each frame once; it drops what it cannot send now."""
        self.size_max = MESSAGE_SIZE_DEFAULT
        self.last_sequence_id = -1
        self.trouble = None
        self.unreported = None
        self.unreported_messages = 0
        self.latencies = None
        self.room = asyncio.Event()
        self._topic = topic
        self._partition = partition
        self._encoder = encoder
        self._pending = pending
        self._clock = clock
        self._write = write
        self._loop = asyncio.get_running_loop()
        self._gives_up = bool(config.send_timeout_s)
        self._timeout_s = config.send_timeout_s or float("inf")
        self._deadline_timer: asyncio.TimerHandle | None = None
        self._flushes = Flushes(self._loop)

    def send_single(self, batch: Batch[Waiter]) -> None:
        """Admit and write one message that is in no batch; or raise what is wrong with it.

        Raises MessageTooLarge, and UnknownFailure for a mistake of ours.
        """
        sends = self._encoded(self._encoder.single, batch)
        self._pending.admit(1, batch.size_bytes)
        for send in sends:
            self._send(send)

    def send_batch(self, batch: Batch[Waiter]) -> None:
        """Encode and write a batch. Its waiters get the error that prevents it."""
        try:
            send = self._encoded(self._encoder.batch, batch)
        except MagnetarError as error:
            self.fail_batch(batch, error)
        else:
            self._send(send)

    def _send(self, send: PendingSend[Waiter]) -> None:
        """Write a send whose messages were admitted."""
        self._pending.append(send)
        self._write(send.pieces)
        if self._deadline_timer is None and self._gives_up:
            self._deadline_timer = self._loop.call_later(self._timeout_s, self._check_deadlines)

    def unanswered(self) -> Iterator[list[bytes]]:
        """The frames that have no receipt yet, in order: a new connection gets them again."""
        return (send.pieces for send in self._pending)

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

    def fail(self, waiter: Waiter | None, error: MagnetarError) -> None:
        """Settle the waiter of a message, or else the next flush, with its error."""
        waiters = [] if waiter is None else [(0, 1, waiter)]
        self._fail(waiters, 1, error, self._pending.appended + 1)

    def fail_batch(self, batch: Batch[Waiter], error: MagnetarError) -> None:
        """Fail messages that were admitted and cannot be sent."""
        self._pending.release(len(batch), batch.size_bytes)
        self._pending.failed_messages += len(batch)
        self._fail(batch.waiters, len(batch), error, self._pending.appended + 1)
        self._progress()

    def fail_pending(self, error: MagnetarError) -> None:
        """Fail all that has no receipt."""
        self._fail_sends(self._pending.expired(float("inf")), error)
        self._progress()

    def fail_all(self, error: MagnetarError) -> None:
        """Fail all that has no receipt, and wake the callers that wait for room."""
        if self._deadline_timer is not None:
            self._deadline_timer.cancel()
        self.fail_pending(error)
        self.room.set()

    def flush(self) -> Flush:
        """Begin to wait for all that is sent until ``settled`` is called with it."""
        return self._flushes.begin()

    async def settled(self, flush: Flush) -> MagnetarError | None:
        """Wait until all sends have a receipt or have failed; return the first error."""
        flush.until = self._pending.appended
        self._progress()
        await flush.settled
        return flush.error

    def raise_unreported(self, failed: MagnetarError | None = None) -> None:
        """Raise an error that the application has not been told, or else ``failed``."""
        error, self.unreported = self.unreported or failed, None
        self.unreported_messages = 0
        if error is not None:
            raise error

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

    def _check_deadlines(self) -> None:
        self._deadline_timer = None
        now = self._clock.now()
        text = f"no receipt from {self._topic} within {self._timeout_s:g} s; "
        error = self.timed_out(f"{text}the message may have been stored all the same")
        self._fail_sends(self._pending.expired(now), error)
        self._progress()
        if len(self._pending):
            wait_s = max(self._pending.first_deadline - now, 0.0)
            self._deadline_timer = self._loop.call_later(wait_s, self._check_deadlines)

    def timed_out(self, what: str) -> TimedOut:
        """The error of messages without a receipt, with what is known of why."""
        because = "" if self.trouble is None else f"; the last error was: {self.trouble}"
        error = TimedOut(f"{what}{because}")
        error.__cause__ = self.trouble
        return error

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
        """Settle the waiters of these messages, and the flushes of this number, with the error."""
        told = 0
        for _, count, waiter in waiters:
            if settle(waiter, error):
                told += count
        if told < message_count:
            self.unreported = self.unreported or error
            self.unreported_messages += message_count - told
        self._flushes.failed(number, error)

    def _progress(self) -> None:
        if not self._pending.full:
            self.room.set()
        self._flushes.settled(self._pending.settled)
