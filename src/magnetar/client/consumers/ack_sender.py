"""Takes acknowledgements from the application, and sends them to the broker in groups.

A group leaves when it has ``ack_group_max`` entries, or ``ack_group_time_s`` after its first; what
was not sent when a connection is lost leaves on the next one. With ``ack_receipts`` the broker
answers each command, and an acknowledgement returns once it is answered.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from magnetar.client.connections.connection import Connection
from magnetar.client.consumers.config import ConsumerConfig
from magnetar.client.message import Delivery, Message
from magnetar.clock import Clock
from magnetar.errors import MagnetarError
from magnetar.model.position import ChunkedMessageId, MessageId, Position
from magnetar.model.timer_wheel import TimerWheel
from magnetar.wire import requests

from .ack_receipts import ACKNOWLEDGED, AckReceipts, all_of
from .acknowledgements import AckBatch, Acknowledgements

IDS_MAX: Final = 1000  # Entries that one command names, so that no frame grows too large.

_delivery: Final = itemgetter(0)
_index: Final = itemgetter(1)


class AckSender:
    """Sends the acknowledgements of one consumer, those from before a reconnection too."""

    state: Acknowledgements

    def __init__(
        self,
        consumer_id: int,
        config: ConsumerConfig,
        clock: Clock,
        *,
        topic: str,
        timeout_s: float,
        kept: bool = True,
        wheel: TimerWheel[Position] | None = None,
    ) -> None:
        """``kept`` False: the topic keeps no messages, so that acknowledgements mean nothing.

        ``wheel`` loses the entries that are acknowledged. Receipts wait for the broker's answer up
        to ``timeout_s`` seconds.
        """
        self.state = Acknowledgements(
            group_max=config.ack_group_max, batch_index=config.batch_index_ack, wheel=wheel
        )
        self._id = consumer_id
        self._kept = kept
        self._group_time_s = config.ack_group_time_s
        self._clock = clock
        self._connection: Connection | None = None  # Set while the consumer is attached.
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self.sent = 0  # Acknowledgements that left, for statistics.
        self._receipts: AckReceipts | None = None
        if config.ack_receipts and kept:
            self._receipts = AckReceipts(topic, timeout_s, self.send)

    @property
    def has_receipts(self) -> bool:
        """Whether the broker is asked for answers."""
        return self._receipts is not None

    def acknowledge(self, messages: Sequence[Message[Any] | MessageId]) -> Awaitable[None]:
        if not self._kept:
            return ACKNOWLEDGED
        if set(map(type, messages)) == {Message}:
            for delivery, group in groupby(messages, _delivery):
                self._acknowledge_indexes(delivery, list(map(_index, group)))
            return self.send_soon()
        return all_of([self.acknowledge_one(message) for message in messages])

    def acknowledge_one(self, message: Message[Any] | MessageId) -> Awaitable[None]:
        if not self._kept:
            return ACKNOWLEDGED
        if isinstance(message, Message):
            delivery = message.delivery
            if delivery.batch_size > 1 and not delivery.chunks:
                some = (message.batch_index,)
                if not self.state.some(delivery.position, some, delivery.batch_size):
                    return ACKNOWLEDGED
            else:
                self._acknowledge_indexes(delivery, (message.batch_index,))
        elif isinstance(message, ChunkedMessageId):
            self._acknowledge_chunks(message.chunks or (message.position,))
        elif message.batch_index < 0 or message.batch_size <= 1:
            self.state.entry(message.position)
        else:
            self.state.indexes(message.position, (message.batch_index,), message.batch_size)
        return self.send_soon()

    def acknowledge_cumulative(self, message: Message[Any] | MessageId) -> Awaitable[None]:
        if not self._kept:
            return ACKNOWLEDGED
        message_id = message.message_id if isinstance(message, Message) else message
        self.state.cumulative(message_id.position, message_id.batch_index, message_id.batch_size)
        return self.send_soon()

    def reject(self, position: Position, reason: int) -> None:
        """Acknowledge an entry that cannot be read, and tell the broker the reason."""
        if self._connection is not None and self._kept:
            self._connection.write(requests.ack(self._id, [position], validation_error=reason))

    def send_soon(self) -> Awaitable[None]:
        """Send the group: now when it is full, otherwise when its time has come.

        Returns the broker's answer to it.
        """
        if not self.state.count:
            return ACKNOWLEDGED
        receipt = ACKNOWLEDGED if self._receipts is None else self._receipts.receipt()
        if self.state.due or not self._group_time_s:
            self.send()
        elif self._timer is None:
            self._timer = self._loop.call_later(self._group_time_s, self.send)
        return receipt

    def send(self) -> None:
        """Send the group now. Without a connection it waits for the next one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        connection = self._connection
        if connection is None or not self.state.count:
            return
        if self._receipts is not None and self._receipts.full:
            return
        batches = self.state.drain(self._clock.now())
        sent = None if self._receipts is None else self._receipts.begin()
        self.sent += sum(len(each.positions) for each in batches)
        for batch in (part for each in batches for part in each.parts(IDS_MAX)):
            if sent is None:
                connection.write(self._command(batch))
            else:
                connection.post(partial(self._command_with_receipt, batch, sent))

    def attached(self, connection: Connection) -> None:
        """Send over this connection, and at once what could not be sent before."""
        self._connection = connection
        self.send()

    def answered(self, request_id: int, error: MagnetarError | None) -> None:
        """The broker has answered a command."""
        if self._receipts is not None:
            self._receipts.answered(request_id, error)
            self.send_soon()  # What waited for room among the commands may go.

    def detached(self, *, lost: bool) -> None:
        """The broker has detached the consumer, or (``lost``) there is no connection any more."""
        self._connection = None
        if self._receipts is not None:
            for batch in self._receipts.take_unanswered():
                self.state.send_again(batch)
        if lost:
            self.state.connection_lost()
        else:
            self.state.forget_sent()

    def clear(self) -> None:
        """Forget everything, because of a seek."""
        self.state.clear()
        if self._receipts is not None:
            self._receipts.end()

    async def settled(self) -> None:
        """Return when the broker has answered what it was asked. Raises TimedOut."""
        if self._receipts is not None:
            await self._receipts.settled()

    def close(self, error: MagnetarError) -> None:
        """Send nothing more; receipts that are still awaited get ``error``."""
        self._connection = None
        if self._timer is not None:
            self._timer.cancel()
        if self._receipts is not None:
            self._receipts.end(error)

    def _command(self, batch: AckBatch, request_id: int | None = None) -> bytes:
        return requests.ack(
            self._id,
            batch.positions,
            ack_sets=batch.sets,
            cumulative=batch.cumulative,
            request_id=request_id,
        )

    def _command_with_receipt(
        self, batch: AckBatch, sent: Callable[[int, AckBatch], None], request_id: int
    ) -> bytes:
        sent(request_id, batch)
        return self._command(batch, request_id)

    def _acknowledge_chunks(self, chunks: Sequence[Position]) -> None:
        for position in chunks:
            self.state.entry(position)
        self.state.chunked_done(chunks[0])

    def _acknowledge_indexes(self, delivery: Delivery, indexes: Sequence[int]) -> None:
        if delivery.chunks:
            self._acknowledge_chunks(delivery.chunks)
        elif len(indexes) >= delivery.batch_size and len(set(indexes)) >= delivery.batch_size:
            self.state.entry(delivery.position)
        else:
            self.state.some(delivery.position, indexes, delivery.batch_size)
