"""The subscriptions of one topic: opened with their cursors, moved in its log, and dropped."""

from collections.abc import Awaitable, Callable
from typing import Final

from magnetar.broker.topics.admission import Admission
from magnetar.broker.topics.client_connection import ClientConnection
from magnetar.broker.topics.features.deduplication import CURSOR
from magnetar.broker.topics.features.topic_rates import TopicRates
from magnetar.broker.topics.log import log_positions
from magnetar.broker.topics.log.backlog import BacklogCount, count_backlog
from magnetar.broker.topics.log.backlog_limits import Backlogged
from magnetar.broker.topics.log.termination import terminated_at
from magnetar.broker.topics.subscriptions.consumer import Consumer, DeliveryTotals, SubscribeRequest
from magnetar.broker.topics.subscriptions.persistent_subscription import (
    REPLICATED,
    PersistentSubscription,
)
from magnetar.broker.topics.subscriptions.subscription import Subscription
from magnetar.broker.topics.subscriptions.subscription_names import check_subscription_name
from magnetar.broker.topics.topic_state import StoredTopicState
from magnetar.callbacks import unheard
from magnetar.errors import (
    ConsumerBusy,
    Fenced,
    MagnetarError,
    NotAllowed,
    SubscriptionNotFound,
    TopicClosed,
)
from magnetar.late_dataclass import dataclass
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.position import EARLIEST, LATEST, Position
from magnetar.model.subscriptions import InitialPosition
from magnetar.storage.managed_ledger.compaction import COMPACTION_CURSOR
from magnetar.tasks import Tasks

ABANDONED_AFTER_S: Final = 60.0
"""How long a non-durable subscription waits for its consumers after a seek closed them."""

_NO_SUBSCRIPTIONS: Final = frozenset({CURSOR, COMPACTION_CURSOR})
"""The cursors that the broker reads with itself."""


@dataclass(slots=True, eq=False)
class TopicSubscriptions:
    """Opens and drops them."""

    state: StoredTopicState
    by_name: dict[str, PersistentSubscription]
    admission: Admission
    failed: Callable[[], None]  # A log took no record: the topic must be opened again.
    rates: TopicRates | None = None
    """The limits of the topic, where there are any."""
    _removed_totals: DeliveryTotals | None = None
    _made_tasks: Tasks | None = None  # Most topics at rest have none.

    def __post_init__(self) -> None:
        clusters = self.state.context.clusters
        for name, cursor in self.state.ledger.cursors.items():
            replicates = clusters is not None and clusters.cluster_of(name) is not None
            if name not in _NO_SUBSCRIPTIONS and not replicates:
                self.by_name[name] = self._subscription(name)
            assert cursor.durable, "a topic that was just opened has durable cursors only"

    @property
    def removed_totals(self) -> DeliveryTotals:
        """What those delivered that were dropped."""
        return self._removed_totals or DeliveryTotals()

    async def subscribe(
        self, request: SubscribeRequest, connection: ClientConnection
    ) -> tuple[PersistentSubscription, Consumer]:
        """Attach a consumer; ``Topic.subscribe`` says what is raised."""
        self.state.check_open()
        check_subscription_name(request.subscription)
        self.admission.check_subscribe_rate(
            request, connection.address, self.state.context.clock.now()
        )
        with self.admission.consumer(request, address=connection.address):
            subscription = self.by_name.get(request.subscription)
            if subscription is None:
                subscription = await self._open_for(request)
            elif subscription.durable is not request.durable:
                kind = "Durable" if subscription.durable else "NonDurable"
                raise NotAllowed(f"{kind} subscription with the same name already exists.")
            elif subscription.durable and request.properties and not subscription.properties:
                await subscription.set_properties(request.properties)
            if request.replicated and subscription.durable and not subscription.replicated:
                await subscription.set_properties(replicated=True)
            if request.start_rollback_s > 0 and not subscription.consumers:
                since = self.state.context.clock.wall_ms() - request.start_rollback_s * 1000
                await subscription.cursor.reset(
                    await log_positions.position_at(self.state.ledger, since)
                )
            try:
                consumer = await subscription.add(request, connection)
            except MagnetarError:
                await self._drop_if_left(subscription)
                raise
            return subscription, consumer

    async def leave(self, subscription: Subscription, consumer: Consumer) -> None:
        """A consumer goes. A non-durable subscription goes with its last consumer."""
        subscription.remove(consumer)
        await self._drop_if_left(subscription)

    async def create(
        self, name: str, start: Position, properties: dict[str, str]
    ) -> PersistentSubscription:
        """One that nobody has used yet. Raises ConsumerBusy where there is one of the name."""
        self.state.check_open()
        check_subscription_name(name)
        if name in self.by_name:
            raise ConsumerBusy(f"Subscription {name} already exists for topic {self.state.name}")
        return await self._open(name, start, properties)

    async def delete(self, name: str, *, force: bool) -> None:
        """Raises SubscriptionNotFound; ConsumerBusy while it has consumers, unless forced."""
        subscription = self.by_name.get(name)
        if subscription is None:
            raise SubscriptionNotFound(f"Subscription {name} not found for topic {self.state.name}")
        if subscription.consumers and not force:
            raise ConsumerBusy(f"Subscription {name} has active connected consumers")
        await self.drop(subscription)

    async def _open(
        self, name: str, start: Position, properties: dict[str, str]
    ) -> PersistentSubscription:
        """Create a durable subscription whose first message is at ``start``.

        Raises LimitReached, TopicClosed, Fenced.
        """
        with self.admission.subscription(name):
            await self.state.ledger.open_cursor(name, start, properties=properties)
            return self._of_cursor(name)

    async def _open_for(self, request: SubscribeRequest) -> PersistentSubscription:
        """The one that a consumer asks for, and that does not exist."""
        name = request.subscription
        latest = request.initial_position is InitialPosition.LATEST
        start = LATEST if latest else EARLIEST
        if request.durable:
            self.admission.check_first_use()
            own = {REPLICATED: "1"} if request.replicated else {}
            return await self._open(name, start, {**request.properties, **own})
        if name not in self.state.ledger.cursors:
            self.state.ledger.open_reader(name, start if request.start is None else request.start)
        return self._of_cursor(name)

    async def drop(self, subscription: Subscription) -> None:
        """Let go of its consumers, and delete its cursor. Raises what the stores raise."""
        its = self.by_name.get(subscription.name)
        if its is None or its is not subscription:
            return
        subscription.close()
        del self.by_name[subscription.name]
        self._removed_totals = self.removed_totals
        self._removed_totals.add(subscription.closed_totals)
        try:
            await its.delete_logs()
            await self.state.ledger.delete_cursor(subscription.name)
        except MagnetarError as error:
            try:
                self._of_cursor(subscription.name)  # So that it can be deleted again.
            except TopicClosed:
                raise error from None
            raise

    async def seek(
        self,
        subscription: PersistentSubscription,
        position: Position,
        ack_set: list[int] | None,
        *,
        excluded: bool,
    ) -> None:
        """Make ``position``, or the one after it, the next entry to be delivered."""

        async def target() -> Position:
            return self.state.ledger.next_position(position) if excluded else position

        await self._seek(subscription, target, ack_set)

    async def seek_to_time(
        self, subscription: PersistentSubscription, publish_time_ms: int
    ) -> None:
        """Seek to the first entry published then or later; to the end where none was."""
        await self._seek(
            subscription,
            lambda: log_positions.position_at(self.state.ledger, publish_time_ms),
            None,
        )

    async def skip(self, subscription: Backlogged, count: int | None) -> None:
        """Acknowledge the next ``count`` entries that are not acknowledged yet; None: all."""
        clock = self.state.context.clock
        subscription.acknowledge_up_to(
            await log_positions.position_behind(
                self.state.ledger, subscription.cursor, count, clock
            )
        )

    async def count_backlog(
        self, subscription: PersistentSubscription, start: Position | None
    ) -> BacklogCount:
        """Count the unacknowledged entries, from ``start`` on where it is given."""
        return await count_backlog(
            self.state.ledger,
            subscription.cursor,
            start,
            entries_max=self.state.context.settings.backlog_scan_entries_max,
            time_s_max=self.state.context.settings.backlog_scan_ms_max / 1000,
            clock=self.state.context.clock,
        )

    def disconnect(self, to: BrokerAddress | None = None) -> None:
        """Let go of all consumers, who are told; the topic is closed already."""
        for subscription in list(self.by_name.values()):
            subscription.close(to)
        self.failed = unheard

    async def close(self) -> None:
        """End what still runs, once ``disconnect`` was called."""
        await self._tasks.close()
        for subscription in self.by_name.values():
            await subscription.close_logs()

    async def recover(self) -> None:
        """Learn what transactions have acknowledged. Raises what the stores raise."""
        for subscription in self.by_name.values():
            await subscription.recover()

    @property
    def _tasks(self) -> Tasks:
        if self._made_tasks is None:
            self._made_tasks = Tasks(f"topic {self.state.name}")
        return self._made_tasks

    def _of_cursor(self, name: str) -> PersistentSubscription:
        """The subscription of a cursor that was just opened. Raises TopicClosed, Fenced."""
        self.state.check_open()
        # Several may have waited for the same cursor; the first to get here makes it, and may
        # have deleted it before the others got here.
        if name not in self.by_name:
            if name not in self.state.ledger.cursors:
                raise Fenced(f"Subscription {name} was deleted as it was opened; subscribe again")
            self.by_name[name] = self._subscription(name)
        return self.by_name[name]

    def _subscription(self, name: str) -> PersistentSubscription:
        subscription = PersistentSubscription(
            name,
            self.state.ledger.cursors[name],
            self.state,
            self._tasks,
            self.failed,
        )
        subscription.limit_rates(self.rates, self.state.policies)
        subscription.ended = terminated_at(self.state.ledger) is not None
        return subscription

    async def _seek(
        self,
        subscription: PersistentSubscription,
        target: Callable[[], Awaitable[Position]],
        ack_set: list[int] | None,
    ) -> None:
        try:
            await subscription.seek(target, ack_set)
        finally:
            if not self.state.closed and not subscription.durable:
                self._tasks.spawn("abandoned", self._drop_if_abandoned(subscription))

    async def _drop_if_left(self, subscription: Subscription) -> None:
        if not subscription.durable and not subscription.consumers and not subscription.seeking:
            await self.drop(subscription)

    async def _drop_if_abandoned(self, subscription: Subscription) -> None:
        await self.state.context.clock.sleep(ABANDONED_AFTER_S)
        if not subscription.consumers:
            await self.drop(subscription)
