"""The settings of a client, of its producers and of its consumers: values, defaults, checks.

The ``...Options`` are the same settings as keyword arguments, for ``Client.create_producer`` and
its like; a test holds them to the dataclasses.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from magnetar.errors import InvalidValue
from magnetar.message.compression import CompressionType
from magnetar.model.subscriptions import InitialPosition, SubscriptionType

from .checks import (
    check_member,
    check_not_negative,
    check_positive,
    check_text,
    copy_properties,
    whole_number,
)
from .routing import CustomRouter, HashingScheme, RoutingMode


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """How a client connects. Raises InvalidValue."""

    service_url: str  # pulsar://host[:port][,host[:port]...]
    operation_timeout_s: float = 30.0  # For a request, or a first attempt with its retries.
    connection_timeout_s: float = 10.0  # For TCP and the handshake together.
    keep_alive_interval_s: float = 30.0  # A silent broker is given up after twice this time.
    connections_per_broker: int = 1
    lookup_redirects_max: int = 20
    partitions_refresh_s: float = 60.0  # How often new partitions are looked for; 0 for never.
    backoff_first_s: float = 0.1
    backoff_max_s: float = 60.0

    def __post_init__(self) -> None:
        check_text("service_url", self.service_url)
        check_positive("operation_timeout_s", self.operation_timeout_s)
        check_positive("connection_timeout_s", self.connection_timeout_s)
        check_positive("keep_alive_interval_s", self.keep_alive_interval_s)
        check_positive("connections_per_broker", self.connections_per_broker)
        check_not_negative("lookup_redirects_max", self.lookup_redirects_max)
        check_not_negative("partitions_refresh_s", self.partitions_refresh_s)
        check_positive("backoff_first_s", self.backoff_first_s)
        check_positive("backoff_max_s", self.backoff_max_s)


class ClientOptions(TypedDict, total=False):
    """The keyword arguments of ``Client``; ``ClientConfig`` says what they mean."""

    operation_timeout_s: float
    connection_timeout_s: float
    keep_alive_interval_s: float
    connections_per_broker: int
    lookup_redirects_max: int
    partitions_refresh_s: float
    backoff_first_s: float
    backoff_max_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig:
    """How a producer sends. Raises InvalidValue."""

    name: str | None = None  # None: the broker makes one up.
    properties: Mapping[str, str] = field(default_factory=dict)  # Shown in the topic's stats.
    batching: bool = True
    batch_messages_max: int = 1000
    batch_bytes_max: int = 128 * 1024  # A message this big or bigger goes alone.
    batch_delay_s: float = 0.001  # A batch leaves this long after its first message.
    batch_by_key: bool = False  # One batch per key: what Key_Shared consumers need.
    compression: CompressionType = CompressionType.NONE
    chunking: bool = False  # Split a message beyond the broker's maximum over several entries.
    max_pending_messages: int = 50_000  # Per partition; beyond it send() waits.
    max_pending_bytes: int = 64 * 1024 * 1024  # The same in bytes.
    send_timeout_s: float = 30.0  # A message without receipt by then has failed; 0 for never.
    initial_sequence_id: int | None = None  # None: after the last one the broker knows.
    routing: RoutingMode | CustomRouter = RoutingMode.ROUND_ROBIN
    hashing: HashingScheme = HashingScheme.JAVA_STRING

    def __post_init__(self) -> None:
        check_positive("batch_messages_max", self.batch_messages_max)
        check_positive("batch_bytes_max", self.batch_bytes_max)
        check_positive("max_pending_messages", self.max_pending_messages)
        check_positive("max_pending_bytes", self.max_pending_bytes)
        check_not_negative("batch_delay_s", self.batch_delay_s)
        check_not_negative("send_timeout_s", self.send_timeout_s)
        check_member("compression", self.compression, CompressionType)
        check_member("hashing", self.hashing, HashingScheme)
        if not callable(self.routing):
            check_member("routing", self.routing, RoutingMode)
        if self.name is not None:
            check_text("name", self.name)
        if self.name == "":
            raise InvalidValue("a producer's name may not be empty; leave it out to get one")
        _own_properties(self, "properties")
        if self.initial_sequence_id is not None:
            whole_number("initial_sequence_id", self.initial_sequence_id)


class ProducerOptions(TypedDict, total=False):
    """The keyword arguments of ``create_producer``; ``ProducerConfig`` says what they mean."""

    name: str | None
    properties: Mapping[str, str]
    batching: bool
    batch_messages_max: int
    batch_bytes_max: int
    batch_delay_s: float
    batch_by_key: bool
    compression: CompressionType
    chunking: bool
    max_pending_messages: int
    max_pending_bytes: int
    send_timeout_s: float
    initial_sequence_id: int | None
    routing: RoutingMode | CustomRouter
    hashing: HashingScheme


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig:
    """How a consumer receives and acknowledges. Raises InvalidValue."""

    type: SubscriptionType = SubscriptionType.EXCLUSIVE
    initial_position: InitialPosition = InitialPosition.LATEST  # Where a new subscription begins.
    create_topic: bool = True  # If the broker allows it; False: TopicNotFound.
    name: str | None = None  # None: ten random hex digits.
    properties: Mapping[str, str] = field(default_factory=dict)  # Shown in the topic's stats.
    subscription_properties: Mapping[str, str] = field(default_factory=dict)
    priority_level: int = 0  # 0 is served first; Shared and Failover.
    receiver_queue_size: int = 1000  # Messages the broker may send ahead of the application.
    total_receiver_queue_size: int = 50_000  # The same for all partitions and topics together.
    ack_group_time_s: float = 0.1  # Acknowledgements leave this much later, together; 0: at once.
    ack_group_max: int = 1000  # So many leave at once.
    read_compacted: bool = False  # Only what compaction left; for one active consumer.
    batch_index_ack: bool = False  # The broker is told of single messages of a batch, too.
    negative_ack_delay_s: float = 60.0  # What is refused is asked for again after so long.
    ack_timeout_s: float = 0.0  # What is not acknowledged so long is, too; 0: nothing is.
    chunked_messages_max: int = 100  # Chunked messages put together at the same time.
    chunk_age_max_s: float = 60.0  # A chunked message not complete by then is given up:
    redeliver_incomplete: bool = False  # acknowledged, or (True) asked for again.
    message_size_max: int = 256 * 1024 * 1024  # Bytes, after decompression and reassembly.

    def __post_init__(self) -> None:
        check_positive("receiver_queue_size", self.receiver_queue_size)
        check_positive("total_receiver_queue_size", self.total_receiver_queue_size)
        check_not_negative("ack_group_time_s", self.ack_group_time_s)
        check_positive("ack_group_max", self.ack_group_max)
        check_not_negative("negative_ack_delay_s", self.negative_ack_delay_s)
        check_not_negative("ack_timeout_s", self.ack_timeout_s)
        check_positive("chunked_messages_max", self.chunked_messages_max)
        check_positive("chunk_age_max_s", self.chunk_age_max_s)
        check_positive("message_size_max", self.message_size_max)
        check_not_negative("priority_level", self.priority_level)
        check_member("type", self.type, SubscriptionType)
        if self.read_compacted and not self.type.single_active:
            raise InvalidValue(
                "read_compacted is for EXCLUSIVE and FAILOVER subscriptions and for readers; "
                f"take it out, or another type than {self.type.name}"
            )
        check_member("initial_position", self.initial_position, InitialPosition)
        if self.name is not None:
            check_text("name", self.name)
        _own_properties(self, "properties")
        _own_properties(self, "subscription_properties")


class ReaderOptions(TypedDict, total=False):
    """The keyword arguments of ``create_reader``; ``ConsumerConfig`` says what they mean."""

    create_topic: bool
    name: str | None
    properties: Mapping[str, str]
    receiver_queue_size: int
    total_receiver_queue_size: int
    chunked_messages_max: int
    chunk_age_max_s: float
    message_size_max: int
    read_compacted: bool


class ConsumerOptions(ReaderOptions, total=False):
    """The keyword arguments of ``subscribe``; ``ConsumerConfig`` says what they mean."""

    type: SubscriptionType
    initial_position: InitialPosition
    subscription_properties: Mapping[str, str]
    priority_level: int
    ack_group_time_s: float
    ack_group_max: int
    batch_index_ack: bool
    negative_ack_delay_s: float
    ack_timeout_s: float
    redeliver_incomplete: bool


def _own_properties(config: ProducerConfig | ConsumerConfig, name: str) -> None:
    """Copy properties: each reconnection sends them again, the same as at first."""
    object.__setattr__(config, name, copy_properties(name, getattr(config, name)))
