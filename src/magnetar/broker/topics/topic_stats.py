"""A snapshot of a topic's counters, for whoever shows them. Reading changes nothing."""

from magnetar.broker.dispatch.key_shared import KeyShared
from magnetar.broker.topics.persistent_topic import PersistentTopic
from magnetar.broker.topics.publishing.producer import Producer
from magnetar.broker.topics.subscriptions.consumer import Consumer
from magnetar.broker.topics.subscriptions.non_persistent_subscription import (
    NonPersistentSubscription,
)
from magnetar.broker.topics.subscriptions.persistent_subscription import PersistentSubscription
from magnetar.broker.topics.subscriptions.subscription import Subscription, key_shared_mode
from magnetar.broker.topics.topic import Topic
from magnetar.model.policies import NO_POLICIES
from magnetar.model.stats import ConsumerStats, PublisherStats, SubscriptionStats, TopicStats
from magnetar.model.subscriptions import SubscriptionType


def topic_stats(topic: Topic) -> TopicStats:
    """Totals since the topic was loaded, and what is attached to it now."""
    subscriptions = {
        name: _subscription(each, topic.loaded_at_ms) for name, each in topic.subscriptions.items()
    }
    policies = topic.stored.policies if topic.stored is not None else NO_POLICIES
    size, age = policies.backlog_quota_size, policies.backlog_quota_age
    compaction = None if topic.stored is None else topic.stored.compaction
    offload = None if topic.stored is None else topic.stored.offload
    throttle = topic.publish_throttle
    found = TopicStats(
        msg_in_counter=topic.message_count,
        bytes_in_counter=topic.size_bytes,
        chunk_in_counter=topic.detached_chunk_count
        + sum(producer.chunk_count for producer in topic.producers.values()),
        msg_out_of_removed=topic.removed_totals.message_count,
        bytes_out_of_removed=topic.removed_totals.size_bytes,
        storage_bytes=topic.storage_bytes,
        backlog_bytes=max(
            (s.backlog_bytes for s in subscriptions.values() if s.durable), default=0
        ),
        backlog_quota_bytes=-1 if size is None else size.limit_bytes,
        backlog_quota_s=-1 if age is None else age.limit_time_s,
        created_ms=topic.loaded_at_ms,
        last_publish_ms=topic.last_publish_ms,
        publish_limited_count=0 if throttle is None else throttle.limited_count,
        deduplicates=topic.deduplicates,
        waiting_publishers=topic.waiting_producers,
        compaction_removed=compaction.removed_count if compaction else 0,
        compaction_succeeded_count=compaction.succeeded_count if compaction else 0,
        compaction_failed_count=compaction.failed_count if compaction else 0,
        compaction_succeeded_ms=compaction.succeeded_ms if compaction else 0,
        compaction_failed_ms=compaction.failed_ms if compaction else 0,
        compaction_duration_ms=compaction.duration_ms if compaction else 0,
        compaction_read_bytes=compaction.read_bytes if compaction else 0,
        compaction_writes=compaction.writes if compaction else None,
        offloaded_bytes=offload.size_bytes if offload else 0,
        offloaded_ledger_id=offload.last_ledger_id if offload else 0,
        offload_succeeded_ms=offload.succeeded_ms if offload else 0,
        offload_failed_ms=offload.failed_ms if offload else 0,
        publishers=[_publisher(producer) for producer in topic.producers.values()],
        subscriptions=subscriptions,
    )
    if isinstance(topic, PersistentTopic):
        found.writes = topic.writer.writes
        found.producers_held_since_ms = topic.upkeep.producers.held_since_ms
        if (compacted := topic.ledger.compacted) is not None:
            found.compacted_entries = compacted.entry_count
            found.compacted_bytes = compacted.size_bytes
        found.size_evictions = topic.upkeep.state.size_evictions
        found.age_evictions = topic.upkeep.state.age_evictions
    return found


def _publisher(producer: Producer) -> PublisherStats:
    return PublisherStats(
        producer_id=producer.producer_id,
        producer_name=producer.name,
        address=producer.connection.address,
        client_version=producer.connection.client_version,
        connected_since_ms=producer.connected_at_ms,
        msg_in_counter=producer.message_count,
        bytes_in_counter=producer.size_bytes,
        chunk_in_counter=producer.chunk_count,
        dropped_counter=producer.dropped_count,
        access_mode=producer.access_mode,
        metadata=producer.metadata,
    )


def _subscription(subscription: Subscription, loaded_ms: int) -> SubscriptionStats:
    consumers = subscription.consumers
    if subscription.type is SubscriptionType.FAILOVER:
        consumers = sorted(consumers, key=lambda c: (c.priority, c.name))
    totals = subscription.totals
    active = subscription.active
    dispatch = subscription.dispatch
    first = consumers[0].request if consumers else None
    key_shared = first is not None and first.type is SubscriptionType.KEY_SHARED
    blocked = subscription.blocked_reason() if subscription.backlog else None
    strategy = dispatch.strategy if dispatch else None
    # Of all consumers at once: each has a hundred ranges, and finding them passes over all.
    ranges = strategy.ranges.ranges() if isinstance(strategy, KeyShared) else {}
    stats = SubscriptionStats(
        type=subscription.type,
        durable=subscription.durable,
        replicated=subscription.replicated,
        active_consumer_name=active.name if active else None,
        key_shared_mode=key_shared_mode(first) if first and key_shared else None,
        allow_out_of_order=bool(first and first.allow_out_of_order),
        msg_out_counter=totals.message_count,
        bytes_out_counter=totals.size_bytes,
        chunk_out_counter=totals.chunk_count,
        redelivered_counter=totals.redelivered_count,
        acknowledged_counter=totals.acked_count,
        backlog_entries=subscription.backlog,
        unacked_messages=sum(c.unacked for c in consumers),
        replay_entries=dispatch.waiting_count if dispatch else 0,
        blocked_on_unacked=dispatch.over_unacked_limit if dispatch else False,
        blocked_reason=None if blocked is None else str(blocked),
        blocked_why=None if blocked is None else blocked.why.name.lower(),
        blocked_since_ms=subscription.blocked_since_ms(blocked, loaded_ms),
        last_flow_ms=totals.last_flow_ms,
        last_acked_ms=totals.last_acked_ms,
        last_consumed_ms=subscription.wall_ms_at(totals.delivered_at),
        consumers=[_consumer(each, subscription, ranges.get(each, [])) for each in consumers],
        properties=dict(subscription.properties),
    )
    if isinstance(subscription, PersistentSubscription):
        cursor = subscription.cursor
        stats.backlog_bytes = cursor.backlog_bytes
        stats.acked_ranges = cursor.acked_ranges
        stats.acked_ranges_bytes = cursor.acked_ranges_bytes
        stats.last_mark_moved_ms = cursor.mark_moved_ms
        if subscription.delayed is not None:
            # What somebody acknowledges before its time is known when that has come.
            stats.delayed_entries = min(subscription.delayed.count, stats.backlog_entries)
            stats.delayed_index_bytes = subscription.delayed.size_bytes
        if subscription.throttle is not None:
            stats.rate_waits += subscription.throttle.waits
        stats.expired_counter = subscription.expired_count
        stats.last_expired_ms = subscription.last_expired_ms
    elif isinstance(subscription, NonPersistentSubscription):
        stats.durable = False  # Nobody finds it again when its topic was unloaded.
        stats.dropped_counter = subscription.dropped_count
    return stats


def _consumer(
    consumer: Consumer, subscription: Subscription, owned: list[tuple[int, int]]
) -> ConsumerStats:
    totals = consumer.totals
    strategy = subscription.dispatch.strategy if subscription.dispatch else None
    ranges = None
    draining: list[tuple[int, int, int]] = []
    cleared = 0
    if isinstance(strategy, KeyShared):
        ranges = owned
        draining += strategy.draining.of(consumer)
        cleared = strategy.draining.cleared_by(consumer)
    return ConsumerStats(
        consumer_id=consumer.consumer_id,
        consumer_name=consumer.name,
        address=consumer.connection.address,
        client_version=consumer.connection.client_version,
        connected_since_ms=consumer.connected_at_ms,
        msg_out_counter=totals.message_count,
        bytes_out_counter=totals.size_bytes,
        entries_out_counter=totals.message_count - totals.batched_count,
        chunk_out_counter=totals.chunk_count,
        redelivered_counter=totals.redelivered_count,
        acknowledged_counter=totals.acked_count,
        available_permits=consumer.permits,
        unacked_messages=consumer.unacked,
        blocked_on_unacked=consumer.blocked,
        last_acked_ms=totals.last_acked_ms,
        last_consumed_ms=subscription.wall_ms_at(totals.delivered_at),
        last_flow_ms=totals.last_flow_ms,
        key_hash_ranges=ranges,
        draining_slots=draining,
        draining_cleared_total=cleared,
        metadata=consumer.request.metadata,
    )
