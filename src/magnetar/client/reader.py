"""A reader: goes through a topic from any place, and leaves no trace at the broker."""

from collections.abc import AsyncIterator, Coroutine
from typing import Any, Self

from magnetar.model.position import MessageId

from .consumer import Consumer
from .message import Message


class Reader:
    """Made by ``Client.create_reader``. Like a consumer, but nothing needs acknowledging.

    After a reconnection it goes on behind the last message it gave to the application. It reads
    through a subscription that is not durable, and tells the broker how far it is: what it has
    read may be deleted while it is connected.
    """

    def __init__(self, consumer: Consumer) -> None:
        """``consumer`` belongs to the reader from now on."""
        self._consumer = consumer

    @property
    def topic(self) -> str:
        """The full name of the topic."""
        return self._consumer.topic

    @property
    def topics(self) -> list[str]:
        """The full names of what is read: the topic, or its partitions one by one."""
        return self._consumer.topics

    @property
    def name(self) -> str:
        """The reader's own name."""
        return self._consumer.name

    @property
    def connected(self) -> bool:
        """It is attached to its brokers now."""
        return self._consumer.connected

    async def receive(self, timeout_s: float | None = None) -> Message:
        """The next message, waiting for it up to ``timeout_s`` seconds (None: for ever).

        Raises TimedOut, NotAllowed when closed, or why the broker refuses it from now on.
        """
        message = await self._consumer.receive(timeout_s)
        self._consumer.acknowledge_cumulative(message)
        return message

    async def receive_many(
        self, count_max: int = 1000, timeout_s: float | None = None
    ) -> list[Message]:
        """What there is, at most ``count_max``; waits for the first, [] when the time is up.

        The cheapest way to read. Raises as ``receive``, but for TimedOut.
        """
        messages = await self._consumer.receive_many(count_max, timeout_s)
        last = messages[-1:]
        if len(self._consumer.topics) > 1:
            last = list({message.topic: message for message in messages}.values())
        for message in last:
            self._consumer.acknowledge_cumulative(message)
        return messages

    async def __aiter__(self) -> AsyncIterator[Message]:
        """Messages for ever; ends when the reader is closed."""
        async for message in self._consumer:
            self._consumer.acknowledge_cumulative(message)
            yield message

    async def has_message_available(self) -> bool:
        """Whether ``receive`` would return without another message being published."""
        return await self._consumer.has_message_available()

    async def last_message_id(self) -> MessageId | None:
        """The id of the topic's last message; None when it has none. Raises TimedOut."""
        return await self._consumer.last_message_id()

    async def seek(self, message_id: MessageId, *, inclusive: bool = True) -> None:
        """Go to a message: it is received next, or with ``inclusive=False`` the one after it.

        EARLIEST_MESSAGE and LATEST_MESSAGE move every partition, an id its own. Raises TimedOut
        or the broker's error. Cancelled, it may or may not have happened.
        """
        await self._consumer.seek(message_id, inclusive=inclusive)

    async def seek_time(self, publish_time_ms: int) -> None:
        """Go to the first message published at or after this time. Raises as ``seek``."""
        await self._consumer.seek_time(publish_time_ms)

    def close(self) -> Coroutine[Any, Any, None]:
        """Detach; waiting calls get NotAllowed. As ``Consumer.close``."""
        return self._consumer.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()
