from magnetar.broker.admin.rates import NO_RATES
from magnetar.broker.admin.topic_metrics import (
    ALL,
    COMPACTION,
    CONSUMER,
    PRODUCER,
    SUBSCRIPTION,
    SUMMED,
    TOPIC,
    added,
    compaction_values,
    consumer_values,
    latency_buckets,
    producer_values,
    subscription_values,
    summed_values,
    topic_values,
)
from magnetar.model.stats import ConsumerStats, SubscriptionStats, TopicStats
from magnetar.model.write_counts import WriteCounts


def test_there_is_a_value_for_each_column():
    stats = TopicStats(subscriptions={"s": SubscriptionStats()})
    summed = summed_values(stats, {}, None, 60)
    assert len(summed) == len(SUMMED)
    assert len(topic_values(summed, stats, {}, -1)) == len(TOPIC)
    assert len(compaction_values(stats, {}, None, 60)) == len(COMPACTION)
    assert len(subscription_values(SubscriptionStats(), NO_RATES, -1)) == len(SUBSCRIPTION)
    assert len(consumer_values(ConsumerStats(1, "c"), NO_RATES)) == len(CONSUMER)
    assert len(producer_values(NO_RATES)) == len(PRODUCER)


def test_latencies_fall_into_pulsars_buckets():
    writes = WriteCounts()
    for ms in (0.05, 0.4, 0.9, 1.5, 4, 9, 900, 5000):
        writes.note(1, 10, ms / 1000)
    assert list(latency_buckets(writes.by_latency)) == [2, 1, 2, 1, 0, 0, 0, 0, 1, 1]


def test_two_things_together():
    assert added((1, 2.5), (3, 4)) == [4, 6.5]


def test_every_name_is_documented_once():
    assert len({each.name for each in ALL}) == len(ALL)
    assert all(each.about for each in ALL)
