"""Which setting of our client each argument of ``pulsar-client`` is: a row an argument.

What an argument's type and default are stands in the signatures of ``Client``. Options are made of
these rows, and errors of ours name the argument by them.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple

from magnetar.client.consumers.config import (
    ConsumerCryptoFailureAction as OurCryptoFailureAction,
)
from magnetar.client.consumers.dead_letter_policy import DeadLetterPolicy as OurDeadLetterPolicy
from magnetar.message.compression import CompressionType as OurCompressionType
from magnetar.model.producers import ProducerAccessMode as OurAccessMode
from magnetar.model.subscriptions import InitialPosition as OurInitialPosition
from magnetar.model.subscriptions import KeySharedPolicy as OurKeySharedPolicy
from magnetar.model.subscriptions import RegexSubscriptionMode as OurRegexMode
from magnetar.model.subscriptions import SubscriptionType

from .checks import check_range
from .enums import (
    BatchingType,
    ConsumerCryptoFailureAction,
    ConsumerType,
    KeySharedMode,
    RegexSubscriptionMode,
)
from .policies import NO_LIMIT, ConsumerDeadLetterPolicy, ConsumerKeySharedPolicy


class Setting(NamedTuple):
    """A setting of ours, and how it is made of their argument."""

    ours: str
    convert: Callable[[Any], Any] = lambda value: value
    factor: int = 1
    """By which theirs is larger: 1000 where they count milliseconds and we count seconds."""
    least: int | None = None
    most: int = NO_LIMIT


def converted(rows: Mapping[str, Setting], given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of ours, made of arguments of theirs. Raises ValueError for one out of range."""
    found = {}
    for name, row in rows.items():
        value = given[name]
        if row.least is not None:
            check_range(name, value or 0, row.least, row.most)
        value = row.convert(value)
        found[row.ours] = value if row.factor == 1 else value / row.factor
    return found


def _or(default: object) -> Callable[[Any], Any]:
    """Takes what is empty or 0 for the default, as theirs does."""
    return lambda value: value or default


def _member(kind: type[Enum]) -> Callable[[Enum], Enum]:
    """Theirs has the same values."""
    return lambda theirs: kind(theirs.value)


def _dead_letters(policy: ConsumerDeadLetterPolicy | None) -> OurDeadLetterPolicy | None:
    if policy is None:
        return None
    return OurDeadLetterPolicy(
        max_redeliver_count=policy.max_redeliver_count,
        dead_letter_topic=policy.dead_letter_topic or None,
        initial_subscription_name=policy.initial_subscription_name or None,
    )


def _key_shared(policy: ConsumerKeySharedPolicy | None) -> OurKeySharedPolicy | None:
    if policy is None:
        return None
    sticky = policy.key_shared_mode is KeySharedMode.Sticky
    return OurKeySharedPolicy(
        sticky_ranges=policy.sticky_ranges if sticky else None,
        allow_out_of_order_delivery=policy.allow_out_of_order_delivery,
    )


_SUBSCRIPTION_TYPES: Final = {
    ConsumerType.Exclusive: SubscriptionType.EXCLUSIVE,
    ConsumerType.Shared: SubscriptionType.SHARED,
    ConsumerType.Failover: SubscriptionType.FAILOVER,
    ConsumerType.KeyShared: SubscriptionType.KEY_SHARED,
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
_NAME: Final = Setting("name", _or(None))
_PROPERTIES: Final = Setting("properties", lambda given: given or {})
_KEY_READER: Final = Setting("crypto_key_reader", lambda reader: reader and reader.cryptoKeyReader)

CLIENT: Final = {
    "authentication": Setting(
        "authentication", lambda shown: None if shown is None else shown.auth
    ),
    "operation_timeout_seconds": Setting("operation_timeout_s", least=1),
    "message_listener_threads": Setting("listener_threads", least=1),
    "stats_interval_in_seconds": Setting("stats_interval_s", least=0),
    "tls_trust_certs_file_path": Setting("tls_trust_certs_file", _or(None)),
    "tls_allow_insecure_connection": Setting("tls_allow_insecure"),
    "tls_validate_hostname": Setting("tls_verify_hostname"),
    "connection_timeout_ms": Setting("connection_timeout_s", factor=1000, least=1),
    "listener_name": Setting("listener_name", _or(None)),
    "tls_private_key_file_path": Setting("tls_key_file", _or(None)),
    "tls_certificate_file_path": Setting("tls_certificate_file", _or(None)),
}
PRODUCER: Final = {
    "producer_name": _NAME,
    "initial_sequence_id": Setting(
        "initial_sequence_id", lambda last: last + 1 if last else None, least=-1, most=2**63 - 2
    ),
    "send_timeout_millis": Setting("send_timeout_s", factor=1000),
    "compression_type": Setting("compression", _member(OurCompressionType)),
    "max_pending_messages": Setting("max_pending_messages", _or(NO_LIMIT), least=0),
    "max_pending_messages_across_partitions": Setting("max_pending_messages_across_partitions"),
    "block_if_queue_full": Setting("block_if_queue_full"),
    "batching_enabled": Setting("batching"),
    "batching_max_messages": Setting("batch_messages_max", least=2),
    "batching_max_allowed_size_in_bytes": Setting("batch_bytes_max"),
    "batching_max_publish_delay_ms": Setting("batch_delay_s", factor=1000),
    "chunking_enabled": Setting("chunking"),
    "properties": _PROPERTIES,
    "batching_type": Setting("batch_by_key", lambda kind: kind is BatchingType.KeyBased),
    "encryption_key": Setting("encryption_keys", lambda name: [name] if name else []),
    "crypto_key_reader": _KEY_READER,
    "access_mode": Setting("access_mode", _member(OurAccessMode)),
}
CONSUMER: Final = {
    "consumer_type": Setting("type", _SUBSCRIPTION_TYPES.__getitem__),
    "receiver_queue_size": Setting("receiver_queue_size"),
    "max_total_receiver_queue_size_across_partitions": Setting("total_receiver_queue_size"),
    "consumer_name": _NAME,
    "unacked_messages_timeout_ms": Setting("ack_timeout_s", _or(0), factor=1000),
    "negative_ack_redelivery_delay_ms": Setting("negative_ack_delay_s", factor=1000),
    "is_read_compacted": Setting("read_compacted"),
    "properties": _PROPERTIES,
    "pattern_auto_discovery_period": Setting("topics_refresh_s"),
    "initial_position": Setting("initial_position", _member(OurInitialPosition)),
    "crypto_key_reader": _KEY_READER,
    "replicate_subscription_state_enabled": Setting("replicate_subscription_state"),
    "max_pending_chunked_message": Setting("chunked_messages_max", _or(NO_LIMIT)),
    "auto_ack_oldest_chunked_message_on_queue_full": Setting("ack_oldest_incomplete"),
    "key_shared_policy": Setting("key_shared_policy", _key_shared),
    "batch_index_ack_enabled": Setting("batch_index_ack"),
    "regex_subscription_mode": Setting("regex_subscription_mode", _REGEX.__getitem__),
    "dead_letter_policy": Setting("dead_letter_policy", _dead_letters),
    "crypto_failure_action": Setting("crypto_failure_action", _CRYPTO_FAILURE.__getitem__),
}
READER: Final = {"reader_name": _NAME} | {
    name: CONSUMER[name]
    for name in (
        "receiver_queue_size",
        "is_read_compacted",
        "crypto_key_reader",
        "crypto_failure_action",
    )
}
