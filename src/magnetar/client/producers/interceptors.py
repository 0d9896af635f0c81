"""What an application may do with every message of a producer, on its way and at its end."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from magnetar.client.interception import Interception
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.model.position import MessageId


class ProducerInterceptor:
    """Sees what a producer sends. Override what you want to know of.

    They are called in the order in which they were given and must not wait: ``before_send`` by the
    thread that sends, all else on the client's event loop. What an interceptor raises is logged,
    and the message goes on without it. ``producer`` is the ``Producer``.
    """

    def before_send(self, producer: Any, message: OutgoingMessage[Any]) -> OutgoingMessage[Any]:
        """The message to send: this one, or another in its place.

        Its value is what the application gave, before a schema encodes it. The object may be the
        application's own: change a copy, as by ``dataclasses.replace``.
        """
        return message

    def on_send_acknowledged(
        self,
        producer: Any,
        message: OutgoingMessage[Any],
        message_id: MessageId | None,
        error: Exception | None,
    ) -> None:
        """The broker has stored a message (``message_id``), or it has failed (``error``).

        It is what the last interceptor returned. It is not called for a message whose sender was
        cancelled while it waited for room.
        """

    def on_partitions_change(self, topic: str, partitions: int) -> None:
        """The topic has so many partitions now."""

    def close(self) -> None:
        """The producer was closed."""


class ProducerInterceptors:
    """The interceptors of one producer."""

    def __init__(self, interceptors: Sequence[ProducerInterceptor], producer: Any) -> None:
        self._all = Interception(interceptors, f"producer of {producer.topic}")
        self._producer = producer

    def before_send(self, message: OutgoingMessage[Any]) -> OutgoingMessage[Any]:
        """What is to be sent, which says when it is settled."""
        message = self._all.change(
            message, lambda each, message: each.before_send(self._producer, message)
        )

        def settled(message_id: MessageId | None, error: Exception | None) -> None:
            self._all.tell(
                lambda each: each.on_send_acknowledged(self._producer, message, message_id, error)
            )

        return replace(message, on_settled=settled)

    def on_partitions_change(self, partitions: int) -> None:
        self._all.tell(lambda each: each.on_partitions_change(self._producer.topic, partitions))

    def close(self) -> None:
        self._all.tell(lambda each: each.close())
