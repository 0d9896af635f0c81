"""Opens a consumer or reader: one part for each of its topics and partitions."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from magnetar.client.context import ClientContext, partitions_of, start_all
from magnetar.client.gather_all import gather_all
from magnetar.client.schemas.schema import Schema
from magnetar.errors import InvalidValue
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST, EARLIEST_MESSAGE, LATEST, MessageId
from magnetar.model.subscriptions import InitialPosition

from .config import ConsumerConfig
from .receiver import Receiver
from .topic_consumer import Subscribing, TopicConsumer
from .unpacking import Start

NAME_SIZE: Final = 5  # Random bytes in a name that the client makes up: ten hex digits.

R = TypeVar("R", bound=Receiver[Any])


async def open_receiver(
    context: ClientContext,
    kind: type[R],
    names: list[TopicName],
    subscription: str,
    config: ConsumerConfig,
    *,
    closed: Callable[[Receiver[Any]], None],
    schema: Schema[Any] | None = None,
    start: Callable[[TopicName], Start] | None = None,
) -> R:
    """Attach a consumer or reader to its topics. Raises the broker's error or TimedOut.

    ``start`` says where a reader begins on a topic or partition; without it the subscription is
    durable.
    """
    receiver = kind(
        ",".join(map(str, names)),
        subscription,
        config.name or made_up_name(),
        config.type,
        paused=config.start_paused,
        closed=closed,
    )
    counts = await gather_all(
        context.lookup.partitions(str(name), auto_create=config.create_topic) for name in names
    )
    total = sum(max(count, 1) for count in counts)
    if not config.receiver_queue_size and (total > 1 or any(counts)):
        raise InvalidValue(
            "receiver_queue_size=0 is for one topic without partitions: each message would wait "
            "for somebody on every topic; use 1"
        )
    queue_size = min(config.receiver_queue_size, max(config.total_receiver_queue_size // total, 1))

    def make(topic: TopicName, config: ConsumerConfig) -> TopicConsumer:
        part = TopicConsumer(
            Subscribing(
                topic,
                subscription,
                receiver.name,
                queue_size,
                None if start is None else start(topic),
                schema,
            ),
            next(context.ids),
            config,
            arrived=receiver.arrived,
            lookup=context.lookup,
            backoff=context.backoff(),
            clock=context.clock,
            operation_timeout_s=context.config.operation_timeout_s,
        )
        part.paused = receiver.paused
        return part

    async def add(topics: list[TopicName], config: ConsumerConfig) -> None:
        parts = [make(topic, config) for topic in topics]
        await start_all(parts)
        for part in parts:
            receiver.add(part)

    later = replace(config, initial_position=InitialPosition.EARLIEST)

    async def grow(topics: list[TopicName]) -> None:
        await add(topics, later)

    counted = list(zip(names, counts, strict=True))
    await add([topic for each in counted for topic in partitions_of(*each)], config)
    for name, count in counted:
        if count:
            receiver.watch(context.watch_partitions(name, count, grow))
    return receiver


def start_on(
    topic: TopicName, start: MessageId | Mapping[int, MessageId], *, inclusive: bool
) -> Start:
    """Where a reader begins on one topic or partition. Raises InvalidValue."""
    if isinstance(start, Mapping):
        return Start(start.get(topic.partition_index, EARLIEST_MESSAGE), inclusive=inclusive)
    if start.position not in (EARLIEST, LATEST) and topic.partition_index != start.partition:
        raise InvalidValue(
            f"{start} is a place in one partition, not in {topic}: give a start for each partition"
        )
    return Start(start, inclusive=inclusive)


def made_up_name() -> str:
    return secrets.token_hex(NAME_SIZE)
