"""A producer with the names and behaviour of ``pulsar.Producer``, over ours for threads."""

from datetime import timedelta
from typing import Any

from magnetar.client import blocking

from .async_sends import AsyncSends, SendCallback
from .callbacks import Callbacks
from .enums import Result
from .errors import exception, raises_theirs
from .message_id import MessageId
from .outgoing import built
from .schema.schema import Schema


class Producer:
    """Sends messages to a topic. Made by ``Client.create_producer``."""

    _producer: blocking.Producer
    _schema: Schema
    _sends: AsyncSends
    _callbacks: Callbacks
    _opened: set[object]
    _closed = False

    def topic(self) -> str:
        """The full name of the topic."""
        return self._producer.topic

    def producer_name(self) -> str:
        """The producer's name, as given or as the broker made it up."""
        return self._producer.name

    def last_sequence_id(self) -> int:
        """The highest sequence id that has a receipt; -1 before the first."""
        return self._producer.last_sequence_id

    @raises_theirs
    def send(
        self,
        content: Any,
        properties: dict[str, str] | None = None,
        partition_key: str | None = None,
        ordering_key: str | None = None,
        sequence_id: int | None = None,
        replication_clusters: list[str] | None = None,
        disable_replication: bool = False,
        event_timestamp: int | None = None,
        deliver_at: int | None = None,
        deliver_after: timedelta | None = None,
    ) -> MessageId:
        """Send one message, and return its id when the broker has stored it.

        Raises TypeError or ValueError for what no message can have, or a PulsarException.
        """
        message = built(
            self._schema,
            content,
            properties,
            partition_key,
            ordering_key,
            sequence_id,
            replication_clusters,
            disable_replication,
            event_timestamp,
            deliver_at,
            deliver_after,
        )
        return MessageId._of(self._producer.send(message))

    def send_async(
        self,
        content: Any,
        callback: SendCallback,
        properties: dict[str, str] | None = None,
        partition_key: str | None = None,
        ordering_key: str | None = None,
        sequence_id: int | None = None,
        replication_clusters: list[str] | None = None,
        disable_replication: bool = False,
        event_timestamp: int | None = None,
        deliver_at: int | None = None,
        deliver_after: timedelta | None = None,
    ) -> None:
        """Send one message; ``callback(result, message_id)`` is called when it is settled.

        In a thread of the client, one callback after the other; an exception of a callback is
        logged. When the queue is full this waits with ``block_if_queue_full``, else the callback
        gets ProducerQueueIsFull.
        """
        message = built(
            self._schema,
            content,
            properties,
            partition_key,
            ordering_key,
            sequence_id,
            replication_clusters,
            disable_replication,
            event_timestamp,
            deliver_at,
            deliver_after,
        )
        self._sends.send(message, callback)

    @raises_theirs
    def flush(self) -> None:
        """Send what waits in batches; return when all was settled and the callbacks called."""
        if self._closed:
            raise exception(Result.AlreadyClosed)
        self._producer.flush()
        self._callbacks.drain()

    @raises_theirs
    def close(self) -> None:
        """Flush and detach. Raises Timeout for what is not stored; AlreadyClosed later."""
        if self._closed:
            raise exception(Result.AlreadyClosed)
        self._closed = True
        self._opened.discard(self)
        try:
            self._producer.close()
        finally:
            self._callbacks.drain()

    def is_connected(self) -> bool:
        """Whether it is attached to its brokers."""
        return self._producer.connected
