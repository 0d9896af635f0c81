"""The settings of a producer: values, defaults, checks.

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
    whole_number,
)
from magnetar.client.encryption.keys import CryptoKeyReader
from magnetar.errors import InvalidValue
from magnetar.message.compression import CompressionType
from magnetar.model.producers import ProducerAccessMode

from .interceptors import ProducerInterceptor
from .routing import CustomRouter, HashingScheme, RoutingMode


class ProducerCryptoFailureAction(Enum):
    """What becomes of messages that cannot be encrypted, since a public key is not to be had."""

    FAIL = "fail"  # The producer is refused: CryptoFailed.
    SEND = "send"  # They are sent in clear, with a warning in the log.


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig:
    """How a producer sends. Raises InvalidValue."""

    name: str | None = None  # None: the broker makes one up.
    properties: Mapping[str, str] = field(default_factory=dict)  # Shown in the topic's stats.
    access_mode: ProducerAccessMode = ProducerAccessMode.SHARED  # Who else may send to the topic.
    batching: bool = True  # Several messages travel and are stored as one entry.
    batch_messages_max: int = 1000  # A batch of so many leaves at once.
    batch_bytes_max: int = 128 * 1024  # A message this big or bigger goes alone.
    batch_delay_s: float = 0.001  # A batch leaves this long after its first message.
    batch_by_key: bool = False  # One batch per key: what Key_Shared consumers need.
    compression: CompressionType = CompressionType.NONE  # Of whole batches.
    chunking: bool = False  # Split a message beyond the broker's maximum over several entries.
    max_pending_messages: int = 50_000  # Per partition; beyond it send() waits.
    max_pending_bytes: int = 64 * 1024 * 1024  # The same, in bytes of payload.
    max_pending_messages_across_partitions: int = 0  # Shared out evenly; 0: the same for each.
    block_if_queue_full: bool = True  # False: send() and the like do not wait for room: QueueFull.
    send_timeout_s: float = 30.0  # A message without receipt by then has failed; 0 for never.
    initial_subscription: str | None = None  # Made with the topic, so that it keeps what is sent.
    initial_sequence_id: int | None = None  # None: after the last one the broker knows.
    # Which partition gets a message without a key; or a function of message and partitions.
    routing: RoutingMode | CustomRouter = RoutingMode.ROUND_ROBIN
    hashing: HashingScheme = HashingScheme.JAVA_STRING  # Which partition a key belongs to.
    encryption_keys: Sequence[str] = ()  # The names of those who may read; none: in clear.
    crypto_key_reader: CryptoKeyReader | None = None  # Finds their public keys.
    # What becomes of messages where a public key is not to be had.
    crypto_failure_action: ProducerCryptoFailureAction = ProducerCryptoFailureAction.FAIL
    interceptors: Sequence[ProducerInterceptor] = ()  # See every message, in this order.

    def __post_init__(self) -> None:
        check_positive("batch_messages_max", self.batch_messages_max)
        check_positive("batch_bytes_max", self.batch_bytes_max)
        check_positive("max_pending_messages", self.max_pending_messages)
        check_positive("max_pending_bytes", self.max_pending_bytes)
        check_not_negative(
            "max_pending_messages_across_partitions", self.max_pending_messages_across_partitions
        )
        check_flag("block_if_queue_full", self.block_if_queue_full)
        check_not_negative("batch_delay_s", self.batch_delay_s)
        check_not_negative("send_timeout_s", self.send_timeout_s)
        check_member("compression", self.compression, CompressionType)
        check_member("hashing", self.hashing, HashingScheme)
        check_member("access_mode", self.access_mode, ProducerAccessMode)
        if not callable(self.routing):
            check_member("routing", self.routing, RoutingMode)
        if self.name is not None:
            check_text("name", self.name)
        if self.initial_subscription is not None:
            check_text("initial_subscription", self.initial_subscription)
        if self.name == "":
            raise InvalidValue("a producer's name may not be empty; leave it out to get one")
        object.__setattr__(self, "properties", copy_properties("properties", self.properties))
        if self.initial_sequence_id is not None:
            whole_number("initial_sequence_id", self.initial_sequence_id)
        check_member(
            "crypto_failure_action", self.crypto_failure_action, ProducerCryptoFailureAction
        )
        self._check_encryption()
        check_all("interceptors", self.interceptors, ProducerInterceptor)
        object.__setattr__(self, "interceptors", tuple(self.interceptors))

    def _check_encryption(self) -> None:
        if isinstance(self.encryption_keys, str):
            raise InvalidValue("encryption_keys are several names: put the one into a list")
        object.__setattr__(self, "encryption_keys", tuple(self.encryption_keys))
        for name in self.encryption_keys:
            check_text("a name in encryption_keys", name)
        if bool(self.encryption_keys) != (self.crypto_key_reader is not None):
            raise InvalidValue(
                "encryption_keys and crypto_key_reader belong together: without both nothing "
                "would be encrypted; give both, or leave both out"
            )


class ProducerOptions(TypedDict, total=False):
    """The keyword arguments of ``create_producer``; ``ProducerConfig`` says what they mean."""

    name: str | None
    properties: Mapping[str, str]
    access_mode: ProducerAccessMode
    batching: bool
    batch_messages_max: int
    batch_bytes_max: int
    batch_delay_s: float
    batch_by_key: bool
    compression: CompressionType
    chunking: bool
    max_pending_messages: int
    max_pending_bytes: int
    max_pending_messages_across_partitions: int
    block_if_queue_full: bool
    send_timeout_s: float
    initial_subscription: str | None
    initial_sequence_id: int | None
    routing: RoutingMode | CustomRouter
    hashing: HashingScheme
    encryption_keys: Sequence[str]
    crypto_key_reader: CryptoKeyReader | None
    crypto_failure_action: ProducerCryptoFailureAction
    interceptors: Sequence[ProducerInterceptor]
