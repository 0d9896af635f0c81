"""The same client for threads: every call waits for its answer.

One event loop in one daemon thread serves all blocking clients of a process. A process made by
``fork`` starts its own loop when it first needs one; clients made before the fork belong to the
parent and refuse to work in the child. Everything here may be called from any thread.

``send_many`` and ``receive_many`` cross to the loop's thread once per call, the others once per
message: where speed counts, use those two.
"""

import asyncio
import os
import threading
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, Protocol, Self, TypeVar, Unpack

from magnetar.errors import NotAllowed
from magnetar.model.position import EARLIEST_MESSAGE, MessageId

from . import client as asynchronous
from . import consumer as asynchronous_consumer
from . import contracts
from . import reader as asynchronous_reader
from .config import ClientOptions, ConsumerOptions, ProducerOptions, ReaderOptions
from .message import Message, OutMessage

T = TypeVar("T")


class _Closable(Protocol):
    def close(self) -> Coroutine[Any, Any, None]: ...


C = TypeVar("C", bound=_Closable)


class LoopThread:
    """An event loop in a thread of its own, for one process."""

    def __init__(self) -> None:
        self.pid: Final = os.getpid()
        self._loop = _new_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="magnetar-client", daemon=True
        )
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it on the loop and wait. Interrupted, as by Ctrl-C, it is cancelled."""
        answer = self._begin(work)
        try:
            return answer.result()
        except BaseException:
            answer.cancel()
            raise

    def make(self, work: Coroutine[Any, Any, C]) -> C:
        """As ``run``. Interrupted when it is made already, it is closed again."""
        made: list[C] = []

        async def make() -> C:
            made.append(await work)
            return made[0]

        async def close() -> None:
            for each in made:
                await each.close()

        try:
            return self.run(make())
        except BaseException:
            self._begin(close())  # Behind the cancellation, so that it is settled what was made.
            raise

    def finish(self, each: _Closable) -> None:
        """Close it on the loop and wait. Interrupted, it is closed all the same."""

        async def close() -> None:
            await each.close()

        self._begin(close()).result()

    def _begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        if os.getpid() != self.pid or threading.current_thread() is self._thread:
            work.close()
            if os.getpid() != self.pid:
                raise NotAllowed(
                    "this client was made before the process forked: make another one here"
                )
            raise NotAllowed("a blocking call on the client's own loop would wait for itself")
        return asyncio.run_coroutine_threadsafe(work, self._loop)


_lock = threading.Lock()
_current: LoopThread | None = None


def loop_thread() -> LoopThread:
    """The loop thread of this process; started when there is none yet."""
    global _current  # noqa: PLW0603 - one loop per process is the point.
    if _current is not None and _current.pid == os.getpid():
        return _current
    with _lock:
        if _current is None or _current.pid != os.getpid():
            _current = LoopThread()
        return _current


def _after_fork() -> None:
    """In the child: the parent's lock may have been held by a thread that does not exist here."""
    global _lock, _current
    _lock, _current = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Producer:
    """``magnetar.Producer`` for threads."""

    def __init__(self, producer: contracts.Producer, thread: LoopThread) -> None:
        self._producer = producer
        self._thread = thread

    @property
    def topic(self) -> str:
        """The full name of the topic."""
        return self._producer.topic

    @property
    def name(self) -> str:
        """The producer's name: as given, or as the broker made it up."""
        return self._producer.name

    @property
    def last_sequence_id(self) -> int:
        """The highest sequence id that has a receipt; -1 before the first."""
        return self._producer.last_sequence_id

    @property
    def connected(self) -> bool:
        """It is attached to its broker now."""
        return self._producer.connected

    def send(
        self,
        data: bytes,
        *,
        key: str | bytes | None = None,
        ordering_key: bytes | None = None,
        properties: Mapping[str, str] | None = None,
        event_time_ms: int | None = None,
        sequence_id: int | None = None,
    ) -> MessageId:
        """Send one message and wait until it is stored; waits for room in the queue, too.

        Raises NotAllowed when closed, InvalidValue, MessageTooLarge, TimedOut, the broker's error.
        """
        message = OutMessage(data, key, ordering_key, properties, event_time_ms, sequence_id)
        return self.send_many([message])[0]

    def send_many(self, messages: Sequence[bytes | OutMessage]) -> Sequence[MessageId]:
        """Send messages and wait until they are stored; their ids, in the same order.

        Raises the first error, after everything that was taken has been settled.
        """
        return self._thread.run(self._producer.send_many(messages))

    def send_nowait(self, messages: Sequence[bytes | OutMessage]) -> None:
        """Hand messages over, and return when the queue has taken them: receipts come later.

        What goes wrong later is raised by ``flush``. Raises NotAllowed when closed; InvalidValue
        or MessageTooLarge for one of them, when those before it have been taken.
        """
        self._thread.run(self._hand_over(messages))

    def flush(self) -> None:
        """Return when all that was sent has been settled.

        Raises the first error of what it waited for, or of a ``send_nowait`` since the last flush.
        """
        self._thread.run(self._producer.flush())

    def close(self) -> None:
        """Flush for at most the operation timeout, and detach. May be called again."""
        self._thread.finish(self._producer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def _hand_over(self, messages: Sequence[bytes | OutMessage]) -> None:
        for message in messages:
            await self._producer.ready()
            if isinstance(message, OutMessage):
                self._producer.send_nowait(
                    message.data,
                    key=message.key,
                    ordering_key=message.ordering_key,
                    properties=message.properties,
                    event_time_ms=message.event_time_ms,
                    sequence_id=message.sequence_id,
                )
            else:
                self._producer.send_nowait(message)


class Consumer:
    """``magnetar.Consumer`` for threads."""

    def __init__(self, consumer: asynchronous_consumer.Consumer, thread: LoopThread) -> None:
        self._consumer = consumer
        self._thread = thread

    @property
    def topic(self) -> str:
        """The full name of the topic; of several, all names joined by commas."""
        return self._consumer.topic

    @property
    def topics(self) -> list[str]:
        """The full names of what is received from: topics, and partitions one by one."""
        return self._consumer.topics

    @property
    def subscription(self) -> str:
        return self._consumer.subscription

    @property
    def name(self) -> str:
        """The consumer's own name."""
        return self._consumer.name

    @property
    def connected(self) -> bool:
        """It is attached to the brokers of all its topics now."""
        return self._consumer.connected

    def receive(self, timeout_s: float | None = None) -> Message:
        """The next message, waiting for it up to ``timeout_s`` seconds (None: for ever).

        Raises TimedOut, NotAllowed when closed, or why the broker refuses it from now on.
        """
        return self._thread.run(self._consumer.receive(timeout_s))

    def receive_many(self, count_max: int = 1000, timeout_s: float | None = None) -> list[Message]:
        """What there is, at most ``count_max``; waits for the first, [] when the time is up."""
        return self._thread.run(self._consumer.receive_many(count_max, timeout_s))

    def __iter__(self) -> Iterator[Message]:
        """Messages for ever."""
        while True:
            yield self.receive()

    def acknowledge(self, messages: Message | MessageId | Iterable[Message | MessageId]) -> None:
        """The application is done with these: the broker need not deliver them again."""

        async def acknowledge() -> None:
            self._consumer.acknowledge(messages)

        self._thread.run(acknowledge())

    def acknowledge_cumulative(self, message: Message | MessageId) -> None:
        """The application is done with this one and all before it on its topic.

        Raises NotAllowed on a Shared or Key_Shared subscription.
        """

        async def acknowledge() -> None:
            self._consumer.acknowledge_cumulative(message)

        self._thread.run(acknowledge())

    def flush(self) -> None:
        """Send the acknowledgements that wait, now."""
        self._thread.run(self._consumer.flush())

    def redeliver_unacknowledged(
        self, messages: Iterable[Message | MessageId] | None = None
    ) -> None:
        """Ask for what was delivered and not acknowledged once more, or only for ``messages``."""
        self._thread.run(self._consumer.redeliver_unacknowledged(messages))

    def seek(self, message_id: MessageId, *, inclusive: bool = True) -> None:
        """Go to a message: it is received next, or with ``inclusive=False`` the one after it."""
        self._thread.run(self._consumer.seek(message_id, inclusive=inclusive))

    def seek_time(self, publish_time_ms: int) -> None:
        """Go to the first message published at or after this time."""
        self._thread.run(self._consumer.seek_time(publish_time_ms))

    def unsubscribe(self, *, force: bool = False) -> None:
        """Delete the subscription and close; ``force``: even when others are connected to it."""
        self._thread.run(self._consumer.unsubscribe(force=force))

    def last_message_id(self) -> MessageId | None:
        """The id of the topic's last message; None when it has none."""
        return self._thread.run(self._consumer.last_message_id())

    def has_message_available(self) -> bool:
        """Whether ``receive`` would return without another message being published."""
        return self._thread.run(self._consumer.has_message_available())

    def close(self) -> None:
        """Send the acknowledgements that wait, and detach. May be called again."""
        self._thread.finish(self._consumer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Reader:
    """``magnetar.Reader`` for threads."""

    def __init__(self, reader: asynchronous_reader.Reader, thread: LoopThread) -> None:
        self._reader = reader
        self._thread = thread

    @property
    def topic(self) -> str:
        """The full name of the topic."""
        return self._reader.topic

    @property
    def topics(self) -> list[str]:
        """The full names of what is read: the topic, or its partitions one by one."""
        return self._reader.topics

    @property
    def name(self) -> str:
        """The reader's own name."""
        return self._reader.name

    @property
    def connected(self) -> bool:
        """It is attached to its brokers now."""
        return self._reader.connected

    def receive(self, timeout_s: float | None = None) -> Message:
        """The next message, waiting for it up to ``timeout_s`` seconds (None: for ever).

        Raises TimedOut, NotAllowed when closed, or why the broker refuses it from now on.
        """
        return self._thread.run(self._reader.receive(timeout_s))

    def receive_many(self, count_max: int = 1000, timeout_s: float | None = None) -> list[Message]:
        """What there is, at most ``count_max``; waits for the first, [] when the time is up."""
        return self._thread.run(self._reader.receive_many(count_max, timeout_s))

    def __iter__(self) -> Iterator[Message]:
        """Messages for ever."""
        while True:
            yield self.receive()

    def has_message_available(self) -> bool:
        """Whether ``receive`` would return without another message being published."""
        return self._thread.run(self._reader.has_message_available())

    def last_message_id(self) -> MessageId | None:
        """The id of the topic's last message; None when it has none."""
        return self._thread.run(self._reader.last_message_id())

    def seek(self, message_id: MessageId, *, inclusive: bool = True) -> None:
        """Go to a message: it is received next, or with ``inclusive=False`` the one after it."""
        self._thread.run(self._reader.seek(message_id, inclusive=inclusive))

    def seek_time(self, publish_time_ms: int) -> None:
        """Go to the first message published at or after this time."""
        self._thread.run(self._reader.seek_time(publish_time_ms))

    def close(self) -> None:
        """Detach. May be called again."""
        self._thread.finish(self._reader)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Client:
    """``magnetar.Client`` for threads."""

    def __init__(self, service_url: str, **options: Unpack[ClientOptions]) -> None:
        """``service_url`` is ``pulsar://host[:6650][,host...]``. Raises as ``magnetar.Client``."""
        self._thread = loop_thread()

        async def make() -> asynchronous.Client:
            return asynchronous.Client(service_url, **options)

        self._client = self._thread.run(make())

    def create_producer(self, topic: str, **options: Unpack[ProducerOptions]) -> Producer:
        """As ``magnetar.Client.create_producer``."""
        made = self._thread.make(self._client.create_producer(topic, **options))
        return Producer(made, self._thread)

    def subscribe(
        self, topic: str | Sequence[str], subscription: str, **options: Unpack[ConsumerOptions]
    ) -> Consumer:
        """As ``magnetar.Client.subscribe``."""
        made = self._thread.make(self._client.subscribe(topic, subscription, **options))
        return Consumer(made, self._thread)

    def create_reader(
        self,
        topic: str,
        start: MessageId | Mapping[int, MessageId] = EARLIEST_MESSAGE,
        *,
        inclusive: bool = False,
        **options: Unpack[ReaderOptions],
    ) -> Reader:
        """As ``magnetar.Client.create_reader``."""
        made = self._thread.make(
            self._client.create_reader(topic, start, inclusive=inclusive, **options)
        )
        return Reader(made, self._thread)

    def partitions(self, topic: str) -> int:
        """How many partitions ``topic`` has; 0 when it is not partitioned."""
        return self._thread.run(self._client.partitions(topic))

    def topics(self, namespace: str) -> list[str]:
        """The full names of the persistent topics of ``tenant/namespace``, sorted."""
        return self._thread.run(self._client.topics(namespace))

    def close(self) -> None:
        """Close what was made here, then the connections. May be called again."""
        self._thread.finish(self._client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # noqa: PLC0415 - faster where it is installed, and not everywhere it is.
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
