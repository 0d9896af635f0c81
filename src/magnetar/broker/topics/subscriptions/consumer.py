"""An attached consumer: its permits, and how many messages it holds unacknowledged."""

from collections.abc import Iterable, Sequence
from dataclasses import field

from magnetar.broker.topics.client_connection import ClientConnection
from magnetar.late_dataclass import dataclass
from magnetar.message.entry_traits import EntryTraits
from magnetar.model.names import TopicName
from magnetar.model.position import Position
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.storage.managed_ledger.run import EntryRun


@dataclass(slots=True, frozen=True)
class SubscribeRequest:
    """The request of a SUBSCRIBE; the names are those of the protocol."""

    subscription: str
    type: SubscriptionType
    consumer_id: int
    consumer_name: str = ""
    priority_level: int = 0
    durable: bool = True
    initial_position: InitialPosition = InitialPosition.LATEST
    start: Position | None = None
    """Where a non-durable subscription starts: at this entry. Durable ones ignore it."""
    start_rollback_s: int = 0
    hash_ranges: tuple[tuple[int, int], ...] | None = None
    """Key_Shared: the slots a STICKY consumer declares; None for AUTO_SPLIT.

    Exclusive: the slots that it is to get alone; None for all.
    """
    allow_out_of_order: bool = False
    metadata: dict[str, str] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    consumer_epoch: int | None = None
    read_compacted: bool = False
    """Read the topic as compaction left it. Only for one active consumer."""
    replicated: bool = False
    """The subscription, if it is durable, is to be as far in other clusters, too."""


@dataclass(slots=True)
class DeliveryTotals:
    """What went to a consumer and came back; a subscription's totals outlive its consumers."""

    message_count: int = 0
    size_bytes: int = 0
    chunk_count: int = 0
    batched_count: int = 0
    """Messages beyond the first of each entry."""
    redelivered_count: int = 0
    acked_count: int = 0
    last_acked_ms: int = 0
    last_flow_ms: int = 0
    delivered_at: float | None = None
    """When anything was sent last, by ``Clock.now``."""

    def add(self, other: "DeliveryTotals") -> None:
        self.message_count += other.message_count
        self.size_bytes += other.size_bytes
        self.chunk_count += other.chunk_count
        self.batched_count += other.batched_count
        self.redelivered_count += other.redelivered_count
        self.acked_count += other.acked_count
        self.last_acked_ms = max(self.last_acked_ms, other.last_acked_ms)
        self.last_flow_ms = max(self.last_flow_ms, other.last_flow_ms)
        moments = [at for at in (self.delivered_at, other.delivered_at) if at is not None]
        self.delivered_at = max(moments, default=None)


class Consumer:
    """One consumer of one subscription, on one connection."""

    def __init__(
        self,
        request: SubscribeRequest,
        *,
        topic: TopicName,
        connection: ClientConnection,
        unacked_max: int,
        connected_at_ms: int,
    ) -> None:
        self.request = request
        self.consumer_id = request.consumer_id
        self.name = request.consumer_name
        self.priority = request.priority_level
        self.hash_ranges: Sequence[tuple[int, int]] | None = request.hash_ranges
        self.epoch = request.consumer_epoch
        self.connection = connection
        self.connected_at_ms = connected_at_ms
        self.permits = 0
        self.permits_parked = 0
        self.blocked = False
        self.unacked = 0
        """Messages it holds that are not acknowledged. Only for Shared and Key_Shared."""
        self.totals = DeliveryTotals()
        self._topic = topic
        self._partition = topic.partition_index
        self._unacked_max = unacked_max

    def __str__(self) -> str:
        """As Pulsar names a consumer in its errors."""
        kind = "PersistentSubscription" if self._topic.persistent else "NonPersistentSubscription"
        return (
            f"Consumer{{subscription={kind}{{topic={self._topic}, "
            f"name={self.request.subscription}}}, consumerId={self.consumer_id}, "
            f"consumerName={self.name}, address={self.connection.address}}}"
        )

    @property
    def writable(self) -> bool:
        return self.connection.writable

    @property
    def capacity(self) -> int:
        """How many messages may be delivered now; 0 or less means none."""
        if self.blocked or not self.connection.writable:
            return 0
        if self._unacked_max:
            return min(self.permits, self._unacked_max - self.unacked)
        return self.permits

    def begin_epoch(self, epoch: int | None) -> None:
        """It told what it gave up: what it gets from now on must say so."""
        if epoch is not None and (self.epoch is None or epoch > self.epoch):
            self.epoch = epoch

    def add_permits(self, count: int) -> None:
        """FLOW. While too much is unacknowledged the permits are parked."""
        if self.blocked:
            self.permits_parked += count
        else:
            self.permits += count

    def limit(self, unacked_max: int) -> None:
        """Change how many messages may be unacknowledged; 0: no limit."""
        self._unacked_max = unacked_max
        if self.blocked and not (unacked_max and self.unacked >= unacked_max):
            self._go_on()
        self._block()

    def deliver(
        self,
        run: EntryRun,
        traits: EntryTraits,
        *,
        picked: Sequence[int] | None = None,
        redelivery_counts: Sequence[int] | None = None,
        ack_sets: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Send a run, or what is ``picked`` of it: indexes, ascending.

        Permits go down by its messages, less those acknowledged before. What runs parallel to the
        run does so to the picked entries alone.
        """
        totals = self.totals
        if picked is None:
            messages = traits.message_count
            totals.size_bytes += run.size_bytes
        else:
            messages = sum(map(traits.message_counts.__getitem__, picked))
            totals.size_bytes += sum(map(len, map(run.data.__getitem__, picked)))
        totals.message_count += messages
        if traits.messages_per_entry != 1:
            totals.batched_count += messages - len(run.data if picked is None else picked)
        if traits.unusual:
            them = range(len(run)) if picked is None else set(picked)
            totals.chunk_count += traits.chunks_of(them)
        self.permits -= messages if ack_sets is None else sum(messages_of(traits, picked, ack_sets))
        if redelivery_counts is not None:
            totals.redelivered_count += sum(map(bool, redelivery_counts))
        self.connection.send_entries(
            self.consumer_id,
            run,
            picked=picked,
            partition=self._partition,
            redelivery_counts=redelivery_counts,
            ack_sets=ack_sets,
            consumer_epoch=self.epoch,
        )

    def took(self, messages: int) -> None:
        """Count messages that were delivered to it."""
        self.unacked += messages
        self._block()

    def released(self, messages: int) -> None:
        """So many messages are acknowledged, or are to be delivered again."""
        self.unacked -= messages
        if self.blocked and self.unacked <= self._unacked_max // 2:
            self._go_on()

    def _block(self) -> None:
        if self._unacked_max and self.unacked >= self._unacked_max:
            self.blocked = True

    def _go_on(self) -> None:
        self.blocked = False
        self.permits += self.permits_parked
        self.permits_parked = 0


def entry_ids_of(run: EntryRun, picked: Sequence[int] | None) -> Iterable[int]:
    """The ids of a run's entries, or of those picked."""
    if picked is None:
        return range(run.first_entry_id, run.first_entry_id + len(run))
    return map(run.first_entry_id.__add__, picked)


def messages_of(
    traits: EntryTraits, picked: Sequence[int] | None, ack_sets: Sequence[Sequence[int]] | None
) -> list[int]:
    """Messages that are not acknowledged yet, of each entry of a run or of those picked."""
    counts = traits.message_counts
    if picked is not None:
        counts = list(map(counts.__getitem__, picked))
    if ack_sets is None:
        return counts
    return [
        pending_in(words) if words else count for count, words in zip(counts, ack_sets, strict=True)
    ]


def pending_in(words: Sequence[int]) -> int:
    """How many messages of a batch an ack set says are pending: its set bits."""
    return sum((word & 0xFFFFFFFFFFFFFFFF).bit_count() for word in words)
