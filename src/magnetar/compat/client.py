"""The client with the names and behaviour of ``pulsar.Client``, over ours for threads."""

import re
from collections.abc import Callable

from magnetar.client import blocking
from magnetar.errors import TopicNotFound

from .async_sends import AsyncSends
from .authentication import Authentication
from .callbacks import Callbacks
from .checks import check_type, checked
from .consumer import Consumer, Listener
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
from .errors import exception, raises_theirs
from .listening import Listening
from .loggers import AnyLogger, attach, detach, handler_of
from .message import Message
from .message_id import MessageId
from .options import (
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
from .policies import (
    DEFAULT_BATCH_RECEIVE_POLICY,
    ConsumerBatchReceivePolicy,
    ConsumerDeadLetterPolicy,
    ConsumerKeySharedPolicy,
)
from .producer import Producer
from .reader import Reader, ReaderListener
from .schema.registered import registered
from .schema.schema import BytesSchema, Schema
from .service_info import AutoClusterFailover, ServiceInfo, ServiceInfoProvider
from .tableview import TableView


class Client:
    """Makes producers, consumers and readers, which share its connections."""

    @raises_theirs
    def __init__(
        self,
        service_url: str | AutoClusterFailover | ServiceInfoProvider,
        authentication: Authentication | None = None,
        operation_timeout_seconds: int = 30,
        io_threads: int = 1,
        message_listener_threads: int = 1,
        concurrent_lookup_requests: int = 50000,
        log_conf_file_path: str | None = None,
        stats_interval_in_seconds: int = 600,
        use_tls: bool = False,
        tls_trust_certs_file_path: str | None = None,
        tls_allow_insecure_connection: bool = False,
        tls_validate_hostname: bool = False,
        logger: AnyLogger | None = None,
        connection_timeout_ms: int = 10000,
        listener_name: str | None = None,
        tls_private_key_file_path: str | None = None,
        tls_certificate_file_path: str | None = None,
    ) -> None:
        """Connect when first needed. The guide explains each argument.

        Raises ValueError for an argument of a wrong type or out of range.
        """
        options = client_options(checked(Client, locals()))
        first = first_of(service_url)
        self._client = blocking.Client(clusters(first), **options)
        if isinstance(first, str):
            first = ServiceInfo(first, authentication, tls_trust_certs_file_path)
        self._service_info = first.primary if isinstance(first, AutoClusterFailover) else first
        self._closed = False
        self._provider = service_url if isinstance(service_url, ServiceInfoProvider) else None
        if self._provider is not None:
            try:
                self._provider.initialize(self._go_over)
            except BaseException:
                self._client.close()
                raise
        self._callbacks = Callbacks()
        self._opened: set[object] = set()  # Theirs stay open, too, when a program forgets them.
        self._shut_down = False
        self._log_handler = handler_of(logger)
        if self._log_handler is not None:
            attach(self._log_handler)

    @raises_theirs
    def create_producer(
        self,
        topic: str,
        producer_name: str | None = None,
        schema: Schema = BytesSchema(),
        initial_sequence_id: int | None = None,
        send_timeout_millis: int = 30000,
        compression_type: CompressionType = CompressionType.NONE,
        max_pending_messages: int = 1000,
        max_pending_messages_across_partitions: int = 50000,
        block_if_queue_full: bool = False,
        batching_enabled: bool = False,
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
        """A producer of a topic. The guide explains each argument.

        Raises ValueError for an argument of a wrong type or out of range, or a PulsarException.
        """
        options = producer_options(checked(Client.create_producer, locals()))
        made = Producer()
        made._producer = self._client.create_producer(topic, schema=registered(schema), **options)
        made._schema = schema
        self._opened.add(made)
        made._opened = self._opened
        made._callbacks = self._callbacks
        made._sends = AsyncSends(
            made._producer,
            self._callbacks,
            wait=block_if_queue_full,
        )
        return made

    @raises_theirs
    def subscribe(
        self,
        topic: str | list[str] | re.Pattern[str],
        subscription_name: str,
        consumer_type: ConsumerType = ConsumerType.Exclusive,
        schema: Schema = BytesSchema(),
        message_listener: Listener | None = None,
        receiver_queue_size: int = 1000,
        max_total_receiver_queue_size_across_partitions: int = 50000,
        consumer_name: str | None = None,
        unacked_messages_timeout_ms: int | None = None,
        broker_consumer_stats_cache_time_ms: int = 30000,
        negative_ack_redelivery_delay_ms: int = 60000,
        is_read_compacted: bool = False,
        properties: dict[str, str] | None = None,
        pattern_auto_discovery_period: int = 60,
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
    ) -> Consumer:
        """A consumer of a topic, of a list of them, or of those that a pattern matches.

        The guide explains each argument. Raises as ``create_producer``.
        """
        options = consumer_options(checked(Client.subscribe, locals()))
        if not isinstance(topic, str | list | re.Pattern):
            raise ValueError(
                "Argument 'topic' is expected to be of a type between (str, list, re.pattern)"
            )
        made = Consumer()
        made._schema = schema
        made._callbacks = self._callbacks
        if message_listener is not None:
            made._listening = Listening(message_listener, made, schema)
        made._consumer = self._client.subscribe(
            topic,
            subscription_name,
            schema=registered(schema),
            listener=None if made._listening is None else made._listening.hand,
            **options,
        )
        made._inclusive = start_message_id_inclusive
        made._batch_policy = (batch_receive_policy or DEFAULT_BATCH_RECEIVE_POLICY).policy()
        schema.attach_client(self)
        self._opened.add(made)
        made._opened = self._opened
        return made

    @raises_theirs
    def create_reader(
        self,
        topic: str,
        start_message_id: MessageId,
        schema: Schema = BytesSchema(),
        reader_listener: ReaderListener | None = None,
        receiver_queue_size: int = 1000,
        reader_name: str | None = None,
        subscription_role_prefix: str | None = None,
        is_read_compacted: bool = False,
        crypto_key_reader: CryptoKeyReader | None = None,
        start_message_id_inclusive: bool = False,
        crypto_failure_action: ConsumerCryptoFailureAction = ConsumerCryptoFailureAction.FAIL,
    ) -> Reader:
        """A reader of a topic from behind a message on, or from that message itself.

        The guide explains each argument. Raises as ``create_producer``.
        """
        options = reader_options(checked(Client.create_reader, locals()))
        made = Reader()
        made._schema = schema
        if reader_listener is not None:
            made._listening = Listening(reader_listener, made, schema)
        made._reader = self._client.create_reader(
            topic,
            start_message_id._id,
            subscription=reader_subscription(subscription_role_prefix),
            inclusive=start_message_id_inclusive,
            schema=registered(schema),
            listener=None if made._listening is None else made._listening.hand,
            **options,
        )
        made._inclusive = start_message_id_inclusive
        schema.attach_client(self)
        self._opened.add(made)
        made._opened = self._opened
        return made

    @raises_theirs
    def create_table_view(
        self,
        topic: str,
        subscription_name: str | None = None,
        schema: Schema = BytesSchema(),
    ) -> TableView:
        """A view of a topic as a table: the last value of each key."""
        checked(Client.create_table_view, locals())
        table_view = self._client.create_table_view(
            topic, subscription=subscription_name or None, schema=registered(schema)
        )
        made = TableView(table_view, topic, subscription_name, schema)
        self._opened.add(made)
        made._opened = self._opened
        made._callbacks = self._callbacks
        return made

    @raises_theirs
    def get_topic_partitions(self, topic: str) -> list[str]:
        """The full names of a topic's partitions; its own when it is not partitioned."""
        check_type(str, topic, "topic")
        try:
            count = self._client.partitions(topic)
        except TopicNotFound:  # It has no partitions, for all theirs knows.
            count = 0
        return partition_names(topic, count)

    def get_service_info(self) -> ServiceInfo:
        """The cluster, of several the primary."""
        return self._service_info

    def _go_over(self, info: ServiceInfo) -> None:
        """What a provider calls, on any thread."""
        wanted = cluster(info)
        if not self._closed:
            self._client.go_over(wanted)
            self._service_info = info

    def shutdown(self) -> None:
        """As ``close``, but nothing is raised the second time, nor by ``close`` then."""
        if not self._closed:
            self.close()
        self._shut_down = True

    @raises_theirs
    def close(self) -> None:
        """Close what the client has made, and the client. Raises as ``Producer.close``."""
        if self._shut_down:
            return
        if self._closed:
            raise exception(Result.AlreadyClosed)
        self._closed = True
        try:
            self._client.close()
        finally:
            self._opened.clear()
            self._callbacks.close()
            if self._provider is not None:
                self._provider.close()
            if self._log_handler is not None:
                detach(self._log_handler)
