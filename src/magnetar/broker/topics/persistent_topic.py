"""A persistent topic: what is published goes into its log."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from itertools import chain
from typing import Final

from magnetar.broker.topics.admission import Admission
from magnetar.broker.topics.client_connection import ClientConnection
from magnetar.broker.topics.consumer import Consumer, DeliveryTotals, SubscribeRequest
from magnetar.broker.topics.joined_runs import joined
from magnetar.broker.topics.producer import Producer
from magnetar.broker.topics.producer_access import (
    SHARED_ACCESS,
    AccessRequest,
    Arrival,
    ProducerAccess,
)
from magnetar.broker.topics.settings import TopicSettings
from magnetar.broker.topics.subscription import Subscription
from magnetar.broker.topics.subscription_names import check_subscription_name
from magnetar.clock import Clock
from magnetar.errors import (
    ConsumerBusy,
    Fenced,
    MagnetarError,
    NotAllowed,
    SubscriptionNotFound,
    TopicClosed,
    UnknownFailure,
)
from magnetar.loop_iteration import LoopIteration, Phase
from magnetar.message import metadata
from magnetar.message.send_run import SendRun
from magnetar.model.names import TopicName
from magnetar.model.policies import Policies
from magnetar.model.position import EARLIEST, LATEST, Position
from magnetar.model.subscriptions import InitialPosition
from magnetar.storage.managed_ledger.info import ManagedLedgerInfo
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger
from magnetar.tasks import Tasks

log = logging.getLogger(__name__)

AHEAD_MIN: Final = 64
"""So many entries are appended although an append before them is not answered; few wait for it."""

ABANDONED_AFTER_S: Final = 60.0
"""How long a non-durable subscription waits for its consumers after a seek closed them."""

SKIPPED_AT_ONCE_MAX: Final = 1_000
"""Entries that an administrator skips before others are served."""


class PersistentTopic:
    """A topic on a managed ledger; ``topic.py`` says what its methods promise.

    ``failed`` is called once when a write failed: the topic is of no more use and must be unloaded,
    so that the next one to ask for it opens its log afresh.
    """

    __slots__ = (
        "_admission",
        "_at_rest",
        "_clock",
        "_closed",
        "_failed",
        "_inbox",
        "_inbox_size",
        "_iteration",
        "_made_access",
        "_made_tasks",
        "_producer_name",
        "_removed_totals",
        "_settings",
        "_storing",
        "_will_store",
        "detached_chunk_count",
        "last_publish_ms",
        "ledger",
        "loaded_at_ms",
        "message_count",
        "name",
        "producers",
        "size_bytes",
        "subscriptions",
        "used_at",
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
    ) -> None:
        self.name = name
        self.ledger = ledger
        self.producers: dict[str, Producer] = {}
        self.subscriptions: dict[str, Subscription] = {}
        self.message_count = 0
        self.size_bytes = 0
        self.last_publish_ms = 0
        self.loaded_at_ms = clock.wall_ms()
        self.used_at = clock.now()
        self._removed_totals: DeliveryTotals | None = None
        self.detached_chunk_count = 0  # Chunks from producers that have left.
        self._settings = settings
        self._admission = Admission(
            name, policies, producers=self.producers, subscriptions=self.subscriptions
        )
        self._clock = clock
        self._producer_name = producer_name
        self._failed = failed
        self._made_access: ProducerAccess | None = None
        self._made_tasks: Tasks | None = None  # Most topics at rest have none.
        self._iteration = iteration
        self._inbox: list[tuple[Producer, SendRun]] = []
        self._inbox_size = 0  # Entries in it.
        self._will_store = False  # At the end of an iteration.
        self._storing: tuple[list[tuple[Producer, SendRun]], ...] = ()  # The appends under way.
        self._at_rest: asyncio.Future[None] | None = None  # ``close`` waits until both are empty.
        self._closed = False
        for cursor_name, cursor in ledger.cursors.items():
            self.subscriptions[cursor_name] = self._subscription(cursor_name)
            assert cursor.durable, "a topic that was just opened has durable cursors only"
        self.apply(policies)

    @property
    def fenced(self) -> bool:
        return self.ledger.fenced

    @property
    def storage_bytes(self) -> int:
        return self.ledger.size_bytes

    @property
    def last_position(self) -> Position:
        return self.ledger.last_position

    @property
    def busy(self) -> int:
        return len(self.producers) + sum(len(s.consumers) for s in self.subscriptions.values())

    @property
    def idle(self) -> bool:
        under_way = self._storing or self._inbox or self.busy
        return not under_way and all(each.durable for each in self.subscriptions.values())

    @property
    def removed_totals(self) -> DeliveryTotals:
        return self._removed_totals or DeliveryTotals()

    @property
    def waiting_producers(self) -> int:
        return 0 if self._made_access is None else self._made_access.waiting

    @property
    def _access(self) -> ProducerAccess:
        if self._made_access is None:
            self._made_access = ProducerAccess(self.name, self.ledger, self.producers)
        return self._made_access

    @property
    def _tasks(self) -> Tasks:
        if self._made_tasks is None:
            self._made_tasks = Tasks(f"topic {self.name}")
        return self._made_tasks

    def apply(self, policies: Policies) -> None:
        self._admission.policies = policies
        if policies.retention is not None:
            self.ledger.retain(policies.retention.time_s, policies.retention.size_bytes)
        producers: list[Producer | Subscription] = list(self.producers.values())
        for each in [*producers, *self.subscriptions.values()]:
            each.apply(policies)

    def publish(self, producer: Producer, run: SendRun) -> None:
        """Take a run; it is answered through the producer when it is durable."""
        if self._closed:
            producer.dropped(run)
            return
        self._inbox.append((producer, run))
        self._inbox_size += len(run.data)
        if not self._will_store and self._may_store():
            self._will_store = True
            self._iteration.at_end(Phase.APPEND, self._store)

    def _may_store(self) -> bool:
        """Whether what waits is appended now, or when an append under way is answered."""
        if not self._storing:
            return True
        return self._inbox_size >= AHEAD_MIN and self.ledger.takes_more

    def _store(self) -> None:
        """Loop 2: append all that waits, once, unless it is little and an answer is expected."""
        self._will_store = False
        if not (self._inbox and self._may_store()):
            return
        runs, self._inbox, self._inbox_size = self._inbox, [], 0
        self._storing = (*self._storing, runs)
        try:
            self.ledger.append(joined(runs), self._stored)
        except Exception as error:
            log.exception("topic.defect topic=%s", self.name)
            self._fail(UnknownFailure(f"{type(error).__name__}: {error}"))

    def _stored(self, ledger_id: int, entry_id: int, error: MagnetarError | None) -> None:
        """The log answered: append what came meanwhile, answer the producers, then dispatch."""
        if error is not None:
            self._fail(error)
            return
        if not self._storing:  # An append before it failed, and everything behind that with it.
            return
        runs, self._storing = self._storing[0], self._storing[1:]
        self._store()
        self.last_publish_ms = self._clock.wall_ms()
        for producer, run in runs:
            self.message_count += run.message_count
            self.size_bytes += run.size_bytes
            producer.stored(run, ledger_id, entry_id)
            entry_id += len(run)
        for subscription in self.subscriptions.values():
            try:
                subscription.wake()
            except Exception:  # A defect of ours stops neither the others nor the producers.
                log.exception("subscription.defect topic=%s name=%s", self.name, subscription.name)
        self._rest()

    def _fail(self, error: MagnetarError) -> None:
        """A write failed: refuse all that waits, and disconnect the producers, who try again."""
        log.error("topic.write_failed topic=%s error=%s", self.name, error)
        waiting = [*chain.from_iterable(self._storing), *self._inbox]
        self._storing, self._inbox, self._inbox_size = (), [], 0
        for producer, run in waiting:
            producer.refused(run, error)
        if not self._closed:
            self._closed = True
            self._disconnect_producers()
            self._failed(self)
        self._rest()

    def _rest(self) -> None:
        """Wake ``close`` when nothing is under way any more."""
        if self._at_rest is not None and not (self._storing or self._inbox):
            self._at_rest.set_result(None)
            self._at_rest = None

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
        self._check_open()
        if name is None:
            name = self._producer_name()
        with self._admission.producer(name, encrypted=access.encrypted):
            if initial_subscription and initial_subscription not in self.subscriptions:
                self._admission.check_first_use(by_producer=True)
                await self.create_subscription(initial_subscription, EARLIEST)
            arrival = Arrival(name, connection, producer_id, epoch, metadata or {}, access)
            async with self._access.admitted(arrival):
                self._check_open()
                producer = self.producers[name] = arrival.producer(
                    publish=self.publish,
                    detach=self._detach_producer,
                    connected_at_ms=self._clock.wall_ms(),
                    topic_epoch=self._access.epoch,
                    policies=self._admission.policies,
                )
                return producer

    def _detach_producer(self, producer: Producer) -> None:
        if self.producers.get(producer.name) is producer:
            del self.producers[producer.name]
            if not self.producers:
                self.producers.clear()  # A dict keeps the room it had until it is cleared.
            self.detached_chunk_count += producer.chunk_count
            if self._made_access is not None:
                self._made_access.left(producer)

    def _disconnect_producers(self) -> None:
        if self._made_access is not None:
            self._made_access.close()
        for producer in list(self.producers.values()):
            producer.detach()
            producer.connection.close_producer(producer.producer_id)

    async def subscribe(
        self, request: SubscribeRequest, connection: ClientConnection
    ) -> tuple[Subscription, Consumer]:
        self._check_open()
        check_subscription_name(request.subscription)
        with self._admission.consumer(request):
            subscription = self.subscriptions.get(request.subscription)
            if subscription is None:
                subscription = await self._create_for(request)
            elif subscription.durable is not request.durable:
                kind = "Durable" if subscription.durable else "NonDurable"
                raise NotAllowed(f"{kind} subscription with the same name already exists.")
            elif subscription.durable and request.properties and not subscription.properties:
                await subscription.cursor.set_properties(request.properties)
            if request.start_rollback_s > 0 and not subscription.consumers:
                since = self._clock.wall_ms() - request.start_rollback_s * 1000
                await subscription.cursor.reset(await self._position_at(since))
            try:
                consumer = await subscription.add(request, connection)
            except MagnetarError:
                if not subscription.durable and not subscription.consumers:
                    await self._drop(subscription)
                raise
            return subscription, consumer

    async def leave(self, subscription: Subscription, consumer: Consumer) -> None:
        subscription.remove(consumer)
        if not subscription.durable and not subscription.consumers:
            await self._drop(subscription)

    async def create_subscription(
        self, name: str, start: Position, properties: dict[str, str] | None = None
    ) -> Subscription:
        self._check_open()
        check_subscription_name(name)
        if name in self.subscriptions:
            raise ConsumerBusy(f"Subscription {name} already exists for topic {self.name}")
        with self._admission.subscription(name):
            await self.ledger.open_cursor(name, start, properties=properties or {})
            return self._subscription_of(name)

    async def delete_subscription(self, name: str, *, force: bool = False) -> None:
        subscription = self.subscriptions.get(name)
        if subscription is None:
            raise SubscriptionNotFound(f"Subscription {name} not found for topic {self.name}")
        if subscription.consumers and not force:
            raise ConsumerBusy(f"Subscription {name} has active connected consumers")
        await self._drop(subscription)

    async def unsubscribe(
        self, subscription: Subscription, consumer: Consumer, *, force: bool
    ) -> None:
        subscription.check_unsubscribe(consumer, force=force)
        await self._drop(subscription)

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
        await self._seek(subscription, lambda: self._position_at(publish_time_ms), None)

    async def _seek(
        self,
        subscription: Subscription,
        target: Callable[[], Awaitable[Position]],
        ack_set: list[int] | None,
    ) -> None:
        try:
            await subscription.seek(target, ack_set)
        finally:
            if not (subscription.durable or self._closed):
                self._tasks.spawn("abandoned", self._drop_if_abandoned(subscription))

    async def _position_at(self, publish_time_ms: int) -> Position:
        return await self.ledger.first_where(
            lambda entry: metadata.publish_time_ms(entry) >= publish_time_ms
        )

    async def skip(self, subscription: Subscription, count: int | None = None) -> None:
        cursor, position = subscription.cursor, self.ledger.last_position
        if count is not None and count < cursor.backlog:
            position = cursor.mark
            steps = 0
            while count > 0 and position < self.ledger.last_position:
                position = self.ledger.next_position(position)
                count -= not cursor.is_acknowledged(position)
                steps += 1
                if steps % SKIPPED_AT_ONCE_MAX == 0:
                    await self._clock.sleep(0)
        cursor.acknowledge_cumulative(position)

    async def oldest_publish_time_ms(self, subscription: Subscription) -> int:
        # What follows the mark is not acknowledged, or the mark would have moved past it.
        position = self.ledger.next_position(subscription.mark)
        run = None
        if position <= self.ledger.last_position:
            run = await self.ledger.read(position, 1, 1)
        return -1 if run is None else metadata.publish_time_ms(run.data[0])

    async def last_message_id(self) -> tuple[Position, int]:
        last = self.ledger.last_position
        run = await self.ledger.read(last, 1, 1) if self.ledger.entry_count else None
        if run is None:
            return EARLIEST, -1
        seen = metadata.peek(run.data[0])
        return run.first, seen.message_count - 1 if seen.is_batch else -1

    async def maintain(self) -> None:
        await self.ledger.roll_over_if_due()
        await self.ledger.trim()

    async def prepare_for_rest(self) -> bool:
        return await self.ledger.prepare_for_rest()

    def log_info(self) -> ManagedLedgerInfo:
        return self.ledger.info()

    async def close(self) -> None:
        self._closed = True
        while self._storing or self._inbox:
            if self._at_rest is None:
                self._at_rest = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._at_rest)
        self._disconnect_producers()
        for subscription in list(self.subscriptions.values()):
            subscription.close()
        await self._tasks.close()
        await self.ledger.close()

    async def delete(self) -> None:
        await self.close()
        await self.ledger.delete()

    async def _create_for(self, request: SubscribeRequest) -> Subscription:
        latest = request.initial_position is InitialPosition.LATEST
        start = LATEST if latest else EARLIEST
        name = request.subscription
        if request.durable:
            self._admission.check_first_use()
            with self._admission.subscription(name):
                await self.ledger.open_cursor(name, start, properties=request.properties)
                return self._subscription_of(name)
        if name not in self.ledger.cursors:
            at = request.start if request.start is not None else start
            self.ledger.open_reader(name, at)
        return self._subscription_of(name)

    def _subscription_of(self, name: str) -> Subscription:
        """The subscription of a cursor that was just opened. Raises TopicClosed, Fenced."""
        self._check_open()
        # Several may have waited for the same cursor; the first to get here makes it, and may
        # have deleted it before the others got here.
        if name not in self.subscriptions:
            if name not in self.ledger.cursors:
                raise Fenced(f"Subscription {name} was deleted as it was opened; subscribe again")
            self.subscriptions[name] = self._subscription(name)
        return self.subscriptions[name]

    def _subscription(self, name: str) -> Subscription:
        return Subscription(
            name,
            self.ledger.cursors[name],
            topic=self.name,
            settings=self._settings,
            policies=self._admission.policies,
            tasks=self._tasks,
            clock=self._clock,
        )

    async def _drop(self, subscription: Subscription) -> None:
        if self.subscriptions.get(subscription.name) is subscription:
            subscription.close()
            del self.subscriptions[subscription.name]
            self._removed_totals = self.removed_totals
            self._removed_totals.add(subscription.closed_totals)
            try:
                await self.ledger.delete_cursor(subscription.name)
            except MagnetarError:
                if not self._closed:
                    self._subscription_of(subscription.name)  # So that it can be deleted again.
                raise

    async def _drop_if_abandoned(self, subscription: Subscription) -> None:
        await self._clock.sleep(ABANDONED_AFTER_S)
        if not subscription.consumers:
            await self._drop(subscription)

    def _check_open(self) -> None:
        if self._closed:
            raise TopicClosed(f"Topic {self.name} is being closed here; look it up again")
