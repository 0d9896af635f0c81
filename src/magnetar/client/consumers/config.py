"""The settings of a consumer or reader: values, defaults, checks.

The ``...Options`` are the same settings as keyword arguments; a test holds them to the dataclasses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypedDict

from magnetar.checks import (
    check_all,
    check_flag,
    check_member,
    check_not_negative,
    check_positive,
    check_text,
    copy_properties,
)
from magnetar.client.encryption.keys import CryptoKeyReader
from magnetar.errors import InvalidValue
from magnetar.model.subscriptions import (
    InitialPosition,
    KeySharedPolicy,
    RegexSubscriptionMode,
    SubscriptionType,
)

from .dead_letter_policy import DeadLetterPolicy
from .interceptors import ConsumerInterceptor
from .redelivery_backoff import RedeliveryBackoff


class ConsumerCryptoFailureAction(Enum):
    """What becomes of messages that cannot be decrypted."""

    FAIL = "fail"  # They are held back and stay unacknowledged.
    DISCARD = "discard"  # They are acknowledged, with the reason, and gone.
    CONSUME = "consume"  # The application gets them as they are: ``Message.encryption_context``.


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig:
    """How a consumer receives and acknowledges. Raises InvalidValue."""

    type: SubscriptionType = SubscriptionType.EXCLUSIVE  # How consumers share the messages.
    initial_position: InitialPosition = InitialPosition.LATEST  # Where a new subscription begins.
    durable: bool = True  # False: the subscription ends with its last consumer.
    create_topic: bool = True  # If the broker allows it; False: TopicNotFound, but for lists.
    # Which topics a pattern takes in.
    regex_subscription_mode: RegexSubscriptionMode = RegexSubscriptionMode.PERSISTENT_ONLY
    # How often topics of a pattern or list are looked for; 0: never.
    topics_refresh_s: float = 60.0
    name: str | None = None  # None: ten random hex digits.
    properties: Mapping[str, str] = field(default_factory=dict)  # Shown in the topic's stats.
    # Kept with the subscription, when it is made.
    subscription_properties: Mapping[str, str] = field(default_factory=dict)
    priority_level: int = 0  # 0 is served first; Shared and Failover.
    key_shared_policy: KeySharedPolicy | None = None  # None: the broker splits the keys.
    replicate_subscription_state: bool = False  # It follows in other clusters.
    start_paused: bool = False  # Nothing is sent before ``resume``.
    receiver_queue_size: int = 1000  # Messages the broker may send ahead; 0: one, on demand.
    receiver_queue_bytes_max: int = 0  # About; it begins small and grows as far; 0: no limit.
    total_receiver_queue_size: int = 50_000  # The same for all partitions and topics together.
    ack_group_time_s: float = 0.1  # Acknowledgements leave this much later, together; 0: at once.
    ack_group_max: int = 1000  # So many leave at once.
    ack_receipts: bool = False  # ``await consumer.acknowledge(...)`` ends with the broker's answer.
    read_compacted: bool = False  # Only what compaction left; for one active consumer.
    batch_index_ack: bool = False  # The broker is told of single messages of a batch, too.
    negative_ack_delay_s: float = 60.0  # What is refused is asked for again after so long.
    negative_ack_backoff: RedeliveryBackoff | None = None  # Instead of the same delay each time.
    negative_ack_listener_errors: bool = False  # What a listener fails at is asked for again, too.
    ack_timeout_s: float = 0.0  # What is not acknowledged so long is, too; 0: nothing is.
    ack_timeout_tick_s: float = 1.0  # How much later that may be; at most ``ack_timeout_s``.
    ack_timeout_backoff: RedeliveryBackoff | None = None  # Waited after ``ack_timeout_s``.
    dead_letter_policy: DeadLetterPolicy | None = None  # Where messages go that come too often.
    enable_retry: bool = False  # Receive from the retry topic, too: for ``reconsume_later``.
    join_chunks: bool = True  # False: each chunk is received by itself, still compressed.
    chunked_messages_max: int = 100  # Chunked messages put together at the same time.
    # Where there is one more, the oldest is asked for again, or (True) acknowledged.
    ack_oldest_incomplete: bool = False
    chunk_age_max_s: float = 60.0  # A chunked message not complete by then is given up.
    redeliver_incomplete: bool = False  # That is to acknowledge it, or (True) to ask for it again.
    message_size_max: int = 256 * 1024 * 1024  # Bytes, after decompression and reassembly.
    crypto_key_reader: CryptoKeyReader | None = None  # Finds private keys for encrypted messages.
    # What becomes of messages that cannot be decrypted.
    crypto_failure_action: ConsumerCryptoFailureAction = ConsumerCryptoFailureAction.FAIL
    interceptors: Sequence[ConsumerInterceptor] = ()  # See every message, in this order.

    def __post_init__(self) -> None:
        check_not_negative("receiver_queue_size", self.receiver_queue_size)
        check_not_negative("receiver_queue_bytes_max", self.receiver_queue_bytes_max)
        check_positive("total_receiver_queue_size", self.total_receiver_queue_size)
        check_not_negative("topics_refresh_s", self.topics_refresh_s)
        check_member("regex_subscription_mode", self.regex_subscription_mode, RegexSubscriptionMode)
        check_not_negative("ack_group_time_s", self.ack_group_time_s)
        check_positive("ack_group_max", self.ack_group_max)
        check_not_negative("negative_ack_delay_s", self.negative_ack_delay_s)
        check_not_negative("ack_timeout_s", self.ack_timeout_s)
        check_positive("ack_timeout_tick_s", self.ack_timeout_tick_s)
        if 0 < self.ack_timeout_s < self.ack_timeout_tick_s:
            raise InvalidValue(
                f"ack_timeout_s is {self.ack_timeout_s:g}; it must be 0 for none, or at least "
                f"ack_timeout_tick_s, which is {self.ack_timeout_tick_s:g}"
            )
        check_flag("negative_ack_listener_errors", self.negative_ack_listener_errors)
        _check_kind("negative_ack_backoff", self.negative_ack_backoff, RedeliveryBackoff)
        _check_kind("ack_timeout_backoff", self.ack_timeout_backoff, RedeliveryBackoff)
        check_positive("chunked_messages_max", self.chunked_messages_max)
        check_positive("chunk_age_max_s", self.chunk_age_max_s)
        check_positive("message_size_max", self.message_size_max)
        check_not_negative("priority_level", self.priority_level)
        check_member("type", self.type, SubscriptionType)
        check_member(
            "crypto_failure_action", self.crypto_failure_action, ConsumerCryptoFailureAction
        )
        if self.read_compacted and not self.type.single_active:
            raise InvalidValue(
                "read_compacted is for EXCLUSIVE and FAILOVER subscriptions and for readers; "
                f"take it out, or another type than {self.type.name}"
            )
        if (self.dead_letter_policy is not None or self.enable_retry) and self.type.single_active:
            raise InvalidValue(
                "dead_letter_policy and enable_retry are for SHARED and KEY_SHARED subscriptions, "
                f"whose brokers count redeliveries; leave them out with {self.type.name}"
            )
        _check_kind("dead_letter_policy", self.dead_letter_policy, DeadLetterPolicy)
        policy = self.key_shared_policy
        if policy is not None and not isinstance(policy, KeySharedPolicy):
            raise InvalidValue(f"key_shared_policy is {policy!a}; it must be a KeySharedPolicy")
        if policy is not None and self.type is not SubscriptionType.KEY_SHARED:
            raise InvalidValue(
                "key_shared_policy is for KEY_SHARED subscriptions; take it out, or another type "
                f"than {self.type.name}"
            )
        check_member("initial_position", self.initial_position, InitialPosition)
        check_all("interceptors", self.interceptors, ConsumerInterceptor)
        object.__setattr__(self, "interceptors", tuple(self.interceptors))
        if self.name is not None:
            check_text("name", self.name)
        _own_properties(self, "properties")
        _own_properties(self, "subscription_properties")


class TableViewOptions(TypedDict, total=False):
    """The keyword arguments of ``create_table_view``; ``ConsumerConfig`` says what they mean."""

    create_topic: bool
    name: str | None
    properties: Mapping[str, str]
    receiver_queue_size: int
    receiver_queue_bytes_max: int
    total_receiver_queue_size: int
    chunked_messages_max: int
    chunk_age_max_s: float
    message_size_max: int
    crypto_key_reader: CryptoKeyReader | None
    crypto_failure_action: ConsumerCryptoFailureAction
    interceptors: Sequence[ConsumerInterceptor]


class ReaderOptions(TableViewOptions, total=False):
    """The keyword arguments of ``create_reader``; ``ConsumerConfig`` says what they mean."""

    start_paused: bool
    read_compacted: bool
    join_chunks: bool


class ConsumerOptions(ReaderOptions, total=False):
    """The keyword arguments of ``subscribe``; ``ConsumerConfig`` says what they mean."""

    type: SubscriptionType
    initial_position: InitialPosition
    durable: bool
    regex_subscription_mode: RegexSubscriptionMode
    topics_refresh_s: float
    subscription_properties: Mapping[str, str]
    priority_level: int
    key_shared_policy: KeySharedPolicy | None
    replicate_subscription_state: bool
    ack_group_time_s: float
    ack_group_max: int
    ack_receipts: bool
    batch_index_ack: bool
    negative_ack_delay_s: float
    negative_ack_backoff: RedeliveryBackoff | None
    negative_ack_listener_errors: bool
    ack_timeout_s: float
    ack_timeout_tick_s: float
    ack_timeout_backoff: RedeliveryBackoff | None
    dead_letter_policy: DeadLetterPolicy | None
    enable_retry: bool
    redeliver_incomplete: bool
    ack_oldest_incomplete: bool


def _check_kind(name: str, value: object, kind: type) -> None:
    if value is not None and not isinstance(value, kind):
        raise InvalidValue(f"{name} is {value!a}; it must be a {kind.__name__}, or left out")


def _own_properties(config: ConsumerConfig, name: str) -> None:
    """Copy properties: each reconnection sends them again, the same as at first."""
    object.__setattr__(config, name, copy_properties(name, getattr(config, name)))
