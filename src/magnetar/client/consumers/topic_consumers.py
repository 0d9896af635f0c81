"""The topic consumers of one receiver: whose message it is, and what is asked of all of them."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeVar

from magnetar.checks import check_instance, milliseconds
from magnetar.client.gather_all import gather_all
from magnetar.client.message import Message, TopicMessageId
from magnetar.client.own_loop import check_loop
from magnetar.errors import AlreadyClosed, MagnetarError, NotOfConsumer
from magnetar.model.position import EARLIEST, LATEST, MessageId, Position

from .topic_consumer import TopicConsumer

T = TypeVar("T")

FORMER_TOPICS_MAX: Final = 100  # Topics that went, whose messages may still be acknowledged.


class TopicConsumers:
    """One for each topic, and each partition, that is received from now."""

    by_topic: dict[str, TopicConsumer]
    former: dict[str, TopicConsumer]  # Closed ones, whose messages may be around.
    closed: bool  # The receiver is.
    failure: MagnetarError | None  # Why the receiver is over, unless it was closed.

    def __init__(self, topic: str) -> None:
        """``topic`` is how the receiver calls all of them."""
        self.by_topic = {}
        self.former = {}
        self.closed = False
        self.failure = None
        self._topic = topic
        self._loop = asyncio.get_running_loop()

    def __iter__(self) -> Iterator[TopicConsumer]:
        return iter(self.by_topic.values())

    @property
    def only(self) -> TopicConsumer | None:
        """The one that all messages come from, if there never was another."""
        if len(self.by_topic) != 1 or self.former:
            return None
        return next(iter(self))

    def add(self, part: TopicConsumer) -> None:
        """Have one more."""
        self.by_topic[part.topic] = part

    def remove(self, part: TopicConsumer) -> bool:
        """Have it no longer, but know its messages. False: there is another one of that topic."""
        was_there = self.by_topic.get(part.topic) is part
        if was_there:
            del self.by_topic[part.topic]
        self.former.pop(part.topic, None)
        self.former[part.topic] = part
        if len(self.former) > FORMER_TOPICS_MAX:
            del self.former[next(iter(self.former))]
        return was_there

    def part_of(self, message: Message[Any] | MessageId) -> TopicConsumer:
        """The one that a message is from. Raises NotOfConsumer, AlreadyClosed."""
        if self.closed:
            self.raise_if_over()
        if isinstance(message, (Message, TopicMessageId)):
            part = self.by_topic.get(message.topic) or self.former.get(message.topic)
            if part is not None:
                return part
            raise NotOfConsumer(f"{message} does not come from this consumer of {self._topic}")
        check_instance("what is acknowledged", message, Message, MessageId)
        parts = list(self)
        if len(parts) > 1:
            parts = [part for part in parts if part.partition == message.partition]
        if len(parts) != 1:
            raise NotOfConsumer(
                f"message id {message} does not tell which of {len(self.by_topic)} topics it is "
                "from: pass the message itself, or a TopicMessageId"
            )
        return parts[0]

    async def all(self, work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
        """Ask brokers about several topics. Once this is closed, AlreadyClosed is all they say."""
        check_loop(self._loop)
        try:
            return await gather_all(work)
        except MagnetarError:
            self.raise_if_over()
            raise

    async def seek(self, message_id: MessageId, *, inclusive: bool) -> list[TopicConsumer]:
        """As ``Receiver.seek``. Returns those that were moved."""
        check_loop(self._loop)
        check_instance("message_id", message_id, MessageId)
        if message_id.position in (EARLIEST, LATEST):
            parts = list(self)
        else:
            parts = [self.part_of(message_id)]
        await self.all(part.positions.seek(message_id, inclusive=inclusive) for part in parts)
        return parts

    async def seek_each(self, place: Callable[[str], MessageId | int | datetime]) -> None:
        """As ``Receiver.seek_each``."""
        check_loop(self._loop)
        places = [(part.positions, place(part.topic)) for part in self]
        moves = [
            partial(at.seek, to, inclusive=True)
            if isinstance(to, MessageId)
            else partial(at.seek_time, milliseconds("publish_time_ms", to))
            for at, to in places
        ]
        await self.all(move() for move in moves)

    async def last_messages(self) -> list[tuple[TopicConsumer, MessageId, Position]]:
        """As ``Receiver._last_messages``."""
        parts = list(self)
        found = await self.all(part.positions.last() for part in parts)
        return [(part, last, mark) for part, (last, mark) in zip(parts, found, strict=True) if last]

    def raise_if_over(self) -> None:
        """Raises AlreadyClosed, or why the broker refuses it."""
        if self.closed:
            raise AlreadyClosed(f"the consumer of {self._topic} is closed")
        if self.failure is not None:
            raise self.failure
