"""The subscriptions of one topic: opened with their cursors, and dropped with them."""

from collections.abc import Callable
from typing import Final

from magnetar.broker.topics.admission import Admission
from magnetar.broker.topics.backlog import BacklogCount, count_backlog
from magnetar.broker.topics.consumer import DeliveryTotals, SubscribeRequest
from magnetar.broker.topics.deduplication import CURSOR
from magnetar.broker.topics.persistent_subscription import PersistentSubscription
from magnetar.broker.topics.settings import TopicSettings
from magnetar.broker.topics.subscription import Subscription
from magnetar.broker.topics.termination import terminated_at
from magnetar.broker.topics.topic_rates import TopicRates
from magnetar.clock import Clock
from magnetar.errors import Fenced, MagnetarError, TopicClosed
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST, LATEST, Position
from magnetar.model.subscriptions import InitialPosition
from magnetar.storage.managed_ledger.compaction import COMPACTION_CURSOR
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger
from magnetar.tasks import Tasks

ABANDONED_AFTER_S: Final = 60.0
"""How long a non-durable subscription waits for its consumers after a seek closed them."""

_NO_SUBSCRIPTIONS: Final = frozenset({CURSOR, COMPACTION_CURSOR})
"""The cursors that the broker reads with itself."""


class TopicSubscriptions:
    """Opens and drops them. ``check_open`` raises TopicClosed while the topic closes."""

    __slots__ = (
        "_admission",
        "_check_open",
        "_clock",
        "_ledger",
        "_made_tasks",
        "_removed_totals",
        "_settings",
        "_topic",
        "age_evictions",
        "by_name",
        "rates",
        "size_evictions",
    )

    def __init__(
        self,
        topic: TopicName,
        ledger: ManagedLedger,
        by_name: dict[str, PersistentSubscription],
        *,
        admission: Admission,
        settings: TopicSettings,
        clock: Clock,
        check_open: Callable[[], None],
    ) -> None:
        self.by_name = by_name
        self.size_evictions = 0  # How often messages went because of either backlog quota.
        self.age_evictions = 0
        self.rates: TopicRates | None = None
        """The limits of the topic, where there are any."""
        self._topic = topic
        self._ledger = ledger
        self._admission = admission
        self._settings = settings
        self._clock = clock
        self._check_open = check_open
        self._removed_totals: DeliveryTotals | None = None
        self._made_tasks: Tasks | None = None  # Most topics at rest have none.
        for name, cursor in ledger.cursors.items():
            if name not in _NO_SUBSCRIPTIONS:
                by_name[name] = self._subscription(name)
            assert cursor.durable, "a topic that was just opened has durable cursors only"

    @property
    def removed_totals(self) -> DeliveryTotals:
        """What those delivered that were dropped."""
        return self._removed_totals or DeliveryTotals()

    async def open(
        self, name: str, start: Position, properties: dict[str, str]
    ) -> PersistentSubscription:
        """A durable one whose first message is at ``start``.

        Raises LimitReached, TopicClosed, Fenced.
        """
        with self._admission.subscription(name):
            await self._ledger.open_cursor(name, start, properties=properties)
            return self._of_cursor(name)

    async def open_for(self, request: SubscribeRequest) -> PersistentSubscription:
        """The one that a consumer asks for, and that does not exist."""
        name = request.subscription
        latest = request.initial_position is InitialPosition.LATEST
        start = LATEST if latest else EARLIEST
        if request.durable:
            self._admission.check_first_use()
            return await self.open(name, start, request.properties)
        if name not in self._ledger.cursors:
            self._ledger.open_reader(name, start if request.start is None else request.start)
        return self._of_cursor(name)

    async def drop(self, subscription: Subscription) -> None:
        """Let go of its consumers, and delete its cursor. Raises what the stores raise."""
        if self.by_name.get(subscription.name) is not subscription:
            return
        subscription.close()
        del self.by_name[subscription.name]
        self._removed_totals = self.removed_totals
        self._removed_totals.add(subscription.closed_totals)
        try:
            await self._ledger.delete_cursor(subscription.name)
        except MagnetarError as error:
            try:
                self._of_cursor(subscription.name)  # So that it can be deleted again.
            except TopicClosed:
                raise error from None
            raise

    def expect_back(self, subscription: Subscription) -> None:
        """Drop a non-durable one that its consumers do not come back to."""
        if not subscription.durable:
            self._tasks.spawn("abandoned", self._drop_if_abandoned(subscription))

    async def count_backlog(
        self, subscription: PersistentSubscription, start: Position | None
    ) -> BacklogCount:
        """What it has not acknowledged, from ``start`` on where it is given."""
        return await count_backlog(
            self._ledger,
            subscription.cursor,
            start,
            entries_max=self._settings.backlog_scan_entries_max,
            time_s_max=self._settings.backlog_scan_ms_max / 1000,
            clock=self._clock,
        )

    async def close(self) -> None:
        for subscription in list(self.by_name.values()):
            subscription.close()
        await self._tasks.close()

    @property
    def _tasks(self) -> Tasks:
        if self._made_tasks is None:
            self._made_tasks = Tasks(f"topic {self._topic}")
        return self._made_tasks

    def _of_cursor(self, name: str) -> PersistentSubscription:
        """The subscription of a cursor that was just opened. Raises TopicClosed, Fenced."""
        self._check_open()
        # Several may have waited for the same cursor; the first to get here makes it, and may
        # have deleted it before the others got here.
        if name not in self.by_name:
            if name not in self._ledger.cursors:
                raise Fenced(f"Subscription {name} was deleted as it was opened; subscribe again")
            self.by_name[name] = self._subscription(name)
        return self.by_name[name]

    def _subscription(self, name: str) -> PersistentSubscription:
        subscription = PersistentSubscription(
            name,
            self._ledger.cursors[name],
            topic=self._topic,
            settings=self._settings,
            policies=self._admission.policies,
            tasks=self._tasks,
            clock=self._clock,
        )
        subscription.limit_rates(self.rates, self._admission.policies)
        subscription.ended = terminated_at(self._ledger) is not None
        return subscription

    async def _drop_if_abandoned(self, subscription: Subscription) -> None:
        await self._clock.sleep(ABANDONED_AFTER_S)
        if not subscription.consumers:
            await self.drop(subscription)
