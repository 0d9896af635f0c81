"""The consumers of a subscription: who may attach, what they agree on, and who is served.

Where entries come from and what an acknowledgement does is ``persistent_subscription.py``'s and
``non_persistent_subscription.py``'s.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from magnetar.broker.dispatch.active_consumer import choose
from magnetar.broker.dispatch.blocked import IN_ORDER, STILL_S, Blocked, Why
from magnetar.broker.dispatch.hash_ranges import (
    AutoSplitRanges,
    ConsistentHashRanges,
    HashRanges,
    StickyRanges,
)
from magnetar.broker.dispatch.key_shared import KeyShared
from magnetar.broker.dispatch.shared import Shared
from magnetar.broker.dispatch.single import Single, SingleInRanges
from magnetar.broker.dispatch.strategy import Strategy
from magnetar.broker.topics.client_connection import ClientConnection
from magnetar.broker.topics.subscriptions.consumer import Consumer, DeliveryTotals, SubscribeRequest
from magnetar.broker.topics.subscriptions.dispatch import Dispatch
from magnetar.broker.topics.topic_state import TopicState
from magnetar.errors import ConsumerBusy, Fenced, NotAllowed
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.policies import Policies
from magnetar.model.position import Position
from magnetar.model.stats import SubscriptionStats
from magnetar.model.subscriptions import SubscriptionType
from magnetar.model.txn_id import TxnId
from magnetar.tasks import Tasks


class Subscription(ABC):
    """One subscription of one topic."""

    def __init__(
        self,
        name: str,
        state: TopicState,
        tasks: Tasks,
    ) -> None:
        self.name = name
        self.consumers: list[Consumer] = []
        self.dropped_count = 0  # Messages that no consumer could take, where none are stored.
        self.closed_totals = DeliveryTotals()
        # What the connected consumers agree on; decided anew when the first one comes.
        self.type: SubscriptionType | None = None
        self.dispatch: Dispatch | None = None
        self._topic = state.name
        self._settings = state.context.settings
        self._policies = state.policies
        self._tasks = tasks
        self._clock = state.clock
        self.seeking = False  # A seek is under way, for which its consumers were let go.
        self._closed = False

    @property
    @abstractmethod
    def durable(self) -> bool:
        """Whether it stays when its last consumer leaves."""

    @property
    @abstractmethod
    def backlog(self) -> int:
        """Entries that are not acknowledged."""

    @property
    @abstractmethod
    def mark(self) -> Position:
        """Everything at or before it is acknowledged."""

    @property
    @abstractmethod
    def properties(self) -> Mapping[str, str]:
        """The properties that its creator gave it."""

    @property
    def replicated(self) -> bool:
        """Whether other clusters are to have it, too."""
        return False

    @abstractmethod
    def acknowledge(
        self,
        consumer: Consumer,
        positions: Sequence[Position],
        parts: Sequence[tuple[Position, list[int]]] = (),
    ) -> None:
        """Individual acknowledgement of entries, and of messages within batches (``parts``).

        An ack set has a bit per message of the batch: 1 is pending. Positions that do not exist
        are ignored.
        """

    @abstractmethod
    def acknowledge_entries(
        self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]
    ) -> None:
        """Acknowledge whole entries of one ledger, in any order."""

    @abstractmethod
    def acknowledge_cumulative(
        self, consumer: Consumer, position: Position, ack_set: list[int] | None = None
    ) -> None:
        """Acknowledge everything up to ``position``; with an ack set, the batch there in part."""

    async def acknowledge_in_transaction(
        self,
        consumer: Consumer,
        transaction: TxnId,
        positions: Sequence[Position],
        parts: Sequence[tuple[Position, list[int], int]] = (),
        *,
        cumulative: bool = False,
    ) -> None:
        """Acknowledge when the transaction commits; until it ends, deliver these to nobody.

        ``positions`` and ``parts`` are as in ``acknowledge``, but that a part says how many
        messages its batch has (0: nobody knows); ``cumulative`` takes one position or part. Returns
        when this is durable. Raises TransactionConflict and changes nothing where one of them is
        acknowledged already, or in a transaction that has not ended; NotAllowed, Fenced.
        """
        raise NotAllowed("Transactions are not enabled.")

    async def end_transaction(
        self, transaction: TxnId, *, commit: bool, low_watermark: int = -1
    ) -> None:
        """Do what was acknowledged in a transaction, or undo it; return when that is durable.

        Otherwise as ``StoredTopic.end_transaction``. Raises NotAllowed where nothing is stored.
        """
        raise NotAllowed("Transactions are not enabled.")

    @abstractmethod
    def redeliver(
        self, consumer: Consumer, positions: Sequence[Position] | None, epoch: int | None = None
    ) -> None:
        """Deliver again: ``positions`` of what the consumer holds, or all of it (None)."""

    @abstractmethod
    def fill(self, stats: SubscriptionStats) -> None:
        """Add what only a subscription of its kind can tell."""

    @abstractmethod
    def _new_dispatch(self, request: SubscribeRequest) -> Dispatch:
        """What serves the consumers, from the one that asks this until the last one is gone."""

    def _unacked_max(self, kind: SubscriptionType) -> int:
        """Messages that a consumer may hold; 0: no limit."""
        return 0

    def wall_ms_at(self, moment: float | None) -> int:
        """A moment of ``Clock.now`` as milliseconds since the epoch; 0 for never."""
        if moment is None:
            return 0
        return self._clock.wall_ms() - round((self._clock.now() - moment) * 1000)

    @property
    def totals(self) -> DeliveryTotals:
        """What all its consumers got, those that have left included."""
        totals = DeliveryTotals()
        totals.add(self.closed_totals)
        for consumer in self.consumers:
            totals.add(consumer.totals)
        return totals

    @property
    def active(self) -> Consumer | None:
        return self.dispatch.strategy.active if self.dispatch else None

    def blocked_reason(self) -> Blocked | None:
        """Why nothing is delivered just now; None when nothing keeps it."""
        return self.dispatch.blocked() if self.dispatch else Blocked(Why.NO_CONSUMER)

    @property
    def moved_ms(self) -> int:
        """When a message was last delivered or acknowledged, since the topic was loaded; or 0."""
        totals = self.totals
        return max(totals.last_acked_ms, self.wall_ms_at(totals.delivered_at))

    def blocked_since_ms(self, blocked: Blocked | None, loaded_ms: int) -> int:
        """Since when a backlog has not moved, although it could; 0 where that is not so.

        ``blocked`` is its reason just now, and ``loaded_ms`` when the topic was loaded. The backlog
        of a consumer that has just come is not blocked yet, either.
        """
        if blocked is None or blocked.why in IN_ORDER or not self.backlog:
            return 0
        came_ms = min((each.connected_at_ms for each in self.consumers), default=0)
        since_ms = max(self.moved_ms, came_ms, loaded_ms)
        return since_ms if self._clock.wall_ms() - since_ms >= STILL_S * 1000 else 0

    async def add(self, request: SubscribeRequest, connection: ClientConnection) -> Consumer:
        """Attach a consumer.

        Raises ConsumerBusy (another type is connected, or an Exclusive consumer that lives),
        ConsumerAssignFailed (Key_Shared), Fenced.
        """
        self._check_agreement(request)
        # Others may have come while we waited for a sign of life.
        while request.type is SubscriptionType.EXCLUSIVE and self.consumers:
            holder = self.consumers[0]
            if await holder.connection.alive():
                raise ConsumerBusy("Exclusive consumer is already connected")
            self.remove(holder)
            self._check_agreement(request)
        if request.type is SubscriptionType.KEY_SHARED and request.hash_ranges is not None:
            await self._expect_ranges_free(request)
            self._check_agreement(request)
        consumer = Consumer(
            request,
            topic=self._topic,
            connection=connection,
            unacked_max=self._unacked_max(request.type),
            connected_at_ms=self._clock.wall_ms(),
        )
        dispatch = self.dispatch
        if dispatch is None:
            dispatch = self._new_dispatch(request)
            dispatch.apply(self._policies)
        dispatch.join(consumer)
        self.dispatch = dispatch
        self.type = request.type
        self.consumers.append(consumer)
        return consumer

    def remove(self, consumer: Consumer) -> None:
        """Detach a consumer; a stranger is ignored."""
        if consumer not in self.consumers:
            return
        self.consumers.remove(consumer)
        self.closed_totals.add(consumer.totals)
        if self.dispatch is not None:
            self.dispatch.leave(consumer)
        if not self.consumers:
            self._end_dispatch()

    def disconnect_all(
        self, *, but: Consumer | None = None, to: BrokerAddress | None = None
    ) -> None:
        """Tell consumers that they are closed, and detach them; ``but`` goes, and is not told.

        ``to`` is the broker that serves the topic next, where that is known.
        """
        self._end_dispatch()  # First: nobody is to get what the others held.
        for consumer in list(self.consumers):
            self.remove(consumer)
            if consumer is not but:
                consumer.connection.close_consumer(consumer.consumer_id, to)

    def apply(self, policies: Policies) -> None:
        """Apply new limits, also to consumers that are connected."""
        self._policies = policies
        if self.dispatch is not None and self.type is not None:
            for consumer in self.consumers:
                consumer.limit(self._unacked_max(self.type))
            self.dispatch.apply(policies)

    def flow(self, consumer: Consumer, permits: int) -> None:
        """The consumer gives permits for more messages."""
        consumer.add_permits(permits)
        consumer.totals.last_flow_ms = self._clock.wall_ms()
        if self.dispatch is not None:
            self.dispatch.flowed(consumer)

    def check_unsubscribe(self, consumer: Consumer, *, force: bool) -> None:
        """Whether ``consumer`` may delete the subscription; others are told when forced.

        Raises NotAllowed.
        """
        alone = self.consumers == [consumer]
        if self.type is not None and self.type.single_active:
            alone = alone and self.active is consumer
        if not alone and not force:
            raise NotAllowed("Unconnected or shared consumer attempting to unsubscribe")
        self.disconnect_all(but=consumer)

    def close(self, to: BrokerAddress | None = None) -> None:
        """Close it with its topic: consumers are told to reconnect, and no new one is accepted."""
        self._closed = True
        self.disconnect_all(to=to)

    def _end_dispatch(self) -> None:
        if self.dispatch is not None:
            self.dispatch.close()
            self.dispatch = None

    def _check_agreement(self, request: SubscribeRequest) -> None:
        if self.seeking or self._closed:
            raise Fenced(f"Subscription {self.name} is fenced: a seek or deletion is under way")
        if not self.consumers or self.type is None:
            return
        if request.type is not self.type:
            raise ConsumerBusy(
                "Subscription is of different type. Active subscription type of "
                f"'{self.type.printed}' is different than the connecting consumer's type "
                f"'{request.type.printed}'."
            )
        if self.type is SubscriptionType.KEY_SHARED:
            self._check_key_shared(self.consumers[0].request, request)

    def _check_key_shared(self, present: SubscribeRequest, asked: SubscribeRequest) -> None:
        has, wants = key_shared_mode(present), key_shared_mode(asked)
        if has != wants:
            raise ConsumerBusy(
                f"Subscription is of different type. Active subscription key_shared mode of '{has}'"
                f" is different than the connecting consumer's key_shared mode '{wants}'."
            )
        if present.allow_out_of_order != asked.allow_out_of_order:
            has, wants = "does not allow", "allows"
            if present.allow_out_of_order:
                has, wants = wants, has
            raise ConsumerBusy(
                f"Subscription is of different type. Active subscription {has} out of order "
                f"delivery while the connecting consumer {wants} it."
            )

    async def _expect_ranges_free(self, request: SubscribeRequest) -> None:
        """Remove a consumer that holds one of these STICKY ranges, if it is dead."""
        strategy = self.dispatch.strategy if self.dispatch else None
        if isinstance(strategy, KeyShared) and isinstance(strategy.ranges, StickyRanges):
            holder = strategy.ranges.conflict(request.hash_ranges)
            if holder is not None and not await holder.connection.alive():
                self.remove(holder)

    def _strategy_for(self, request: SubscribeRequest) -> Strategy[Consumer]:
        if request.type is SubscriptionType.SHARED:
            return Shared(
                chunked_messages_max=self._settings.chunked_messages_max,
                waiting_chunks_max=self._settings.waiting_chunks_max,
            )
        if request.type is not SubscriptionType.KEY_SHARED:
            single = Single if request.hash_ranges is None else SingleInRanges
            return single(
                lambda consumers: choose(
                    consumers,
                    topic=str(self._topic),
                    partition_index=self._topic.partition_index,
                    consistent_hashing=self._settings.failover_consistent_hashing,
                    longest_there=self._settings.failover_order == "joined",
                )
            )
        return KeyShared(
            self._ranges_for(request),
            ordered=not request.allow_out_of_order,
            look_ahead_per_consumer_max=self._settings.look_ahead_per_consumer_max,
            look_ahead_max=self._settings.look_ahead_per_subscription_max,
            keys_known_max=self._settings.keys_known_max,
            chunked_messages_max=self._settings.chunked_messages_max,
        )

    def _ranges_for(self, request: SubscribeRequest) -> HashRanges[Consumer]:
        if request.hash_ranges is not None:
            return StickyRanges()
        if self._settings.key_shared_consistent_hashing:
            return ConsistentHashRanges(self._settings.key_shared_points)
        return AutoSplitRanges()


def key_shared_mode(request: SubscribeRequest) -> str:
    """How a Key_Shared consumer gets its slots, as Pulsar prints it."""
    return "AUTO_SPLIT" if request.hash_ranges is None else "STICKY"
