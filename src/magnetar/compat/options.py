"""What ``pulsar-client`` calls a setting, as the setting of our client.

Nothing is accepted and ignored: an argument does the same as theirs, is refused by name, or, where
it only bears on speed, is named in a warning.
"""

import logging
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final, TypedDict, Unpack

from magnetar.client.consumers.config import (
    ConsumerCryptoFailureAction as OurCryptoFailureAction,
)
from magnetar.client.consumers.config import ConsumerOptions, ReaderOptions
from magnetar.client.consumers.letters import DeadLetterPolicy as OurDeadLetterPolicy
from magnetar.client.encryption.keys import FileKeyReader
from magnetar.client.producers.config import ProducerOptions
from magnetar.client.producers.routing import HashingScheme, RoutingMode
from magnetar.message.compression import CompressionType as OurCompressionType
from magnetar.model.names import TopicName
from magnetar.model.producers import ProducerAccessMode as OurAccessMode
from magnetar.model.subscriptions import InitialPosition as OurInitialPosition
from magnetar.model.subscriptions import KeySharedPolicy as OurKeySharedPolicy
from magnetar.model.subscriptions import RegexSubscriptionMode as OurRegexMode
from magnetar.model.subscriptions import SubscriptionType

from .checks import check_range, check_type, check_type_or_none
from .crypto import CryptoKeyReader
from .enums import (
    BatchingType,
    CompressionType,
    ConsumerCryptoFailureAction,
    ConsumerType,
    InitialPosition,
    KeySharedMode,
    PartitionsRoutingMode,
    ProducerAccessMode,
    RegexSubscriptionMode,
)
from .message import Message, sent
from .policies import (
    NO_LIMIT,
    ConsumerBatchReceivePolicy,
    ConsumerDeadLetterPolicy,
    ConsumerKeySharedPolicy,
)
from .schema.schema import Schema

log = logging.getLogger(__name__)

_SUBSCRIPTION_TYPES: Final = {
    ConsumerType.Exclusive: SubscriptionType.EXCLUSIVE,
    ConsumerType.Shared: SubscriptionType.SHARED,
    ConsumerType.Failover: SubscriptionType.FAILOVER,
    ConsumerType.KeyShared: SubscriptionType.KEY_SHARED,
}
_ROUTING: Final = {
    PartitionsRoutingMode.UseSinglePartition: RoutingMode.SINGLE,
    PartitionsRoutingMode.RoundRobinDistribution: RoutingMode.ROUND_ROBIN,
}
_REGEX: Final = {
    RegexSubscriptionMode.PersistentOnly: OurRegexMode.PERSISTENT_ONLY,
    RegexSubscriptionMode.NonPersistentOnly: OurRegexMode.NON_PERSISTENT_ONLY,
    RegexSubscriptionMode.AllTopics: OurRegexMode.ALL_TOPICS,
}
_CRYPTO_FAILURE: Final = {
    ConsumerCryptoFailureAction.FAIL: OurCryptoFailureAction.FAIL,
    ConsumerCryptoFailureAction.DISCARD: OurCryptoFailureAction.DISCARD,
    ConsumerCryptoFailureAction.CONSUME: OurCryptoFailureAction.CONSUME,
}


class ProducerArguments(TypedDict):
    """The arguments of ``create_producer``."""

    producer_name: str | None
    schema: Schema
    initial_sequence_id: int | None
    send_timeout_millis: int
    compression_type: CompressionType
    max_pending_messages: int
    max_pending_messages_across_partitions: int
    block_if_queue_full: bool
    batching_enabled: bool
    batching_max_messages: int
    batching_max_allowed_size_in_bytes: int
    batching_max_publish_delay_ms: int
    chunking_enabled: bool
    message_routing_mode: PartitionsRoutingMode
    lazy_start_partitioned_producers: bool
    properties: dict[str, str] | None
    batching_type: BatchingType
    encryption_key: str | None
    crypto_key_reader: CryptoKeyReader | None
    access_mode: ProducerAccessMode
    message_router: Callable[[Message, int], int] | None


_PRODUCER_TYPES: Final = {
    "schema": Schema,
    "send_timeout_millis": int,
    "compression_type": CompressionType,
    "max_pending_messages": int,
    "max_pending_messages_across_partitions": int,
    "block_if_queue_full": bool,
    "batching_enabled": bool,
    "batching_max_messages": int,
    "batching_max_allowed_size_in_bytes": int,
    "batching_max_publish_delay_ms": int,
    "chunking_enabled": bool,
    "message_routing_mode": PartitionsRoutingMode,
    "lazy_start_partitioned_producers": bool,
    "batching_type": BatchingType,
    "access_mode": ProducerAccessMode,
}
_PRODUCER_TYPES_OR_NONE: Final = {
    "producer_name": str,
    "initial_sequence_id": int,
    "properties": dict,
    "encryption_key": str,
    "crypto_key_reader": CryptoKeyReader,
}


def producer_options(**given: Unpack[ProducerArguments]) -> ProducerOptions:
    """The settings of our producer. Raises ValueError."""
    _check_types(given, _PRODUCER_TYPES, _PRODUCER_TYPES_OR_NONE)
    if given["batching_enabled"] and given["chunking_enabled"]:
        raise ValueError("Batching and chunking of messages can't be enabled together.")
    check_range("max_pending_messages", given["max_pending_messages"], 0)
    check_range("batching_max_messages", given["batching_max_messages"], 2)
    check_range("initial_sequence_id", given["initial_sequence_id"] or 0, -1, 2**63 - 2)
    if given["lazy_start_partitioned_producers"]:
        log.warning(
            "option.no_effect name=lazy_start_partitioned_producers reason=every partition is "
            "attached at once"
        )
    options = ProducerOptions(
        properties=given["properties"] or {},
        access_mode=OurAccessMode(given["access_mode"].value),
        batching=given["batching_enabled"],
        batch_messages_max=given["batching_max_messages"],
        batch_bytes_max=given["batching_max_allowed_size_in_bytes"],
        batch_delay_s=given["batching_max_publish_delay_ms"] / 1000,
        batch_by_key=given["batching_type"] is BatchingType.KeyBased,
        compression=OurCompressionType(given["compression_type"].value),
        chunking=given["chunking_enabled"],
        max_pending_messages=given["max_pending_messages"] or NO_LIMIT,
        max_pending_messages_across_partitions=given["max_pending_messages_across_partitions"],
        block_if_queue_full=given["block_if_queue_full"],
        max_pending_bytes=1 << 62,  # Theirs counts no bytes.
        send_timeout_s=given["send_timeout_millis"] / 1000,
        hashing=HashingScheme.BOOST,
    )
    if given["producer_name"]:
        options["name"] = given["producer_name"]
    if given["initial_sequence_id"]:
        options["initial_sequence_id"] = given["initial_sequence_id"] + 1
    if given["encryption_key"]:
        options["encryption_keys"] = [given["encryption_key"]]
    options["crypto_key_reader"] = _key_reader(given["crypto_key_reader"])
    router = given["message_router"]
    if router is not None:
        options["routing"] = lambda message, partitions: int(router(sent(message), partitions))
    elif given["message_routing_mode"] in _ROUTING:
        options["routing"] = _ROUTING[given["message_routing_mode"]]
    else:
        raise ValueError("message_routing_mode is CustomPartition: give the message_router")
    return options


class ReaderArguments(TypedDict):
    """The arguments of ``create_reader`` but those of the place."""

    schema: Schema
    receiver_queue_size: int
    reader_name: str | None
    subscription_role_prefix: str | None
    is_read_compacted: bool
    crypto_key_reader: CryptoKeyReader | None
    start_message_id_inclusive: bool
    crypto_failure_action: ConsumerCryptoFailureAction


_READER_TYPES: Final = {
    "schema": Schema,
    "receiver_queue_size": int,
    "is_read_compacted": bool,
    "start_message_id_inclusive": bool,
    "crypto_failure_action": ConsumerCryptoFailureAction,
}
_READER_TYPES_OR_NONE: Final = {
    "reader_name": str,
    "subscription_role_prefix": str,
    "crypto_key_reader": CryptoKeyReader,
}


def reader_options(**given: Unpack[ReaderArguments]) -> ReaderOptions:
    """The settings of our reader. Raises ValueError."""
    _check_types(given, _READER_TYPES, _READER_TYPES_OR_NONE)
    options = ReaderOptions(
        crypto_key_reader=_key_reader(given["crypto_key_reader"]),
        crypto_failure_action=_CRYPTO_FAILURE[given["crypto_failure_action"]],
        receiver_queue_size=given["receiver_queue_size"],
        read_compacted=given["is_read_compacted"],
    )
    if given["reader_name"]:
        options["name"] = given["reader_name"]
    return options


def reader_subscription(prefix: str | None) -> str | None:
    """The name of a reader's subscription as theirs makes it up; None where ours does the same."""
    return f"{prefix}-reader-{secrets.token_hex(5)}" if prefix else None


class ConsumerArguments(TypedDict):
    """The arguments of ``subscribe`` but those of topic and listener."""

    consumer_type: ConsumerType
    schema: Schema
    receiver_queue_size: int
    max_total_receiver_queue_size_across_partitions: int
    consumer_name: str | None
    unacked_messages_timeout_ms: int | None
    broker_consumer_stats_cache_time_ms: int
    negative_ack_redelivery_delay_ms: int
    is_read_compacted: bool
    properties: dict[str, str] | None
    pattern_auto_discovery_period: int
    initial_position: InitialPosition
    crypto_key_reader: CryptoKeyReader | None
    replicate_subscription_state_enabled: bool
    max_pending_chunked_message: int
    auto_ack_oldest_chunked_message_on_queue_full: bool
    start_message_id_inclusive: bool
    batch_receive_policy: ConsumerBatchReceivePolicy | None
    key_shared_policy: ConsumerKeySharedPolicy | None
    batch_index_ack_enabled: bool
    regex_subscription_mode: RegexSubscriptionMode
    dead_letter_policy: ConsumerDeadLetterPolicy | None
    crypto_failure_action: ConsumerCryptoFailureAction


_CONSUMER_TYPES: Final = {
    "consumer_type": ConsumerType,
    "schema": Schema,
    "receiver_queue_size": int,
    "max_total_receiver_queue_size_across_partitions": int,
    "broker_consumer_stats_cache_time_ms": int,
    "negative_ack_redelivery_delay_ms": int,
    "is_read_compacted": bool,
    "pattern_auto_discovery_period": int,
    "initial_position": InitialPosition,
    "replicate_subscription_state_enabled": bool,
    "max_pending_chunked_message": int,
    "auto_ack_oldest_chunked_message_on_queue_full": bool,
    "start_message_id_inclusive": bool,
    "batch_index_ack_enabled": bool,
    "regex_subscription_mode": RegexSubscriptionMode,
    "crypto_failure_action": ConsumerCryptoFailureAction,
}
_CONSUMER_TYPES_OR_NONE: Final = {
    "consumer_name": str,
    "unacked_messages_timeout_ms": int,
    "properties": dict,
    "crypto_key_reader": CryptoKeyReader,
    "batch_receive_policy": ConsumerBatchReceivePolicy,
    "key_shared_policy": ConsumerKeySharedPolicy,
    "dead_letter_policy": ConsumerDeadLetterPolicy,
}


def consumer_options(**given: Unpack[ConsumerArguments]) -> ConsumerOptions:
    """The settings of our consumer. Raises ValueError."""
    _check_types(given, _CONSUMER_TYPES, _CONSUMER_TYPES_OR_NONE)
    ack_timeout_ms = given["unacked_messages_timeout_ms"] or 0
    if 0 < ack_timeout_ms < 10_000 or ack_timeout_ms < 0:
        raise ValueError(
            "Consumer Config Exception: Unacknowledged message timeout should be greater than 10 "
            f"seconds: unacked_messages_timeout_ms is {ack_timeout_ms}"
        )
    options = ConsumerOptions(
        crypto_key_reader=_key_reader(given["crypto_key_reader"]),
        crypto_failure_action=_CRYPTO_FAILURE[given["crypto_failure_action"]],
        type=_SUBSCRIPTION_TYPES[given["consumer_type"]],
        initial_position=OurInitialPosition(given["initial_position"].value),
        properties=given["properties"] or {},
        receiver_queue_size=given["receiver_queue_size"],
        total_receiver_queue_size=given["max_total_receiver_queue_size_across_partitions"],
        ack_timeout_s=ack_timeout_ms / 1000,
        negative_ack_delay_s=given["negative_ack_redelivery_delay_ms"] / 1000,
        read_compacted=given["is_read_compacted"],
        replicate_subscription_state=given["replicate_subscription_state_enabled"],
        chunked_messages_max=given["max_pending_chunked_message"] or NO_LIMIT,
        ack_oldest_incomplete=given["auto_ack_oldest_chunked_message_on_queue_full"],
        batch_index_ack=given["batch_index_ack_enabled"],
    )
    if given["consumer_name"]:
        options["name"] = given["consumer_name"]
    options["topics_refresh_s"] = given["pattern_auto_discovery_period"]
    options["regex_subscription_mode"] = _REGEX[given["regex_subscription_mode"]]
    if given["dead_letter_policy"] is not None:
        options["dead_letter_policy"] = _dead_letters(given["dead_letter_policy"])
    if given["key_shared_policy"] is not None:
        options["key_shared_policy"] = _key_shared(given["key_shared_policy"])
    return options


def _key_reader(reader: CryptoKeyReader | None) -> FileKeyReader | None:
    return None if reader is None else reader.cryptoKeyReader


def _dead_letters(policy: ConsumerDeadLetterPolicy) -> OurDeadLetterPolicy:
    return OurDeadLetterPolicy(
        max_redeliver_count=policy.max_redeliver_count,
        dead_letter_topic=policy.dead_letter_topic or None,
        initial_subscription_name=policy.initial_subscription_name or None,
    )


def _key_shared(policy: ConsumerKeySharedPolicy) -> OurKeySharedPolicy:
    sticky = policy.key_shared_mode is KeySharedMode.Sticky
    return OurKeySharedPolicy(
        sticky_ranges=policy.sticky_ranges if sticky else None,
        allow_out_of_order_delivery=policy.allow_out_of_order_delivery,
    )


def partition_names(topic: str, count: int) -> list[str]:
    """The full names of a topic's partitions; its own when it has none."""
    name = TopicName.parse(topic)
    return [str(name.partition(index)) for index in range(count)] or [str(name)]


def _check_types(
    given: Mapping[str, Any], types: Mapping[str, type], types_or_none: Mapping[str, type]
) -> None:
    for name, kind in types.items():
        check_type(kind, given[name], name)
    for name, kind in types_or_none.items():
        check_type_or_none(kind, given[name], name)
