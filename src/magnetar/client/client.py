"""The client: makes producers, consumers and readers, and closes what is still open at its end."""

import itertools
import secrets
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, Self, TypeVar, Unpack

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
from .gather_all import gather_all
from .lookup import Lookup
from .partition_watch import watch_partitions
from .pool import ConnectionPool
from .producer import Producer
from .reader import Reader
from .receiver import Receiver
from .routing import CallableRouter, RoundRobinRouter, Router, RoutingMode, SingleRouter
from .topic_consumer import Subscribing, TopicConsumer
from .topic_producer import TopicProducer
from .unpacking import Start

NAME_SIZE: Final = 5  # Random bytes in a name that the client makes up: ten hex digits.
PARTITIONS_MAX: Final = 1 << 31  # A router begins at any of them; no topic has more.


P = TypeVar("P", TopicProducer, TopicConsumer)
R = TypeVar("R", bound=Receiver)


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
        self._open: dict[Producer | Receiver, None] = {}
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

        def make(topic: TopicName) -> TopicProducer:
            return TopicProducer(
                topic,
                next(self._ids),
                config,
                lookup=self._lookup,
                backoff=self._backoff(),
                clock=self._clock,
                operation_timeout_s=self._config.operation_timeout_s,
            )

        parts = [make(topic) for topic in _topics_of(name, count)]
        await _start(parts)
        router = self._router(config) if count else None
        producer = Producer(str(name), parts, router, clock=self._clock, closed=self._forget)
        if count:
            producer.watch(self._watch(name, count, make, producer.add))
        self._open[producer] = None
        return producer

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
        return await self._receiver(Consumer, list(dict.fromkeys(names)), subscription, config)

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
        subscription = f"reader-{secrets.token_hex(NAME_SIZE)}"
        reader = await self._receiver(
            Reader, [self._parse(topic)], subscription, config, start, inclusive=inclusive
        )
        if inclusive and start == LATEST_MESSAGE:
            try:
                await reader.seek_last()
            except BaseException:
                await reader.close()
                raise
        return reader

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
        """Close what the client has made, then the connections. As ``Consumer.close``."""
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

    async def _receiver(
        self,
        kind: type[R],
        names: list[TopicName],
        subscription: str,
        config: ConsumerConfig,
        start: MessageId | Mapping[int, MessageId] | None = None,
        *,
        inclusive: bool = False,
    ) -> R:
        receiver = kind(
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

        def make(topic: TopicName, config: ConsumerConfig) -> TopicConsumer:
            return TopicConsumer(
                Subscribing(
                    topic,
                    subscription,
                    receiver.name,
                    queue_size,
                    None if start is None else Start(_start_on(topic, start), inclusive=inclusive),
                ),
                next(self._ids),
                config,
                arrived=receiver.arrived,
                lookup=self._lookup,
                backoff=self._backoff(),
                clock=self._clock,
                operation_timeout_s=self._config.operation_timeout_s,
            )

        counted = list(zip(names, counts, strict=True))
        parts = [make(topic, config) for each in counted for topic in _topics_of(*each)]
        await _start(parts)
        for part in parts:
            receiver.add(part)
        later = partial(make, config=replace(config, initial_position=InitialPosition.EARLIEST))
        for name, count in counted:
            if count:
                receiver.watch(self._watch(name, count, later, receiver.add))
        self._open[receiver] = None
        return receiver

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

    async def _watch(
        self,
        name: TopicName,
        count: int,
        make: Callable[[TopicName], P],
        add: Callable[[P], None],
    ) -> None:
        """Make and add a part for each partition that the topic gets beyond ``count``."""

        async def grow(indexes: range) -> None:
            parts = [make(name.partition(index)) for index in indexes]
            await _start(parts)
            for part in parts:
                add(part)

        if self._config.partitions_refresh_s:
            await watch_partitions(
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
        return TopicName.parse(topic)

    def _forget(self, closed: Producer | Receiver) -> None:
        self._open.pop(closed, None)


def _topics_of(name: TopicName, count: int) -> list[TopicName]:
    """The ``count`` partitions of a topic; the topic itself when it has none."""
    return [name.partition(index) for index in range(count)] or [name]


def _start_on(topic: TopicName, start: MessageId | Mapping[int, MessageId]) -> MessageId:
    """Where a reader begins on one topic or partition. Raises InvalidValue."""
    if isinstance(start, Mapping):
        return start.get(topic.partition_index, EARLIEST_MESSAGE)
    if start.position not in (EARLIEST, LATEST) and topic.partition_index != start.partition:
        raise InvalidValue(
            f"{start} is a place in one partition, not in {topic}: give a start for each partition"
        )
    return start


async def _start(parts: Sequence[TopicProducer | TopicConsumer]) -> None:
    """Start all; when one fails, or this is cancelled, close them all again."""
    try:
        await gather_all(part.start() for part in parts)
    except BaseException:
        await gather_all(part.close() for part in parts)
        raise
