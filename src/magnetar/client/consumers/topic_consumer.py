"""One topic's part of a consumer or reader: permits, messages, and the place in the log."""

import logging
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from math import inf
from typing import Any, Final

from magnetar.client.connections.attachment import Attachment
from magnetar.client.connections.backoff import Backoff
from magnetar.client.connections.connection import Connection
from magnetar.client.connections.lookup import Lookup
from magnetar.client.consumers.config import ConsumerConfig
from magnetar.client.message import Message, entries_of
from magnetar.client.statistics import Counts
from magnetar.clock import Clock
from magnetar.errors import AlreadyClosed, MagnetarError
from magnetar.model.position import MessageId, Position
from magnetar.model.subscriptions import SubscriptionType
from magnetar.tasks import Closing
from magnetar.wire import requests
from magnetar.wire.frames import Frame

from .ack_sender import IDS_MAX, AckSender
from .alarm import Alarm
from .dead_letters import DeadLetters
from .entry import Entry
from .interceptors import TopicInterceptors
from .letter_sender import LetterSender
from .place import Place
from .positions import Positions
from .receive_queue import ReceiveQueue
from .redeliveries import Redeliveries
from .subscribing import Subscribing
from .unpacking import Start, Unpacker, permits_of
from .writer_schemas import WriterSchemas

log = logging.getLogger(__name__)

ORDERED: Final = (SubscriptionType.EXCLUSIVE, SubscriptionType.FAILOVER)
SETTLED_PARTS: Final = 8  # So often in one queue's worth of messages it is looked what was taken.


class TopicConsumer:
    """One topic's, or one partition's, part of a ``Receiver``."""

    acks: AckSender
    redeliveries: Redeliveries
    letters: LetterSender | None
    active: bool  # Whether it gets messages: of Failover consumers one, of others all.
    reached_end: bool  # The topic has ended, and all of it is acknowledged.
    over: MagnetarError | None  # Why no more messages will come; None while they may.
    paused: bool  # The broker gets no permits.
    interceptors: TopicInterceptors | None  # See what the application takes.

    def __init__(
        self,
        subscribing: Subscribing,
        consumer_id: int,
        config: ConsumerConfig,
        *,
        arrived: Callable[["TopicConsumer"], None],
        failed: Callable[["TopicConsumer"], None],
        lookup: Lookup,
        backoff: Backoff,
        clock: Clock,
        operation_timeout_s: float,
    ) -> None:
        """``arrived`` is called when ``take`` may find something, ``failed`` when it is ``over``.

        ``failed`` is not called for one that is closed.
        """
        self.topic = str(subscribing.topic)
        self.partition = subscribing.topic.partition_index
        self.active = config.type is not SubscriptionType.FAILOVER
        self.reached_end = False
        self.over = None
        self.paused = False
        self.interceptors = None
        self._subscribing = subscribing
        self._place = Place(subscribing.start)
        self._id = consumer_id
        self._config = config
        self._arrived = arrived
        self._failed = failed
        self._timeout_s = operation_timeout_s
        self._attachment = Attachment(
            self.topic,
            self._attach,
            self._fail,
            lookup=lookup,
            backoff=backoff,
            clock=clock,
            owner=f"consumer {consumer_id} of {self.topic}",
        )
        self._kept = subscribing.topic.persistent  # The topic keeps what was published.
        self._reads_only = subscribing.start is not None and config.durable  # It is a reader's.
        self._comes_again = self._kept and not self._reads_only  # What is not acknowledged.
        self.redeliveries = Redeliveries(
            config, clock, self._come_due, acknowledges=self._comes_again
        )
        self.acks = AckSender(
            consumer_id,
            config,
            clock,
            lambda: self._attachment.connection,
            kept=self._kept,
            topic=self.topic,
            timeout_s=operation_timeout_s,
            wheel=self.redeliveries.wheel,
        )
        self.positions = Positions(
            consumer_id,
            self.partition,
            self._attachment,
            operation_timeout_s,
            leave=self.acks.send,
            begin_at=self._begin_at,
        )
        self._chunk_alarm = Alarm(clock, self._expire_chunks)
        schemas = None
        if subscribing.schema is not None:
            schemas = WriterSchemas(self.topic, subscribing.schema, lookup.schema, self._look_again)
        self._schemas = schemas
        self._unpacker = Unpacker(
            self.topic,
            self.partition,
            self.acks.state,
            config,
            now=clock.now,
            reject=self.acks.reject,
            send_soon=self.acks.send_soon,
            withhold=self.redeliveries.withheld,
            expire_at=self._chunk_alarm.set,
            decode=None if schemas is None else schemas.decode,
        )
        self.letters, self._dead_letters, open_entry = None, None, self._unpacker.open
        if subscribing.letters is not None:
            self.letters = LetterSender(subscribing.letters, subscribing.topic)
            self._dead_letters = DeadLetters(
                self.topic,
                self.letters,
                open_entry,
                stored=self.acks.acknowledge_one,
                settled=self._dead_lettered,
            )
            open_entry = self._dead_letters.open
        self._queue = ReceiveQueue(
            subscribing.receiver_queue_size,
            open_entry,
            None if schemas is None else schemas.ready,
            bytes_max=config.receiver_queue_bytes_max,
        )
        self._receiving = False  # Messages from before a seek or reconnection are not taken.
        self._closed = False
        self._close_request = partial(requests.close_consumer, consumer_id)
        self._closing = Closing(f"consumer {consumer_id} of {self.topic}", self._close)
        self._epoch = 0

    async def start(self) -> None:
        """Subscribe. Raises the broker's error or TimedOut; then no trace is left."""
        await self._attachment.start(self._timeout_s)

    @property
    def connected(self) -> bool:
        return self._attachment.connection is not None

    @property
    def waiting(self) -> bool:
        """Whether ``take`` may find something."""
        return self._queue.waiting

    @property
    def on_demand(self) -> bool:
        """Whether nothing is sent ahead: each message comes for somebody who waits for it."""
        return self._queue.on_demand

    def want(self) -> None:
        """Somebody waits for a message."""
        if self._queue.wants_one:
            self._give_permits(self._attachment.connection)

    def pause(self, *, paused: bool) -> None:
        """Give the broker no more permits, or go on doing so."""
        self.paused = paused
        if not paused:
            self._ask_anew(self._attachment.connection)

    @property
    def received(self) -> Counts:
        return self._queue.received

    @property
    def queued(self) -> int:
        """Messages that wait for the application."""
        return self._queue.count(permits_of)

    @property
    def queue(self) -> ReceiveQueue | None:
        """Whose ``messages`` may be taken; call ``settle`` after each ``settled_every``.

        None where interceptors are to see them before.
        """
        return self._queue if self.interceptors is None else None

    @property
    def settled_every(self) -> int:
        """Of the messages taken from ``queue``."""
        if self.redeliveries.times_out or self._reads_only:
            return 1
        return max(self._subscribing.receiver_queue_size // SETTLED_PARTS, 1)

    def settle(self) -> None:
        """Note which messages the application has taken, and ask for more in their place."""
        self._note_taken()
        self._ask_for_more()

    def open_ahead(self, count: int) -> None:
        """Have so many messages opened, for who can take them only when they are."""
        self._queue.open(count)

    def take(self, count_max: int, *, held: bool = False) -> list[Message[Any]]:
        """Take the messages that are there, at most ``count_max``.

        ``held``: the application does not get them yet; call ``redeliveries.taken`` when it does.
        """
        self._note_taken()
        taken = self._queue.take(count_max)
        if self.interceptors is not None:
            taken = list(map(self.interceptors.before_consume, taken))
        self._note_taken(held=held)
        self._ask_for_more()
        return taken

    def take_entries(self, count_max: int, bytes_max: float = inf) -> list[Entry]:
        """The same, entry by entry; the last one may have more messages than were asked for."""
        taken = self._queue.take_entries(count_max, self._unpacker.open_entry, bytes_max)
        self._note_taken()
        if taken:
            self._place.seen = taken[-1].last_id
            self.acks.acknowledge_cumulative(taken[-1].last_id)
        self._ask_for_more()
        return taken

    def flush(self) -> None:
        self.acks.send()
        if self._attachment.connection is not None:
            self._attachment.connection.flush()

    def redeliver(self, messages: Iterable[Message[Any] | MessageId] | None) -> None:
        """Ask for unacknowledged messages again; None for all of them."""
        self.acks.send()
        connection = self._attachment.connection
        if connection is None or not self._kept:
            return  # The next connection brings what is not acknowledged, if anything does.
        if messages is not None and self._config.type not in ORDERED:
            asked = [place for message in messages for place in entries_of(message)]
            self.redeliveries.asked(asked)
            self._redeliver_entries(asked)
            return
        epoch = None
        if self._config.type in ORDERED:
            self._epoch += 1
            epoch = self._epoch
        self._queue.drop(permits_of)
        self._remember_seen()
        self._queue.give_back(sum(self._unpacker.withheld.values()))
        if self._dead_letters is not None:
            self._queue.give_back(self._dead_letters.held)
        self._forget_received()
        connection.write(requests.redeliver(self._id, None, consumer_epoch=epoch))
        self._ask_for_more()

    def _come_due(self, positions: list[Position]) -> None:
        """Ask for what the application refused, or did not acknowledge in time."""
        if self.interceptors is not None:
            self.interceptors.come_due(positions, self.redeliveries.wheel.entries)
        self._ask_again(positions)

    def _ask_again(self, positions: Iterable[Position]) -> None:
        """Ask for entries again; Exclusive and Failover subscriptions begin behind their mark."""
        self.acks.send()
        if self._config.type in ORDERED:
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
        self._queue.give_back(sum(self._unpacker.withheld.pop(each, 0) for each in wanted))
        self._ask_for_more()

    def _forget_received(self) -> None:
        """Forget what is on its way to the application: the broker sends it again."""
        self.redeliveries.clear()
        self._unpacker.clear()
        if self._dead_letters is not None:
            self._dead_letters.clear()

    def _dead_lettered(self, count: int, refused: list[Message[Any]]) -> None:
        self._queue.give_back(count)
        if refused:
            self._queue.put_back(refused)
            self._arrived(self)
        self._ask_anew(self._attachment.connection)

    def _expire_chunks(self) -> None:
        """Give up chunked messages that took too long. A reader cannot ask for any again."""
        again = self._unpacker.expire()
        if not again or not self._comes_again:
            return
        log.info("consumer.chunks_again topic=%s entries=%d", self.topic, len(again))
        self._ask_again(again)

    def is_behind(self, last: MessageId, mark: Position) -> bool:
        """Whether the application has not received ``last``, which ``positions.last`` brought."""
        self._note_taken()
        return self._place.is_behind(last, mark)

    async def has_message_available(self) -> bool:
        """Whether there is a message that the application has not received."""
        if self._queue.open():
            return True
        if not self._kept:
            return False
        last, mark = await self.positions.last()
        here = self._queue.open()  # A message may have come while the broker was asked.
        self._ask_for_more()
        return here or (last is not None and self.is_behind(last, mark))

    async def unsubscribe(self, *, force: bool) -> None:
        """Delete the subscription; the consumer is over. Raises TimedOut, the broker's error."""
        self.acks.send()
        await self.positions.ask(partial(requests.unsubscribe, self._id, force=force))
        await self._end(ask_broker=False)

    def close(self) -> Coroutine[Any, Any, None]:
        """Send the acknowledgements that wait, and detach. As ``Consumer.close``."""
        return self._closing()

    async def _close(self) -> None:
        if self._closed:  # Its subscription was deleted.
            return
        try:
            if self._dead_letters is not None:
                await self._dead_letters.sent(self._timeout_s)
            self._note_taken()
            self.acks.send()
            await self.acks.settled()
            connection = self._attachment.connection
            if connection is not None:
                await connection.request(self._close_request, self._timeout_s)
                connection.consumers.pop(self._id, None)
        except MagnetarError as error:
            log.warning("consumer.close_incomplete topic=%s error=%r", self.topic, error)
        finally:
            await self._end(ask_broker=True)

    def on_message(self, frame: Frame) -> None:
        if not self._receiving:
            return
        message = frame.command.message
        if message.HasField("consumer_epoch") and message.consumer_epoch < self._epoch:
            self._queue.give_back(permits_of(frame))  # The broker sends it again.
            self._ask_for_more()
            return
        was_waiting = self._queue.waiting
        self._queue.put(frame)
        self.received.size_bytes += len(frame.entry or b"")
        if not was_waiting and self._queue.waiting:
            if self._dead_letters is not None:
                self._queue.open()  # Dead letters do not wait until the application receives.
            self._arrived(self)

    def _look_again(self) -> None:
        was_waiting = self._queue.waiting
        self._queue.look_again()
        if not was_waiting and self._queue.waiting:
            self._arrived(self)

    def on_ack_response(self, request_id: int, error: MagnetarError | None) -> None:
        self.acks.answered(request_id, error)

    def on_active_change(self, frame: Frame) -> None:
        self.active = frame.command.active_consumer_change.is_active

    def on_end_of_topic(self) -> None:
        self.reached_end = True

    def on_detached(self, connection: Connection, error: MagnetarError | None) -> None:
        if connection is self._attachment.connection:
            self._receiving = False
            self._queue.restart()
            self._remember_seen()
            self._forget_received()
            self.acks.detached(lost=error is not None)
        self._attachment.lost(connection)

    async def _attach(self, connection: Connection) -> None:
        connection.consumers[self._id] = self
        try:
            await connection.request(self._subscribe_request, self._timeout_s)
        except BaseException:
            connection.detach(connection.consumers, self._id, self._close_request)
            raise
        self.acks.send_to(connection)
        self._receiving, self.reached_end = True, False  # It hears of the end again.
        self._queue.restart()
        self._ask_anew(connection)

    def _subscribe_request(self, request_id: int) -> bytes:
        start = self._place.start
        if start is not None:
            self._unpacker.start = start
        return self._subscribing.command(
            self._id, request_id, self._config, start=start, epoch=self._epoch
        )

    def _begin_at(self, start: Start, time_ms: int | None) -> None:
        self._queue.drop(permits_of)
        self._queue.taken()  # Of no interest any more.
        self.acks.clear()
        self._forget_received()
        self._unpacker.seen_before = None
        self._unpacker.start = start
        self._unpacker.time_start_ms = None
        self._place.move(start)
        self._ask_for_more()
        if self._place.start is not None:
            self._unpacker.time_start_ms = time_ms

    def _remember_seen(self) -> None:
        """Mark what the application has received, since it may come again."""
        self._note_taken()
        if not self._kept:
            return
        seen = self._place.detached()
        if seen is not None and self._place.start is None and self._config.type in ORDERED:
            self._unpacker.seen_before = max(self._unpacker.seen_before or seen, seen)

    def _note_taken(self, *, held: bool = False) -> None:
        taken = self._queue.taken()
        if not taken:
            return
        self._place.seen = taken[-1]
        if self.redeliveries.times_out and not held:
            self.redeliveries.taken(taken)
        elif self._reads_only:  # A reader tells the broker how far it is.
            self.acks.acknowledge_cumulative(taken[-1])

    def _ask_for_more(self) -> None:
        if self._queue.wants_more:
            self._give_permits(self._attachment.connection)

    def _ask_anew(self, connection: Connection | None) -> None:
        if self._queue.wants_more:
            self._give_permits(connection)
        elif self.on_demand:
            self._arrived(self)  # Whoever waits asks for a message again.

    def _give_permits(self, connection: Connection | None) -> None:
        if connection is not None and not self.paused:
            connection.write(requests.flow(self._id, self._queue.take_permits()))

    def _fail(self, error: MagnetarError) -> None:
        if self.over is None:
            self.over = error
        self._receiving = False
        if not self._closed:
            self._failed(self)

    async def _end(self, *, ask_broker: bool) -> None:
        self._closed = True
        closed = AlreadyClosed(f"the consumer of {self.topic} is closed")
        self._fail(closed)
        self._queue.restart()
        self.acks.close(closed)
        self.redeliveries.close()
        self._chunk_alarm.close()
        connection = self._attachment.connection
        if connection is not None:
            if not ask_broker:
                connection.consumers.pop(self._id, None)
            connection.detach(connection.consumers, self._id, self._close_request)
        if self._schemas is not None:
            await self._schemas.close()
        await self._attachment.close(str(self.over))
        if self._dead_letters is not None:
            await self._dead_letters.close()
