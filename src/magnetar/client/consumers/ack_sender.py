"""Takes acknowledgements from the application, and sends them to the broker in groups."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from magnetar.client.connections.connection import Connection
from magnetar.client.consumers.config import ConsumerConfig
from magnetar.client.message import ChunkedMessageId, Delivery, Message
from magnetar.clock import Clock
from magnetar.model.position import MessageId, Position
from magnetar.wire import requests

from .acknowledgements import Acknowledgements
from .timer_wheel import TimerWheel

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
        connection: Callable[[], Connection | None],
        *,
        kept: bool = True,
        wheel: TimerWheel | None = None,
    ) -> None:
        """``connection`` returns the connection to use now, or None when there is none.

        ``kept`` False: the topic keeps no messages, so that acknowledgements mean nothing.
        ``wheel`` loses the entries that are acknowledged.
        """
        self.state = Acknowledgements(
            group_max=config.ack_group_max, batch_index=config.batch_index_ack, wheel=wheel
        )
        self._id = consumer_id
        self._kept = kept
        self._group_time_s = config.ack_group_time_s
        self._clock = clock
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def acknowledge(self, messages: Sequence[Message[Any] | MessageId]) -> None:
        if not self._kept:
            return
        if set(map(type, messages)) == {Message}:
            for delivery, group in groupby(messages, _delivery):
                self._acknowledge_indexes(delivery, list(map(_index, group)))
            self.send_soon()
        else:
            for message in messages:
                self.acknowledge_one(message)

    def acknowledge_one(self, message: Message[Any] | MessageId) -> None:
        if not self._kept:
            return
        if isinstance(message, Message):
            self._acknowledge_indexes(message.delivery, (message.batch_index,))
        elif isinstance(message, ChunkedMessageId):
            self._acknowledge_chunks(message.chunks or (message.position,))
        elif message.batch_index < 0 or message.batch_size <= 1:
            self.state.entry(message.position)
        else:
            self.state.indexes(message.position, (message.batch_index,), message.batch_size)
        self.send_soon()

    def acknowledge_cumulative(self, message: Message[Any] | MessageId) -> None:
        if not self._kept:
            return
        message_id = message.message_id if isinstance(message, Message) else message
        self.state.cumulative(message_id.position, message_id.batch_index, message_id.batch_size)
        self.send_soon()

    def reject(self, position: Position, reason: int) -> None:
        """Acknowledge an entry that cannot be read, and tell the broker the reason."""
        connection = self._connection()
        if connection is not None and self._kept:
            connection.write(requests.ack(self._id, [position], validation_error=reason))

    def send_soon(self) -> None:
        """Send the group: now when it is full, otherwise when its time has come."""
        if not self.state.count:
            return
        if self.state.due or not self._group_time_s:
            self.send()
        elif self._timer is None:
            self._timer = self._loop.call_later(self._group_time_s, self.send)

    def send(self) -> None:
        """Send the group now. Without a connection it waits for the next one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        connection = self._connection()
        if connection is not None:
            self.send_to(connection)

    def send_to(self, connection: Connection) -> None:
        if not self.state.count:
            return
        batch = self.state.drain(self._clock.now())
        for at in range(0, len(batch.positions), IDS_MAX):
            part = slice(at, at + IDS_MAX)
            sets = None if batch.sets is None else batch.sets[part]
            connection.write(requests.ack(self._id, batch.positions[part], ack_sets=sets))
        if batch.cumulative is not None:
            sets = [batch.cumulative_set] if batch.cumulative_set else None
            connection.write(
                requests.ack(self._id, [batch.cumulative], ack_sets=sets, cumulative=True)
            )

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

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
            self.state.indexes(delivery.position, indexes, delivery.batch_size)
