"""The client: makes producers, consumers and readers, and closes what is still open at its end."""

import itertools
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, Protocol, Self, Unpack

from magnetar.clock import Clock, SystemClock
from magnetar.errors import InvalidValue, NotAllowed
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.position import EARLIEST, EARLIEST_MESSAGE, LATEST, LATEST_MESSAGE, MessageId
from magnetar.model.subscriptions import InitialPosition
from magnetar.tasks import Closing

from .backoff import Backoff
from .checks import check_text
from .config import (
    ClientConfig,
    ClientOptions,
    ConsumerConfig,
    ConsumerOptions,
    ProducerConfig,
    ProducerOptions,
    ReaderOptions,
)
from .consumer import Consumer
from .contracts import Producer
from .gather_all import gather_all
from .lookup import Lookup
from .partition_watch import PartitionWatch
from .partitioned import PartitionedProducer
from .pool import ConnectionPool
from .producer import TopicProducer
from .reader import Reader
from .routing import CallableRouter, RoundRobinRouter, Router, RoutingMode, SingleRouter
from .topic_consumer import Subscribing, TopicConsumer

NAME_SIZE: Final = 5  # Random bytes in a name made up here: ten hex digits.
PARTITIONS_MAX: Final = 1 << 31  # More than a topic can have: where among them a router begins.


class _Part(Protocol):
    """What a client starts: a producer or a consumer of one topic."""

    async def start(self) -> None: ...

    def close(self) -> Coroutine[Any, Any, None]: ...


class Client:
    """Talks to Pulsar brokers. Use it in one event loop only, best as ``async with Client(...)``.

    Nothing connects before it is needed. ``ClientConfig`` says what the keyword arguments mean.
    """

    def __init__(
        self,
        service_url: str,
        *,
        clock: Clock | None = None,
        chance: Callable[[], float] | None = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        """``service_url`` is ``pulsar://host[:6650][,host...]``. Raises InvalidValue, NotAllowed.

        ``clock``, and ``chance`` with its numbers in [0, 1), are for tests and simulations.
        """
        self._config = ClientConfig(service_url=service_url, **options)
        self._clock = clock or SystemClock()
        self._chance = chance or secrets.SystemRandom().random
        self._ids = itertools.count()
        self._pool = ConnectionPool(self._config, self._clock)
        self._lookup = Lookup(self._config, self._pool, self._clock, self._backoff)
        self._open: dict[Producer | Consumer, None] = {}
        self._closed = False
        self._closing = Closing("client", self._close)

    async def create_producer(self, topic: str, **options: Unpack[ProducerOptions]) -> Producer:
        """A producer for ``topic``; ``ProducerConfig`` says what the keyword arguments mean.

        On a partitioned topic it sends to all partitions. Raises InvalidName, InvalidValue, the
        broker's error, or TimedOut when the broker did not let it in within the operation timeout.
        """
        config = ProducerConfig(**options)
        name = self._parse(topic)
        count = await self._lookup.partitions(str(name))
        if not count:
            producer = self._topic_producer(name, config)
            await _start([producer])
            self._open[producer] = None
            return producer
        parts = [self._topic_producer(name.partition(index), config) for index in range(count)]
        await _start(parts)
        partitioned = PartitionedProducer(
            str(name), parts, self._router(config), clock=self._clock, closed=self._forget
        )

        async def grow(indexes: range) -> None:
            new = [self._topic_producer(name.partition(index), config) for index in indexes]
            await _start(new)
            for part in new:
                partitioned.add(part)

        partitioned.watch(self._watch(name, count, grow))
        self._open[partitioned] = None
        return partitioned

    async def subscribe(
        self, topic: str | Sequence[str], subscription: str, **options: Unpack[ConsumerOptions]
    ) -> Consumer:
        """A consumer of ``topic``, or of several; ``ConsumerConfig`` explains the arguments.

        Creates the subscription where it does not exist. Raises InvalidName, InvalidValue, the
        broker's error, or TimedOut when the broker did not let it in within the operation timeout.
        """
        config = ConsumerConfig(**options)
        check_text("subscription", subscription)
        several = topic if isinstance(topic, Iterable) and not isinstance(topic, str) else [topic]
        names = [self._parse(each) for each in several]
        if not names:
            raise InvalidValue("no topic to subscribe to")
        return await self._consumer(list(dict.fromkeys(names)), subscription, config, None)

    async def create_reader(
        self,
        topic: str,
        start: MessageId | Mapping[int, MessageId] = EARLIEST_MESSAGE,
        *,
        inclusive: bool = False,
        **options: Unpack[ReaderOptions],
    ) -> Reader:
        """A reader of ``topic`` from ``start`` on: it keeps no place at the broker.

        The first message is the one after ``start``, or with ``inclusive`` that one itself;
        EARLIEST_MESSAGE and LATEST_MESSAGE are the ends of the topic, and LATEST_MESSAGE with
        ``inclusive`` begins with the last message there is. On a partitioned topic give one of
        the ends, or an id for each partition index; partitions left out begin at the earliest.
        Raises as ``subscribe``.
        """
        config = ConsumerConfig(initial_position=InitialPosition.EARLIEST, **options)
        starts = _Starts(start, inclusive=inclusive)
        subscription = f"reader-{secrets.token_hex(NAME_SIZE)}"
        consumer = await self._consumer([self._parse(topic)], subscription, config, starts)
        if inclusive and start == LATEST_MESSAGE:
            await self._seek_last(consumer)
        return Reader(consumer)

    async def partitions(self, topic: str) -> int:
        """How many partitions ``topic`` has; 0 when it is not partitioned.

        Creates nothing. Raises TopicNotFound when it does not exist, InvalidName, TimedOut.
        """
        return await self._lookup.partitions(str(self._parse(topic)), auto_create=False)

    async def topics(self, namespace: str) -> list[str]:
        """The full names of the persistent topics of ``tenant/namespace``, sorted.

        Partitions are listed one by one. Raises InvalidName, TimedOut, the broker's error.
        """
        return await self._lookup.topics(str(NamespaceName.parse(namespace)))

    def close(self) -> Coroutine[Any, Any, None]:
        """Close what was made here, then the connections. As ``Consumer.close``."""
        return self._closing()

    async def _close(self) -> None:
        self._closed = True
        try:
            await gather_all(each.close() for each in list(self._open))
        finally:
            await self._pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    # How the parts are made.

    async def _consumer(
        self,
        names: list[TopicName],
        subscription: str,
        config: ConsumerConfig,
        starts: "_Starts | None",
    ) -> Consumer:
        consumer = Consumer(
            ",".join(map(str, names)),
            subscription,
            config.name or secrets.token_hex(NAME_SIZE),
            config.type,
            closed=self._forget,
        )
        counts = await gather_all(
            self._lookup.partitions(str(name), auto_create=config.create_topic) for name in names
        )
        total = sum(max(count, 1) for count in counts)
        queue_size = min(
            config.receiver_queue_size, max(config.total_receiver_queue_size // total, 1)
        )
        make = partial(
            self._topic_consumer,
            consumer=consumer,
            receiver_queue_size=queue_size,
            starts=starts,
        )
        parts = []
        for name, count in zip(names, counts, strict=True):
            topics = [name.partition(index) for index in range(count)] or [name]
            parts += [make(topic, config) for topic in topics]
        await _start(parts)
        for part in parts:
            consumer.add(part)
        later = replace(config, initial_position=InitialPosition.EARLIEST)

        async def grow(name: TopicName, indexes: range) -> None:
            new = [make(name.partition(index), later) for index in indexes]
            await _start(new)
            for part in new:
                consumer.add(part)

        for name, count in zip(names, counts, strict=True):
            if count:
                consumer.watch(self._watch(name, count, partial(grow, name)))
        self._open[consumer] = None
        return consumer

    async def _seek_last(self, consumer: Consumer) -> None:
        """Begin with the last message; a consumer that cannot is closed again."""
        begun = False
        try:
            await consumer.seek_last()
            begun = True
        finally:
            if not begun:
                await consumer.close()

    def _topic_consumer(
        self,
        topic: TopicName,
        config: ConsumerConfig,
        *,
        consumer: Consumer,
        receiver_queue_size: int,
        starts: "_Starts | None",
    ) -> TopicConsumer:
        start = None if starts is None else starts.of(topic)
        return TopicConsumer(
            Subscribing(
                topic,
                consumer.subscription,
                consumer.name,
                receiver_queue_size,
                start=start,
                start_inclusive=starts is not None and starts.inclusive,
            ),
            next(self._ids),
            config,
            arrived=consumer.arrived,
            lookup=self._lookup,
            backoff=self._backoff(),
            clock=self._clock,
            operation_timeout_s=self._config.operation_timeout_s,
        )

    def _topic_producer(self, topic: TopicName, config: ProducerConfig) -> TopicProducer:
        return TopicProducer(
            topic,
            next(self._ids),
            config,
            lookup=self._lookup,
            backoff=self._backoff(),
            clock=self._clock,
            operation_timeout_s=self._config.operation_timeout_s,
            closed=self._forget,
        )

    def _router(self, config: ProducerConfig) -> Router:
        if config.routing is RoutingMode.SINGLE:
            return SingleRouter(int(self._chance() * PARTITIONS_MAX), config.hashing)
        if config.routing is RoutingMode.ROUND_ROBIN:
            return RoundRobinRouter(
                int(self._chance() * PARTITIONS_MAX),
                config.hashing,
                messages_max=config.batch_messages_max if config.batching else 1,
                bytes_max=config.batch_bytes_max,
                delay_s=config.batch_delay_s,
            )
        return CallableRouter(config.routing)

    def _watch(
        self, name: TopicName, count: int, grow: Callable[[range], Awaitable[None]]
    ) -> PartitionWatch:
        return PartitionWatch(
            str(name),
            count,
            grow,
            lookup=self._lookup,
            clock=self._clock,
            interval_s=self._config.partitions_refresh_s,
        )

    def _backoff(self) -> Backoff:
        return Backoff(
            self._chance,
            first_s=self._config.backoff_first_s,
            max_s=self._config.backoff_max_s,
        )

    def _parse(self, topic: str) -> TopicName:
        if self._closed:
            raise NotAllowed("the client is closed")
        check_text("topic", topic)
        name = TopicName.parse(topic)
        if not name.persistent:
            raise NotAllowed(f"{topic}: non-persistent topics are not supported")
        return name

    def _forget(self, closed: Producer | Consumer) -> None:
        self._open.pop(closed, None)


class _Starts:
    """Where a reader begins, by partition."""

    def __init__(self, start: MessageId | Mapping[int, MessageId], *, inclusive: bool) -> None:
        self.inclusive = inclusive
        self._start = start

    def of(self, topic: TopicName) -> MessageId:
        """Where to begin on one topic or partition. Raises InvalidValue."""
        if isinstance(self._start, Mapping):
            return self._start.get(topic.partition_index, EARLIEST_MESSAGE)
        wanted = self._start.partition
        if self._start.position not in (EARLIEST, LATEST) and topic.partition_index != wanted:
            raise InvalidValue(
                f"{self._start} is a place in one partition, not in {topic}: give a start for "
                "each partition"
            )
        return self._start


async def _start(parts: Sequence[_Part]) -> None:
    """Start all; when one fails, or this is cancelled, close them all again."""
    started = False
    try:
        await gather_all(part.start() for part in parts)
        started = True
    finally:
        if not started:
            await gather_all(part.close() for part in parts)
