"""What consumers and readers have in common: they receive, and have a place in the log."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import datetime
from functools import partial
from threading import get_ident
from typing import Any, Final, Generic, Self
from weakref import ref

from magnetar.checks import check_count, check_timeout, milliseconds
from magnetar.client.gather_all import close_all
from magnetar.client.leaving import time_to_close
from magnetar.client.message import Message
from magnetar.client.own_loop import check_loop
from magnetar.client.statistics import ConsumerStats
from magnetar.errors import AlreadyClosed, TimedOut
from magnetar.model.position import MessageId, Position
from magnetar.model.subscriptions import SubscriptionType
from magnetar.schemas.schema import T_co
from magnetar.tasks import Closing, Tasks
from magnetar.turns import yield_to_loop

from .incoming_messages import IncomingMessages
from .interceptors import ConsumerInterceptor, ConsumerInterceptors
from .listening import listen
from .receive_queue import NOTHING, OpenedMessages
from .receive_queues import MESSAGES_PER_TOPIC_MAX
from .received_topics import ReceivedTopics
from .topic_consumer import TopicConsumer

OPENED_AHEAD: Final = 1000  # Messages that threads find opened, if so many have come, of one topic.


class Receiver(Generic[T_co]):
    """Receives the messages of one subscription, of one topic or of many, fairly.

    Calls that wait are coroutines and may be cancelled at any time: no message is lost by it.
    The others return at once. All may only be called on the client's event loop.
    """

    def __init__(
        self,
        topic: str,
        topics: ReceivedTopics,
        subscription: str,
        subscription_type: SubscriptionType,
        *,
        refuses_listener_errors: bool = False,
        interceptors: Sequence[ConsumerInterceptor] = (),
        closed: Callable[["Receiver[Any]"], None],
    ) -> None:
        """``closed`` is called once, when the receiver has been closed."""
        self._topic = topic
        self._subscription = subscription
        self._type = subscription_type
        self._interceptors = ConsumerInterceptors(interceptors, self) if interceptors else None
        self._on_closed = closed
        self._topics = topics
        topics.interceptors, topics.leave = self._interceptors, self._leave
        topics.face = partial(_face, ref(self))
        self._parts = topics.parts
        self._part_of = self._parts.part_of
        self._queues = topics.queues
        self._part: TopicConsumer | None = None  # The topic whose opened entries are received,
        self._messages: OpenedMessages = (
            NOTHING  # and their messages. Invariant: none if some are held.
        )
        self._settled_every = 1
        self._unsettled = 0  # Messages taken from them, since the topic was told of any.
        self._settles = False  # The loop is going to tell it, for another thread.
        self._opens_ahead = False  # Other threads receive, which are not to ask for each message.
        self._asked = False  # The broker was asked for more, and the loop has not written it yet.
        self._loop = asyncio.get_running_loop()
        self._ident = get_ident()  # These two say what the running loop is, without a system call.
        self._refuses_listener_errors = refuses_listener_errors
        self._facade: Callable[[], Any] | None = None  # Returns that of the blocking client.
        self._closing = Closing(f"consumer of {topic}", self._close)

    @property
    def topic(self) -> str:
        """The full name of the topic; of a list, all names joined by commas; or the pattern."""
        return self._topic

    @property
    def topics(self) -> list[str]:
        """The full names of what is received from: topics, and partitions one by one."""
        return list(self._parts.by_topic)

    @property
    def name(self) -> str:
        """Its own name, as given or made up."""
        return self._topics.name

    @property
    def connected(self) -> bool:
        """Whether it is attached to the brokers of all its topics."""
        return not self._parts.closed and all(part.connected for part in self._parts)

    @property
    def stats(self) -> ConsumerStats:
        """Statistics of what it has received."""
        return self._topics.statistics.stats()

    async def receive(self, timeout_s: float | None = None) -> Message[T_co]:
        """The next message, waiting for it up to ``timeout_s`` seconds (None: for ever).

        Raises TimedOut, AlreadyClosed, or why the broker refuses it from now on.
        """
        if self._asked:  # Before a message is taken: a call that is cancelled loses none.
            await self._let_write()
        message = next(self._messages.messages, None)  # The usual case, as in ``__anext__``.
        if message is None or self._ident != get_ident() or not self._loop.is_running():
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
        check_count("count_max", count_max)
        check_timeout(timeout_s)
        if count_min != 1:
            check_count("count_min", count_min)
        if count_min > 1 or bytes_max is not None or self._queues.held:
            return await self._queues.collect(count_max, count_min, bytes_max, timeout_s)
        taken = await self._queues.wait(count_max, timeout_s, IncomingMessages.take)
        only = self._parts.only
        if only is not None and only.incoming.asked:
            only.incoming.asked = False
            try:
                await yield_to_loop()  # As in ``receive``.
            except BaseException:
                self._put_back(taken)
                raise
        return taken

    def __aiter__(self) -> Self:
        """Messages for ever; ends when it is closed."""
        return self

    async def __anext__(self) -> Message[T_co]:
        if self._asked:
            await self._let_write()
        message = next(self._messages.messages, None)
        if message is None or self._ident != get_ident() or not self._loop.is_running():
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
        """Whether it is paused."""
        return self._topics.paused

    def pause(self) -> None:
        """Have the brokers send no more; what they have sent already is still received."""
        check_loop(self._loop)
        self._topics.pause(paused=True)

    def resume(self) -> None:
        """Have the brokers send again."""
        check_loop(self._loop)
        self._topics.pause(paused=False)

    async def seek(self, message_id: MessageId, *, inclusive: bool = True) -> None:
        """Go to a message: it is received next, or with ``inclusive=False`` the one after it.

        Moves the whole subscription, with all its consumers. EARLIEST_MESSAGE and LATEST_MESSAGE
        move every topic; an id moves the partition it belongs to. Raises TimedOut or the broker's
        error. Cancelled, it may or may not have happened.
        """
        self._queues.forget(await self._parts.seek(message_id, inclusive=inclusive))

    async def seek_time(self, publish_time_ms: int | datetime) -> None:
        """Go to the first message published at or after this time. Raises as ``seek``.

        It is in milliseconds since the epoch, or a ``datetime`` with a time zone.
        """
        publish_time_ms = milliseconds("publish_time_ms", publish_time_ms)
        await self.seek_each(lambda _: publish_time_ms)

    async def seek_each(self, place: Callable[[str], MessageId | int | datetime]) -> None:
        """Go to a place of its own on each topic and partition.

        ``place`` gets a full name and returns a message id, or a publish time as that of
        ``seek_time``. Raises as ``seek``.
        """
        await self._parts.seek_each(place)
        self._queues.held.clear()

    async def _seek_last(self) -> None:
        """Go to the last message there is, on each topic that has one. Raises as ``seek``."""
        await self._parts.all(part.positions.seek_last() for part in self._parts)

    async def last_message_id(self) -> MessageId | None:
        """The id of the topic's last message; None when it has none.

        Of several topics or partitions the greatest. Raises TimedOut or the broker's error.
        """
        check_loop(self._loop)
        return max((last for _, last, _ in await self._last_messages()), default=None)

    async def last_message_ids(self) -> dict[str, MessageId]:
        """The id of the last message of each topic and partition that has one. Raises as above."""
        check_loop(self._loop)
        return {part.topic: last for part, last, _ in await self._last_messages()}

    async def _last_messages(self) -> list[tuple[TopicConsumer, MessageId, Position]]:
        """The last message of each topic that has one, to be asked ``TopicConsumer.is_behind``."""
        return await self._parts.last_messages()

    @property
    def reached_end(self) -> bool:
        """Every topic has ended, and all that was in it is acknowledged, or read by a reader."""
        return bool(self._parts.by_topic) and all(part.reached_end for part in self._parts)

    async def has_message_available(self) -> bool:
        """Whether ``receive`` would return without another message being published."""
        check_loop(self._loop)
        if self._queues.held:
            return True
        return any(await self._parts.all(part.has_message_available() for part in self._parts))

    def close(self, timeout_s: float | None = None) -> Coroutine[Any, Any, None]:
        """Send the acknowledgements that wait, and detach. May be called again.

        That takes ``timeout_s`` at most, or the client's ``close_timeout_s``. Waiting receivers get
        AlreadyClosed. It begins with the call; cancelled, it goes on without who waited for it, and
        another call waits for its end.
        """
        check_loop(self._loop)
        check_timeout(timeout_s)
        return self._closing(time_to_close(timeout_s))

    async def _close(self, timeout_s: float | None) -> None:
        self._parts.closed = True
        self._receive_from(None)
        self._queues.clear()
        try:
            await self._topics.tasks.close()
            await close_all(part.close(timeout_s) for part in self._parts)
        finally:
            if self._interceptors is not None:
                self._interceptors.close()
            self._on_closed(self)

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"<{kind} {self.name} of {self._topic}, subscription {self._subscription}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def _start_listening(self, listener: Callable[[Message[T_co]], Awaitable[object]]) -> None:
        """Hand messages to ``listener`` from now on. Closing lets the one it has go to its end."""
        self._listening = Tasks(f"consumer of {self._topic}")
        self._listening.spawn(
            "listener", listen(self, listener, self._topic, self._listener_failed)
        )

    def _listener_failed(self, message: Message[Any]) -> None:
        """A listener raised. A message that a consumer does not refuse stays unacknowledged."""

    def _put_back(self, messages: Sequence[Message[Any]]) -> None:
        """Have messages received again, next: the call that took them did not return them."""
        if not self._parts.closed:
            self._queues.hold(messages)
            self._queues.wake()

    def _pop(self, post: Callable[[Callable[[], None]], object]) -> Message[T_co] | None:
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
                post(partial(self._put_back, [message]))
            raise
        self._opens_ahead = True
        return None

    def _leave(self, part: TopicConsumer | None) -> None:
        """Take no more opened messages of a topic; None: of any."""
        if part is None or part is self._part:
            self._receive_from(None)

    def _receive_from(self, part: TopicConsumer | None) -> None:
        queue = None if part is None or self._queues.held else part.incoming.queue
        self._settle()
        if part is not None and self._opens_ahead and queue is not None:
            alone = part is self._parts.only
            part.incoming.open(OPENED_AHEAD if alone else MESSAGES_PER_TOPIC_MAX)
        self._part, self._messages = part, queue or NOTHING
        if part is not None:
            self._settled_every = part.incoming.settled_every

    def _settle(self) -> None:
        self._unsettled, self._settles = 0, False
        if self._part is not None:
            self._part.incoming.settle()
            self._note_asked(self._part)

    def _note_asked(self, part: TopicConsumer) -> None:
        if part.incoming.asked:
            self._asked, part.incoming.asked = True, False

    async def _let_write(self) -> None:
        """Let the loop run once: who never waits would have the broker wait until all is taken."""
        self._asked = False
        await yield_to_loop()

    async def _receive(
        self, timeout_s: float | None, elsewhere: Message[T_co] | None
    ) -> Message[T_co]:
        """The next message, of an entry that was not opened; ``elsewhere`` is for another loop."""
        if elsewhere is not None:
            self._queues.hold([elsewhere])
        check_loop(self._loop)
        check_timeout(timeout_s)
        if self._queues.held:
            return self._queues.take_held(1)[0]
        taken = await self._queues.wait(1, timeout_s, IncomingMessages.take)
        if not taken:
            raise TimedOut(f"no message from {self._topic} within {timeout_s:g} s")
        part = self._parts.by_topic.get(taken[0].topic)
        self._receive_from(part)
        if part is not None:
            self._note_asked(part)
        return taken[0]


def _face(receiver: "ref[Receiver[Any]]") -> Any:
    """Return what the application holds: the receiver or its blocking facade, or None any more."""
    found = receiver()
    return found if found is None or found._facade is None else found._facade()
