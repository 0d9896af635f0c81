"""Plain counters: rooms fill them, the admin room shows them. Pure.

A topic hands out a snapshot (``TopicStats``) made of totals since it was loaded; it keeps no rates.
Rates come from ``RateBook``: housekeeping shows it every topic's snapshot once a minute, and it
remembers how fast each total grew since the minute before.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from magnetar.model.subscriptions import SubscriptionType


@dataclass(slots=True)
class PublisherStats:
    """An attached producer."""

    producer_id: int
    producer_name: str
    address: str = ""  # host:port
    client_version: str = ""
    connected_since_ms: int = 0
    msg_in_counter: int = 0
    bytes_in_counter: int = 0
    chunk_in_counter: int = 0
    access_mode: str = "Shared"
    metadata: dict[str, str] = field(default_factory=dict)
    # From here on filled by RateBook.
    msg_rate_in: float = 0.0
    msg_throughput_in: float = 0.0
    average_msg_size: float = 0.0
    chunked_message_rate: float = 0.0


@dataclass(slots=True)
class ConsumerStats:
    """An attached consumer. Times are milliseconds since the epoch, 0 for never."""

    consumer_id: int
    consumer_name: str
    address: str = ""  # host:port
    client_version: str = ""
    connected_since_ms: int = 0
    msg_out_counter: int = 0
    bytes_out_counter: int = 0
    entries_out_counter: int = 0
    chunk_out_counter: int = 0
    redelivered_counter: int = 0
    acknowledged_counter: int = 0
    available_permits: int = 0
    unacked_messages: int = 0
    blocked_on_unacked: bool = False
    last_acked_ms: int = 0
    last_consumed_ms: int = 0
    last_flow_ms: int = 0
    key_hash_ranges: list[tuple[int, int]] | None = None  # Key_Shared only; both ends included.
    # Key_Shared: slots that wait for its acknowledgements: slot, entries awaited, refusals.
    draining_slots: list[tuple[int, int, int]] = field(default_factory=list)
    draining_cleared_total: int = 0
    metadata: dict[str, str] = field(default_factory=dict)
    # From here on filled by RateBook.
    msg_rate_out: float = 0.0
    msg_throughput_out: float = 0.0
    msg_rate_redeliver: float = 0.0
    message_ack_rate: float = 0.0
    chunked_message_rate: float = 0.0


@dataclass(slots=True)
class SubscriptionStats:
    """A subscription. The counters include consumers that have left since the topic was loaded."""

    type: SubscriptionType | None = None  # None: nobody has attached since the topic was loaded.
    durable: bool = True
    active_consumer_name: str | None = None  # Exclusive and Failover only.
    key_shared_mode: str | None = None  # Key_Shared only: AUTO_SPLIT or STICKY.
    allow_out_of_order: bool = False
    msg_out_counter: int = 0
    bytes_out_counter: int = 0
    chunk_out_counter: int = 0
    redelivered_counter: int = 0
    acknowledged_counter: int = 0
    backlog_entries: int = 0
    backlog_bytes: int = 0  # From the mark on, by the average entry.
    earliest_backlog_publish_ms: int = -1  # Of the oldest entry of the backlog; -1: there is none.
    unacked_messages: int = 0
    replay_entries: int = 0  # Wait to be delivered again.
    blocked_on_unacked: bool = False
    acked_ranges: int = 0  # Acknowledged beyond the mark, in so many pieces.
    acked_ranges_bytes: int = 0
    last_flow_ms: int = 0
    last_consumed_ms: int = 0
    last_acked_ms: int = 0
    last_mark_moved_ms: int = 0
    consumers: list[ConsumerStats] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)
    # From here on filled by RateBook.
    msg_rate_out: float = 0.0
    msg_throughput_out: float = 0.0
    msg_rate_redeliver: float = 0.0
    message_ack_rate: float = 0.0
    chunked_message_rate: float = 0.0


@dataclass(slots=True)
class TopicStats:
    """A topic, as loaded here. What subscriptions count is not counted again."""

    msg_in_counter: int = 0
    bytes_in_counter: int = 0
    chunk_in_counter: int = 0
    msg_out_of_removed: int = 0  # By subscriptions that are gone.
    bytes_out_of_removed: int = 0
    storage_bytes: int = 0
    backlog_bytes: int = 0  # From the oldest entry any durable subscription still needs.
    waiting_publishers: int = 0
    created_ms: int = 0
    last_publish_ms: int = 0
    publishers: list[PublisherStats] = field(default_factory=list)
    subscriptions: dict[str, SubscriptionStats] = field(default_factory=dict)
    # From here on filled by RateBook.
    msg_rate_in: float = 0.0
    msg_throughput_in: float = 0.0
    average_msg_size: float = 0.0

    @property
    def msg_out_counter(self) -> int:
        subscriptions = self.subscriptions.values()
        return self.msg_out_of_removed + sum(each.msg_out_counter for each in subscriptions)

    @property
    def bytes_out_counter(self) -> int:
        subscriptions = self.subscriptions.values()
        return self.bytes_out_of_removed + sum(each.bytes_out_counter for each in subscriptions)


class RateCounter:
    """How fast one total grows: per second, between the last two ticks."""

    __slots__ = ("_at", "_total", "rate")

    def __init__(self, total: int, now: float) -> None:
        """The first tick: there is no rate yet."""
        self._total = total
        self._at = now
        self.rate = 0.0

    def tick(self, total: int, now: float) -> None:
        """Note the total at ``now`` seconds. One below the last began again from 0."""
        elapsed = now - self._at
        if elapsed <= 0:
            return
        grown = total - self._total if total >= self._total else total
        self.rate = grown / elapsed
        self._total, self._at = total, now


Part: TypeAlias = TopicStats | PublisherStats | SubscriptionStats | ConsumerStats
Key: TypeAlias = tuple[int | str, ...]

# Which total each rate is the growth of.
_IN = (("msg_in_counter", "msg_rate_in"), ("bytes_in_counter", "msg_throughput_in"))
_PUBLISHED = (*_IN, ("chunk_in_counter", "chunked_message_rate"))
_DELIVERED = (
    ("msg_out_counter", "msg_rate_out"),
    ("bytes_out_counter", "msg_throughput_out"),
    ("redelivered_counter", "msg_rate_redeliver"),
    ("acknowledged_counter", "message_ack_rate"),
    ("chunk_out_counter", "chunked_message_rate"),
)


class RateBook:
    """The rates of every topic, from the snapshots it was shown."""

    def __init__(self) -> None:
        self._topics: dict[str, _TopicRates] = {}

    def tick(
        self, topic: str, stats: TopicStats, now: float, *, since: float | None = None
    ) -> None:
        """Note a topic's totals at ``now`` seconds; what has left the topic is forgotten.

        The totals of a topic that was never shown before began at 0 at ``since``, if that is given.
        """
        before = self._topics.get(topic)
        if before is None and since is not None:
            before = _TopicRates(since, {})
        counters: dict[Key, RateCounter] = {}
        for key, part, rates in _parts(stats):
            for total_name, _ in rates:
                total = getattr(part, total_name)
                counter = before.counter(*key, total_name) if before else RateCounter(total, now)
                counter.tick(total, now)
                counters[*key, total_name] = counter
        self._topics[topic] = _TopicRates(now, counters)

    def keep(self, topics: Collection[str]) -> None:
        """Forget every topic but these."""
        for name in self._topics.keys() - set(topics):
            del self._topics[name]

    def fill(self, topic: str, stats: TopicStats) -> None:
        """Write a topic's rates into a snapshot of it; they stay 0 until two ticks are known."""
        known = self._topics.get(topic)
        if known is None:
            return
        for key, part, rates in _parts(stats):
            for total_name, rate_name in rates:
                setattr(part, rate_name, known.counter(*key, total_name).rate)
        stats.average_msg_size = _average(stats.msg_throughput_in, stats.msg_rate_in)
        for publisher in stats.publishers:
            size = _average(publisher.msg_throughput_in, publisher.msg_rate_in)
            publisher.average_msg_size = size


@dataclass(slots=True)
class _TopicRates:
    at: float
    counters: dict[Key, RateCounter]

    def counter(self, *key: int | str) -> RateCounter:
        """The counter; for one that was not there at the last tick, from 0 then."""
        return self.counters.get(key) or RateCounter(0, self.at)


def _parts(stats: TopicStats) -> Iterator[tuple[Key, Part, tuple[tuple[str, str], ...]]]:
    """Everything in a snapshot that has rates: its name in the book, itself, its rates."""
    yield ("topic",), stats, _IN
    for publisher in stats.publishers:
        key = ("publisher", publisher.address, publisher.producer_id, publisher.producer_name)
        yield key, publisher, _PUBLISHED
    for name, subscription in stats.subscriptions.items():
        yield ("subscription", name), subscription, _DELIVERED
        for consumer in subscription.consumers:
            yield ("consumer", name, consumer.address, consumer.consumer_id), consumer, _DELIVERED


def _average(throughput: float, rate: float) -> float:
    return throughput / rate if rate > 0 else 0.0
