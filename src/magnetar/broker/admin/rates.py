"""The rates that stats show, found by looking at every topic's totals once a minute.

A topic only counts totals. ``keep_rates`` gives them to a ``RateBook``, which keeps how fast each
one grew in the last minute.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final, NamedTuple, TypeAlias

from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.topics.topic_stats import topic_stats
from magnetar.clock import Clock
from magnetar.late_dataclass import dataclass
from magnetar.model.counts import LogCounts, WriteCounts
from magnetar.model.names import NamespaceName
from magnetar.model.stats import ConsumerStats, PublisherStats, SubscriptionStats, TopicStats

INTERVAL_S: Final = 60.0  # Pulsar's rates are those of the last whole minute, too.
TOPICS_PER_TURN: Final = 50  # Then the loop serves others.


class Rates(NamedTuple):
    """What a topic, or a part of it, does in a second; 0 for what that part never does."""

    messages: float = 0.0
    size_bytes: float = 0.0
    chunks: float = 0.0
    redelivered: float = 0.0
    acknowledged: float = 0.0
    dropped: float = 0.0
    expired: float = 0.0

    @property
    def average_size(self) -> float:
        return self.size_bytes / self.messages if self.messages > 0 else 0.0


class RateKey(NamedTuple):
    """Whatever has rates: a topic, a publisher, a subscription or a consumer."""

    kind: str
    subscription: str = ""
    name: str = ""
    address: str = ""
    number: int = 0  # The id of the producer or consumer on its connection.


THE_TOPIC: Final = RateKey("topic")
THE_COMPACTION: Final = RateKey("compaction")  # What it read.
NO_RATES: Final = Rates()
NOTHING_WRITTEN: Final = WriteCounts()  # By most topics, most of the time.
TopicRates: TypeAlias = Mapping[RateKey, Rates]
_Totals: TypeAlias = tuple[int, ...]  # In the order of Rates.


def publisher_key(stats: PublisherStats) -> RateKey:
    return RateKey("publisher", "", stats.producer_name, stats.address, stats.producer_id)


def subscription_key(name: str) -> RateKey:
    return RateKey("subscription", name)


def consumer_key(subscription: str, stats: ConsumerStats) -> RateKey:
    return RateKey("consumer", subscription, stats.consumer_name, stats.address, stats.consumer_id)


def replicator_key(cluster: str) -> RateKey:
    """What goes to another cluster."""
    return RateKey("replicator", "", cluster)


def remote_key(cluster: str) -> RateKey:
    """What comes from there."""
    return RateKey("remote", "", cluster)


class RateBook:
    """The rates of every topic."""

    def __init__(self) -> None:
        self._topics: dict[str, _Noted] = {}
        self.written_by_all = WriteCounts()
        """What all topics stored between the last two ticks."""
        self.written_since_start = WriteCounts()
        """What all topics stored since the start."""
        self._written = WriteCounts()  # What those stored that were ticked since.
        self.logs: Mapping[NamespaceName, LogCounts] = {}
        """What the logs of each namespace did between the last two ticks."""
        self._logs_before: Mapping[NamespaceName, LogCounts] = {}

    def tick(
        self, topic: str, stats: TopicStats, now: float, *, since: float | None = None
    ) -> None:
        """Note a topic's totals at ``now`` seconds, and forget parts that have left it.

        The totals of a new topic were 0 at ``since``, if that is given, and those of a new part
        were 0 at the last tick.
        """
        before = self._topics.get(topic)
        if before is None:
            before = _Noted(now if since is None else since)
        elapsed, totals = now - before.at, dict(_totals(stats))
        rates: dict[RateKey, Rates] = {}
        if elapsed > 0:
            rates = {
                part: _growth(before.totals.get(part), each, elapsed)
                for part, each in totals.items()
            }
        elif before.totals:
            return
        noted = self._topics[topic] = _Noted(now, totals, rates)
        noted.written, noted.writes = _grown(stats.writes, before.writes)
        if noted.written is not None and noted.written is not NOTHING_WRITTEN:
            self._written.add(noted.written)
        noted.compacted, noted.compaction_writes = _grown(
            stats.compaction_writes, before.compaction_writes
        )

    def tick_logs(self, logs: Mapping[NamespaceName, LogCounts]) -> None:
        """Note what the logs of each namespace have counted."""
        self.logs = {name: its.since(self._logs_before.get(name)) for name, its in logs.items()}
        self._logs_before = {name: its.since(None) for name, its in logs.items()}

    def written(self, topic: str) -> WriteCounts | None:
        """The writes of a topic between the last two ticks."""
        known = self._topics.get(topic)
        return None if known is None else known.written

    def compacted(self, topic: str) -> WriteCounts | None:
        """What compaction of a topic stored between the last two ticks."""
        known = self._topics.get(topic)
        return None if known is None else known.compacted

    def ticked_all(self, now: float) -> None:
        """All topics there are were ticked at ``now``: forget others, and tell what all stored."""
        for name in [name for name, noted in self._topics.items() if noted.at < now]:
            del self._topics[name]
        self.written_by_all, self._written = self._written, WriteCounts()
        self.written_since_start.add(self.written_by_all)

    def forget(self) -> None:
        """Forget every topic."""
        self._topics.clear()

    def of(self, topic: str) -> TopicRates:
        """The rates of a topic's parts that were there at the last tick."""
        known = self._topics.get(topic)
        return {} if known is None else known.rates


@dataclass(slots=True)
class _Noted:
    """The totals and rates of a topic at the last tick."""

    at: float
    totals: Mapping[RateKey, _Totals] = field(default_factory=dict)
    rates: TopicRates = field(default_factory=dict)
    writes: WriteCounts | None = None
    written: WriteCounts | None = None
    compaction_writes: WriteCounts | None = None
    compacted: WriteCounts | None = None


async def keep_rates(
    book: RateBook,
    registry: TopicRegistry,
    clock: Clock,
    *,
    logs: Mapping[NamespaceName, LogCounts],
    interval_s: float = INTERVAL_S,
) -> None:
    """Tick every topic every so often. One that was loaded since counts from the last tick."""
    last = clock.now()
    while True:
        await clock.sleep(interval_s)
        now = clock.now()
        for count, topic in enumerate(list(registry.loaded.values()), start=1):
            book.tick(str(topic.name), topic_stats(topic), now, since=last)
            if count % TOPICS_PER_TURN == 0:
                await clock.sleep(0)
        book.ticked_all(now)
        book.tick_logs(logs)
        last = now


def _totals(stats: TopicStats) -> Iterator[tuple[RateKey, _Totals]]:
    """Every part of a snapshot, with its totals."""
    yield THE_TOPIC, _published(stats)
    if stats.compaction_read_bytes:
        yield THE_COMPACTION, (0, stats.compaction_read_bytes, 0, 0, 0, 0, 0)
    for publisher in stats.publishers:
        yield publisher_key(publisher), _published(publisher)
    for name, subscription in stats.subscriptions.items():
        yield subscription_key(name), _delivered(subscription)
        for consumer in subscription.consumers:
            yield consumer_key(name, consumer), _delivered(consumer)
    for cluster, each in stats.replication.items():
        sent = (each.msg_out_counter, each.bytes_out_counter, 0, 0, 0, 0, each.expired_counter)
        yield replicator_key(cluster), sent
        yield remote_key(cluster), (each.msg_in_counter, each.bytes_in_counter, 0, 0, 0, 0, 0)


def _published(stats: TopicStats | PublisherStats) -> _Totals:
    return (
        stats.msg_in_counter,
        stats.bytes_in_counter,
        stats.chunk_in_counter,
        0,
        0,
        stats.dropped_counter,
        0,
    )


def _delivered(stats: SubscriptionStats | ConsumerStats) -> _Totals:
    return (
        stats.msg_out_counter,
        stats.bytes_out_counter,
        stats.chunk_out_counter,
        stats.redelivered_counter,
        stats.acknowledged_counter,
        *(
            (stats.dropped_counter, stats.expired_counter)
            if isinstance(stats, SubscriptionStats)
            else (0, 0)
        ),
    )


def _grown(
    now: WriteCounts | None, before: WriteCounts | None
) -> tuple[WriteCounts | None, WriteCounts | None]:
    """What was stored since ``before``, and a copy of all that was."""
    if now is None:
        return None, None
    if before is not None and now.entries == before.entries:
        return NOTHING_WRITTEN, before
    return now.since(before), now.since(None)


def _growth(before: _Totals | None, now: _Totals, elapsed: float) -> Rates:
    """The growth per second. A total below the last one started again from 0."""
    if before is None:
        before = (0,) * len(now)
    grown = (new - old if new >= old else new for old, new in zip(before, now, strict=True))
    return Rates(*(each / elapsed for each in grown))
