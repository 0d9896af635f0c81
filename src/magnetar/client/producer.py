"""A producer of one topic: keeps its queue attached to the broker, and brings the answers back."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Self, Unpack

from magnetar.clock import Clock
from magnetar.errors import ConnectionLost, MagnetarError, NotAllowed, Refused
from magnetar.model.names import TopicName
from magnetar.model.position import MessageId, Position
from magnetar.tasks import Closing
from magnetar.wire import requests
from magnetar.wire.errors import from_code
from magnetar.wire.frames import Frame

from .attachment import Attachment
from .backoff import Backoff
from .config import ProducerConfig
from .connection import Connection
from .encoding import Encoder
from .lookup import Lookup
from .message import MessageDetails, OutgoingMessage, as_sequence, prepare
from .receipts import ManyReceipts
from .send_queue import SendQueue

log = logging.getLogger(__name__)


class TopicProducer:
    """Made by ``Client.create_producer``; ``contracts.Producer`` says what the methods promise."""

    def __init__(
        self,
        topic: TopicName,
        producer_id: int,
        config: ProducerConfig,
        *,
        lookup: Lookup,
        backoff: Backoff,
        clock: Clock,
        operation_timeout_s: float,
        closed: Callable[["TopicProducer"], None],
    ) -> None:
        """``closed`` is called once, when the producer has been closed."""
        self._topic = str(topic)
        self._id = producer_id
        self._config = config
        self._timeout_s = operation_timeout_s
        self._on_closed = closed
        self._loop = asyncio.get_running_loop()
        self._name = config.name
        self._epoch = 0
        self._encoder = Encoder(producer_id, config.compression, chunking=config.chunking)
        self._queue = SendQueue(
            self._topic,
            topic.partition_index,
            config,
            self._encoder,
            clock=clock,
            write=self._write,
        )
        self._attachment = Attachment(
            self._topic,
            self._attach,
            self._queue.fail_all,
            refused=self._refused,
            lookup=lookup,
            backoff=backoff,
            clock=clock,
            owner=f"producer {producer_id} of {topic}",
        )
        self._closing = Closing(f"producer {producer_id} of {topic}", self._close)

    async def start(self) -> None:
        """Attach for the first time. Raises the broker's error or TimedOut; no trace is left."""
        await self._attachment.start(self._timeout_s)

    @property
    def topic(self) -> str:
        return self._topic

    @property
    def name(self) -> str:
        return self._name or ""

    @property
    def last_sequence_id(self) -> int:
        return self._queue.last_sequence_id

    @property
    def connected(self) -> bool:
        return self._attachment.connection is not None

    @property
    def full(self) -> bool:
        """``send`` would refuse a message."""
        return self._queue.full

    async def send(
        self, value: bytes | OutgoingMessage, **details: Unpack[MessageDetails]
    ) -> MessageId:
        data, message = prepare(value, details)
        if self._queue.full:
            await self._queue.ready()
        return await self.put(data, message)

    def submit(
        self, value: bytes | OutgoingMessage, **details: Unpack[MessageDetails]
    ) -> asyncio.Future[MessageId]:
        return self.put(*prepare(value, details))

    def send_nowait(
        self, value: bytes | OutgoingMessage, **details: Unpack[MessageDetails]
    ) -> None:
        self.put_nowait(*prepare(value, details))

    async def send_many(self, values: Iterable[bytes | OutgoingMessage]) -> Sequence[MessageId]:
        receipts = ManyReceipts()
        await self.put_many(as_sequence(values), receipts)
        self._queue.close_batches()
        return await receipts.ids()

    async def enqueue(self, values: Iterable[bytes | OutgoingMessage]) -> None:
        for value in values:
            data, message = prepare(value)
            if self._queue.full:
                await self._queue.ready()
            self.put_nowait(data, message)

    def put(self, data: bytes, message: OutgoingMessage | None) -> asyncio.Future[MessageId]:
        """Queue what ``prepare`` returned; the future brings its id."""
        receipt: asyncio.Future[MessageId] = self._loop.create_future()
        self._queue.put(data, message, receipt)
        return receipt

    def put_nowait(self, data: bytes, message: OutgoingMessage | None) -> None:
        """The same without a receipt of its own."""
        self._queue.put(data, message, None)

    async def put_many(
        self, values: Sequence[bytes | OutgoingMessage], receipts: ManyReceipts
    ) -> None:
        """Take all messages, waiting for room; the last batch may still be open afterwards."""
        await self._queue.put_many(values, receipts)

    def close_batches(self) -> None:
        """Send what waits in open batches."""
        self._queue.close_batches()

    async def ready(self) -> None:
        await self._queue.ready()

    async def flush(self) -> None:
        failed = await self._queue.settled()
        self._queue.report()
        if failed is not None:
            raise failed

    def close(self) -> Coroutine[Any, Any, None]:
        return self._closing()

    async def _close(self) -> None:
        closed = NotAllowed(f"producer {self.name} on {self._topic} is closed")
        self._queue.closed = self._queue.closed or closed
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._queue.settled()
                connection = self._attachment.connection
                if connection is not None:
                    await connection.request(self._close_request, self._timeout_s)
                    connection.producers.pop(self._id, None)
        except (TimeoutError, MagnetarError) as error:
            log.warning("producer.close_incomplete topic=%s error=%r", self._topic, error)
        finally:
            await self._end()
            if self._queue.unreported is not None:
                lost = self._queue.unreported
                log.warning("producer.closed_unreported topic=%s error=%s", self._topic, lost)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def on_receipt(self, frame: Frame) -> None:
        receipt = frame.command.send_receipt
        stored_at = receipt.message_id
        position = Position(_signed(stored_at.ledgerId), _signed(stored_at.entryId))
        if not self._queue.stored(receipt.sequence_id, position):
            self._reconnect(f"receipt for {receipt.sequence_id} is out of order")

    def on_send_error(self, frame: Frame) -> None:
        refusal = frame.command.send_error
        error = from_code(refusal.error, refusal.message)
        if isinstance(error, Refused):
            self._queue.refused(refusal.sequence_id, error)
        else:
            self._refused(error)
            self._reconnect(f"send {refusal.sequence_id} failed: {error}")

    def on_detached(self, connection: Connection, error: MagnetarError | None) -> None:
        self._attachment.lost(connection)

    async def _attach(self, connection: Connection) -> None:
        epoch, self._epoch = self._epoch, self._epoch + 1
        connection.producers[self._id] = self
        attached = False
        try:
            answer = await connection.request(
                lambda request_id: requests.producer(
                    self._id,
                    request_id,
                    self._topic,
                    name=self._name,
                    user_provided_name=self._config.name is not None,
                    epoch=epoch,
                    metadata=self._config.properties,
                ),
                self._timeout_s,
            )
            attached = True
        finally:
            if not attached and connection.producers.pop(self._id, None) is not None:
                connection.post(self._close_request)
        success = answer.command.producer_success
        if epoch == 0 or not self._encoder.producer_name:
            start = self._config.initial_sequence_id
            last = max(success.last_sequence_id, -1)  # No broker has reason to say less.
            self._queue.next_sequence_id = last + 1 if start is None else start
            self._queue.last_sequence_id = last
        self._name = self._encoder.producer_name = success.producer_name
        self._queue.size_max = connection.max_message_size
        for pieces in self._queue.unanswered():
            connection.write_pieces(pieces)

    def _write(self, pieces: list[bytes]) -> None:
        if self._attachment.connection is not None:
            self._attachment.connection.write_pieces(pieces)

    def _refused(self, error: MagnetarError) -> None:
        self._queue.trouble = error

    def _reconnect(self, reason: str) -> None:
        log.warning("producer.reconnects topic=%s reason=%s", self._topic, reason)
        if self._attachment.connection is not None:
            self._attachment.connection.abort(ConnectionLost(reason))

    def _close_request(self, request_id: int) -> bytes:
        return requests.close_producer(self._id, request_id)

    async def _end(self) -> None:
        connection = self._attachment.connection
        if connection is not None and connection.producers.pop(self._id, None) is not None:
            connection.post(self._close_request)
        reason = f"producer {self.name} on {self._topic} is closed"
        self._queue.fail_all(NotAllowed(reason))
        self._on_closed(self)
        await self._attachment.close(reason)


def _signed(number: int) -> int:
    """A uint64 of the wire as the int64 it stands for."""
    return number - (1 << 64) if number >> 63 else number
