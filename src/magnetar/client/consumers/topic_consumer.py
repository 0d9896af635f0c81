"""One topic's part of a consumer or reader: its subscription, and what the broker is asked.

Its attachment subscribes again after a lost connection. Then the broker delivers all that is not
acknowledged once more, so what waits in the queue is dropped, permits begin anew, and messages that
the application has acknowledged meanwhile are left out. A reader, whose progress no broker keeps,
subscribes where the application has got to.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from functools import cached_property, partial
from typing import Any

from magnetar.client.connections.attachment import Attachment
from magnetar.client.connections.connection import Connection
from magnetar.client.consumers.config import ConsumerConfig
from magnetar.client.context import ClientContext
from magnetar.client.message import Message, entries_of
from magnetar.errors import AlreadyClosed, MagnetarError
from magnetar.model.position import MessageId, Position
from magnetar.model.subscriptions import SubscriptionType
from magnetar.tasks import Closing
from magnetar.wire import requests
from magnetar.wire.frames import Frame

from .ack_sender import IDS_MAX, AckSender
from .incoming_messages import IncomingMessages
from .positions import Positions
from .redeliveries import Redeliveries
from .subscribing import Subscribing
from .transaction_acks import TransactionAcks
from .writer_schemas import WriterSchemas

log = logging.getLogger(__name__)


class TopicConsumer:
    """One topic's, or one partition's, part of a ``Receiver``."""

    acks: AckSender
    redeliveries: Redeliveries
    incoming: IncomingMessages
    active: bool  # Whether it gets messages: of Failover consumers one, of others all.
    reached_end: bool  # The topic has ended, and all of it is acknowledged.
    over: MagnetarError | None  # Why no more messages will come; None while they may.
    keeps_messages: bool  # The topic keeps what was published: acknowledgements mean something.

    def __init__(
        self,
        subscribing: Subscribing,
        config: ConsumerConfig,
        context: ClientContext,
        *,
        arrived: Callable[["TopicConsumer"], None],
        failed: Callable[["TopicConsumer"], None],
    ) -> None:
        """``arrived`` is called when something may be taken, ``failed`` when it is ``over``.

        ``failed`` is not called for one that is closed.
        """
        self.topic = str(subscribing.topic)
        self.partition = subscribing.topic.partition_index
        self.active = config.type is not SubscriptionType.FAILOVER
        self.reached_end = False
        self.over = None
        self._subscribing = subscribing
        self._id = consumer_id = next(context.ids)
        self._config = config
        self._failed = failed
        self._timeout_s = context.config.operation_timeout_s
        self._close_timeout_s = context.config.close_timeout_s
        self._attachment = Attachment(
            self.topic,
            self._attach,
            self._not_attached,
            lookup=context.lookup,
            backoff=context.backoff(),
            clock=context.clock,
            owner=f"consumer {consumer_id} of {self.topic}",
        )
        self.keeps_messages = subscribing.topic.persistent
        reads_only = subscribing.start is not None and config.durable  # It is a reader's.
        self.redeliveries = Redeliveries(
            config,
            context.clock,
            self._come_due,
            acknowledges=self.keeps_messages and not reads_only,
        )
        self.acks = AckSender(
            consumer_id,
            config,
            context.clock,
            kept=self.keeps_messages,
            topic=self.topic,
            timeout_s=self._timeout_s,
            wheel=self.redeliveries.wheel,
        )
        self._schemas = None
        if subscribing.schema is not None:
            self._schemas = WriterSchemas(
                self.topic,
                subscribing.schema,
                context.lookup.schema,
                lambda: self.incoming.look_again(),  # noqa: PLW0108 - it is made below.
            )
        self.incoming = IncomingMessages(
            subscribing,
            consumer_id,
            config,
            acks=self.acks,
            redeliveries=self.redeliveries,
            clock=context.clock,
            schemas=self._schemas,
            reads_only=reads_only,
            arrived=partial(arrived, self),
            ask_again=self._ask_again,
        )
        self.on_message = self.incoming.on_message  # For every entry: no call in between.
        self.positions = Positions(
            consumer_id,
            self.partition,
            self._attachment,
            self._timeout_s,
            leave=self.acks.send,
            begin_at=self.incoming.begin_at,
        )
        self._closed = False
        self._close_request = partial(requests.close_consumer, consumer_id)
        self._closing = Closing(f"consumer {consumer_id} of {self.topic}", self._close)

    async def start(self) -> None:
        """Subscribe. Raises the broker's error or TimedOut; then no trace is left."""
        await self._attachment.start(self._timeout_s)

    @property
    def connected(self) -> bool:
        return self._attachment.connection is not None

    @cached_property
    def transaction_acks(self) -> TransactionAcks:
        """Takes what is acknowledged in transactions."""
        return TransactionAcks(
            self._id,
            self.topic,
            self._subscribing.subscription,
            ask=self.positions.ask,
            ask_again=self._ask_again,
            wheel=self.redeliveries.wheel,
        )

    def flush(self) -> None:
        self.acks.send()
        if self._attachment.connection is not None:
            self._attachment.connection.flush()

    def redeliver(self, messages: Iterable[Message[Any] | MessageId] | None) -> None:
        """Ask for unacknowledged messages again; None for all of them."""
        self.acks.send()
        connection = self._attachment.connection
        if connection is None or not self.keeps_messages:
            return  # The next connection brings what is not acknowledged, if anything does.
        if messages is not None and not self._config.type.single_active:
            asked = [place for message in messages for place in entries_of(message)]
            self.redeliveries.asked(asked)
            self._redeliver_entries(asked)
            return
        epoch = None
        if self._config.type.single_active:
            self.incoming.epoch += 1
            epoch = self.incoming.epoch
        self.incoming.drop()
        connection.write(requests.redeliver(self._id, None, consumer_epoch=epoch))
        self.incoming.ask_for_more()

    def _come_due(self, positions: list[Position]) -> None:
        """Ask for what the application refused, or did not acknowledge in time."""
        if self.incoming.interceptors is not None:
            self.incoming.interceptors.come_due(positions, self.redeliveries.wheel.entries)
        self._ask_again(positions)

    def _ask_again(self, positions: Iterable[Position]) -> None:
        """Ask for entries again; Exclusive and Failover subscriptions begin behind their mark."""
        self.acks.send()
        if self._config.type.single_active:
            self.redeliver(None)
        else:
            self._redeliver_entries(positions)

    def _redeliver_entries(self, positions: Iterable[Position]) -> None:
        connection = self._attachment.connection
        if connection is None:
            return
        wanted = sorted(set(positions))
        for at in range(0, len(wanted), IDS_MAX):
            connection.write(requests.redeliver(self._id, wanted[at : at + IDS_MAX]))
        self.incoming.release(wanted)

    async def has_message_available(self) -> bool:
        """Whether there is a message that the application has not received."""
        if self.incoming.open():
            return True
        if not self.keeps_messages:
            return False
        last, mark = await self.positions.last()
        here = self.incoming.open()  # A message may have come while the broker was asked.
        self.incoming.ask_for_more()
        return here or (last is not None and self.incoming.is_behind(last, mark))

    async def unsubscribe(self, *, force: bool) -> None:
        """Delete the subscription; the consumer is over. Raises TimedOut, the broker's error."""
        self.acks.send()
        await self.positions.ask(partial(requests.unsubscribe, self._id, force=force))
        await self._end(ask_broker=False)

    def close(self, timeout_s: float | None = None) -> Coroutine[Any, Any, None]:
        """Send the acknowledgements that wait, and detach. As ``Consumer.close``."""
        return self._closing(timeout_s)

    async def _close(self, timeout_s: float | None) -> None:
        if self._closed:  # Its subscription was deleted.
            return
        timeout_s = self._close_timeout_s if timeout_s is None else timeout_s
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                await self.incoming.settled(timeout_s)
                self.acks.send()
                await self.acks.settled()
                connection = self._attachment.connection
                if connection is not None:
                    await connection.request(self._close_request, timeout_s)
                    connection.consumers.pop(self._id, None)
        except (TimeoutError, MagnetarError) as error:
            log.warning("consumer.close_incomplete topic=%s error=%r", self.topic, error)
        finally:
            await self._end(ask_broker=True)

    def on_ack_response(self, request_id: int, error: MagnetarError | None) -> None:
        self.acks.answered(request_id, error)

    def on_active_change(self, frame: Frame) -> None:
        self.active = frame.command.active_consumer_change.is_active

    def on_end_of_topic(self) -> None:
        self.reached_end = True

    def on_detached(
        self, connection: Connection, error: MagnetarError | None, *, moved: bool = False
    ) -> None:
        if connection is self.incoming.connection:
            self.incoming.detached()
            self.acks.detached(lost=error is not None)
        self._attachment.lost(connection, moved=moved)

    async def _attach(self, connection: Connection) -> None:
        connection.consumers[self._id] = self
        try:
            await connection.request(self._subscribe_request, self._timeout_s)
        except BaseException:
            connection.detach(connection.consumers, self._id, self._close_request)
            raise
        self.acks.attached(connection)
        self.reached_end = False  # It hears of the end again.
        self.incoming.attached(connection)

    def _subscribe_request(self, request_id: int) -> bytes:
        return self._subscribing.command(
            self._id,
            request_id,
            self._config,
            start=self.incoming.start(),
            epoch=self.incoming.epoch,
        )

    def _not_attached(self, error: MagnetarError, *, final: bool) -> None:
        if final:
            self._fail(error)

    def _fail(self, error: MagnetarError) -> None:
        if self.over is None:
            self.over = error
        self.incoming.receiving = False
        if not self._closed:
            self._failed(self)

    async def _end(self, *, ask_broker: bool) -> None:
        self._closed = True
        closed = AlreadyClosed(f"the consumer of {self.topic} is closed")
        self._fail(closed)
        self.incoming.end()
        self.acks.close(closed)
        self.redeliveries.close()
        connection = self._attachment.connection
        if connection is not None:
            if not ask_broker:
                connection.consumers.pop(self._id, None)
            connection.detach(connection.consumers, self._id, self._close_request)
        if self._schemas is not None:
            await self._schemas.close()
        await self._attachment.close(str(self.over))
        await self.incoming.close()
