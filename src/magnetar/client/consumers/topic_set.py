"""The topics of one receiver: which it is subscribed to now, and with which partitions."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any

from magnetar.client.context import ClientContext, partitions_of, start_all
from magnetar.client.gather_all import gather_all
from magnetar.errors import InvalidValue, MagnetarError, TopicNotFound
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.model.subscriptions import InitialPosition
from magnetar.schemas.schema import Schema

from .config import ConsumerConfig
from .dead_letters import DeadLetterSetup
from .interceptors import TopicInterceptors
from .read_position import Start
from .received_topics import ReceivedTopics
from .subscribing import Subscribing
from .topic_consumer import TopicConsumer

log = logging.getLogger(__name__)


class TopicSet:
    """Subscribes a receiver to topics, and to the partitions that they get later.

    What comes later is received from its first message on, so that none is missed.
    """

    def __init__(
        self,
        context: ClientContext,
        topics: ReceivedTopics,
        subscription: str,
        config: ConsumerConfig,
        *,
        schema: Schema[Any] | None,
        start: Callable[[TopicName], Start] | None,
        letters: DeadLetterSetup | None,
        several: bool,
    ) -> None:
        """``start`` says where a reader begins on a topic or partition.

        ``several``: each topic comes and goes by itself. Otherwise the end of the one topic is the
        end of the receiver.
        """
        self._context = context
        self._topics = topics
        self._subscription = subscription
        self._config = config
        self._later = replace(config, initial_position=InitialPosition.EARLIEST, create_topic=False)
        self._schema = schema
        self._start = start
        self._letters = letters
        self._several = several
        self._parts: dict[TopicName, list[TopicConsumer]] = {}
        self._watches: dict[TopicName, asyncio.Task[None]] = {}  # Of partitioned topics.

    def __contains__(self, topic: TopicName) -> bool:
        return topic in self._parts

    async def open(self, topics: Collection[TopicName], config: ConsumerConfig) -> None:
        """Subscribe to all, or fail and leave no trace; of several those that exist.

        Raises the broker's error or TimedOut.
        """
        counts = await gather_all(self._count(topic, config) for topic in topics)
        counted = {
            topic: count for topic, count in zip(topics, counts, strict=True) if count is not None
        }
        self._check_queue(counted)
        total = sum(max(count, 1) for count in counted.values())
        made = {
            topic: [self._part(part, config, total) for part in partitions_of(topic, count)]
            for topic, count in counted.items()
        }
        await start_all([part for parts in made.values() for part in parts])
        for topic, parts in made.items():
            self._add(topic, parts, counted[topic])

    async def add(self, topics: Iterable[TopicName]) -> None:
        """Subscribe to those that can be; what keeps the others from it is logged."""
        await gather_all([self._try_to_add(topic) for topic in topics if topic not in self])

    async def become(self, topics: Collection[TopicName]) -> None:
        """Have these and no others, as far as that can be."""
        gone = [topic for topic in self._parts if topic not in topics]
        await gather_all([self.remove(topic) for topic in gone])
        await self.add(topics)

    async def remove(self, topic: TopicName) -> None:
        """Receive from it no longer."""
        parts = self._parts.pop(topic, None)
        if parts is None:
            return
        watch = self._watches.pop(topic, None)
        if watch is not None:
            watch.cancel()
        for part in parts:
            self._topics.remove(part)
        await gather_all([part.close() for part in parts])
        log.info("consumer.topic_left topic=%s", topic)

    async def _try_to_add(self, topic: TopicName) -> None:
        try:
            await self.open([topic], self._later)
        except MagnetarError as error:
            log.warning("consumer.topic_not_subscribed topic=%s error=%s", topic, error)

    async def _count(self, topic: TopicName, config: ConsumerConfig) -> int | None:
        try:
            return await self._context.lookup.partitions(
                str(topic), auto_create=config.create_topic
            )
        except TopicNotFound:
            if not self._several:
                raise
            level = logging.DEBUG if config is self._later else logging.WARNING
            log.log(level, "consumer.topic_missing topic=%s", topic)
            return None

    def _check_queue(self, counted: dict[TopicName, int]) -> None:
        several = self._several or len(counted) > 1 or any(counted.values())
        if not self._config.receiver_queue_size and several:
            raise InvalidValue(
                "receiver_queue_size=0 is for one topic without partitions: each message would "
                "wait for somebody on every topic; use 1"
            )

    def _part(self, topic: TopicName, config: ConsumerConfig, more: int) -> TopicConsumer:
        """The part of the receiver for a topic or partition, of ``more`` that come together."""
        total = len(self._topics.parts.by_topic) + more
        start = None
        if self._start is not None:
            start = self._start(topic)
            if config is self._later:
                start = Start(EARLIEST_MESSAGE, inclusive=True)
        part = TopicConsumer(
            Subscribing(
                topic,
                self._subscription,
                self._topics.name,
                min(config.receiver_queue_size, max(config.total_receiver_queue_size // total, 1)),
                start,
                self._schema,
                self._letters,
                self._topics.face,
            ),
            config,
            self._context,
            arrived=self._topics.queues.arrived,
            failed=self._failed,
        )
        if self._topics.interceptors is not None:
            part.incoming.interceptors = TopicInterceptors(
                self._topics.interceptors, part.partition
            )
        part.incoming.paused = self._topics.paused
        return part

    def _add(self, topic: TopicName, parts: list[TopicConsumer], count: int) -> None:
        self._parts[topic] = parts
        for part in parts:
            self._topics.add(part)
            if part.over is not None:
                self._failed(part)
        if count:
            watch = self._context.watch_partitions(topic, count, self._grow)
            self._watches[topic] = self._topics.tasks.spawn("partitions", watch)

    async def _grow(self, partitions: list[TopicName]) -> None:
        parts = [self._part(partition, self._later, len(partitions)) for partition in partitions]
        await start_all(parts)
        self._parts[partitions[0].partitioned_name] += parts
        for part in parts:
            self._topics.add(part)

    def _failed(self, part: TopicConsumer) -> None:
        """A broker refuses a part for good. Of several topics the others are received on."""
        topic = TopicName.parse(part.topic)
        if topic not in self._parts:
            topic = topic.partitioned_name
        if not self._several:
            self._topics.fail(part)
        elif topic in self._parts:
            log.warning("consumer.topic_lost topic=%s error=%s", part.topic, part.over)
            self._topics.tasks.spawn("leave", self.remove(topic))
