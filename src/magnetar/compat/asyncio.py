"""The names and behaviour of ``pulsar.asyncio``, over our asyncio client.

A client belongs to the event loop it is first used in. Every call may be cancelled: no message is
lost by it.
"""

import re
from collections.abc import Callable, Coroutine
from datetime import timedelta
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from magnetar.client.client import Client as OurClient
from magnetar.client.consumers.consumer import Consumer as OurConsumer
from magnetar.client.consumers.reader import Reader as OurReader
from magnetar.client.consumers.receiver import Receiver
from magnetar.client.producers.producer import Producer as OurProducer
from magnetar.errors import MagnetarError, NotAllowed, TopicNotFound
from magnetar.tasks import Tasks

from .checks import check_type
from .client import Client as BlockingClient
from .client_options import client_options, clusters
from .consumer import place, source
from .crypto import CryptoKeyReader
from .enums import (
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
from .errors import result_of
from .loggers import attach, detach, handler_of
from .message import Message, wrapped
from .message_id import MessageId
from .options import (
    consumer_options,
    partition_names,
    producer_options,
    reader_options,
    reader_subscription,
)
from .outgoing import built
from .policies import (
    ConsumerBatchReceivePolicy,
    ConsumerDeadLetterPolicy,
    ConsumerKeySharedPolicy,
)
from .schema.registered import registered
from .schema.schema import BytesSchema, Schema

P = ParamSpec("P")
T = TypeVar("T")


class PulsarException(Exception):
    """What every call here raises: ``error()`` says what went wrong."""

    def __init__(self, result: Result, msg: str | None = None) -> None:
        self._result = result
        self._msg = msg

    def error(self) -> Result:
        return self._result

    def __str__(self) -> str:
        text = f"{self._result.value} {self._result.name}"
        return f"{text}: {self._msg}" if self._msg else text


def _raises_theirs(
    function: Callable[P, Coroutine[Any, Any, T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    @wraps(function)
    async def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await function(*args, **kwargs)
        except MagnetarError as error:
            raise PulsarException(result_of(error), str(error)) from error

    return wrapper


class Producer:
    """Sends messages to a topic. Made by ``Client.create_producer``."""

    def __init__(self, producer: OurProducer, schema: Schema) -> None:
        """``producer`` is our asyncio client's."""
        self._producer = producer
        self._schema = schema

    @_raises_theirs
    async def send(
        self,
        content: Any,
        properties: dict[str, str] | None = None,
        partition_key: str | None = None,
        ordering_key: str | None = None,
        sequence_id: int | None = None,
        replication_clusters: list[str] | None = None,
        disable_replication: bool | None = None,
        event_timestamp: int | None = None,
        deliver_at: int | None = None,
        deliver_after: timedelta | None = None,
    ) -> MessageId:
        """Send one message; its id, when the broker has stored it."""
        message = built(
            self._schema,
            content,
            properties,
            partition_key,
            ordering_key,
            sequence_id,
            replication_clusters,
            disable_replication,
            event_timestamp,
            deliver_at,
            deliver_after,
        )
        return MessageId._of(await self._producer.send(message))

    @_raises_theirs
    async def flush(self) -> None:
        """Send what waits in batches; return when all that was sent has been settled."""
        await self._producer.flush()

    @_raises_theirs
    async def close(self) -> None:
        """Flush and detach."""
        await self._producer.close()

    def topic(self) -> str:
        """The full name of the topic."""
        return self._producer.topic

    def producer_name(self) -> str:
        """Its name, as given or as the broker made it up."""
        return self._producer.name

    def last_sequence_id(self) -> int:
        """The highest sequence id that has a receipt; -1 before the first."""
        return self._producer.last_sequence_id

    def is_connected(self) -> bool:
        """It is attached to its brokers now."""
        return self._producer.connected


class Consumer:
    """Receives the messages of a subscription. Made by ``Client.subscribe``."""

    def __init__(self, consumer: OurConsumer, schema: Schema) -> None:
        """``consumer`` is our asyncio client's."""
        self._consumer = consumer
        self._schema = schema
        self._inclusive = False
        self._tasks = Tasks(f"consumer of {consumer.topic}")

    @_raises_theirs
    async def receive(self) -> Message:
        """The next message."""
        return wrapped(await self._consumer.receive(), self._schema)

    @_raises_theirs
    async def acknowledge(self, message: Message | MessageId) -> None:
        """The application is done with a message."""
        self._consumer.acknowledge(source(message))

    @_raises_theirs
    async def acknowledge_cumulative(self, message: Message | MessageId) -> None:
        """The application is done with a message and all before it on its topic."""
        given = source(message)
        try:
            self._consumer.acknowledge_cumulative(given)
        except NotAllowed as error:
            result = Result.CumulativeAcknowledgementNotAllowedError
            raise PulsarException(result, str(error)) from error

    @_raises_theirs
    async def negative_acknowledge(self, message: Message | MessageId) -> None:
        """The application cannot process a message now: it comes again after a while."""
        self._consumer.negative_acknowledge(source(message))

    @_raises_theirs
    async def unsubscribe(self) -> None:
        """Delete the subscription, and close."""
        await self._consumer.unsubscribe()

    @_raises_theirs
    async def seek(self, messageid: MessageId | int) -> None:
        """Go behind a message, or to a time in milliseconds since the epoch.

        With ``start_message_id_inclusive`` it goes to the message itself.
        """
        await _seek(self._consumer, messageid, inclusive=self._inclusive)

    @_raises_theirs
    async def close(self) -> None:
        """Send the acknowledgements that wait, and detach."""
        await self._consumer.close()

    @_raises_theirs
    async def get_last_message_id(self) -> MessageId:
        """The id of the topic's last message; all -1 when it has none."""
        last = await self._consumer.last_message_id()
        return MessageId() if last is None else MessageId._of(last)

    def redeliver_unacknowledged_messages(self) -> None:
        """Ask for everything that was delivered and not acknowledged once more."""
        self._tasks.spawn("redeliver", self._consumer.redeliver_unacknowledged())

    def topic(self) -> str:
        """The full name of the topic; of several, all names joined by commas."""
        return self._consumer.topic

    def subscription_name(self) -> str:
        return self._consumer.subscription

    def consumer_name(self) -> str:
        return self._consumer.name


class Reader:
    """Reads a topic from any place. Made by ``Client.create_reader``."""

    def __init__(self, reader: OurReader, schema: Schema) -> None:
        """``reader`` is our asyncio client's."""
        self._reader = reader
        self._schema = schema
        self._inclusive = False

    @_raises_theirs
    async def read_next(self) -> Message:
        """The next message."""
        return wrapped(await self._reader.receive(), self._schema)

    @_raises_theirs
    async def has_message_available(self) -> bool:
        """Whether ``read_next`` would return without another message being published."""
        return await self._reader.has_message_available()

    @_raises_theirs
    async def seek(self, messageid: MessageId | int) -> None:
        """Go behind a message, or to a time, as a consumer does."""
        await _seek(self._reader, messageid, inclusive=self._inclusive)

    @_raises_theirs
    async def close(self) -> None:
        """Detach."""
        await self._reader.close()

    def topic(self) -> str:
        """The full name of the topic."""
        return self._reader.topic

    def is_connected(self) -> bool:
        """It is attached to the brokers of all its topics now."""
        return self._reader.connected


class Client:
    """Makes producers, consumers and readers; ``pulsar.Client`` has the same arguments."""

    def __init__(self, service_url: Any, **kwargs: Any) -> None:
        """Connect when first needed. Raises TypeError or ValueError for wrong arguments."""
        given = signature(BlockingClient).bind(service_url, **kwargs)
        given.apply_defaults()
        self._log_handler = handler_of(given.arguments.pop("logger"))
        self._options = client_options(**given.arguments)
        self._clusters = clusters(service_url)
        self._made: OurClient | None = None
        self._tasks = Tasks("client")
        if self._log_handler is not None:
            attach(self._log_handler)

    @property
    def _client(self) -> OurClient:
        """Ours, which belongs to the event loop that runs when it is first asked for."""
        if self._made is None:
            self._made = OurClient(self._clusters, **self._options)
        return self._made

    @_raises_theirs
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
        check_type(str, topic, "topic")
        schema = BytesSchema() if schema is None else schema
        options = producer_options(
            producer_name=producer_name,
            schema=schema,
            initial_sequence_id=initial_sequence_id,
            send_timeout_millis=send_timeout_millis,
            compression_type=compression_type,
            max_pending_messages=max_pending_messages,
            max_pending_messages_across_partitions=max_pending_messages_across_partitions,
            block_if_queue_full=block_if_queue_full,
            batching_enabled=batching_enabled,
            batching_max_messages=batching_max_messages,
            batching_max_allowed_size_in_bytes=batching_max_allowed_size_in_bytes,
            batching_max_publish_delay_ms=batching_max_publish_delay_ms,
            chunking_enabled=chunking_enabled,
            message_routing_mode=message_routing_mode,
            lazy_start_partitioned_producers=lazy_start_partitioned_producers,
            properties=properties,
            batching_type=batching_type,
            encryption_key=encryption_key,
            crypto_key_reader=crypto_key_reader,
            access_mode=access_mode,
            message_router=message_router,
        )
        schema.attach_client(self)
        return Producer(
            await self._client.create_producer(topic, schema=registered(schema), **options), schema
        )

    @_raises_theirs
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
        check_type(str, subscription_name, "subscription_name")
        schema = BytesSchema() if schema is None else schema
        options = consumer_options(
            consumer_type=consumer_type,
            schema=schema,
            receiver_queue_size=receiver_queue_size,
            max_total_receiver_queue_size_across_partitions=(
                max_total_receiver_queue_size_across_partitions
            ),
            consumer_name=consumer_name,
            unacked_messages_timeout_ms=unacked_messages_timeout_ms,
            broker_consumer_stats_cache_time_ms=broker_consumer_stats_cache_time_ms,
            negative_ack_redelivery_delay_ms=negative_ack_redelivery_delay_ms,
            is_read_compacted=is_read_compacted,
            properties=properties,
            pattern_auto_discovery_period=60,
            initial_position=initial_position,
            crypto_key_reader=crypto_key_reader,
            replicate_subscription_state_enabled=replicate_subscription_state_enabled,
            max_pending_chunked_message=max_pending_chunked_message,
            auto_ack_oldest_chunked_message_on_queue_full=(
                auto_ack_oldest_chunked_message_on_queue_full
            ),
            start_message_id_inclusive=start_message_id_inclusive,
            batch_receive_policy=batch_receive_policy,
            key_shared_policy=key_shared_policy,
            batch_index_ack_enabled=batch_index_ack_enabled,
            regex_subscription_mode=regex_subscription_mode,
            dead_letter_policy=dead_letter_policy,
            crypto_failure_action=crypto_failure_action,
        )
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

    @_raises_theirs
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
        check_type(str, topic, "topic")
        check_type(MessageId, start_message_id, "start_message_id")
        schema = BytesSchema() if schema is None else schema
        options = reader_options(
            schema=schema,
            receiver_queue_size=receiver_queue_size,
            reader_name=reader_name,
            subscription_role_prefix=subscription_role_prefix,
            is_read_compacted=is_read_compacted,
            crypto_key_reader=crypto_key_reader,
            start_message_id_inclusive=start_message_id_inclusive,
            crypto_failure_action=crypto_failure_action,
        )
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
        if self._made is not None:
            self._tasks.spawn("shutdown", self.close())

    @_raises_theirs
    async def get_topic_partitions(self, topic: str) -> list[str]:
        """The full names of a topic's partitions; its own when it is not partitioned."""
        check_type(str, topic, "topic")
        try:
            count = await self._client.partitions(topic)
        except TopicNotFound:  # It has no partitions, for all theirs knows.
            count = 0
        return partition_names(topic, count)

    @_raises_theirs
    async def close(self) -> None:
        """Close what the client has made, and the client."""
        try:
            await self._client.close()
        finally:
            handler, self._log_handler = self._log_handler, None
            if handler is not None:
                detach(handler)


async def _seek(receiver: Receiver, messageid: MessageId | int, *, inclusive: bool) -> None:
    if isinstance(messageid, MessageId):
        await receiver.seek(place(messageid), inclusive=inclusive)
    elif isinstance(messageid, int):
        await receiver.seek_time(messageid)
    else:
        raise ValueError(f"invalid messageid type {type(messageid)}")
