"""What a scrape tells of one topic: a row of values for it, and for each thing that it has."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from magnetar.broker.admin.exposition import Row, labels_of
from magnetar.broker.admin.rates import (
    NO_RATES,
    NOTHING_WRITTEN,
    THE_COMPACTION,
    THE_TOPIC,
    RateBook,
    TopicRates,
    consumer_key,
    publisher_key,
    remote_key,
    replicator_key,
    subscription_key,
)
from magnetar.broker.admin.topic_metrics import METRICS, SUMMED
from magnetar.broker.settings.metrics import MetricSettings
from magnetar.broker.topics.topic import Topic
from magnetar.broker.topics.topic_mark import Mark, topic_mark
from magnetar.broker.topics.topic_stats import topic_stats
from magnetar.late_dataclass import dataclass
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.stats import SubscriptionStats, TopicStats

RowOf: TypeAlias = tuple[str, Row]
"""The kind of a thing, by which ``METRICS`` has its columns, and its row."""


@dataclass(slots=True)
class TopicRows:
    """The rows of a topic."""

    mark: Mark | None
    """They hold for as long as this does; None: for this scrape."""
    summed: Sequence[float]
    size_evictions: int
    age_evictions: int
    rows: list[RowOf]


class RowMaker:
    """Makes the rows of topics for one scrape."""

    def __init__(
        self, cluster: str, rates: RateBook, settings: MetricSettings, *, by_topic: bool
    ) -> None:
        """Without ``by_topic`` topics have no rows of their own, only what can be summed."""
        self._cluster = cluster
        self._rates = rates
        self._settings = settings
        self._by_topic = by_topic
        self._last_summed: Sequence[float] = ()
        self._labels_of_namespaces: dict[NamespaceName, str] = {}

    def mark(self, name: TopicName, topic: Topic) -> Mark | None:
        """What is another as soon as a row of the topic is; None: make them each time."""
        mark = topic_mark(topic)
        if mark is None:
            return None
        known = str(name)
        return (self._by_topic, self._rates.of(known), self._rates.written(known), *mark)

    def make(
        self, name: TopicName, topic: Topic, ages: Mapping[str, float], mark: Mark | None
    ) -> TopicRows:
        """The rows of a topic; ``ages`` are seconds by what has a backlog."""
        topic_name, period_s = str(name), self._settings.interval_s
        stats, rates = topic_stats(topic), self._rates.of(topic_name)
        published = rates.get(THE_TOPIC, NO_RATES)
        delivered = [rates.get(subscription_key(its), NO_RATES) for its in stats.subscriptions]
        written = self._rates.written(topic_name) or NOTHING_WRITTEN
        summed = SUMMED.values(stats, published, delivered, written, period_s)
        if summed == self._last_summed:
            summed = self._last_summed  # Most topics are as idle as the next: one row for all.
        self._last_summed = summed
        made = TopicRows(mark, summed, stats.size_evictions, stats.age_evictions, [])
        if not self._by_topic:
            return made
        labels = self.labels(name.namespace, name)
        durable = [
            age
            for its, age in ages.items()
            if its in stats.subscriptions and stats.subscriptions[its].durable
        ]
        made.rows.append(("summed", (labels, summed)))
        made.rows.append(_row("topic", labels, stats, published, max(durable, default=-1)))
        made.rows += self._of_features(labels, topic, ages, stats, rates)
        of_each = zip(stats.subscriptions.items(), delivered, strict=True)
        for (its_name, its), its_rates in of_each:
            mine = labels_of(labels, subscription=its_name)
            made.rows.append(_row("subscription", mine, its, its_rates, ages.get(its_name, -1)))
            made.rows += self._of_subscription(mine, its_name, its, rates)
        for producer in stats.publishers if self._settings.producers else ():
            mine = labels_of(
                labels,
                producer_name=producer.producer_name,
                producer_id=str(producer.producer_id),
            )
            made.rows.append(_row("producer", mine, rates.get(publisher_key(producer), NO_RATES)))
        return made

    def _of_features(
        self,
        labels: str,
        topic: Topic,
        ages: Mapping[str, float],
        stats: TopicStats,
        rates: TopicRates,
    ) -> Iterator[RowOf]:
        """What only some topics have."""
        if stats.open_transactions or stats.committed_transactions or stats.aborted_transactions:
            yield _row("transactions", labels, stats)
        if stats.compaction_writes is not None or stats.compacted_entries:
            compacted = self._rates.compacted(str(topic.name)) or NOTHING_WRITTEN
            read = rates.get(THE_COMPACTION, NO_RATES)
            yield _row("compaction", labels, stats, read, compacted, self._settings.interval_s)
        if stats.backlog_quota_bytes > 0 or stats.backlog_quota_s > 0:
            yield _row("evictions", labels_of(labels, quota_type="size"), stats.size_evictions)
            yield _row("evictions", labels_of(labels, quota_type="time"), stats.age_evictions)
        for cluster, there in stats.replication.items():
            if topic.stored is not None and cluster in topic.stored.replicators:
                there.age_s = max(ages.get(topic.stored.replicators[cluster].name, 0), 0)
            sent = rates.get(replicator_key(cluster), NO_RATES)
            came = rates.get(remote_key(cluster), NO_RATES)
            yield _row("replicator", labels_of(labels, remote_cluster=cluster), there, sent, came)

    def _of_subscription(
        self, labels: str, name: str, stats: SubscriptionStats, rates: TopicRates
    ) -> Iterator[RowOf]:
        """What only some subscriptions have."""
        for limit in ("subscription", "topic", "broker") if stats.rate_waits else ():
            yield _row("throttled", labels_of(labels, reason=limit), stats.rate_waits, limit)
        if stats.blocked_why and stats.blocked_since_ms:
            yield _row("blocked", labels_of(labels, reason=stats.blocked_why))
        for consumer in stats.consumers if self._settings.consumers else ():
            mine = labels_of(
                labels,
                consumer_name=consumer.consumer_name,
                consumer_id=str(consumer.consumer_id),
            )
            its_rates = rates.get(consumer_key(name, consumer), NO_RATES)
            yield _row("consumer", mine, consumer, its_rates)

    def labels(self, namespace: NamespaceName, topic: TopicName | None = None) -> str:
        """The labels of a namespace, or of a topic that is in it."""
        labels = self._labels_of_namespaces.get(namespace)
        if labels is None:
            labels = labels_of(cluster=self._cluster, namespace=str(namespace))
            self._labels_of_namespaces[namespace] = labels
        if topic is None:
            return labels
        if self._settings.split_partition:
            whole, index = str(topic.partitioned_name), str(topic.partition_index)
            return labels_of(labels, topic=whole, partition=index)
        return labels_of(labels, topic=str(topic))


def _row(kind: str, labels: str, *known: Any) -> RowOf:
    return kind, (labels, METRICS[kind].values(*known))
