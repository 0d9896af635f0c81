"""An attached consumer: its permits, and what it holds unacknowledged."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from magnetar.broker.topics.outlet import Outlet
from magnetar.model.names import TopicName
from magnetar.model.position import Position
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.storage.managed_ledger.run import EntryRun


@dataclass(slots=True, frozen=True)
class SubscribeRequest:
    """What a client asks for when it subscribes; the names are those of the protocol."""

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
    """Key_Shared: the slots a STICKY consumer declares; None for AUTO_SPLIT."""
    allow_out_of_order: bool = False
    metadata: dict[str, str] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    consumer_epoch: int | None = None


class Consumer:
    """One consumer of one subscription, on one connection."""

    def __init__(
        self,
        request: SubscribeRequest,
        *,
        topic: TopicName,
        outlet: Outlet,
        unacked_max: int,
        connected_at_ms: int,
    ) -> None:
        self.request = request
        self.consumer_id = request.consumer_id
        self.name = request.consumer_name
        self.priority = request.priority_level
        self.epoch = request.consumer_epoch
        self.outlet = outlet
        self.connected_at_ms = connected_at_ms
        self.permits = 0
        self.permits_parked = 0
        self.blocked = False
        # Only for Shared and Key_Shared: messages still unacknowledged, per entry in our hands.
        self.pending: dict[Position, int] = {}
        self.unacked = 0
        self.message_count = 0
        self.size_bytes = 0
        self.redelivered_count = 0
        self.acked_count = 0
        self.last_acked_ms = 0
        self.last_consumed_ms = 0
        self._topic = topic
        self._partition = topic.partition_index
        self._unacked_max = unacked_max

    def __str__(self) -> str:
        """As Pulsar names a consumer in its errors."""
        return (
            f"Consumer{{subscription=PersistentSubscription{{topic={self._topic}, "
            f"name={self.request.subscription}}}, consumerId={self.consumer_id}, "
            f"consumerName={self.name}, address={self.outlet.address}}}"
        )

    @property
    def room(self) -> int:
        """How many messages may be delivered now; 0 or less means none."""
        if self.blocked or not self.outlet.writable:
            return 0
        if self._unacked_max:
            return min(self.permits, self._unacked_max - self.unacked)
        return self.permits

    def add_permits(self, count: int) -> None:
        """FLOW. While too much is unacknowledged the permits are parked."""
        if self.blocked:
            self.permits_parked += count
        else:
            self.permits += count

    def deliver(
        self,
        run: EntryRun,
        *,
        redelivery_counts: Sequence[int] | None = None,
        ack_sets: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Send a weighed run; permits go down by its messages, less those acknowledged before."""
        self.permits -= sum(messages_of(run, ack_sets))
        self.message_count += sum(run.weights)
        self.size_bytes += sum(map(len, run.data))
        if redelivery_counts is not None:
            self.redelivered_count += len(run)
        self.outlet.send_entries(
            self.consumer_id,
            run,
            partition=self._partition,
            redelivery_counts=redelivery_counts,
            ack_sets=ack_sets,
            consumer_epoch=self.epoch,
        )

    def hold(self, run: EntryRun, ack_sets: Sequence[Sequence[int]] | None = None) -> None:
        """Remember a delivered run until it is acknowledged or given back."""
        counts = messages_of(run, ack_sets)
        entries = range(run.first_entry_id, run.first_entry_id + len(run))
        self.pending.update(
            zip(map(Position, repeat(run.ledger_id), entries), counts, strict=False)
        )
        self.unacked += sum(counts)
        if self._unacked_max and self.unacked >= self._unacked_max:
            self.blocked = True

    def release(self, positions: Iterable[Position]) -> list[Position]:
        """These are acknowledged or given back. Returns those that were in our hands, each once."""
        pending = self.pending
        released = []
        for position in positions:
            count = pending.pop(position, None)
            if count is not None:
                self.unacked -= count
                released.append(position)
        self._unblock()
        return released

    def release_part(self, position: Position, still_pending: int) -> None:
        """Some messages of a batch are acknowledged; ``still_pending`` are not."""
        held = self.pending.get(position)
        if held is not None and still_pending < held:
            self.pending[position] = still_pending
            self.unacked -= held - still_pending
            self._unblock()

    def release_all(self) -> list[Position]:
        """Give back everything, in log order."""
        released = sorted(self.pending)
        self.pending.clear()
        self.unacked = 0
        self._unblock()
        return released

    def _unblock(self) -> None:
        if self.blocked and self.unacked <= self._unacked_max // 2:
            self.blocked = False
            self.permits += self.permits_parked
            self.permits_parked = 0


def messages_of(run: EntryRun, ack_sets: Sequence[Sequence[int]] | None) -> list[int]:
    """Messages per entry of a weighed run that are not acknowledged yet."""
    if ack_sets is None:
        return run.weights
    return [
        pending_in(words) if words else weight
        for weight, words in zip(run.weights, ack_sets, strict=True)
    ]


def pending_in(words: Sequence[int]) -> int:
    """How many messages of a batch an ack set says are pending: its set bits."""
    return sum((word & 0xFFFFFFFFFFFFFFFF).bit_count() for word in words)
