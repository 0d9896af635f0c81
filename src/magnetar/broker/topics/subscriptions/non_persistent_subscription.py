"""A subscription of a non-persistent topic: who gets what is published now. It has no place."""

from collections.abc import Mapping, Sequence

from magnetar.broker.topics.subscriptions.consumer import Consumer, SubscribeRequest
from magnetar.broker.topics.subscriptions.non_persistent_dispatch import (
    NonPersistentDispatch,
    PassingRun,
)
from magnetar.broker.topics.subscriptions.subscription import Subscription
from magnetar.broker.topics.topic_state import TopicState
from magnetar.message.entry_traits import EntryTraits
from magnetar.model.position import EARLIEST, Position
from magnetar.model.stats import SubscriptionStats
from magnetar.tasks import Tasks


class NonPersistentSubscription(Subscription):
    """One subscription of one non-persistent topic.

    A durable one is known by its name until its topic is unloaded, a reader's until it leaves.
    Acknowledgements mean nothing, and nothing is delivered twice.
    """

    dispatch: NonPersistentDispatch | None

    def __init__(
        self,
        request: SubscribeRequest,
        state: TopicState,
        tasks: Tasks,
    ) -> None:
        """``request`` is that of its first consumer."""
        super().__init__(request.subscription, state, tasks)
        self._durable = request.durable
        self._properties = request.properties

    @property
    def durable(self) -> bool:
        return self._durable

    @property
    def backlog(self) -> int:
        return 0

    @property
    def mark(self) -> Position:
        return EARLIEST

    @property
    def properties(self) -> Mapping[str, str]:
        return self._properties

    def publish(self, run: PassingRun, traits: EntryTraits, indexes: Sequence[int]) -> None:
        """Deliver entries of a run to consumers with permits, and drop the others."""
        left = indexes if self.dispatch is None else self.dispatch.deliver(run, traits, indexes)
        if left:
            self.dropped_count += sum(map(traits.message_counts.__getitem__, left))

    def acknowledge(
        self,
        consumer: Consumer,
        positions: Sequence[Position],
        parts: Sequence[tuple[Position, list[int]]] = (),
    ) -> None:
        """Nothing waits to be acknowledged."""

    def acknowledge_entries(
        self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]
    ) -> None:
        """Nothing waits to be acknowledged."""

    def acknowledge_cumulative(
        self, consumer: Consumer, position: Position, ack_set: list[int] | None = None
    ) -> None:
        """Nothing waits to be acknowledged."""

    def redeliver(
        self, consumer: Consumer, positions: Sequence[Position] | None, epoch: int | None = None
    ) -> None:
        """Nothing: messages of a non-persistent topic are not delivered again."""
        consumer.begin_epoch(epoch)

    def fill(self, stats: SubscriptionStats) -> None:
        stats.durable = False  # Nobody finds it again when its topic was unloaded.
        stats.dropped_counter = self.dropped_count

    def _new_dispatch(self, request: SubscribeRequest) -> NonPersistentDispatch:
        return NonPersistentDispatch(
            self._strategy_for(request), tasks=self._tasks, clock=self._clock
        )
