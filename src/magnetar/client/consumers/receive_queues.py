"""The receive queues of all topics of one receiver: messages are taken from them in turn."""

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import groupby
from math import inf
from operator import attrgetter
from typing import Any, Final, TypeVar, cast

from magnetar.checks import check_positive
from magnetar.client.message import Message
from magnetar.client.own_loop import check_loop

from .incoming_messages import IncomingMessages
from .receive_queue import fitting
from .topic_consumer import TopicConsumer
from .topic_consumers import TopicConsumers

T = TypeVar("T")

MESSAGES_PER_TOPIC_MAX: Final = 100  # Messages taken from one topic before the next one.


class ReceiveQueues:
    """Takes what there is, and waits where there is nothing."""

    held: list[Message[Any]]  # Taken for a call that was cancelled, or had enough: these are next.

    def __init__(self, parts: TopicConsumers, holds: Callable[[], None]) -> None:
        """``holds`` is called when some are held: no messages may be taken past them."""
        self.held = []
        self._parts = parts
        self._holds = holds
        self._ready: deque[TopicConsumer] = deque()  # Invariant: no topic twice.
        self._on_demand: IncomingMessages | None = None  # The only topic, of a queue of size 0.
        self._signal = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def added(self, part: TopicConsumer) -> None:
        """There is one more topic."""
        self._on_demand = part.incoming if part.incoming.on_demand else None
        if part.incoming.waiting:
            self.arrived(part)

    def removed(self, part: TopicConsumer) -> None:
        """There is one topic less."""
        if part in self._ready:
            self._ready.remove(part)

    def arrived(self, part: TopicConsumer) -> None:
        """A topic has something."""
        if self._parts.by_topic.get(part.topic) is not part:
            return  # It waits until all that come with it are there, and is added.
        if part not in self._ready:
            self._ready.append(part)
        self._signal.set()

    def wake(self) -> None:
        """Let callers that wait look again: there is a message, or there will be none."""
        self._signal.set()

    def clear(self) -> None:
        """Drop all, and wake the callers that wait."""
        self.held.clear()
        self._ready.clear()
        self._signal.set()

    def hold(self, messages: Sequence[Message[Any]]) -> None:
        """Have these received next."""
        if messages:
            self.held = [*messages, *self.held]
            self._holds()

    def forget(self, parts: Collection[TopicConsumer]) -> None:
        """Drop the held messages of those that were sought."""
        self.held = [each for each in self.held if self._parts.part_of(each) not in parts]

    def take_held(self, count_max: int) -> list[Message[Any]]:
        """Take those that are held: their time to be acknowledged begins now."""
        held, self.held = self.held[:count_max], self.held[count_max:]
        return self._handed(held)

    async def wait(
        self,
        count_max: int,
        timeout_s: float | None,
        take: Callable[[IncomingMessages, int], list[T]],
    ) -> list[T]:
        """Take what there is; wait for the first. [] when the time is up."""
        check_loop(self._loop)
        if taken := self._take(count_max, take):
            return taken
        try:
            async with asyncio.timeout(timeout_s) as limit:
                while not (taken := self._take(count_max, take)):
                    await self._until_more()
        except TimeoutError:
            if not limit.expired():
                raise
            return []
        return taken

    async def collect(
        self, count_max: int, count_min: int, bytes_max: int | None, timeout_s: float | None
    ) -> list[Message[Any]]:
        """Wait for ``count_min`` messages, or ``bytes_max`` bytes; hold what is too much."""
        check_loop(self._loop)
        if bytes_max is not None:
            check_positive("bytes_max", bytes_max)
        taken, self.held = self.held[:count_max], self.held[count_max:]
        size = sum(len(message.data) for message in taken)
        enough = inf if bytes_max is None else bytes_max
        try:
            async with asyncio.timeout(timeout_s) as limit:
                while len(taken) < min(count_min, count_max) and size < enough:
                    more = self._take(count_max - len(taken), _take_held)
                    if more:
                        taken += more
                        size += sum(len(message.data) for message in more)
                    else:
                        await self._until_more()
        except BaseException as error:
            if not (isinstance(error, TimeoutError) and limit.expired()):
                self.hold(taken)
                raise
        if size > enough:
            count = fitting(taken, enough)
            self.hold(taken[count:])
            del taken[count:]
        return self._handed(taken)

    def _take(self, count_max: int, take: Callable[[IncomingMessages, int], list[T]]) -> list[T]:
        if self.held and take == IncomingMessages.take:
            return cast("list[T]", self.take_held(count_max))
        if len(self._ready) == 1:
            incoming = self._ready[0].incoming
            taken = take(incoming, count_max)
            if not incoming.waiting:
                self._ready.popleft()
            return taken
        taken = []
        while self._ready and len(taken) < count_max:
            part = self._ready[0]
            taken += take(part.incoming, min(MESSAGES_PER_TOPIC_MAX, count_max - len(taken)))
            self._ready.rotate(-1)
            if not part.incoming.waiting:
                self._ready.pop()
        return taken

    async def _until_more(self) -> None:
        self._parts.raise_if_over()
        if self._on_demand is not None:
            self._on_demand.want()
        self._signal.clear()
        await self._signal.wait()

    def _handed(self, messages: list[Message[Any]]) -> list[Message[Any]]:
        """Messages that were held: their time to be acknowledged begins now."""
        for topic, group in groupby(messages, _topic):
            part = self._parts.by_topic.get(topic)
            if part is not None and part.redeliveries.times_out:
                part.redeliveries.taken(list(group))
        return messages


_take_held: Final = partial(IncomingMessages.take, held=True)
_topic: Final = attrgetter("delivery.topic")
