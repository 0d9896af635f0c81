"""A persistent topic: what is published goes into its log."""

from collections.abc import Callable, Mapping

from magnetar.broker.topics.admission import Admission
from magnetar.broker.topics.client_connection import ClientConnection
from magnetar.broker.topics.features.compaction import TopicCompaction
from magnetar.broker.topics.features.publish_throttle import PublishThrottle
from magnetar.broker.topics.features.topic_offload import TopicOffload
from magnetar.broker.topics.log import backlog_limits, log_positions, termination
from magnetar.broker.topics.log.backlog import BacklogCount
from magnetar.broker.topics.log.backlog_limits import Backlogged
from magnetar.broker.topics.log.topic_log import TopicLog
from magnetar.broker.topics.log.topic_upkeep import TopicUpkeep
from magnetar.broker.topics.publishing.producer import Producer
from magnetar.broker.topics.publishing.producer_access import (
    SHARED_ACCESS,
    AccessRequest,
    ProducerRequest,
)
from magnetar.broker.topics.publishing.sequence_ids import SequenceIds
from magnetar.broker.topics.publishing.topic_producers import TopicProducers
from magnetar.broker.topics.publishing.topic_writer import AppendWatch, TopicWriter
from magnetar.broker.topics.subscriptions.consumer import Consumer, DeliveryTotals, SubscribeRequest
from magnetar.broker.topics.subscriptions.persistent_subscription import PersistentSubscription
from magnetar.broker.topics.subscriptions.subscription import Subscription
from magnetar.broker.topics.topic_context import TopicContext
from magnetar.broker.topics.topic_features import TopicFeatures
from magnetar.broker.topics.topic_state import StoredTopicState
from magnetar.broker.topics.topic_subscriptions import TopicSubscriptions
from magnetar.broker.topics.transaction_logs import delete_logs
from magnetar.errors import TopicClosed
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.names import TopicName
from magnetar.model.policies import Policies
from magnetar.model.position import EARLIEST, Position
from magnetar.model.stats import TopicStats
from magnetar.model.txn_id import TxnId
from magnetar.storage.managed_ledger.compaction import COMPACTION_CURSOR
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger
from magnetar.storage.managed_ledger.settings import ledger_options


class PersistentTopic:
    """A topic on a managed ledger; ``topic.py`` says what its methods promise.

    ``failed`` is called once when a write failed: the topic is of no more use and must be unloaded,
    so that the next one to ask for it opens its log afresh.
    """

    __slots__ = (
        "_admission",
        "_failed",
        "_features",
        "_producers",
        "_state",
        "_subscriptions",
        "ledger",
        "loaded_at_ms",
        "name",
        "used_at",
        "writer",
    )

    def __init__(
        self,
        name: TopicName,
        ledger: ManagedLedger,
        *,
        context: TopicContext,
        policies: Policies,
        failed: Callable[["PersistentTopic"], None],
    ) -> None:
        self.name = name
        self.ledger = ledger
        self.loaded_at_ms = context.clock.wall_ms()
        self.used_at = context.clock.now()
        self._failed = failed
        state = self._state = StoredTopicState(name, context, policies, ledger=ledger)
        subscriptions: dict[str, PersistentSubscription] = {}
        self.writer = TopicWriter(state, subscriptions, failed=self._write_failed)
        self._producers = TopicProducers(state, ledger)
        self._admission = Admission(state, producers=self.producers, subscriptions=subscriptions)
        self._subscriptions = TopicSubscriptions(
            state, subscriptions, self._admission, self._write_failed
        )
        self._features = TopicFeatures(state, self.writer, self._producers, self._subscriptions)
        self.apply(policies)
        ledger.when_fenced(self._log_fenced)

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
        if self.writer.busy or self.busy or self._features.running:
            return False
        return all(each.durable for each in self.subscriptions.values())

    @property
    def removed_totals(self) -> DeliveryTotals:
        return self._subscriptions.removed_totals

    @property
    def publish_throttle(self) -> PublishThrottle | None:
        rates = self._features.rates
        return None if rates is None else rates.throttle

    @property
    def waiting_producers(self) -> int:
        return self._producers.waiting

    @property
    def policies(self) -> Policies:
        return self._state.policies

    def apply(self, policies: Policies) -> None:
        self._state.policies = policies
        if policies.retention is not None:
            self.ledger.retain(policies.retention.time_s, policies.retention.size_bytes)
        self.ledger.replicate(ledger_options(policies.persistence))
        self._features.apply()
        producers: list[Producer | Subscription] = list(self.producers.values())
        for each in [*producers, *self.subscriptions.values()]:
            each.apply(policies)

    async def recover(self) -> None:
        """Learn what was stored, before anybody uses the topic. Raises what the stores raise."""
        await self._features.recover()
        await self._subscriptions.recover()

    def watch_appends(self, grew: Callable[[], None]) -> None:
        self.writer.observers = (*self.writer.observers, AppendWatch(grew))

    def expect_appends(self) -> None:
        if termination.terminated_at(self.ledger) is None:
            self.ledger.begin_soon()

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
            name = self._state.context.producer_name()
        if (refused := await self.upkeep.producers_refused()) is not None:
            raise refused
        with self._admission.producer(name, address=connection.address, encrypted=access.encrypted):
            if initial_subscription and initial_subscription not in self.subscriptions:
                self._admission.check_first_use(by_producer=True)
                await self._subscriptions.create(initial_subscription, EARLIEST, {})
            request = ProducerRequest(name, connection, producer_id, epoch, metadata or {}, access)
            async with self._producers.access.admitted(request):
                self._check_takes_producers()
                producer = self._producers.attach(request, self._features.publish)
        if (deduplication := self._features.deduplication) is not None:
            try:
                await self._tell_last(producer, deduplication.ids)
            except BaseException:
                producer.detach()
                raise
        return producer

    async def _tell_last(self, producer: Producer, ids: SequenceIds) -> None:
        """Set the last id that is stored, once what its name has sent before is, or cannot be.

        Who comes again keeps apart what is stored and what is not: a batch with either would be
        taken for a duplicate by its first sequence id.

        Raises TopicClosed when it lost its place meanwhile.
        """
        while self.writer.busy and ids.storing(producer.name):
            await self.writer.answers()
        self._state.check_open()
        if self.producers.get(producer.name) is not producer:
            raise TopicClosed(f"Producer '{producer.name}' was sent away while it came; ask again")
        producer.last_sequence_id = ids.last(producer.name)

    async def subscribe(
        self, request: SubscribeRequest, connection: ClientConnection
    ) -> tuple[PersistentSubscription, Consumer]:
        found = await self._subscriptions.subscribe(request, connection)
        if request.replicated:
            self._features.replicate_subscriptions()
        return found

    async def leave(self, subscription: Subscription, consumer: Consumer) -> None:
        await self._subscriptions.leave(subscription, consumer)

    async def create_subscription(
        self, name: str, start: Position, properties: dict[str, str] | None = None
    ) -> PersistentSubscription:
        created = await self._subscriptions.create(name, start, properties or {})
        if created.replicated:
            self._features.replicate_subscriptions()
        return created

    async def delete_subscription(self, name: str, *, force: bool = False) -> None:
        if name == COMPACTION_CURSOR and name in self.ledger.cursors:
            await self._features.end_compaction()
        else:
            await self._subscriptions.delete(name, force=force)

    async def unsubscribe(
        self, subscription: Subscription, consumer: Consumer, *, force: bool
    ) -> None:
        subscription.check_unsubscribe(consumer, force=force)
        await self._subscriptions.drop(subscription)

    async def set_properties(
        self,
        subscription: PersistentSubscription,
        properties: Mapping[str, str] | None = None,
        *,
        replicated: bool | None = None,
    ) -> None:
        await subscription.set_properties(properties, replicated=replicated)
        if replicated is not None:
            self._features.replicate_subscriptions()

    async def seek(
        self,
        subscription: PersistentSubscription,
        position: Position,
        *,
        ack_set: list[int] | None = None,
        excluded: bool = False,
    ) -> None:
        await self._subscriptions.seek(subscription, position, ack_set, excluded=excluded)

    async def seek_to_time(
        self, subscription: PersistentSubscription, publish_time_ms: int
    ) -> None:
        await self._subscriptions.seek_to_time(subscription, publish_time_ms)

    async def skip(self, subscription: Backlogged, count: int | None = None) -> None:
        await self._subscriptions.skip(subscription, count)

    @property
    def replicators(self) -> Mapping[str, Backlogged]:
        return self._features.replicators

    async def oldest_publish_time_ms(self, subscription: Subscription | Backlogged) -> int:
        return await log_positions.publish_time_behind(self.ledger, subscription.mark)

    async def count_backlog(
        self, subscription: PersistentSubscription, start: Position | None = None
    ) -> BacklogCount:
        return await self._subscriptions.count_backlog(subscription, start)

    async def end_transaction(
        self, transaction: TxnId, *, commit: bool, low_watermark: int = -1
    ) -> None:
        self._state.check_open()
        await self._features.end_transaction(
            transaction, commit=commit, low_watermark=low_watermark
        )

    def compact(self) -> None:
        self._features.compact()

    async def compact_if_due(self) -> None:
        if not self._state.closed:
            self._features.compact_if_due()

    @property
    def compaction(self) -> TopicCompaction | None:
        return self._features.compaction

    def offloading(self) -> TopicOffload:
        return self._features.offloading()

    @property
    def offload(self) -> TopicOffload | None:
        return self._features.offload

    @property
    def upkeep(self) -> TopicUpkeep:
        return TopicUpkeep(
            self._state,
            self._producers,
            self.subscriptions,
            self._subscriptions.drop,
            self._features.replicators,
        )

    @property
    def unused_max_s(self) -> float | None:
        return self.upkeep.unused_max_s() if self.idle else None

    async def maintain(self) -> None:
        await self._features.maintain()
        await self.ledger.roll_over_if_due()
        await self.ledger.trim()
        if self.offload is not None and not self._state.closed:
            self.offload.look_after()

    async def prepare_for_rest(self) -> bool:
        if self.unused_max_s is not None or backlog_limits.grows_old(
            self.subscriptions.values(), self.policies
        ):
            return False
        if not self._features.prepare_for_rest():
            return False
        return await self.ledger.prepare_for_rest()

    @property
    def has_counting_features(self) -> bool:
        return self._features.counting

    def fill(self, stats: TopicStats) -> None:
        size, age = self.policies.backlog_quota_size, self.policies.backlog_quota_age
        stats.backlog_quota_bytes = -1 if size is None else size.limit_bytes
        stats.backlog_quota_s = -1 if age is None else age.limit_time_s
        stats.size_evictions = self._state.size_evictions
        stats.age_evictions = self._state.age_evictions
        stats.producers_held_since_ms = self._producers.held_since_ms
        stats.writes = self.writer.writes
        if (compacted := self.ledger.compacted) is not None:
            stats.compacted_entries = compacted.entry_count
            stats.compacted_bytes = compacted.size_bytes
        self._features.fill(stats)

    @property
    def log(self) -> TopicLog:
        return TopicLog(self.ledger, self._state.clock, self._state.transactions)

    @property
    def terminated_at(self) -> Position | None:
        return termination.terminated_at(self.ledger)

    async def terminate(self) -> Position:
        self._state.check_open()
        return await termination.terminate(
            self.ledger, self.writer, self._producers, self.subscriptions, self._write_failed
        )

    def lose(self) -> None:
        self._state.closed = True
        self.writer.abandon()
        self._producers.disconnect()
        self._subscriptions.disconnect()
        self._features.lose()

    async def close(self, to: BrokerAddress | None = None) -> None:
        await self._let_go(to)
        await self.ledger.close(handed_over=to is not None)

    async def delete(self) -> None:
        await self._let_go()
        await delete_logs(self._state.context, self.name, self.ledger)
        await self.ledger.delete()

    async def _let_go(self, to: BrokerAddress | None = None) -> None:
        self._state.closed = True
        await self.writer.close()
        self._producers.disconnect(to)
        self._subscriptions.disconnect(to)
        await self._subscriptions.close()
        await self._features.close()

    def _write_failed(self) -> None:
        """Disconnect the producers, who try again."""
        self._log_fenced()
        self._producers.disconnect()

    def _log_fenced(self) -> None:
        """Let it be closed, and opened afresh by who uses it.

        Acknowledgements cannot be saved any more, nor anything be deleted or offloaded.
        """
        if not self._state.closed:
            self._state.closed = True
            self._failed(self)

    def _check_takes_producers(self) -> None:
        self._state.check_open()
        termination.check_goes_on(self.ledger)
