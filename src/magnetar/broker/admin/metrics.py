"""Metrics: a pass over all open topics, which gives way to others, and then the lines.

Nothing is computed before somebody asks.
"""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import chain
from typing import Any, Final

from magnetar.broker.admin.exposition import END, MetricTable, labels_of, lines
from magnetar.broker.admin.overview import PAUSE_S
from magnetar.broker.admin.rates import (
    NO_RATES,
    THE_COMPACTION,
    THE_TOPIC,
    TopicRates,
    consumer_key,
    publisher_key,
    remote_key,
    replicator_key,
    subscription_key,
)
from magnetar.broker.admin.services import MetricServices
from magnetar.broker.admin.topic_metrics import METRICS, SUMMED, together
from magnetar.broker.threads import imported
from magnetar.broker.topics.log.backlog_limits import Backlogged
from magnetar.broker.topics.topic import StoredTopic, Topic
from magnetar.broker.topics.topic_stats import topic_stats
from magnetar.errors import MagnetarError
from magnetar.model.counts import WriteCounts
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.stats import SubscriptionStats, TopicStats
from magnetar.model.system_topics import is_system_topic

WORK_S: Final = 0.0005
"""Others get the event loop after so much work."""
PIECE_BYTES: Final = 64 * 1024
"""So much of the answer is written at once, and a little more."""
ROWS_TOGETHER: Final = 100
"""Topics of a namespace that are added to its sums at once."""
_NOTHING: Final = WriteCounts()
_BROKER_METRICS: Final = "magnetar.broker.admin.broker_metrics"


async def answer(admin: MetricServices, accept: str) -> tuple[AsyncIterator[bytes], str]:
    """The metrics in the format that a client accepts, and its content type."""
    scrape = _Scrape(admin)
    await scrape.pass_topics()
    await admin.broker.health.disk()
    module = await imported(_BROKER_METRICS)
    seen = module.Seen(scrape.topics, scrape.sums, tuple(scrape.system_bytes), scrape.evictions)
    head, content_type = module.encoded(admin, seen, accept)
    end = END if "openmetrics" in content_type else b""
    return scrape.pieces(head, end), content_type


class _Scrape:
    """One answer in the making."""

    def __init__(self, admin: MetricServices) -> None:
        self._admin = admin
        self._rates = admin.rates
        self._clock = admin.broker.clock
        self._turn_began = admin.broker.clock.now()
        self.topics: dict[NamespaceName, int] = defaultdict(int)
        self.sums: dict[NamespaceName, Sequence[float]] = {}
        self._labels_of_namespaces: dict[NamespaceName, str] = {}
        # Those that are not in the sums yet.
        self._rows: dict[NamespaceName, list[Sequence[float]]] = defaultdict(list)
        self.system_bytes = [0, 0]
        self.evictions = Counter[str]()  # Of all open topics, by the type of the quota.
        settings, loaded = admin.broker.metrics, len(admin.broker.topics.loaded)
        self._by_topic = settings.topics and not 0 < settings.topics_max < loaded
        self._tables = {kind: MetricTable(its.columns) for kind, its in METRICS.items()}

    async def pass_topics(self) -> None:
        """Note what all open topics have."""
        oldest = self._admin.scrapes.oldest
        known: set[tuple[str, str]] = set()
        for name, topic in list(self._admin.broker.topics.loaded.items()):
            ages: dict[str, float] = {}
            if (stored := topic.stored) is not None:
                for each in [its for its in stored.upkeep.backlogs() if its.backlog]:
                    ages[each.name] = await self._age_s(stored, each)
                    known.add((str(name), each.name))
            self._note(name, topic, ages)
            await self._give_way()
        for gone in oldest.keys() - known:
            del oldest[gone]
        for namespace in self._rows:
            self._sum_up(namespace)
        if not self._by_topic:
            for namespace, its in self.sums.items():
                self._tables["summed"].add(self._labels(namespace), its)

    async def pieces(self, head: Iterable[bytes], end: bytes) -> AsyncIterator[bytes]:
        """The answer; ``head`` has the metrics of the broker.

        To write a piece costs more than to make most lines, so many go together.
        """
        waiting, size = [], 0
        lines_of_topics = map(str.encode, lines(self._tables.values()))
        for part in chain(head, lines_of_topics, (end,)):
            waiting.append(part)
            size += len(part)
            if size >= PIECE_BYTES:
                yield b"".join(waiting)
                waiting, size = [], 0
            await self._give_way()
        yield b"".join(waiting)

    def _note(self, name: TopicName, topic: Topic, ages: dict[str, float]) -> None:
        settings, topic_name = self._admin.broker.metrics, str(name)
        stats, rates = topic_stats(topic), self._rates.of(topic_name)
        published = rates.get(THE_TOPIC, NO_RATES)
        delivered = [rates.get(subscription_key(its), NO_RATES) for its in stats.subscriptions]
        written = self._rates.written(topic_name) or _NOTHING
        period_s, namespace = settings.interval_s, name.namespace
        summed = SUMMED.values(stats, published, delivered, written, period_s)
        self._sum(name, stats, summed)
        if not self._by_topic:
            return
        labels = self._labels(namespace, name)
        self._tables["summed"].add(labels, summed)
        durable = [
            age
            for its, age in ages.items()
            if its in stats.subscriptions and stats.subscriptions[its].durable
        ]
        self._add("topic", labels, stats, published, max(durable, default=-1))
        if stats.open_transactions or stats.committed_transactions or stats.aborted_transactions:
            self._add("transactions", labels, stats)
        if stats.compaction_writes is not None or stats.compacted_entries:
            compacted = self._rates.compacted(topic_name) or _NOTHING
            read = rates.get(THE_COMPACTION, NO_RATES)
            self._add("compaction", labels, stats, read, compacted, period_s)
        if stats.backlog_quota_bytes > 0 or stats.backlog_quota_s > 0:
            self._add("evictions", labels_of(labels, quota_type="size"), stats.size_evictions)
            self._add("evictions", labels_of(labels, quota_type="time"), stats.age_evictions)
        for cluster, there in stats.replication.items():
            if topic.stored is not None and cluster in topic.stored.replicators:
                there.age_s = max(ages.get(topic.stored.replicators[cluster].name, 0), 0)
            sent = rates.get(replicator_key(cluster), NO_RATES)
            came = rates.get(remote_key(cluster), NO_RATES)
            self._add("replicator", labels_of(labels, remote_cluster=cluster), there, sent, came)
        of_each = zip(stats.subscriptions.items(), delivered, strict=True)
        for (its_name, its), its_rates in of_each:
            mine = labels_of(labels, subscription=its_name)
            self._add("subscription", mine, its, its_rates, ages.get(its_name, -1))
            self._note_subscription(mine, its_name, its, rates)
        for producer in stats.publishers if settings.producers else ():
            mine = labels_of(
                labels,
                producer_name=producer.producer_name,
                producer_id=str(producer.producer_id),
            )
            self._add("producer", mine, rates.get(publisher_key(producer), NO_RATES))

    def _sum(self, name: TopicName, stats: TopicStats, summed: Sequence[float]) -> None:
        namespace = name.namespace
        self.topics[namespace] += 1
        rows = self._rows[namespace]
        rows.append(summed)
        if len(rows) >= ROWS_TOGETHER:
            self._sum_up(namespace)
        if is_system_topic(name):
            self.system_bytes[0] += stats.bytes_in_counter
            self.system_bytes[1] += stats.bytes_out_counter
        self.evictions["size"] += stats.size_evictions
        self.evictions["time"] += stats.age_evictions

    def _sum_up(self, namespace: NamespaceName) -> None:
        """Add the rows of a namespace to its sums. One at a time would take three times as long."""
        rows = self._rows[namespace]
        before = self.sums.get(namespace)
        self.sums[namespace] = together(rows if before is None else (before, *rows))
        rows.clear()

    def _note_subscription(
        self, labels: str, name: str, stats: SubscriptionStats, rates: TopicRates
    ) -> None:
        for limit in ("subscription", "topic", "broker") if stats.rate_waits else ():
            self._add("throttled", labels_of(labels, reason=limit), stats.rate_waits, limit)
        if stats.blocked_why and stats.blocked_since_ms:
            self._add("blocked", labels_of(labels, reason=stats.blocked_why))
        for consumer in stats.consumers if self._admin.broker.metrics.consumers else ():
            mine = labels_of(
                labels,
                consumer_name=consumer.consumer_name,
                consumer_id=str(consumer.consumer_id),
            )
            its_rates = rates.get(consumer_key(name, consumer), NO_RATES)
            self._add("consumer", mine, consumer, its_rates)

    def _add(self, kind: str, labels: str, *known: Any) -> None:
        self._tables[kind].add(labels, METRICS[kind].values(*known))

    def _labels(self, namespace: NamespaceName, topic: TopicName | None = None) -> str:
        labels = self._labels_of_namespaces.get(namespace)
        if labels is None:
            labels = labels_of(cluster=self._admin.broker.cluster, namespace=str(namespace))
            self._labels_of_namespaces[namespace] = labels
        if topic is None:
            return labels
        if self._admin.broker.metrics.split_partition:
            whole, index = str(topic.partitioned_name), str(topic.partition_index)
            return labels_of(labels, topic=whole, partition=index)
        return labels_of(labels, topic=str(topic))

    async def _age_s(self, topic: StoredTopic, subscription: Backlogged) -> float:
        """The age of its oldest message; it is read again only when the mark has moved."""
        oldest, mark = self._admin.scrapes.oldest, subscription.mark
        key = (str(topic.name), subscription.name)
        known = oldest.get(key)
        if known is None or known[0] != mark:
            try:
                known = (mark, await topic.oldest_publish_time_ms(subscription))
            except MagnetarError:  # The other metrics are needed most when a disk fails.
                return -1
            oldest[key] = known
        published_ms = known[1]
        return -1 if published_ms < 0 else max(self._clock.wall_ms() - published_ms, 0) / 1000

    async def _give_way(self) -> None:
        """Let others have the event loop, if this has had it for long."""
        if self._clock.now() - self._turn_began >= WORK_S:
            await self._clock.sleep(PAUSE_S)
            self._turn_began = self._clock.now()
