"""A snapshot of a topic's counters, for whoever shows them. Reading changes nothing."""

from magnetar.broker.dispatch.key_shared import KeyShared
from magnetar.broker.topics.publishing.producer import Producer
from magnetar.broker.topics.subscriptions.consumer import Consumer
from magnetar.broker.topics.subscriptions.subscription import Subscription, key_shared_mode
from magnetar.broker.topics.topic import Topic
from magnetar.model.stats import ConsumerStats, PublisherStats, SubscriptionStats, TopicStats
from magnetar.model.subscriptions import SubscriptionType


def topic_stats(topic: Topic) -> TopicStats:
    """Totals since the topic was loaded, and what is attached to it now."""
    subscriptions = {
        name: _subscription(each, topic.loaded_at_ms) for name, each in topic.subscriptions.items()
    }
    throttle, removed = topic.publish_throttle, topic.removed_totals
    found = TopicStats(
        msg_in_counter=topic.message_count,
        bytes_in_counter=topic.size_bytes,
        chunk_in_counter=topic.detached_chunk_count
        + sum(producer.chunk_count for producer in topic.producers.values()),
        msg_out_of_removed=removed.message_count,
        bytes_out_of_removed=removed.size_bytes,
        storage_bytes=topic.storage_bytes,
        backlog_bytes=max(
            (s.backlog_bytes for s in subscriptions.values() if s.durable), default=0
        ),
        created_ms=topic.loaded_at_ms,
        last_publish_ms=topic.last_publish_ms,
        publish_limited_count=0 if throttle is None else throttle.limited_count,
        waiting_publishers=topic.waiting_producers,
        publishers=[_publisher(producer) for producer in topic.producers.values()],
        subscriptions=subscriptions,
    )
    if topic.stored is not None:
        topic.stored.fill(found)
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
    totals, backlog = subscription.totals, subscription.backlog
    active = subscription.active
    dispatch = subscription.dispatch
    first = consumers[0].request if consumers else None
    key_shared = first is not None and first.type is SubscriptionType.KEY_SHARED
    blocked = subscription.blocked_reason() if backlog else None
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
        backlog_entries=backlog,
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
    subscription.fill(stats)
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
