from collections import Counter

from magnetar.broker.admin.rates import NO_RATES
from magnetar.broker.admin.topic_metrics import METRICS, PERIOD, Metrics, latency_buckets, together
from magnetar.model.counts import WriteCounts
from magnetar.model.stats import ConsumerStats, ReplicationStats, SubscriptionStats, TopicStats

STATS, COUNTS = TopicStats(subscriptions={"s": SubscriptionStats()}), WriteCounts()
KNOWN = {
    "summed": (STATS, NO_RATES, [NO_RATES], COUNTS, 60),
    "topic": (STATS, NO_RATES, -1),
    "compaction": (STATS, NO_RATES, COUNTS, 60),
    "transactions": (STATS,),
    "replicator": (ReplicationStats(), NO_RATES, NO_RATES),
    "evictions": (1,),
    "subscription": (SubscriptionStats(), NO_RATES, -1),
    "throttled": (Counter(), "topic"),
    "blocked": (),
    "producer": (NO_RATES,),
    "consumer": (ConsumerStats(1, "c"), NO_RATES),
}


def test_a_thing_has_a_number_for_each_of_its_columns():
    assert KNOWN.keys() == METRICS.keys()
    for kind, metrics in METRICS.items():
        values = metrics.values(*KNOWN[kind])
        assert len(values) == len(metrics.columns), kind
        assert not {type(each) for each in values} - {int, float}, kind
        assert all(each.about for each in metrics.columns), kind


def test_a_row_is_all_that_a_metric_needs():
    metrics = Metrics(
        "stats writes",
        [
            ("pulsar_first", "stats.bytes_in_counter", "bytes, ~"),
            ("pulsar_sizes_<bytes>", "*writes.by_size", "entries"),
            ("pulsar_last", "stats.msg_in_counter", "messages"),
        ],
    )
    assert [each.name for each in metrics.columns][:2] == ["pulsar_first", "pulsar_sizes_le_128"]
    assert metrics.columns[0].about == f"bytes, {PERIOD}"
    values = metrics.values(TopicStats(bytes_in_counter=7, msg_in_counter=3), COUNTS)
    assert values == (7, *COUNTS.by_size, 3)
    assert metrics.index["pulsar_last"] == len(values) - 1


def test_latencies_fall_into_pulsars_buckets():
    writes = WriteCounts()
    for ms in (0.05, 0.4, 0.9, 1.5, 4, 9, 900, 5000):
        writes.note(1, 10, ms / 1000)
    assert list(latency_buckets(writes.by_latency)) == [2, 1, 2, 1, 0, 0, 0, 0, 1, 1]


def test_things_together():
    assert together([(1, 2.5), (3, 4), (5, 6)]) == [9, 12.5]
