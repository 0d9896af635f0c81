"""A persistent topic: what is published goes into its log."""

import logging
from collections.abc import Awaitable, Callable, Mapping

from magnetar.broker.topics import backlog_limits, inactivity, log_positions, termination
from magnetar.broker.topics.admission import Admission
from magnetar.broker.topics.backlog import BacklogCount
from magnetar.broker.topics.client_connection import ClientConnection
from magnetar.broker.topics.compaction import TopicCompaction, bytes_to_compact
from magnetar.broker.topics.consumer import Consumer, DeliveryTotals, SubscribeRequest
from magnetar.broker.topics.deduplication import CURSOR
from magnetar.broker.topics.persistent_subscription import PersistentSubscription
from magnetar.broker.topics.producer import Producer
from magnetar.broker.topics.producer_access import SHARED_ACCESS, AccessRequest, Arrival
from magnetar.broker.topics.publish_throttle import PublishThrottle
from magnetar.broker.topics.settings import TopicSettings
from magnetar.broker.topics.shared_rates import SharedRates
from magnetar.broker.topics.subscription import Subscription
from magnetar.broker.topics.subscription_names import check_subscription_name
from magnetar.broker.topics.topic_deduplication import TopicDeduplication
from magnetar.broker.topics.topic_log import TopicLog
from magnetar.broker.topics.topic_offload import TopicOffload
from magnetar.broker.topics.topic_producers import TopicProducers
from magnetar.broker.topics.topic_rates import TopicRates, limited
from magnetar.broker.topics.topic_subscriptions import TopicSubscriptions
from magnetar.broker.topics.topic_upkeep import TopicUpkeep, own
from magnetar.broker.topics.topic_writer import TopicWriter
from magnetar.clock import Clock
from magnetar.errors import (
    ConsumerBusy,
    MagnetarError,
    NotAllowed,
    SubscriptionNotFound,
    TopicClosed,
)
from magnetar.loop_iteration import LoopIteration
from magnetar.model.names import TopicName
from magnetar.model.policies import Policies
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.managed_ledger.compaction import COMPACTION_CURSOR
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger

log = logging.getLogger(__name__)


class PersistentTopic:
    """A topic on a managed ledger; ``topic.py`` says what its methods promise.

    ``failed`` is called once when a write failed: the topic is of no more use and must be unloaded,
    so that the next one to ask for it opens its log afresh.
    """

    __slots__ = (
        "_admission",
        "_clock",
        "_closed",
        "_deduplication",
        "_failed",
        "_new_compaction",
        "_new_offload",
        "_producer_name",
        "_producers",
        "_rates",
        "_settings",
        "_shared_rates",
        "_subscriptions",
        "compaction",
        "ledger",
        "loaded_at_ms",
        "name",
        "offload",
        "used_at",
        "writer",
    )

    def __init__(
        self,
        name: TopicName,
        ledger: ManagedLedger,
        *,
        settings: TopicSettings,
        policies: Policies,
        clock: Clock,
        iteration: LoopIteration,
        producer_name: Callable[[], str],
        failed: Callable[["PersistentTopic"], None],
        new_compaction: Callable[[TopicName, ManagedLedger], TopicCompaction],
        new_offload: Callable[[TopicName, ManagedLedger], TopicOffload],
        shared_rates: SharedRates | None = None,
    ) -> None:
        self.name = name
        self.ledger = ledger
        self.loaded_at_ms = clock.wall_ms()
        self.used_at = clock.now()
        self._clock = clock
        self._producer_name = producer_name
        self._failed = failed
        self._closed = False
        self._settings = settings
        self._deduplication: TopicDeduplication | None = None  # Few topics have it.
        self._shared_rates = shared_rates
        self._rates: TopicRates | None = None
        self._new_compaction = new_compaction
        self.compaction: TopicCompaction | None = None
        self._new_offload = new_offload
        self.offload: TopicOffload | None = None
        subscriptions: dict[str, PersistentSubscription] = {}
        self.writer = TopicWriter(
            name,
            ledger,
            subscriptions,
            clock=clock,
            iteration=iteration,
            failed=self._write_failed,
        )
        self._producers = TopicProducers(name, ledger)
        self._admission = Admission(
            name, policies, producers=self.producers, subscriptions=subscriptions
        )
        self._subscriptions = TopicSubscriptions(
            name,
            ledger,
            subscriptions,
            admission=self._admission,
            settings=settings,
            clock=clock,
            check_open=self._check_open,
        )
        self.apply(policies)

    @property
    def producers(self) -> Mapping[str, Producer]:
        return self._producers.attached

    @property
    def subscriptions(self) -> Mapping[str, PersistentSubscription]:
        return self._subscriptions.by_name

    @property
    def message_count(self) -> int:
        return self.writer.message_count

    @property
    def size_bytes(self) -> int:
        return self.writer.size_bytes

    @property
    def last_publish_ms(self) -> int:
        return self.writer.last_publish_ms

    @property
    def detached_chunk_count(self) -> int:
        return self._producers.detached_chunk_count

    @property
    def fenced(self) -> bool:
        return self.ledger.fenced

    @property
    def storage_bytes(self) -> int:
        return self.ledger.size_bytes

    @property
    def stored(self) -> "PersistentTopic":
        return self

    @property
    def last_position(self) -> Position:
        return self.ledger.last_position

    @property
    def busy(self) -> int:
        return len(self.producers) + sum(len(s.consumers) for s in self.subscriptions.values())

    @property
    def idle(self) -> bool:
        if self.writer.busy or self.busy or self._compacts or self._offloads:
            return False
        return all(each.durable for each in self.subscriptions.values())

    @property
    def removed_totals(self) -> DeliveryTotals:
        return self._subscriptions.removed_totals

    @property
    def deduplicates(self) -> bool:
        return self.writer.deduplication is not None

    @property
    def publish_throttle(self) -> PublishThrottle | None:
        return None if self._rates is None else self._rates.throttle

    @property
    def waiting_producers(self) -> int:
        return self._producers.waiting

    @property
    def policies(self) -> Policies:
        return self._admission.policies

    def apply(self, policies: Policies) -> None:
        self._admission.policies = policies
        if policies.retention is not None:
            self.ledger.retain(policies.retention.time_s, policies.retention.size_bytes)
        self._limit_rates(policies)
        if self.offload is not None:
            self.offload.apply(policies.offload)
        elif self.ledger.has_offloaded or (policies.offload and policies.offload.driver):
            self.offloading()
        producers: list[Producer | Subscription] = list(self.producers.values())
        for each in [*producers, *self.subscriptions.values()]:
            each.apply(policies)

        if policies.deduplication or CURSOR in self.ledger.cursors:
            self._deduplication = self._deduplication or TopicDeduplication(
                self.name,
                self.ledger,
                self.writer,
                self._producers,
                settings=self._settings,
                clock=self._clock,
            )
        if self._deduplication is not None:
            self._deduplication.apply(policies)

    def _limit_rates(self, policies: Policies) -> None:
        if self._rates is None and limited(policies, self._shared_rates):
            self._rates = self._subscriptions.rates = TopicRates(
                self.writer.publish, self.writer.published, self._shared_rates, self._clock
            )
        if self._rates is not None:
            self._rates.apply(policies, self.producers.values())
            for subscription in self.subscriptions.values():
                subscription.limit_rates(self._rates, policies)

    async def recover(self) -> None:
        """Learn what was stored, before anybody uses the topic. Raises what the stores raise."""
        if self._deduplication is not None:
            await self._deduplication.settled()

    async def attach_producer(
        self,
        connection: ClientConnection,
        producer_id: int,
        name: str | None,
        *,
        epoch: int = 0,
        metadata: dict[str, str] | None = None,
        initial_subscription: str = "",
        access: AccessRequest = SHARED_ACCESS,
    ) -> Producer:
        self._check_takes_producers()
        if name is None:
            name = self._producer_name()
        quota = await self.upkeep.exceeded_quota()
        if quota is not None and (refused := backlog_limits.refusal(quota)):
            raise refused
        with self._admission.producer(name, address=connection.address, encrypted=access.encrypted):
            if initial_subscription and initial_subscription not in self.subscriptions:
                self._admission.check_first_use(by_producer=True)
                await self.create_subscription(initial_subscription, EARLIEST)
            arrival = Arrival(name, connection, producer_id, epoch, metadata or {}, access)
            async with self._producers.access.admitted(arrival):
                self._check_takes_producers()
                producer = self._producers.attach(
                    arrival,
                    publish=self.writer.publish if self._rates is None else self._rates.publish,
                    connected_at_ms=self._clock.wall_ms(),
                    policies=self.policies,
                )
                if self.writer.deduplication is not None:
                    producer.last_sequence_id = self.writer.deduplication.ids.last(name)
                return producer

    async def subscribe(
        self, request: SubscribeRequest, connection: ClientConnection
    ) -> tuple[PersistentSubscription, Consumer]:
        self._check_open()
        check_subscription_name(request.subscription)
        self._admission.check_subscribe_rate(request, connection.address, self._clock.now())
        with self._admission.consumer(request, address=connection.address):
            subscription = self.subscriptions.get(request.subscription)
            if subscription is None:
                subscription = await self._subscriptions.open_for(request)
            elif subscription.durable is not request.durable:
                kind = "Durable" if subscription.durable else "NonDurable"
                raise NotAllowed(f"{kind} subscription with the same name already exists.")
            elif subscription.durable and request.properties and not subscription.properties:
                await subscription.set_properties(request.properties)
            if request.start_rollback_s > 0 and not subscription.consumers:
                since = self._clock.wall_ms() - request.start_rollback_s * 1000
                await subscription.cursor.reset(await log_positions.position_at(self.ledger, since))
            try:
                consumer = await subscription.add(request, connection)
            except MagnetarError:
                if not subscription.durable and not subscription.consumers:
                    await self._subscriptions.drop(subscription)
                raise
            return subscription, consumer

    async def leave(self, subscription: Subscription, consumer: Consumer) -> None:
        subscription.remove(consumer)
        if not subscription.durable and not subscription.consumers:
            await self._subscriptions.drop(subscription)

    async def create_subscription(
        self, name: str, start: Position, properties: dict[str, str] | None = None
    ) -> PersistentSubscription:
        self._check_open()
        check_subscription_name(name)
        if name in self.subscriptions:
            raise ConsumerBusy(f"Subscription {name} already exists for topic {self.name}")
        return await self._subscriptions.open(name, start, properties or {})

    async def delete_subscription(self, name: str, *, force: bool = False) -> None:
        if name == COMPACTION_CURSOR and name in self.ledger.cursors:
            if self.compaction is not None:
                await self.compaction.close()
            await self.ledger.delete_cursor(name)
            return
        subscription = self.subscriptions.get(name)
        if subscription is None:
            raise SubscriptionNotFound(f"Subscription {name} not found for topic {self.name}")
        if subscription.consumers and not force:
            raise ConsumerBusy(f"Subscription {name} has active connected consumers")
        await self._subscriptions.drop(subscription)

    async def unsubscribe(
        self, subscription: Subscription, consumer: Consumer, *, force: bool
    ) -> None:
        subscription.check_unsubscribe(consumer, force=force)
        await self._subscriptions.drop(subscription)

    async def set_properties(
        self,
        subscription: Subscription,
        properties: Mapping[str, str] | None = None,
        *,
        replicated: bool | None = None,
    ) -> None:
        await own(subscription).set_properties(properties, replicated=replicated)

    async def seek(
        self,
        subscription: Subscription,
        position: Position,
        *,
        ack_set: list[int] | None = None,
        excluded: bool = False,
    ) -> None:
        async def target() -> Position:
            return self.ledger.next_position(position) if excluded else position

        await self._seek(subscription, target, ack_set)

    async def seek_to_time(self, subscription: Subscription, publish_time_ms: int) -> None:
        await self._seek(
            subscription, lambda: log_positions.position_at(self.ledger, publish_time_ms), None
        )

    async def _seek(
        self,
        subscription: Subscription,
        target: Callable[[], Awaitable[Position]],
        ack_set: list[int] | None,
    ) -> None:
        try:
            await own(subscription).seek(target, ack_set)
        finally:
            if not self._closed:
                self._subscriptions.expect_back(subscription)

    async def skip(self, subscription: Subscription, count: int | None = None) -> None:
        its = own(subscription)
        its.pass_over(
            await log_positions.position_behind(self.ledger, its.cursor, count, self._clock)
        )

    async def oldest_publish_time_ms(self, subscription: Subscription) -> int:
        return await log_positions.publish_time_behind(self.ledger, subscription.mark)

    async def count_backlog(
        self, subscription: Subscription, start: Position | None = None
    ) -> BacklogCount:
        return await self._subscriptions.count_backlog(own(subscription), start)

    def compact(self) -> None:
        self._check_open()
        if self.compaction is None:
            self.compaction = self._new_compaction(self.name, self.ledger)
        self.compaction.start()

    async def compact_if_due(self) -> None:
        threshold = self.policies.compaction_threshold_bytes
        if not threshold or self._closed or self._compacts:
            return
        if bytes_to_compact(self.ledger) > threshold:
            self.compact()

    def offloading(self) -> TopicOffload:
        self._check_open()
        if self.offload is None:
            self.offload = self._new_offload(self.name, self.ledger)
            self.offload.apply(self.policies.offload)
        return self.offload

    @property
    def _offloads(self) -> bool:
        return self.offload is not None and self.offload.running

    @property
    def _compacts(self) -> bool:
        return self.compaction is not None and self.compaction.running

    @property
    def upkeep(self) -> TopicUpkeep:
        return TopicUpkeep(
            self.name,
            self.ledger,
            self._subscriptions,
            self._producers,
            self.policies,
            self._clock,
        )

    @property
    def unused_max_s(self) -> float | None:
        if not self.idle:
            return None
        backlogs = [each.backlog for each in self.subscriptions.values()]
        to_compact = bytes_to_compact(self.ledger) if self.ledger.compacted is not None else None
        return inactivity.unused_max_s(self.policies, backlogs, to_compact)

    async def maintain(self) -> None:
        if self._deduplication is not None:
            await self._deduplication.maintain()
        await self.ledger.roll_over_if_due()
        await self.ledger.trim()
        if self.offload is not None and not self._closed:
            self.offload.look_after()

    async def prepare_for_rest(self) -> bool:
        if self.unused_max_s is not None or backlog_limits.grows_old(
            self.subscriptions.values(), self.policies
        ):
            return False
        if self.offload is not None and not self.offload.may_rest():
            return False
        if self._deduplication is not None:
            self._deduplication.snapshot()
        return await self.ledger.prepare_for_rest()

    @property
    def log(self) -> TopicLog:
        return TopicLog(self.ledger, self._clock)

    @property
    def terminated_at(self) -> Position | None:
        return termination.terminated_at(self.ledger)

    async def terminate(self) -> Position:
        self._check_open()
        return await termination.terminate(
            self.ledger, self.writer, self._producers, self.subscriptions, self._write_failed
        )

    async def close(self) -> None:
        await self._let_go()
        await self.ledger.close()

    async def delete(self) -> None:
        await self._let_go()
        await self.ledger.delete()

    async def _let_go(self) -> None:
        self._closed = True
        await self.writer.close()
        self._producers.disconnect()
        if self.compaction is not None:
            await self.compaction.close()
        if self.offload is not None:
            await self.offload.close()
        await self._subscriptions.close()
        if self._deduplication is not None:
            await self._deduplication.close()

    def _write_failed(self) -> None:
        """Disconnect the producers, who try again."""
        self._closed = True
        self._producers.disconnect()
        self._failed(self)

    def _check_takes_producers(self) -> None:
        self._check_open()
        termination.check_goes_on(self.ledger)

    def _check_open(self) -> None:
        if self._closed:
            raise TopicClosed(f"Topic {self.name} is being closed here; look it up again")
