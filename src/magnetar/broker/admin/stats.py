"""Stats as the JSON that Pulsar's clients expect, with every key they know. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

from magnetar.broker.admin.non_persistent_stats import with_drops
from magnetar.broker.admin.rates import (
    NO_RATES,
    THE_TOPIC,
    Rates,
    TopicRates,
    consumer_key,
    publisher_key,
    remote_key,
    replicator_key,
    subscription_key,
)
from magnetar.broker.admin.sums import total
from magnetar.late_dataclass import dataclass
from magnetar.model.producers import ProducerAccessMode
from magnetar.model.stats import (
    ConsumerStats,
    PublisherStats,
    ReplicationStats,
    SubscriptionStats,
    TopicStats,
)
from magnetar.model.subscriptions import SubscriptionType
from magnetar.rest.exchange import Request
from magnetar.rest.router import Query

Earliest: TypeAlias = Mapping[str, int]
"""By subscription: the publish time of its first backlogged message; -1: it has no backlog."""
NOT_ASKED: Final[Earliest] = {}


class Oldest(NamedTuple):
    """The oldest message in the backlogs of durable subscriptions: its age, and whose it is."""

    age_s: int = -1
    subscription: str | None = None


NO_BACKLOG: Final = Oldest()

# Keys of features that this broker does not have, with the values that say so.
_SUBSCRIPTION_REST: Final[Mapping[str, int]] = {
    "filterProcessedMsgCount": 0,
    "filterAcceptedMsgCount": 0,
    "filterRejectedMsgCount": 0,
    "filterRescheduledMsgCount": 0,
}


@dataclass(frozen=True, slots=True)
class StatsOptions:
    """Which of a topic's stats are asked for."""

    backlog_size: bool = True
    earliest_in_backlog: bool = False
    publishers: bool = True
    consumers: bool = True

    QUERY: ClassVar = tuple(
        Query(name, "boolean")
        for name in (
            "getPreciseBacklog",
            "subscriptionBacklogSize",
            "getEarliestTimeInBacklog",
            "excludePublishers",
            "excludeConsumers",
        )
    )

    @classmethod
    def by(cls, request: Request, *, publishers: bool = True) -> "StatsOptions":
        """What a request asks for; ``publishers``: whether anybody is shown them."""
        return cls(
            backlog_size=request.flag("subscriptionBacklogSize", default=True),
            earliest_in_backlog=request.flag("getEarliestTimeInBacklog"),
            publishers=publishers and not request.flag("excludePublishers"),
            consumers=not request.flag("excludeConsumers"),
        )


def topic_json(
    stats: TopicStats,
    rates: TopicRates,
    wanted: StatsOptions,
    *,
    earliest: Earliest = NOT_ASKED,
    oldest: Oldest = NO_BACKLOG,
    owner: str,
) -> dict[str, Any]:
    """The stats of a topic that the broker ``owner`` (``host:port``) serves."""
    shown = _sum_json(stats, rates, wanted, earliest, oldest)
    shown["deduplicationStatus"] = "Enabled" if stats.deduplicates else "Disabled"
    shown["ownerBroker"] = owner
    return shown


def example() -> dict[str, Any]:
    """The stats of a topic that has one of everything."""
    stats = TopicStats(
        publishers=[PublisherStats(1, "p")],
        subscriptions={"{subscription}": SubscriptionStats(consumers=[ConsumerStats(1, "c")])},
        replication={"{cluster}": ReplicationStats(True, "a", 1, "a", 1, "it is away")},
    )
    return topic_json(stats, {}, StatsOptions(), owner="")


def partitioned_json(
    partitions: Iterable[dict[str, Any]], *, metadata: Mapping[str, Any], persistent: bool = True
) -> dict[str, Any]:
    """The sum of a partitioned topic's partitions; the caller adds the partitions themselves."""
    none = topic_json(TopicStats(), {}, StatsOptions(), owner="")
    shown = {**(none if persistent else with_drops(none, TopicStats(), {})), **total(partitions)}
    for key in ("deduplicationStatus", "ownerBroker"):
        shown.pop(key, None)
    age = "oldestBacklogMessageAgeSeconds"  # Pulsar's sum always has 0; so has ours without any.
    return {**shown, age: max(shown[age], 0), "metadata": metadata, "partitions": {}}


def _sum_json(
    stats: TopicStats, rates: TopicRates, wanted: StatsOptions, earliest: Earliest, oldest: Oldest
) -> dict[str, Any]:
    subscriptions = stats.subscriptions.values()
    published = rates.get(THE_TOPIC, NO_RATES)
    delivered = [rates.get(subscription_key(name), NO_RATES) for name in stats.subscriptions]
    return {
        "msgRateIn": published.messages,
        "msgThroughputIn": published.size_bytes,
        "msgRateOut": sum((each.messages for each in delivered), 0.0),
        "msgThroughputOut": sum((each.size_bytes for each in delivered), 0.0),
        "bytesInCounter": stats.bytes_in_counter,
        "msgInCounter": stats.msg_in_counter,
        "systemTopicBytesInCounter": 0,
        "bytesOutCounter": stats.bytes_out_counter,
        "msgOutCounter": stats.msg_out_counter,
        "bytesOutInternalCounter": 0,
        "averageMsgSize": published.average_size,
        "msgChunkPublished": stats.chunk_in_counter > 0,
        "storageSize": stats.storage_bytes,
        "backlogSize": stats.backlog_bytes,
        "backlogQuotaLimitSize": stats.backlog_quota_bytes,
        "backlogQuotaLimitTime": stats.backlog_quota_s,
        **({"producersHeldSince": held_ms} if (held_ms := stats.producers_held_since_ms) else {}),
        "oldestBacklogMessageAgeSeconds": oldest.age_s,
        **({"oldestBacklogMessageSubscriptionName": name} if (name := oldest.subscription) else {}),
        "publishRateLimitedTimes": stats.publish_limited_count,
        "earliestMsgPublishTimeInBacklogs": (
            earliest_of(earliest.values()) if wanted.earliest_in_backlog else 0
        ),
        "offloadedStorageSize": stats.offloaded_bytes,
        "lastOffloadLedgerId": stats.offloaded_ledger_id,
        "lastOffloadSuccessTimeStamp": stats.offload_succeeded_ms,
        "lastOffloadFailureTimeStamp": stats.offload_failed_ms,
        "ongoingTxnCount": stats.open_transactions,
        "abortedTxnCount": stats.aborted_transactions,
        "committedTxnCount": stats.committed_transactions,
        "publishers": [
            _publisher(each, rates.get(publisher_key(each), NO_RATES))
            for each in stats.publishers
            if wanted.publishers
        ],
        "waitingPublishers": stats.waiting_publishers,
        "subscriptions": {
            name: _subscription(name, each, rates, wanted, earliest.get(name, -1))
            for name, each in stats.subscriptions.items()
        },
        "replication": {
            cluster: _replication(cluster, each, rates)
            for cluster, each in stats.replication.items()
        },
        "nonContiguousDeletedMessagesRanges": sum(each.acked_ranges for each in subscriptions),
        "nonContiguousDeletedMessagesRangesSerializedSize": sum(
            each.acked_ranges_bytes for each in subscriptions
        ),
        "delayedMessageIndexSizeInBytes": sum(each.delayed_index_bytes for each in subscriptions),
        "compaction": {
            "lastCompactionRemovedEventCount": stats.compaction_removed,
            "lastCompactionSucceedTimestamp": stats.compaction_succeeded_ms,
            "lastCompactionFailedTimestamp": stats.compaction_failed_ms,
            "lastCompactionDurationTimeInMills": stats.compaction_duration_ms,
        },
        "topicCreationTimeStamp": stats.created_ms,
        "lastPublishTimeStamp": stats.last_publish_ms,
    }


def _replication(cluster: str, stats: ReplicationStats, rates: TopicRates) -> dict[str, Any]:
    sent = rates.get(replicator_key(cluster), NO_RATES)
    came = rates.get(remote_key(cluster), NO_RATES)
    return {
        "msgRateIn": came.messages,
        "msgThroughputIn": came.size_bytes,
        "msgRateOut": sent.messages,
        "msgThroughputOut": sent.size_bytes,
        "msgRateExpired": sent.expired,
        "replicationBacklog": stats.backlog_entries,
        "replicationBacklogSize": stats.backlog_bytes,  # Ours, as the trouble.
        "connected": stats.connected,
        "trouble": stats.trouble or None,
        "replicationDelayInSeconds": int(stats.delay_s),
        "replicationBacklogAgeInSeconds": int(stats.age_s),  # Ours.
        "inboundConnection": _address(stats.inbound_address) or None,
        "inboundConnectedSince": _instant_or_none(stats.inbound_since_ms),
        "outboundConnection": _address(stats.outbound_address) or None,
        "outboundConnectedSince": _instant_or_none(stats.outbound_since_ms),
        "msgInCount": stats.msg_in_counter,
        "bytesInCount": stats.bytes_in_counter,
        "msgOutCount": stats.msg_out_counter,
        "bytesOutCount": stats.bytes_out_counter,
        "msgExpiredCount": stats.expired_counter,
    }


def _publisher(stats: PublisherStats, rates: Rates) -> dict[str, Any]:
    return {
        "accessMode": (stats.access_mode or ProducerAccessMode.SHARED).printed,
        "supportsPartialProducer": False,
        "msgRateIn": rates.messages,
        "msgThroughputIn": rates.size_bytes,
        "averageMsgSize": rates.average_size,
        "chunkedMessageRate": rates.chunks,
        "producerId": stats.producer_id,
        "producerName": stats.producer_name,
        "address": _address(stats.address),
        "connectedSince": instant(stats.connected_since_ms),
        "clientVersion": stats.client_version,
        "metadata": stats.metadata,
    }


def _subscription(
    name: str, stats: SubscriptionStats, rates: TopicRates, wanted: StatsOptions, earliest_ms: int
) -> dict[str, Any]:
    shown = {
        **_delivered(stats, rates.get(subscription_key(name), NO_RATES)),
        "msgBacklog": stats.backlog_entries,
        "backlogSize": stats.backlog_bytes if wanted.backlog_size else -1,
        "earliestMsgPublishTimeInBacklog": earliest_ms if wanted.earliest_in_backlog else 0,
        "msgBacklogNoDelayed": stats.backlog_entries - stats.delayed_entries,
        "blockedSubscriptionOnUnackedMsgs": stats.blocked_on_unacked,
        "blockedReason": stats.blocked_reason,  # Ours, as the next one.
        "blockedSince": stats.blocked_since_ms or None,
        "msgDelayed": stats.delayed_entries,
        "msgInReplay": stats.replay_entries,
        "unackedMessages": stats.unacked_messages,
        "type": stats.type.printed if stats.type is not None else "None",
        "activeConsumerName": stats.active_consumer_name,
        "msgRateExpired": rates.get(subscription_key(name), NO_RATES).expired,
        "totalMsgExpired": stats.expired_counter,
        "lastExpireTimestamp": stats.last_expired_ms,
        "lastConsumedFlowTimestamp": stats.last_flow_ms,
        "lastConsumedTimestamp": stats.last_consumed_ms,
        "lastAckedTimestamp": stats.last_acked_ms,
        "lastMarkDeleteAdvancedTimestamp": stats.last_mark_moved_ms,
        "consumers": [
            _consumer(each, rates.get(consumer_key(name, each), NO_RATES), stats.type)
            for each in stats.consumers
            if wanted.consumers
        ],
        "isDurable": stats.durable,
        "isReplicated": stats.replicated,
        "allowOutOfOrderDelivery": stats.allow_out_of_order,
        "keySharedMode": stats.key_shared_mode,
        "consumersAfterMarkDeletePosition": {},
        **_draining(stats.consumers),
        "nonContiguousDeletedMessagesRanges": stats.acked_ranges,
        "nonContiguousDeletedMessagesRangesSerializedSize": stats.acked_ranges_bytes,
        "delayedMessageIndexSizeInBytes": stats.delayed_index_bytes,
        "subscriptionProperties": stats.properties,
        **_SUBSCRIPTION_REST,
        **{
            f"dispatchThrottled{what}EventsBy{whose.title()}Limit": stats.rate_waits[whose, what]
            for whose in ("subscription", "topic", "broker")
            for what in ("Msg", "Bytes")
        },
        "durable": stats.durable,
        "replicated": stats.replicated,
    }
    return {key: value for key, value in shown.items() if value is not None}


def _consumer(stats: ConsumerStats, rates: Rates, kind: SubscriptionType | None) -> dict[str, Any]:
    entries = stats.entries_out_counter
    shown = {
        **_delivered(stats, rates),
        "consumerName": stats.consumer_name,
        "availablePermits": stats.available_permits,
        "unackedMessages": stats.unacked_messages,
        "avgMessagesPerEntry": round(stats.msg_out_counter / entries) if entries else 0,
        "blockedConsumerOnUnackedMsgs": stats.blocked_on_unacked,
        **_draining([stats]),
        "drainingHashes": (
            [
                {"hash": slot, "unackMsgs": awaited, "blockedAttempts": refusals}
                for slot, awaited, refusals in stats.draining_slots
            ]
            if kind is SubscriptionType.KEY_SHARED
            else None
        ),
        "address": _address(stats.address),
        "connectedSince": instant(stats.connected_since_ms),
        "clientVersion": stats.client_version,
        "lastAckedTimestamp": stats.last_acked_ms,
        "lastConsumedTimestamp": stats.last_consumed_ms,
        "lastConsumedFlowTimestamp": stats.last_flow_ms,
        "keyHashRangeArrays": stats.key_hash_ranges,
        "metadata": stats.metadata,
        "lastAckedTime": instant(stats.last_acked_ms),
        "lastConsumedTime": instant(stats.last_consumed_ms),
    }
    return {key: value for key, value in shown.items() if value is not None}


def _draining(consumers: Sequence[ConsumerStats]) -> dict[str, int]:
    """Key_Shared: hashes whose former owner still has to acknowledge messages."""
    slots = [slot for consumer in consumers for slot in consumer.draining_slots]
    return {
        "drainingHashesCount": len(slots),
        "drainingHashesClearedTotal": sum(each.draining_cleared_total for each in consumers),
        "drainingHashesUnackedMessages": sum(awaited for _, awaited, _ in slots),
    }


def _delivered(stats: SubscriptionStats | ConsumerStats, rates: Rates) -> dict[str, Any]:
    return {
        "msgRateOut": rates.messages,
        "msgThroughputOut": rates.size_bytes,
        "bytesOutCounter": stats.bytes_out_counter,
        "msgOutCounter": stats.msg_out_counter,
        "msgRateRedeliver": rates.redelivered,
        "messageAckRate": rates.acknowledged,
        "chunkedMessageRate": rates.chunks,
    }


def earliest_of(times_ms: Iterable[int]) -> int:
    """The earliest publish time; -1 where there is none."""
    return min((time for time in times_ms if time >= 0), default=-1)


def _address(address: str) -> str:
    """An address as Java prints it: behind the slash that follows a host name."""
    return f"/{address}" if address else ""


def _instant_or_none(time_ms: int) -> str | None:
    return instant(time_ms) if time_ms else None


def instant(time_ms: int) -> str:
    """Milliseconds since the epoch, as ISO-8601; a time beyond all calendars as it is."""
    try:
        whole = datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return str(time_ms)
    rest = f".{time_ms % 1000:03d}".rstrip("0").rstrip(".")
    return f"{whole}{rest}Z"
