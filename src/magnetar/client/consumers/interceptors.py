"""What an application may do with every message of a consumer, and with its acknowledgements."""

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Any, Final

from magnetar.client.interception import Interception
from magnetar.client.message import Message, entries_of
from magnetar.model.position import MessageId, Position


class ConsumerInterceptor:
    """Sees what a consumer or reader receives. Override what you want to know of.

    All is called on the client's event loop, in the order in which the interceptors were given, and
    must not wait. What an interceptor raises is logged, and the message goes on without it.
    ``consumer`` is the ``Consumer`` or ``Reader``.
    """

    def before_consume(self, consumer: Any, message: Message[Any]) -> Message[Any]:
        """The message that the application gets: this one, or another of the same entry.

        ``message._replace(data=...)`` makes one. Entries that are received whole pass by.
        """
        return message

    def on_acknowledge(self, consumer: Any, message_id: MessageId) -> None:
        """The application has acknowledged a message."""

    def on_acknowledge_cumulative(self, consumer: Any, message_id: MessageId) -> None:
        """The application has acknowledged a message and all before it."""

    def on_negative_acks_send(self, consumer: Any, message_ids: frozenset[MessageId]) -> None:
        """The broker is asked for these entries again, which the application has refused."""

    def on_ack_timeout_send(self, consumer: Any, message_ids: frozenset[MessageId]) -> None:
        """The broker is asked for these entries again, which were not acknowledged in time."""

    def close(self) -> None:
        """The consumer was closed."""


class ConsumerInterceptors:
    """The interceptors of one consumer."""

    def __init__(self, interceptors: Sequence[ConsumerInterceptor], consumer: Any) -> None:
        self._all = Interception(interceptors, f"consumer of {consumer.topic}")
        self._consumer = consumer

    def before_consume(self, message: Message[Any]) -> Message[Any]:
        return self._all.change(
            message, lambda each, message: each.before_consume(self._consumer, message)
        )

    def on_acknowledge(self, messages: Iterable[Message[Any] | MessageId]) -> None:
        for message in messages:
            self._all.tell(partial(self._acknowledged, _id_of(message)))

    def _acknowledged(self, message_id: MessageId, each: ConsumerInterceptor) -> None:
        each.on_acknowledge(self._consumer, message_id)

    def on_acknowledge_cumulative(self, message: Message[Any] | MessageId) -> None:
        found = _id_of(message)
        self._all.tell(lambda each: each.on_acknowledge_cumulative(self._consumer, found))

    def on_redelivery(self, refused: frozenset[MessageId], late: frozenset[MessageId]) -> None:
        if refused:
            self._all.tell(lambda each: each.on_negative_acks_send(self._consumer, refused))
        if late:
            self._all.tell(lambda each: each.on_ack_timeout_send(self._consumer, late))

    def close(self) -> None:
        self._all.tell(lambda each: each.close())


class TopicInterceptors:
    """The interceptors of one topic: tell entries that were refused from those that come late."""

    def __init__(self, interceptors: ConsumerInterceptors, partition: int) -> None:
        self.before_consume: Final = interceptors.before_consume
        self._interceptors = interceptors
        self._partition = partition
        self._refused: set[Position] = set()

    def refuse(self, messages: Iterable[Message[Any] | MessageId]) -> None:
        """The application has refused these."""
        self._refused.update(place for message in messages for place in entries_of(message))

    def come_due(self, positions: Iterable[Position], waiting: Collection[Position]) -> None:
        """Redelivery of these is asked for now; ``waiting`` are those that will be."""
        due = set(positions)
        refused = due & self._refused
        self._refused.intersection_update(waiting)
        self._interceptors.on_redelivery(self._ids(refused), self._ids(due - refused))

    def _ids(self, positions: Iterable[Position]) -> frozenset[MessageId]:
        return frozenset(MessageId(*position, self._partition) for position in positions)


def _id_of(message: Message[Any] | MessageId) -> MessageId:
    return message.message_id if isinstance(message, Message) else message
