"""A producer with the names and behaviour of ``pulsar.asyncio.Producer``."""

from datetime import timedelta
from typing import Any

from magnetar.client.producers.producer import Producer as OurProducer
from magnetar.compat.enums import Result
from magnetar.compat.message_id import MessageId
from magnetar.compat.outgoing import built
from magnetar.compat.schema.schema import Schema

from .exception import PulsarException, raises_theirs


class Producer:
    """Sends messages to a topic. Made by ``Client.create_producer``."""

    def __init__(self, producer: OurProducer, schema: Schema) -> None:
        """``producer`` is our asyncio client's."""
        self._producer = producer
        self._schema = schema
        self._closed = False

    @raises_theirs
    async def send(
        self,
        content: Any,
        properties: dict[str, str] | None = None,
        partition_key: str | None = None,
        ordering_key: str | None = None,
        sequence_id: int | None = None,
        replication_clusters: list[str] | None = None,
        disable_replication: bool | None = None,
        event_timestamp: int | None = None,
        deliver_at: int | None = None,
        deliver_after: timedelta | None = None,
    ) -> MessageId:
        """Send one message; its id, when the broker has stored it."""
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
        return MessageId._of(await self._producer.send(message))

    @raises_theirs
    async def flush(self) -> None:
        """Send what waits in batches; return when all that was sent has been settled."""
        if self._closed:
            raise PulsarException(Result.AlreadyClosed)
        await self._producer.flush()

    @raises_theirs
    async def close(self) -> None:
        """Flush and detach. Raises AlreadyClosed the second time."""
        if self._closed:
            raise PulsarException(Result.AlreadyClosed)
        self._closed = True
        await self._producer.close()

    def topic(self) -> str:
        """The full name of the topic."""
        return self._producer.topic

    def producer_name(self) -> str:
        """The producer's name, as given or as the broker made it up."""
        return self._producer.name

    def last_sequence_id(self) -> int:
        """The highest sequence id that has a receipt; -1 before the first."""
        return self._producer.last_sequence_id

    def is_connected(self) -> bool:
        """Whether it is attached to its brokers."""
        return self._producer.connected
