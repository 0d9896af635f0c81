"""The stats of a topic, which ``topic_stats`` fills and the admin API shows. Pure.

Totals count from when the topic was loaded. Rates are computed by those who show them.
"""

from collections import Counter
from dataclasses import field

from magnetar.late_dataclass import dataclass
from magnetar.model.counts import WriteCounts
from magnetar.model.producers import ProducerAccessMode
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
    dropped_counter: int = 0  # Messages that a non-persistent topic took no notice of.
    access_mode: ProducerAccessMode | None = None
    metadata: dict[str, str] = field(default_factory=dict)


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
    # Key_Shared: slots that wait for its acknowledgements, with entries awaited and refusals.
    draining_slots: list[tuple[int, int, int]] = field(default_factory=list)
    draining_cleared_total: int = 0
    metadata: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class SubscriptionStats:
    """A subscription. The counters include consumers that have left since the topic was loaded."""

    type: SubscriptionType | None = None  # None: nobody has attached since the topic was loaded.
    durable: bool = True
    replicated: bool = False
    active_consumer_name: str | None = None  # Exclusive and Failover only.
    key_shared_mode: str | None = None  # Key_Shared only: AUTO_SPLIT or STICKY.
    allow_out_of_order: bool = False
    msg_out_counter: int = 0
    bytes_out_counter: int = 0
    chunk_out_counter: int = 0
    redelivered_counter: int = 0
    acknowledged_counter: int = 0
    dropped_counter: int = 0  # Non-persistent: messages that no consumer could take.
    backlog_entries: int = 0
    backlog_bytes: int = 0  # An estimate from the mark on, by the size of an average entry.
    unacked_messages: int = 0
    replay_entries: int = 0  # These wait for redelivery.
    delayed_entries: int = 0  # These wait until they are due.
    delayed_index_bytes: int = 0  # Memory that says when.
    blocked_on_unacked: bool = False
    blocked_reason: str | None = None  # Why it delivers nothing just now; None: it could.
    blocked_why: str | None = None  # The same in a word.
    blocked_since_ms: int = 0  # When its backlog last moved; 0: it moves, or waits as it should.
    # How often it waited for a limit on its rate: the limit's name, and "Msg" or "Bytes".
    rate_waits: Counter[tuple[str, str]] = field(default_factory=Counter)
    acked_ranges: int = 0  # Ranges of acknowledgements beyond the mark.
    acked_ranges_bytes: int = 0
    last_flow_ms: int = 0
    last_consumed_ms: int = 0
    last_acked_ms: int = 0
    last_mark_moved_ms: int = 0
    expired_counter: int = 0
    last_expired_ms: int = 0
    consumers: list[ConsumerStats] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class ReplicationStats:
    """What goes from a topic to one other cluster, and comes from there."""

    connected: bool = False
    outbound_address: str = ""  # host:port of the broker there.
    outbound_since_ms: int = 0
    inbound_address: str = ""  # The same of the replicator that sends from there.
    inbound_since_ms: int = 0
    trouble: str = ""  # Why nothing goes there.
    msg_out_counter: int = 0
    bytes_out_counter: int = 0
    msg_in_counter: int = 0  # These two since that replicator was attached.
    bytes_in_counter: int = 0
    expired_counter: int = 0
    backlog_entries: int = 0
    backlog_bytes: int = 0
    delay_s: float = 0.0  # Since when the oldest entry is on its way.
    age_s: float = 0.0  # Since when the oldest that is to be sent is published; 0: none, or unread.


@dataclass(slots=True)
class TopicStats:
    """A topic. What its subscriptions count is not repeated here."""

    msg_in_counter: int = 0
    bytes_in_counter: int = 0
    chunk_in_counter: int = 0
    msg_out_of_removed: int = 0  # Delivered by subscriptions that no longer exist.
    bytes_out_of_removed: int = 0
    open_transactions: int = 0
    committed_transactions: int = 0  # These two since the topic was loaded.
    aborted_transactions: int = 0
    storage_bytes: int = 0
    backlog_bytes: int = 0  # From the oldest entry any durable subscription still needs.
    backlog_quota_bytes: int = -1
    backlog_quota_s: int = -1
    producers_held_since_ms: int = 0  # By such a quota; 0: they are not.
    size_evictions: int = 0  # How often messages went because of either quota.
    age_evictions: int = 0
    created_ms: int = 0
    last_publish_ms: int = 0
    publish_limited_count: int = 0  # How often a producer waited for a limit on the rate.
    deduplicates: bool = False
    waiting_publishers: int = 0
    compaction_removed: int = 0  # Messages, by the last compaction that succeeded.
    compaction_succeeded_ms: int = 0
    compaction_failed_ms: int = 0
    compaction_duration_ms: int = 0
    compaction_succeeded_count: int = 0
    compaction_failed_count: int = 0
    compaction_read_bytes: int = 0
    compaction_writes: WriteCounts | None = None  # None: it was not compacted since it was loaded.
    compacted_entries: int = 0  # Those of the compacted ledger.
    compacted_bytes: int = 0
    offloaded_bytes: int = 0
    offloaded_ledger_id: int = 0  # The last one; and when one was, and could not be.
    offload_succeeded_ms: int = 0
    offload_failed_ms: int = 0
    writes: WriteCounts | None = None  # None: nothing was stored.
    publishers: list[PublisherStats] = field(default_factory=list)
    subscriptions: dict[str, SubscriptionStats] = field(default_factory=dict)
    replication: dict[str, ReplicationStats] = field(default_factory=dict)  # By cluster.

    @property
    def dropped_counter(self) -> int:
        """Messages of its publishers that were dropped unseen."""
        return sum(each.dropped_counter for each in self.publishers)

    @property
    def msg_out_counter(self) -> int:
        subscriptions = self.subscriptions.values()
        return self.msg_out_of_removed + sum(each.msg_out_counter for each in subscriptions)

    @property
    def bytes_out_counter(self) -> int:
        subscriptions = self.subscriptions.values()
        return self.bytes_out_of_removed + sum(each.bytes_out_counter for each in subscriptions)
