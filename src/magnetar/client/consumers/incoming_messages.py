"""The messages of one topic on their way to the application, and the permits for more.

Frames come in from the connection; messages, or whole entries, are taken out. What was taken is
noted later, when it is looked at: that is cheap, and early enough for permits and positions.
"""

import logging
from collections.abc import Callable, Iterable
from math import inf
from typing import Any, Final

from magnetar.client.connections.connection import Connection
from magnetar.client.consumers.config import ConsumerConfig
from magnetar.client.message import Message
from magnetar.clock import Clock
from magnetar.model.position import MessageId, Position
from magnetar.wire import requests
from magnetar.wire.commands import CommandMessage
from magnetar.wire.frames import Frame

from .ack_sender import AckSender
from .dead_letters import DeadLetters, Outcome
from .entry import Entry
from .interceptors import TopicInterceptors
from .read_position import ReadPosition, Start
from .receive_queue import Opened, ReceiveQueue
from .redeliveries import Redeliveries
from .subscribing import Subscribing
from .timer import Timer
from .unpacking import Unpacker, permits_of
from .writer_schemas import WriterSchemas

log = logging.getLogger(__name__)

SETTLED_PARTS: Final = 8  # So often in one queue's worth of messages it is looked what was taken.


class IncomingMessages:
    """Keeps the incoming messages of one ``TopicConsumer``."""

    paused: bool  # The broker gets no permits.
    asked: bool  # The broker was given some: whoever goes on receiving lets the loop write that.
    receiving: bool  # Messages from before a seek or reconnection are not taken.
    epoch: int  # Counts redeliveries of an ordered subscription: older messages are not taken.
    connection: Connection | None  # The one to ask for messages; None while there is none.
    interceptors: TopicInterceptors | None  # See what the application takes.
    dead_letters: DeadLetters | None

    def __init__(
        self,
        subscribing: Subscribing,
        consumer_id: int,
        config: ConsumerConfig,
        *,
        acks: AckSender,
        redeliveries: Redeliveries,
        clock: Clock,
        schemas: WriterSchemas | None,
        reads_only: bool,
        arrived: Callable[[], None],
        ask_again: Callable[[Iterable[Position]], None],
    ) -> None:
        """``arrived`` is called when ``take`` may find something.

        ``ask_again`` has the broker send entries again, of which there is only a part.
        ``reads_only``: it is a reader's, which acknowledges what was taken and cannot have it
        again.
        """
        self.paused = False
        self.asked = False
        self.receiving = False
        self.epoch = 0
        self._gets_epochs = False  # With all that the broker sends after a redelivery.
        self._compacted = config.read_compacted
        self.interceptors = None
        topic = subscribing.topic
        self._topic = str(topic)
        self._id = consumer_id
        self._acks = acks
        self._redeliveries = redeliveries
        self.connection = None
        self._arrived = arrived
        self._ask_again = ask_again
        self._kept = topic.persistent
        self._ordered = config.type.single_active
        self._reads_only = reads_only
        self._position = ReadPosition(subscribing.start)
        self._chunk_timer = Timer(clock, self._expire_chunks)
        self._unpacker = Unpacker(
            self._topic,
            topic.partition_index,
            acks.state,
            config,
            now=clock.now,
            decode=None if schemas is None else schemas.decode,
            holder=subscribing.holder,
        )
        self.dead_letters, open_entry = None, self._unpacker.open
        if subscribing.letters is not None:
            self.dead_letters = DeadLetters(subscribing.letters, topic, self._dead_lettered)
            open_entry = self._open_entry
        self._size = subscribing.receiver_queue_size
        self._queue = ReceiveQueue(
            self._size,
            open_entry,
            None if schemas is None else schemas.ready,
            bytes_max=config.receiver_queue_bytes_max,
        )
        self.received: Final = self._queue.received

    @property
    def waiting(self) -> bool:
        """Whether ``take`` may find something."""
        return self._queue.waiting

    @property
    def on_demand(self) -> bool:
        """Whether nothing is sent ahead: a caller that waits asks for each message."""
        return self._queue.on_demand

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
        if self._redeliveries.times_out or self._reads_only:
            return 1
        return max(self._size // SETTLED_PARTS, 1)

    def settle(self) -> None:
        """Note which messages the application has taken, and ask for more in their place."""
        self._note_taken()
        self.ask_for_more()

    def open(self, count: int = 1) -> bool:
        """Have so many messages opened. False: there is none."""
        opened = self._queue.open(count)
        if self._unpacker.has_events:
            self._on_events()
        return opened

    def take(self, count_max: int, *, held: bool = False) -> list[Message[Any]]:
        """Take the messages that are there, at most ``count_max``.

        ``held``: the application does not get them yet; call ``redeliveries.taken`` when it does.
        """
        self._note_taken()
        taken = self._queue.take(count_max)
        if self._unpacker.has_events:
            self._on_events()
        if self.interceptors is not None:
            taken = list(map(self.interceptors.before_consume, taken))
        self._note_taken(held=held)
        self.ask_for_more()
        return taken

    def take_entries(self, count_max: int, bytes_max: float = inf) -> list[Entry]:
        """Take whole entries; the last one may have more messages than were asked for."""
        taken = self._queue.take_entries(count_max, self._unpacker.open_entry, bytes_max)
        if self._unpacker.has_events:
            self._on_events()
        self._note_taken()
        if taken:
            self._position.seen = taken[-1].last_id
            self._acks.acknowledge_cumulative(taken[-1].last_id)
        self.ask_for_more()
        return taken

    def is_behind(self, last: MessageId, mark: Position) -> bool:
        """Whether the application has not received ``last``, the topic's last message."""
        self._note_taken()
        return self._position.is_behind(last, mark)

    def on_message(self, frame: Frame) -> None:
        if not self.receiving:
            return
        if self.epoch and self._is_older(frame.command.message):
            self._queue.release(permits_of(frame))  # The broker sends it again.
            self.ask_for_more()
            return
        was_waiting = self._queue.waiting
        self._queue.put(frame)
        self.received.size_bytes += len(frame.entry or b"")
        if not was_waiting and self._queue.waiting:
            if self.dead_letters is not None:
                self.open()  # Dead letters do not wait until the application receives.
            self._arrived()

    def _is_older(self, message: CommandMessage) -> bool:
        """Whether it was sent before the last redelivery; before the first it has no epoch."""
        if message.HasField("consumer_epoch"):
            return message.consumer_epoch < self.epoch
        return self._gets_epochs

    def look_again(self) -> None:
        """Entries that could not be opened may be ready now."""
        was_waiting = self._queue.waiting
        self._queue.look_again()
        if not was_waiting and self._queue.waiting:
            self._arrived()

    def want(self) -> None:
        """A caller waits for a message."""
        if self._queue.wants_one:
            self._give_permits()

    def ask_for_more(self) -> None:
        """Give the broker permits, if so much was consumed."""
        if self._queue.wants_more:
            self._give_permits()

    def pause(self, *, paused: bool) -> None:
        """Give the broker no more permits, or go on doing so."""
        self.paused = paused
        if not paused:
            self._ask_anew()

    def _ask_anew(self) -> None:
        """The broker may have got no permits until now."""
        if self._queue.wants_more:
            self._give_permits()
        elif self.on_demand:
            self._arrived()  # A caller that waits asks for a message again.

    def _give_permits(self) -> None:
        if self.connection is not None and not self.paused:
            self.connection.write(requests.flow(self._id, self._queue.take_permits()))
            self.asked = True

    def start(self) -> Start | None:
        """Where to begin, of a subscription that is not durable."""
        start = self._position.start
        if start is not None:
            self._unpacker.start = start
        return start

    def attached(self, connection: Connection) -> None:
        """Receive what a new subscription brings, over this connection."""
        self.connection = connection
        # Not every broker is known to send them with compacted messages.
        self._gets_epochs = connection.sends_consumer_epochs and not self._compacted
        self.receiving = True
        self._queue.restart()
        self._ask_anew()
        self.asked = False  # Nobody receives meanwhile.

    def detached(self) -> None:
        """Drop what waits, and receive nothing before ``attached``."""
        self.connection = None
        self.receiving = False
        self._queue.restart()
        self._remember_seen()
        self._forget()

    def begin_at(self, start: Start, time_ms: int | None) -> None:
        """The broker has sought there; ``time_ms`` is the time that was sought, if one was."""
        self._queue.drop(permits_of)
        self._queue.taken()  # Of no interest any more.
        self._acks.clear()
        self._forget()
        self._unpacker.seen_before = None
        self._unpacker.start = start
        self._unpacker.time_start_ms = None
        self._position.move(start)
        self.ask_for_more()
        if self._position.start is not None:
            self._unpacker.time_start_ms = time_ms

    def drop(self) -> None:
        """Drop all that is not acknowledged: the broker is asked for it again."""
        self._queue.drop(permits_of)
        self._remember_seen()
        self._queue.release(sum(self._unpacker.withheld.values()))
        if self.dead_letters is not None:
            self._queue.release(self.dead_letters.held)
        self._forget()

    def release(self, positions: Iterable[Position]) -> None:
        """The broker is asked for these entries again: count the permits of those withheld."""
        self._queue.release(sum(self._unpacker.withheld.pop(each, 0) for each in positions))
        self.ask_for_more()

    async def settled(self, timeout_s: float) -> None:
        """Wait for dead letters, so long; then note what was taken."""
        if self.dead_letters is not None:
            await self.dead_letters.sent(timeout_s)
        self._note_taken()

    def end(self) -> None:
        """Drop all, and take nothing more."""
        self.connection = None
        self.receiving = False
        self._queue.restart()
        self._chunk_timer.close()

    async def close(self) -> None:
        """After ``end``."""
        if self.dead_letters is not None:
            await self.dead_letters.close()

    def _forget(self) -> None:
        """Forget what is on its way to the application: the broker sends it again."""
        self._redeliveries.clear()
        self._unpacker.clear()
        if self.dead_letters is not None:
            self.dead_letters.clear()

    def _open_entry(self, frame: Frame) -> Opened:
        """Open an entry, and take messages out that were redelivered too often."""
        assert self.dead_letters is not None
        return self.dead_letters.filter(self._unpacker.open(frame))

    def _dead_lettered(self, outcome: Outcome) -> None:
        for message in outcome.stored:
            self._acks.acknowledge_one(message)
        if outcome.forgotten:
            return
        self._queue.release(len(outcome.stored))
        if outcome.refused:
            self._queue.put_back(outcome.refused)
            self._arrived()
        self._ask_anew()

    def _on_events(self) -> None:
        """Do what is to be done about entries that were opened."""
        events = self._unpacker.take_events()
        for position, flaw in events.rejected:
            self._acks.reject(position, flaw)
        for position in events.withheld:
            self._redeliveries.withheld(position)
        if events.chunks_due is not None:
            self._chunk_timer.set(events.chunks_due)
        if events.acknowledged:
            self._acks.send_soon()

    def _expire_chunks(self) -> None:
        """Give up chunked messages that took too long. A reader cannot ask for any again."""
        again = self._unpacker.expire()
        self._on_events()
        if not again or self._reads_only or not self._kept:
            return
        log.info("consumer.chunks_again topic=%s entries=%d", self._topic, len(again))
        self._ask_again(again)

    def _remember_seen(self) -> None:
        """Mark what the application has received, since it may come again."""
        self._note_taken()
        if not self._kept:
            return
        seen = self._position.detached()
        if seen is not None and self._position.start is None and self._ordered:
            self._unpacker.seen_before = max(self._unpacker.seen_before or seen, seen)

    def _note_taken(self, *, held: bool = False) -> None:
        taken = self._queue.taken()
        if not taken:
            return
        self._position.seen = taken[-1]
        if self._redeliveries.times_out and not held:
            self._redeliveries.taken(taken)
        elif self._reads_only:  # A reader tells the broker how far it is.
            self._acks.acknowledge_cumulative(taken[-1])
