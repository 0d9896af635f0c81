"""A client with the names and behaviour of ``pulsar.asyncio.Client``."""

import asyncio
import re
from collections.abc import Callable
from inspect import signature
from typing import Any

from magnetar.client.client import Client as OurClient
from magnetar.compat.checks import check_type, checked
from magnetar.compat.client import Client as BlockingClient
from magnetar.compat.crypto import CryptoKeyReader
from magnetar.compat.enums import (
    BatchingType,
    CompressionType,
    ConsumerCryptoFailureAction,
    ConsumerType,
    InitialPosition,
    PartitionsRoutingMode,
    ProducerAccessMode,
    RegexSubscriptionMode,
    Result,
)
from magnetar.compat.loggers import attach, detach, handler_of
from magnetar.compat.message import Message
from magnetar.compat.message_id import MessageId
from magnetar.compat.options import (
    client_options,
    cluster,
    clusters,
    consumer_options,
    first_of,
    partition_names,
    producer_options,
    reader_options,
    reader_subscription,
)
from magnetar.compat.policies import (
    ConsumerBatchReceivePolicy,
    ConsumerDeadLetterPolicy,
    ConsumerKeySharedPolicy,
)
from magnetar.compat.schema.registered import registered
from magnetar.compat.schema.schema import BytesSchema, Schema
from magnetar.compat.service_info import ServiceInfo, ServiceInfoProvider
from magnetar.errors import TopicNotFound
from magnetar.tasks import Tasks

from .consumer import Consumer
from .exception import PulsarException, raises_theirs
from .producer import Producer
from .reader import Reader


class Client:
    """Makes producers, consumers and readers; ``pulsar.Client`` has the same arguments."""

    def __init__(self, service_url: Any, **kwargs: Any) -> None:
        """Connect when first needed. Raises TypeError or ValueError for wrong arguments."""
        given = signature(BlockingClient).bind(service_url, **kwargs)
        given.apply_defaults()
        self._log_handler = handler_of(given.arguments.pop("logger"))
        self._options = client_options(checked(BlockingClient, given.arguments))
        self._used = clusters(first_of(service_url))
        self._made: OurClient | None = None
        self._tasks = Tasks("client")
        self._closed = False
        self._shut_down = False
        self._closing: asyncio.Task[None] | None = None
        if self._log_handler is not None:
            attach(self._log_handler)
        self._provider = service_url if isinstance(service_url, ServiceInfoProvider) else None
        if self._provider is not None:
            self._provider.initialize(self._go_over)

    def _go_over(self, info: ServiceInfo) -> None:
        """What a provider calls, on any thread."""
        self._used = cluster(info)
        if self._made is not None and not (self._closed or self._shut_down):
            self._loop.call_soon_threadsafe(self._made.go_over, self._used)

    @property
    def _client(self) -> OurClient:
        """Ours, which belongs to the event loop that runs when it is first asked for."""
        if self._closed or self._shut_down:
            raise PulsarException(Result.AlreadyClosed)
        if self._made is None:
            self._loop = asyncio.get_running_loop()
            self._made = OurClient(self._used, **self._options)
        return self._made

    @raises_theirs
    async def create_producer(
        self,
        topic: str,
        producer_name: str | None = None,
        schema: Schema | None = None,
        initial_sequence_id: int | None = None,
        send_timeout_millis: int = 30000,
        compression_type: CompressionType = CompressionType.NONE,
        max_pending_messages: int = 1000,
        max_pending_messages_across_partitions: int = 50000,
        block_if_queue_full: bool = False,
        batching_enabled: bool = True,
        batching_max_messages: int = 1000,
        batching_max_allowed_size_in_bytes: int = 128 * 1024,
        batching_max_publish_delay_ms: int = 10,
        chunking_enabled: bool = False,
        message_routing_mode: PartitionsRoutingMode = PartitionsRoutingMode.RoundRobinDistribution,
        lazy_start_partitioned_producers: bool = False,
        properties: dict[str, str] | None = None,
        batching_type: BatchingType = BatchingType.Default,
        encryption_key: str | None = None,
        crypto_key_reader: CryptoKeyReader | None = None,
        access_mode: ProducerAccessMode = ProducerAccessMode.Shared,
        message_router: Callable[[Message, int], int] | None = None,
    ) -> Producer:
        """A producer of a topic. Batches, unlike ``pulsar.Client.create_producer``, by default."""
        schema = BytesSchema() if schema is None else schema
        options = producer_options(checked(BlockingClient.create_producer, locals()))
        schema.attach_client(self)
        return Producer(
            await self._client.create_producer(topic, schema=registered(schema), **options), schema
        )

    @raises_theirs
    async def subscribe(
        self,
        topic: str | list[str],
        subscription_name: str,
        consumer_type: ConsumerType = ConsumerType.Exclusive,
        schema: Schema | None = None,
        receiver_queue_size: int = 1000,
        max_total_receiver_queue_size_across_partitions: int = 50000,
        consumer_name: str | None = None,
        unacked_messages_timeout_ms: int | None = None,
        broker_consumer_stats_cache_time_ms: int = 30000,
        negative_ack_redelivery_delay_ms: int = 60000,
        is_read_compacted: bool = False,
        properties: dict[str, str] | None = None,
        initial_position: InitialPosition = InitialPosition.Latest,
        crypto_key_reader: CryptoKeyReader | None = None,
        replicate_subscription_state_enabled: bool = False,
        max_pending_chunked_message: int = 10,
        auto_ack_oldest_chunked_message_on_queue_full: bool = False,
        start_message_id_inclusive: bool = False,
        batch_receive_policy: ConsumerBatchReceivePolicy | None = None,
        key_shared_policy: ConsumerKeySharedPolicy | None = None,
        batch_index_ack_enabled: bool = False,
        regex_subscription_mode: RegexSubscriptionMode = RegexSubscriptionMode.PersistentOnly,
        dead_letter_policy: ConsumerDeadLetterPolicy | None = None,
        crypto_failure_action: ConsumerCryptoFailureAction = ConsumerCryptoFailureAction.FAIL,
        is_pattern_topic: bool = False,
    ) -> Consumer:
        """A consumer of a topic, of a list of them, or with ``is_pattern_topic`` of a pattern."""
        schema = BytesSchema() if schema is None else schema
        options = consumer_options(checked(BlockingClient.subscribe, locals()))
        if not isinstance(topic, str | list):
            raise ValueError("Argument 'topic' is expected to be of type 'str' or 'list'")
        wanted: str | list[str] | re.Pattern[str] = topic
        if is_pattern_topic:
            if isinstance(topic, list):
                raise ValueError(
                    "Argument 'topic' must be a string when 'is_pattern_topic' is True; lists of "
                    "topics do not support pattern subscriptions"
                )
            wanted = re.compile(topic)
        made = Consumer(
            await self._client.subscribe(
                wanted, subscription_name, schema=registered(schema), **options
            ),
            schema,
        )
        made._inclusive = start_message_id_inclusive
        schema.attach_client(self)
        return made

    @raises_theirs
    async def create_reader(
        self,
        topic: str,
        start_message_id: MessageId,
        schema: Schema | None = None,
        receiver_queue_size: int = 1000,
        reader_name: str | None = None,
        subscription_role_prefix: str | None = None,
        is_read_compacted: bool = False,
        crypto_key_reader: CryptoKeyReader | None = None,
        start_message_id_inclusive: bool = False,
        crypto_failure_action: ConsumerCryptoFailureAction = ConsumerCryptoFailureAction.FAIL,
    ) -> Reader:
        """A reader of a topic from behind a message on, or from that message itself."""
        schema = BytesSchema() if schema is None else schema
        options = reader_options(checked(BlockingClient.create_reader, locals()))
        reader = await self._client.create_reader(
            topic,
            start_message_id._id,
            subscription=reader_subscription(subscription_role_prefix),
            inclusive=start_message_id_inclusive,
            schema=registered(schema),
            **options,
        )
        made = Reader(reader, schema)
        made._inclusive = start_message_id_inclusive
        schema.attach_client(self)
        return made

    def shutdown(self) -> None:
        """Begin to close, and do not wait for the end."""
        if not (self._closed or self._shut_down):
            self._shut_down = True
            if self._made is None:
                self._detach()
            else:
                self._closing = self._tasks.spawn("shutdown", self._close())

    @raises_theirs
    async def get_topic_partitions(self, topic: str) -> list[str]:
        """The full names of a topic's partitions; its own when it is not partitioned."""
        check_type(str, topic, "topic")
        try:
            count = await self._client.partitions(topic)
        except TopicNotFound:  # It has no partitions, for all theirs knows.
            count = 0
        return partition_names(topic, count)

    @raises_theirs
    async def close(self) -> None:
        """Close what the client has made, and the client. Raises AlreadyClosed the second time."""
        if self._shut_down:
            if self._closing is not None:
                await asyncio.shield(self._closing)
            return
        if self._closed:
            raise PulsarException(Result.AlreadyClosed)
        self._closed = True
        await self._close()

    async def _close(self) -> None:
        try:
            if self._made is not None:
                await self._made.close()
        finally:
            self._detach()

    def _detach(self) -> None:
        if self._provider is not None:
            self._provider.close()
        handler, self._log_handler = self._log_handler, None
        if handler is not None:
            detach(handler)
