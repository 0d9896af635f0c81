"""The metrics of topics, subscriptions, producers and consumers, by Pulsar's names. Pure.

Each kind has its columns, and a function that finds the values in the same order.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final

from magnetar.broker.admin.exposition import Column
from magnetar.broker.admin.rates import (
    NO_RATES,
    THE_COMPACTION,
    THE_TOPIC,
    Rates,
    TopicRates,
    subscription_part,
)
from magnetar.model.stats import ConsumerStats, SubscriptionStats, TopicStats
from magnetar.model.write_counts import WriteCounts

# Where Pulsar's buckets end among ours, and what they are called.
_LATENCY_BUCKETS: Final = {
    "le_0_5": (0, 3),
    "le_1": (3, 4),
    "le_5": (4, 6),
    "le_10": (6, 7),
    "le_20": (7, 8),
    "le_50": (8, 9),
    "le_100": (9, 10),
    "le_200": (10, 11),
    "le_1000": (11, 13),
    "overflow": (13, 14),
}
_SIZE_BUCKETS: Final = (
    "le_128",
    "le_512",
    "le_1_kb",
    "le_2_kb",
    "le_4_kb",
    "le_16_kb",
    "le_100_kb",
    "le_1_mb",
    "le_overflow",
)
_LATENCY: Final = "pulsar_storage_write_latency"
_SIZE: Final = "pulsar_entry_size"
_PERIOD: Final = "of the last whole statsUpdateFrequencyInSecs"

SUMMED: Final = (
    Column("pulsar_subscriptions_count", "subscriptions"),
    Column("pulsar_producers_count", "connected producers"),
    Column("pulsar_consumers_count", "connected consumers"),
    Column("pulsar_rate_in", f"messages published in a second, {_PERIOD}"),
    Column("pulsar_rate_out", f"messages delivered in a second, {_PERIOD}"),
    Column("pulsar_throughput_in", f"bytes published in a second, {_PERIOD}"),
    Column("pulsar_throughput_out", f"bytes delivered in a second, {_PERIOD}"),
    Column("pulsar_storage_size", "bytes stored"),
    Column("pulsar_storage_logical_size", "bytes stored, one copy of each"),
    Column("pulsar_storage_backlog_size", "bytes from the oldest unacknowledged entry on"),
    Column("pulsar_msg_backlog", "entries that are not acknowledged, of all subscriptions"),
    Column("pulsar_storage_write_rate", f"entries stored in a second, {_PERIOD}"),
    Column("pulsar_storage_read_rate", f"messages delivered in a second, {_PERIOD}"),
    Column("pulsar_storage_offloaded_size", "bytes offloaded"),
    Column("pulsar_publish_rate_limit_times", "how often a producer waited for a limit"),
    Column("pulsar_in_bytes_total", "bytes published since the topic was loaded"),
    Column("pulsar_in_messages_total", "messages published since the topic was loaded"),
    Column("pulsar_out_bytes_total", "bytes delivered since the topic was loaded"),
    Column("pulsar_out_messages_total", "messages delivered since the topic was loaded"),
    Column("pulsar_delayed_message_index_size_bytes", "memory that says when messages are due"),
    Column("pulsar_compaction_removed_event_count", "messages left out by the last compaction"),
    Column("pulsar_compaction_succeed_count", "compactions that succeeded"),
    Column("pulsar_compaction_failed_count", "compactions that failed"),
    *(
        Column(f"{_LATENCY}_{name}", f"entries by ms until they were stored, {_PERIOD}")
        for name in _LATENCY_BUCKETS
    ),
    Column(f"{_LATENCY}_count", f"entries stored, {_PERIOD}"),
    Column(f"{_LATENCY}_sum", f"ms until they were stored, together, {_PERIOD}"),
    *(Column(f"{_SIZE}_{name}", f"entries by bytes, {_PERIOD}") for name in _SIZE_BUCKETS),
    Column(f"{_SIZE}_count", f"entries stored, {_PERIOD}"),
    Column(f"{_SIZE}_sum", f"bytes of entries, {_PERIOD}"),
)
"""Metrics of a topic that can be summed."""

TOPIC: Final = (
    *SUMMED,
    Column("pulsar_average_msg_size", f"bytes of a published message, {_PERIOD}"),
    Column("pulsar_storage_backlog_quota_limit", "bytes that a backlog may have; -1: no limit"),
    Column("pulsar_storage_backlog_quota_limit_time", "seconds it may be old; -1: no limit"),
    Column("pulsar_storage_backlog_age_seconds", "age of the oldest unacknowledged message, or -1"),
    Column("pulsar_compaction_duration_time_in_mills", "of the last compaction"),
)

SUBSCRIPTION: Final = (
    Column("pulsar_subscription_back_log", "entries that are not acknowledged"),
    Column("pulsar_subscription_back_log_no_delayed", "the same without those that are delayed"),
    Column("pulsar_subscription_delayed", "entries that are delayed"),
    Column("pulsar_subscription_in_replay", "entries that wait for redelivery"),
    Column("pulsar_subscription_delayed_message_index_size_bytes", "memory for what is delayed"),
    Column("pulsar_subscription_consumers_count", "connected consumers"),
    Column("pulsar_subscription_unacked_messages", "messages delivered and not acknowledged"),
    Column("pulsar_subscription_blocked_on_unacked_messages", "1: it is blocked on those"),
    Column("pulsar_subscription_msg_rate_out", f"messages delivered in a second, {_PERIOD}"),
    Column("pulsar_subscription_msg_throughput_out", f"bytes delivered in a second, {_PERIOD}"),
    Column("pulsar_subscription_msg_rate_redeliver", f"redelivered in a second, {_PERIOD}"),
    Column("pulsar_subscription_msg_ack_rate", f"acknowledged in a second, {_PERIOD}"),
    Column("pulsar_subscription_msg_drop_rate", f"dropped in a second, {_PERIOD}"),
    Column("pulsar_subscription_msg_rate_expired", f"expired in a second, {_PERIOD}"),
    Column("pulsar_subscription_total_msg_expired", "expired since the topic was loaded"),
    Column("pulsar_subscription_last_expire_timestamp", "ms since the epoch"),
    Column("pulsar_subscription_last_acked_timestamp", "ms since the epoch"),
    Column("pulsar_subscription_last_consumed_flow_timestamp", "ms since the epoch"),
    Column("pulsar_subscription_last_consumed_timestamp", "ms since the epoch"),
    Column("pulsar_subscription_last_mark_delete_advanced_timestamp", "ms since the epoch"),
    Column("pulsar_out_bytes_total", "bytes delivered since the topic was loaded"),
    Column("pulsar_out_messages_total", "messages delivered since the topic was loaded"),
    Column("magnetar_subscription_backlog_bytes", "bytes from the first unacknowledged entry on"),
    Column("magnetar_subscription_backlog_age_seconds", "of its oldest message; -1: unknown"),
    Column("magnetar_subscription_acked_ranges", "ranges of acknowledged entries behind a hole"),
)
THROTTLED: Final = (
    Column("pulsar_subscription_dispatch_throttled_msg_events", "waits for a limit on messages"),
    Column("pulsar_subscription_dispatch_throttled_bytes_events", "waits for a limit on bytes"),
)
COMPACTION: Final = (
    *(
        Column(f"pulsar_compaction_latency_{name}", f"entries by ms until they stayed, {_PERIOD}")
        for name in _LATENCY_BUCKETS
    ),
    Column("pulsar_compaction_latency_count", f"entries that stayed, {_PERIOD}"),
    Column("pulsar_compaction_latency_sum", f"ms until they were stored, together, {_PERIOD}"),
    Column("pulsar_compaction_read_throughput", f"bytes that it read in a second, {_PERIOD}"),
    Column("pulsar_compaction_write_throughput", f"bytes that it stored in a second, {_PERIOD}"),
    Column("pulsar_compaction_compacted_entries_count", "entries of the compacted ledger"),
    Column("pulsar_compaction_compacted_entries_size", "their bytes"),
)
"""Metrics of a topic that is compacted."""

EVICTIONS: Final = (
    Column(
        "pulsar_storage_backlog_quota_exceeded_evictions_total",
        "how often messages went because of a backlog quota, since the topic was loaded",
    ),
)
BLOCKED: Final = (
    Column(
        "magnetar_subscription_blocked", "1 for the reason why a backlog has not moved for 10 s"
    ),
)
PRODUCER: Final = (
    Column("pulsar_producer_msg_rate_in", f"messages in a second, {_PERIOD}"),
    Column("pulsar_producer_msg_throughput_in", f"bytes in a second, {_PERIOD}"),
    Column("pulsar_producer_msg_average_Size", f"bytes of a message, {_PERIOD}"),
)
CONSUMER: Final = (
    Column("pulsar_consumer_msg_rate_redeliver", f"redelivered in a second, {_PERIOD}"),
    Column("pulsar_consumer_unacked_messages", "messages delivered and not acknowledged"),
    Column("pulsar_consumer_blocked_on_unacked_messages", "1: it is blocked on those"),
    Column("pulsar_consumer_msg_rate_out", f"messages in a second, {_PERIOD}"),
    Column("pulsar_consumer_msg_ack_rate", f"acknowledged in a second, {_PERIOD}"),
    Column("pulsar_consumer_msg_throughput_out", f"bytes in a second, {_PERIOD}"),
    Column("pulsar_consumer_available_permits", "messages that it asked for"),
    Column("pulsar_out_bytes_total", "bytes delivered"),
    Column("pulsar_out_messages_total", "messages delivered"),
)

_NOTHING: Final = WriteCounts()


def summed_values(
    stats: TopicStats, rates: TopicRates, written: WriteCounts | None, period_s: float
) -> Sequence[float]:
    """The values of ``SUMMED``; ``written`` is what was stored in the last period."""
    published = rates.get(THE_TOPIC, NO_RATES)
    delivered = [rates.get(subscription_part(name), NO_RATES) for name in stats.subscriptions]
    subscriptions = stats.subscriptions.values()
    writes = written or _NOTHING
    rate_out = sum([each.messages for each in delivered])
    return (
        len(stats.subscriptions),
        len(stats.publishers),
        sum([len(each.consumers) for each in subscriptions]),
        published.messages,
        rate_out,
        published.size_bytes,
        sum([each.size_bytes for each in delivered]),
        stats.storage_bytes,
        stats.storage_bytes,
        stats.backlog_bytes,
        sum([each.backlog_entries for each in subscriptions]),
        writes.entries / period_s,
        rate_out,
        stats.offloaded_bytes,
        stats.publish_limited_count,
        stats.bytes_in_counter,
        stats.msg_in_counter,
        stats.bytes_out_counter,
        stats.msg_out_counter,
        sum([each.delayed_index_bytes for each in subscriptions]),
        stats.compaction_removed,
        stats.compaction_succeeded_count,
        stats.compaction_failed_count,
        *latency_buckets(writes.by_latency),
        writes.entries,
        writes.latency_ms,
        *writes.by_size,
        writes.entries,
        writes.size_bytes,
    )


def topic_values(
    summed: Sequence[float], stats: TopicStats, rates: TopicRates, oldest_s: float
) -> Sequence[float]:
    """The values of ``TOPIC``."""
    return (
        *summed,
        rates.get(THE_TOPIC, NO_RATES).average_size,
        stats.backlog_quota_bytes,
        stats.backlog_quota_s,
        oldest_s,
        stats.compaction_duration_ms,
    )


def compaction_values(
    stats: TopicStats, rates: TopicRates, compacted: WriteCounts | None, period_s: float
) -> Sequence[float]:
    """The values of ``COMPACTION``; ``compacted`` is what it stored in the last period."""
    writes = compacted or _NOTHING
    return (
        *latency_buckets(writes.by_latency),
        writes.entries,
        writes.latency_ms,
        rates.get(THE_COMPACTION, NO_RATES).size_bytes,
        writes.size_bytes / period_s,
        stats.compacted_entries,
        stats.compacted_bytes,
    )


def latency_buckets(counts: Sequence[int]) -> Sequence[int]:
    """What is counted by ``LATENCIES_MS`` in each of Pulsar's buckets."""
    return [sum(counts[low:high]) for low, high in _LATENCY_BUCKETS.values()]


def subscription_values(stats: SubscriptionStats, rates: Rates, oldest_s: float) -> Sequence[float]:
    """The values of ``SUBSCRIPTION``."""
    return (
        stats.backlog_entries,
        stats.backlog_entries - stats.delayed_entries,
        stats.delayed_entries,
        stats.replay_entries,
        stats.delayed_index_bytes,
        len(stats.consumers),
        stats.unacked_messages,
        int(stats.blocked_on_unacked),
        rates.messages,
        rates.size_bytes,
        rates.redelivered,
        rates.acknowledged,
        rates.dropped,
        rates.expired,
        stats.expired_counter,
        stats.last_expired_ms,
        stats.last_acked_ms,
        stats.last_flow_ms,
        stats.last_consumed_ms,
        stats.last_mark_moved_ms,
        stats.bytes_out_counter,
        stats.msg_out_counter,
        stats.backlog_bytes,
        oldest_s,
        stats.acked_ranges,
    )


def throttled_values(stats: SubscriptionStats) -> Mapping[str, Sequence[float]]:
    """The values of ``THROTTLED``, by the limit's name."""
    waits = stats.rate_waits
    return {
        whose: (waits[whose, "Msg"], waits[whose, "Bytes"])
        for whose in ("subscription", "topic", "broker")
    }


def producer_values(rates: Rates) -> Sequence[float]:
    """The values of ``PRODUCER``."""
    return (rates.messages, rates.size_bytes, rates.average_size)


def consumer_values(stats: ConsumerStats, rates: Rates) -> Sequence[float]:
    """The values of ``CONSUMER``."""
    return (
        rates.redelivered,
        stats.unacked_messages,
        int(stats.blocked_on_unacked),
        rates.messages,
        rates.acknowledged,
        rates.size_bytes,
        stats.available_permits,
        stats.bytes_out_counter,
        stats.msg_out_counter,
    )


def added(one: Sequence[float], other: Sequence[float]) -> Sequence[float]:
    """Values of two things together."""
    return [each + more for each, more in zip(one, other, strict=True)]


ALL: Final = tuple(
    {
        each.name: each
        for each in chain(
            TOPIC, COMPACTION, EVICTIONS, SUBSCRIPTION, THROTTLED, BLOCKED, PRODUCER, CONSUMER
        )
    }.values()
)
"""Every column there is, once."""
