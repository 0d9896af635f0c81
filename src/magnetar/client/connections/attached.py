"""Who is attached over one connection, and whom of them a command of the broker concerns."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from magnetar.errors import MagnetarError
from magnetar.wire.commands import BaseCommand
from magnetar.wire.errors import from_code
from magnetar.wire.frames import Frame

from .sides import ConsumerSide, Detachable, ProducerSide, WatcherSide

if TYPE_CHECKING:
    from .connection import Connection


class Attached:
    """The producers, consumers and watchers of topics of one connection."""

    producers: dict[int, ProducerSide]  # By producer id; they get receipts.
    consumers: dict[int, ConsumerSide]  # By consumer id; they get messages.
    watchers: dict[int, WatcherSide]  # By watcher id; they get the topics that come and go.
    commands: Mapping[int, Callable[[Frame], None]]
    """What is done for the commands that come seldom; messages and receipts are not among them."""

    def __init__(self, connection: "Connection") -> None:
        self.producers = {}
        self.consumers = {}
        self.watchers = {}
        self._connection = connection
        self.commands = {
            BaseCommand.SEND_ERROR: self._on_send_error,
            BaseCommand.CLOSE_PRODUCER: self._on_close_producer,
            BaseCommand.CLOSE_CONSUMER: self._on_close_consumer,
            BaseCommand.ACK_RESPONSE: self._on_ack_response,
            BaseCommand.ACTIVE_CONSUMER_CHANGE: self._on_active_change,
            BaseCommand.REACHED_END_OF_TOPIC: self._on_end_of_topic,
            BaseCommand.WATCH_TOPIC_UPDATE: self._on_topics,
        }

    def __bool__(self) -> bool:
        """Whether there is anybody."""
        return bool(self.producers or self.consumers or self.watchers)

    def lost(self, error: MagnetarError) -> None:
        """Tell all that the connection is gone, and forget them."""
        everyone: list[Detachable] = [
            *self.producers.values(),
            *self.consumers.values(),
            *self.watchers.values(),
        ]
        for each in everyone:
            each.on_detached(self._connection, error)
        self.producers.clear()
        self.consumers.clear()
        self.watchers.clear()

    def _on_send_error(self, frame: Frame) -> None:
        producer = self.producers.get(frame.command.send_error.producer_id)
        if producer is not None:
            producer.on_send_error(frame)

    def _on_close_producer(self, frame: Frame) -> None:
        producer = self.producers.pop(frame.command.close_producer.producer_id, None)
        if producer is not None:
            producer.on_detached(self._connection, None)

    def _on_close_consumer(self, frame: Frame) -> None:
        consumer = self.consumers.pop(frame.command.close_consumer.consumer_id, None)
        if consumer is not None:
            consumer.on_detached(self._connection, None)

    def _on_ack_response(self, frame: Frame) -> None:
        response = frame.command.ackResponse
        refused = response.HasField("error")
        error = from_code(response.error, response.message) if refused else None
        consumer = self.consumers.get(response.consumer_id)
        if consumer is not None:
            consumer.on_ack_response(response.request_id, error)

    def _on_active_change(self, frame: Frame) -> None:
        consumer = self.consumers.get(frame.command.active_consumer_change.consumer_id)
        if consumer is not None:
            consumer.on_active_change(frame)

    def _on_end_of_topic(self, frame: Frame) -> None:
        consumer = self.consumers.get(frame.command.reachedEndOfTopic.consumer_id)
        if consumer is not None:
            consumer.on_end_of_topic()

    def _on_topics(self, frame: Frame) -> None:
        watcher = self.watchers.get(frame.command.watchTopicUpdate.watcher_id)
        if watcher is not None:
            watcher.on_topics(frame)
