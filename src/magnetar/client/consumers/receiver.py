"""What consumers and readers have in common: they receive, and have a place in the log."""

import asyncio
from asyncio import _get_running_loop
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from functools import partial
from itertools import groupby
from math import inf
from operator import attrgetter
from typing import Any, Final, Generic, Self, TypeVar, cast

from magnetar.checks import check_positive
from magnetar.client.gather_all import gather_all
from magnetar.client.message import Message, TopicMessageId
from magnetar.client.own_loop import check_loop
from magnetar.client.statistics import ConsumerStats
from magnetar.clock import Clock
from magnetar.errors import AlreadyClosed, InvalidValue, MagnetarError, TimedOut
from magnetar.model.position import EARLIEST, LATEST, MessageId, Position
from magnetar.model.subscriptions import SubscriptionType
from magnetar.schemas.schema import T_co
from magnetar.tasks import Closing, Tasks

from .interceptors import ConsumerInterceptor, ConsumerInterceptors
from .listening import listen
from .meter import ConsumerMeter
from .receive_queue import NOTHING, OpenedMessages, fitting
from .topic_consumer import TopicConsumer

T = TypeVar("T")

MESSAGES_PER_TOPIC_MAX: Final = 100  # Messages taken from one topic before the next one.
FORMER_TOPICS_MAX: Final = 100  # Topics that went, whose messages may still be acknowledged.
OPENED_AHEAD: Final = 100  # Messages that threads find opened, if so many have come.


class Receiver(Generic[T_co]):
    """Receives the messages of one subscription, of one topic or of many, fairly.

    Calls that wait are coroutines and may be cancelled at any time: no message is lost by it.
    The others return at once. All may only be called on the client's event loop.
    """

    def __init__(
        self,
        topic: str,
        subscription: str,
        name: str,
        subscription_type: SubscriptionType,
        *,
        paused: bool,
        interceptors: Sequence[ConsumerInterceptor] = (),
        clock: Clock,
        closed: Callable[["Receiver[Any]"], None],
    ) -> None:
        """``closed`` is called once, when the receiver has been closed."""
        self._topic = topic
        self._subscription = subscription
        self._name = name
        self._type = subscription_type
        self.interceptors = ConsumerInterceptors(interceptors, self) if interceptors else None
        self._on_closed = closed
        self._topics: dict[str, TopicConsumer] = {}
        self.meter = ConsumerMeter(self._topics, clock)
        self._former: dict[str, TopicConsumer] = {}  # Closed ones, whose messages may be around.
        self._failure: MagnetarError | None = None
        self._ready: deque[TopicConsumer] = deque()  # Invariant: no topic twice.
        self._held: list[Message[Any]] = []  # Taken for a call that was cancelled, or had enough.
        self._part: TopicConsumer | None = None  # The topic whose opened entries are received,
        self._messages: OpenedMessages = (
            NOTHING  # and their messages. Invariant: none if some are held.
        )
        self._settled_every = 1
        self._unsettled = 0  # Messages taken from them, since the topic was told of any.
        self._settles = False  # The loop is going to tell it, for another thread.
        self._opened_ahead = 0  # Messages that other threads need not ask for one by one.
        self._on_demand: TopicConsumer | None = None  # The only topic, of a queue of size 0.
        self._loop = asyncio.get_running_loop()
        self._signal = asyncio.Event()
        self._paused = paused
        self._closed = False
        self._tasks = Tasks(f"consumer of {topic}")
        self._closing = Closing(f"consumer of {topic}", self._close)

    @property
    def topic(self) -> str:
        """The full name of the topic; of a list, all names joined by commas; or the pattern."""
        return self._topic

    @property
    def topics(self) -> list[str]:
        """The full names of what is received from: topics, and partitions one by one."""
        return list(self._topics)

    @property
    def name(self) -> str:
        """Its own name, as given or made up."""
        return self._name

    @property
    def connected(self) -> bool:
        """It is attached to the brokers of all its topics now."""
        return not self._closed and all(part.connected for part in self._topics.values())

    @property
    def stats(self) -> ConsumerStats:
        """What it has received until now."""
        return self.meter.stats()

    async def receive(self, timeout_s: float | None = None) -> Message[T_co]:
        """The next message, waiting for it up to ``timeout_s`` seconds (None: for ever).

        Raises TimedOut, AlreadyClosed, or why the broker refuses it from now on.
        """
        message = next(self._messages.messages, None)  # The usual case, as in ``__anext__``.
        if message is None or _get_running_loop() is not self._loop:
            return await self._receive(timeout_s, message)
        self._unsettled += 1
        if self._unsettled >= self._settled_every:
            self._settle()
        return message

    async def receive_many(
        self,
        count_max: int = 1000,
        timeout_s: float | None = None,
        *,
        count_min: int = 1,
        bytes_max: int | None = None,
    ) -> list[Message[T_co]]:
        """What there is, at most ``count_max``; waits for the first, [] when the time is up.

        With ``count_min`` it waits for so many, and returns what there is when the time is up.
        Payloads of more than ``bytes_max`` bytes together are left to the next call, but for a
        first message that has more by itself.
        The cheapest way to receive. Raises as ``receive``, but for TimedOut.
        """
        if count_min > 1 or bytes_max is not None or self._held:
            return await self._collect(count_max, count_min, bytes_max, timeout_s)
        return await self._wait(count_max, timeout_s, TopicConsumer.take)

    def __aiter__(self) -> Self:
        """Messages for ever; ends when it is closed."""
        return self

    async def __anext__(self) -> Message[T_co]:
        message = next(self._messages.messages, None)
        if message is None or _get_running_loop() is not self._loop:
            try:
                return await self._receive(None, message)
            except AlreadyClosed:
                raise StopAsyncIteration from None
        self._unsettled += 1
        if self._unsettled >= self._settled_every:
            self._settle()
        return message

    @property
    def paused(self) -> bool:
        """It was paused, and not resumed."""
        return self._paused

    def pause(self) -> None:
        """Have the brokers send no more; what they have sent already is still received."""
        check_loop(self._loop)
        self._paused = True
        for part in self._topics.values():
            part.pause(paused=True)

    def resume(self) -> None:
        """Have the brokers send again."""
        check_loop(self._loop)
        self._paused = False
        for part in self._topics.values():
            part.pause(paused=False)

    async def seek(self, message_id: MessageId, *, inclusive: bool = True) -> None:
        """Go to a message: it is received next, or with ``inclusive=False`` the one after it.

        Moves the whole subscription, with all its consumers. EARLIEST_MESSAGE and LATEST_MESSAGE
        move every topic; an id moves the partition it belongs to. Raises TimedOut or the broker's
        error. Cancelled, it may or may not have happened.
        """
        check_loop(self._loop)
        if message_id.position in (EARLIEST, LATEST):
            parts = list(self._topics.values())
        else:
            parts = [self._part_of(message_id)]
        await self._all(part.positions.seek(message_id, inclusive=inclusive) for part in parts)
        self._held = [each for each in self._held if self._part_of(each) not in parts]

    async def seek_time(self, publish_time_ms: int) -> None:
        """Go to the first message published at or after this time. Raises as ``seek``."""
        await self.seek_each(lambda _: publish_time_ms)

    async def seek_each(self, place: Callable[[str], MessageId | int]) -> None:
        """Go to a place of its own on each topic and partition.

        ``place`` gets a full name and returns a message id, or a publish time in milliseconds since
        the epoch. Raises as ``seek``.
        """
        check_loop(self._loop)
        places = [(part.positions, place(part.topic)) for part in self._topics.values()]
        await self._all(
            at.seek(to, inclusive=True) if isinstance(to, MessageId) else at.seek_time(to)
            for at, to in places
        )
        self._held.clear()

    async def seek_last(self) -> None:
        """Go to the last message there is, on each topic that has one. Raises as ``seek``."""
        await self._all(part.positions.seek_last() for part in self._topics.values())

    async def last_message_id(self) -> MessageId | None:
        """The id of the topic's last message; None when it has none.

        Of several topics or partitions the greatest. Raises TimedOut or the broker's error.
        """
        check_loop(self._loop)
        return max((last for _, last, _ in await self.last_messages()), default=None)

    async def last_message_ids(self) -> dict[str, MessageId]:
        """The id of the last message of each topic and partition that has one. Raises as above."""
        check_loop(self._loop)
        return {part.topic: last for part, last, _ in await self.last_messages()}

    async def last_messages(self) -> list[tuple[TopicConsumer, MessageId, Position]]:
        """The last message of each topic that has one, to be asked ``TopicConsumer.is_behind``."""
        parts = list(self._topics.values())
        found = await self._all(part.positions.last() for part in parts)
        return [(part, last, mark) for part, (last, mark) in zip(parts, found, strict=True) if last]

    @property
    def reached_end(self) -> bool:
        """Every topic has ended, and all that was in it is acknowledged, or read by a reader."""
        return bool(self._topics) and all(part.reached_end for part in self._topics.values())

    async def has_message_available(self) -> bool:
        """Whether ``receive`` would return without another message being published."""
        check_loop(self._loop)
        if self._held:
            return True
        return any(await self._all(part.has_message_available() for part in self._topics.values()))

    def close(self) -> Coroutine[Any, Any, None]:
        """Send the acknowledgements that wait, and detach. May be called again.

        Waiting receivers get AlreadyClosed. It begins with the call; cancelled, it goes on without
        who waited for it, and another call waits for its end.
        """
        check_loop(self._loop)
        return self._closing()

    async def _close(self) -> None:
        self._closed = True
        self._receive_from(None)
        self._held.clear()
        self._ready.clear()
        self._signal.set()
        try:
            await self._tasks.close()
            await gather_all(part.close() for part in self._topics.values())
        finally:
            if self.interceptors is not None:
                self.interceptors.close()
            self._on_closed(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def add(self, part: TopicConsumer) -> None:
        """Receive from one more topic."""
        self._topics[part.topic] = part
        self._on_demand = part if part.on_demand else None
        part.pause(paused=self._paused)
        if part.waiting:
            self.arrived(part)

    def remove(self, part: TopicConsumer) -> None:
        """Receive from it no longer; its messages may still be acknowledged, to no effect."""
        if self._topics.get(part.topic) is part:
            del self._topics[part.topic]
            self.meter.left(part)
        if part in self._ready:
            self._ready.remove(part)
        if part is self._part:
            self._receive_from(None)
        self._former.pop(part.topic, None)
        self._former[part.topic] = part
        if len(self._former) > FORMER_TOPICS_MAX:
            del self._former[next(iter(self._former))]

    def run(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run what adds and removes topics, until this receiver is closed."""
        return self._tasks.spawn(name, work)

    def start_listening(self, listener: Callable[[Message[T_co]], Awaitable[object]]) -> None:
        """Hand messages to ``listener`` from now on. Closing lets the one it has go to its end."""
        self._listening = Tasks(f"consumer of {self._topic}")
        self._listening.spawn("listener", listen(self, listener, self._topic))

    def failed(self, part: TopicConsumer) -> None:
        """A topic is over, and with it this receiver: calls raise why when nothing waits."""
        self._failure = part.over
        self._signal.set()

    def put_back(self, messages: Sequence[Message[Any]]) -> None:
        """Have messages received again, next: whoever received them did not get them."""
        if not self._closed:
            self._hold(messages)
            self._signal.set()

    def arrived(self, part: TopicConsumer) -> None:
        """A topic has something."""
        if self._topics.get(part.topic) is not part:
            return  # It waits until all that come with it are there, and is added.
        if part not in self._ready:
            self._ready.append(part)
        self._signal.set()

    def _hold(self, messages: Sequence[Message[Any]]) -> None:
        """Have these received next."""
        if messages:
            self._held = [*messages, *self._held]
            self._receive_from(None)

    def pop(self, post: Callable[[Callable[[], None]], object]) -> Message[T_co] | None:
        """On any thread: a message of an opened entry; None: ``receive`` may have one.

        ``post`` has a function called on the event loop.
        """
        message = None
        try:
            # Of all ways to take one, this leaves no moment at which an interruption loses it.
            for message in self._messages.messages:
                self._unsettled += 1
                if self._unsettled >= self._settled_every and not self._settles:
                    self._settles = True
                    post(self._settle)
                return message
        except BaseException:
            if message is not None:
                post(partial(self.put_back, [message]))
            raise
        self._opened_ahead = OPENED_AHEAD
        return None

    def _receive_from(self, part: TopicConsumer | None) -> None:
        queue = None if part is None or self._held else part.queue
        self._settle()
        if part is not None and self._opened_ahead and queue is not None:
            part.open_ahead(self._opened_ahead)
        self._part, self._messages = part, queue or NOTHING
        if part is not None:
            self._settled_every = part.settled_every

    def _settle(self) -> None:
        self._unsettled, self._settles = 0, False
        if self._part is not None:
            self._part.settle()

    async def _receive(
        self, timeout_s: float | None, elsewhere: Message[T_co] | None
    ) -> Message[T_co]:
        """The next message, of an entry that was not opened; ``elsewhere`` is for another loop."""
        if elsewhere is not None:
            self._hold([elsewhere])
        check_loop(self._loop)
        if self._held:
            return self._handed([self._held.pop(0)])[0]
        taken = await self._wait(1, timeout_s, TopicConsumer.take)
        if not taken:
            raise TimedOut(f"no message from {self._topic} within {timeout_s:g} s")
        self._receive_from(self._topics.get(taken[0].topic))
        return taken[0]

    def _take(self, count_max: int, take: Callable[[TopicConsumer, int], list[T]]) -> list[T]:
        if self._held and take == TopicConsumer.take:
            held, self._held = self._held[:count_max], self._held[count_max:]
            return cast("list[T]", self._handed(held))
        if len(self._ready) == 1:
            taken = take(self._ready[0], count_max)
            if not self._ready[0].waiting:
                self._ready.popleft()
            return taken
        taken = []
        while self._ready and len(taken) < count_max:
            part = self._ready[0]
            taken += take(part, min(MESSAGES_PER_TOPIC_MAX, count_max - len(taken)))
            self._ready.rotate(-1)
            if not part.waiting:
                self._ready.pop()
        return taken

    async def _wait(
        self,
        count_max: int,
        timeout_s: float | None,
        take: Callable[[TopicConsumer, int], list[T]],
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

    async def _until_more(self) -> None:
        self._raise_if_over()
        if self._on_demand is not None:
            self._on_demand.want()
        self._signal.clear()
        await self._signal.wait()

    async def _collect(
        self, count_max: int, count_min: int, bytes_max: int | None, timeout_s: float | None
    ) -> list[Message[T_co]]:
        """Wait for ``count_min`` messages, or ``bytes_max`` bytes; hold what is too much."""
        check_loop(self._loop)
        if bytes_max is not None:
            check_positive("bytes_max", bytes_max)
        taken, self._held = self._held[:count_max], self._held[count_max:]
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
                self._hold(taken)
                raise
        if size > enough:
            count = fitting(taken, enough)
            self._hold(taken[count:])
            del taken[count:]
        return self._handed(taken)

    def _handed(self, messages: list[Message[T_co]]) -> list[Message[T_co]]:
        """Messages that were held: their time to be acknowledged begins now."""
        for topic, group in groupby(messages, _topic):
            part = self._topics.get(topic)
            if part is not None and part.redeliveries.times_out:
                part.redeliveries.taken(list(group))
        return messages

    async def _all(self, work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
        """Ask brokers about several topics. Once this is closed, AlreadyClosed is all they say."""
        check_loop(self._loop)
        try:
            return await gather_all(work)
        except MagnetarError:
            self._raise_if_over()
            raise

    def _raise_if_over(self) -> None:
        if self._closed:
            raise AlreadyClosed(f"the consumer of {self._topic} is closed")
        if self._failure is not None:
            raise self._failure

    def _part_of(self, message: Message[Any] | MessageId) -> TopicConsumer:
        """The part that a message is from. Raises InvalidValue, AlreadyClosed."""
        if self._closed:
            self._raise_if_over()
        if isinstance(message, Message | TopicMessageId):
            part = self._topics.get(message.topic) or self._former.get(message.topic)
            if part is not None:
                return part
            raise InvalidValue(f"{message} does not come from this consumer of {self._topic}")
        parts = list(self._topics.values())
        if len(parts) > 1:
            parts = [part for part in parts if part.partition == message.partition]
        if len(parts) != 1:
            raise InvalidValue(
                f"message id {message} does not tell which of {len(self._topics)} topics it is "
                "from: pass the message itself, or a TopicMessageId"
            )
        return parts[0]


_take_held: Final = partial(TopicConsumer.take, held=True)
_topic: Final = attrgetter("delivery.topic")
