"""Opens a producer: one part for each partition, and a router among them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, cast

from magnetar.client.context import ClientContext, partitions_of, start_all
from magnetar.client.encryption.data_keys import open_encryptor
from magnetar.errors import SchemaNotFound
from magnetar.model.names import TopicName
from magnetar.model.producers import ProducerAccessMode
from magnetar.model.schemas import SchemaType
from magnetar.schemas.auto import AutoProduceSchema
from magnetar.schemas.schema import Schema, T

from .config import ProducerConfig, ProducerCryptoFailureAction
from .producer import Producer
from .routing import MessageRouter, RoundRobinRouter, Router, RoutingMode, SingleRouter
from .topic_producer import TopicProducer

PARTITIONS_MAX: Final = 1 << 31  # A router begins at any of them; no topic has more.


async def open_producer(
    context: ClientContext,
    name: TopicName,
    config: ProducerConfig,
    closed: Callable[[Producer[Any]], None],
    schema: Schema[T] | None = None,
) -> Producer[T]:
    """Attach a producer to all partitions of a topic.

    Raises the broker's error, TimedOut, or CryptoFailed for a key that cannot be had.
    """
    encryptor = open_encryptor(
        config.encryption_keys,
        config.crypto_key_reader,
        context.clock.now,
        required=config.crypto_failure_action is ProducerCryptoFailureAction.FAIL,
    )
    if isinstance(schema, AutoProduceSchema):
        schema = cast("Schema[T]", await _of_topic(context, name))
    count = await context.lookup.partitions(str(name))

    def make(topic: TopicName) -> TopicProducer:
        info = None if schema is None else schema.info
        return TopicProducer(topic, config, context, encryptor=encryptor, schema=info)

    share = config.max_pending_messages_across_partitions // max(count, 1)
    if config.max_pending_messages_across_partitions and share < config.max_pending_messages:
        config = replace(config, max_pending_messages=max(share, 1))
    parts = [make(topic) for topic in partitions_of(name, count)]
    await start_all(parts, one_first=config.access_mode is ProducerAccessMode.WAIT_FOR_EXCLUSIVE)
    router = _router(config, context.chance) if count else None
    producer = Producer(
        str(name),
        parts,
        router,
        clock=context.clock,
        closed=closed,
        schema=schema,
        interceptors=config.interceptors,
    )

    async def grow(topics: list[TopicName]) -> None:
        more = [make(topic) for topic in topics]
        await start_all(more)
        producer._add(more)

    if count:
        producer._watch(context.watch_partitions(name, count, grow))
    if context.config.stats_interval_s:
        producer._report_stats(context.config.stats_interval_s)
    return producer


async def _of_topic(context: ClientContext, name: TopicName) -> AutoProduceSchema:
    """The schema that the topic has now."""
    try:
        found = await context.lookup.schema(str(name), None)
    except SchemaNotFound:
        return AutoProduceSchema()
    return AutoProduceSchema(None if found.type is SchemaType.NONE else found)


def _router(config: ProducerConfig, chance: Callable[[], float]) -> Router | MessageRouter:
    if config.routing is RoutingMode.SINGLE:
        return SingleRouter(int(chance() * PARTITIONS_MAX), config.hashing)
    if config.routing is RoutingMode.ROUND_ROBIN:
        return RoundRobinRouter(
            int(chance() * PARTITIONS_MAX),
            config.hashing,
            messages_max=config.batch_messages_max if config.batching else 1,
            bytes_max=config.batch_bytes_max,
            delay_s=config.batch_delay_s,
        )
    return MessageRouter(config.routing)
