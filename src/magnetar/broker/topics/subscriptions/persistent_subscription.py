"""A subscription of a persistent topic: its cursor, and the loop that delivers from it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from magnetar.broker.dispatch.entry_queue import by_ledger
from magnetar.broker.topics.ended_transactions import EndedTransactions
from magnetar.broker.topics.features.dispatch_throttle import DispatchThrottle
from magnetar.broker.topics.features.topic_rates import TopicRates
from magnetar.broker.topics.open_transactions import OpenTransactions
from magnetar.broker.topics.subscriptions.consumer import Consumer, SubscribeRequest, pending_in
from magnetar.broker.topics.subscriptions.delayed_delivery import DelayedDelivery
from magnetar.broker.topics.subscriptions.dispatch_loop import DispatchLoop
from magnetar.broker.topics.subscriptions.entry_filter import EntryFilter
from magnetar.broker.topics.subscriptions.pending_ack_handle import PendingAckHandle
from magnetar.broker.topics.subscriptions.pending_acks import TransactionAcks
from magnetar.broker.topics.subscriptions.subscription import Subscription
from magnetar.broker.topics.topic_state import StoredTopicState
from magnetar.broker.topics.transaction_logs import acknowledged_in, pending_ack_log
from magnetar.callbacks import unheard
from magnetar.errors import Fenced, MagnetarError, TopicClosed
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.policies import Policies
from magnetar.model.position import Position
from magnetar.model.stats import SubscriptionStats
from magnetar.model.subscriptions import SubscriptionType
from magnetar.model.txn_id import TxnId
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.tasks import Tasks

REPLICATED: Final = "pulsar.replicated.subscription"
"""The property of a cursor whose subscription other clusters are to have, too."""


class PersistentSubscription(Subscription):
    """One subscription of one persistent topic."""

    dispatch: DispatchLoop | None

    def __init__(
        self,
        name: str,
        cursor: Cursor,
        state: StoredTopicState,
        tasks: Tasks,
        failed: Callable[[], None],
    ) -> None:
        """``failed`` is called when a log took no record: the topic must be opened again."""
        self.cursor = cursor
        self._state = state
        self._failed = failed
        self._pending: PendingAckHandle | None = None  # None before the first transaction.
        self._open_transactions: OpenTransactions | None = None  # Likewise.
        self._opening: asyncio.Task[PendingAckHandle | MagnetarError] | None = None
        self._ends: EndedTransactions | None = None  # Those it was told of before its first one.
        self._filter = EntryFilter(cursor, state, self._acknowledged_by_filter)
        self._delayed: DelayedDelivery | None = None  # Of the last loop.
        self.throttle: DispatchThrottle | None = None
        """Where its topic has limits on rates."""
        self.expired_count = 0
        self.last_expired_ms = 0
        self._left_ms = state.clock.wall_ms()  # When the last consumer left, or it was loaded.
        self.ended = False
        """Nothing more will be published: consumers hear of it once all is acknowledged."""
        super().__init__(name, state, tasks)

    def limit_rates(self, rates: TopicRates | None, policies: Policies) -> None:
        """Hold what it delivers to the limits of its topic and its own; ``apply`` goes on."""
        if rates is None:
            return
        if self.throttle is None:
            self.throttle = DispatchThrottle(self._tasks, self._clock)
        self.throttle.apply(policies.dispatch_rate_of(self.name), rates)
        if self.dispatch is not None:
            self.dispatch.limit_rates(self.throttle or None)

    @property
    def durable(self) -> bool:
        return self.cursor.durable

    @property
    def backlog(self) -> int:
        return self.cursor.backlog

    @property
    def mark(self) -> Position:
        return self.cursor.mark

    @property
    def properties(self) -> Mapping[str, str]:
        kept = self.cursor.properties
        return {k: v for k, v in kept.items() if k != REPLICATED} if REPLICATED in kept else kept

    @property
    def replicated(self) -> bool:
        return REPLICATED in self.cursor.properties

    async def set_properties(
        self, properties: Mapping[str, str] | None = None, *, replicated: bool | None = None
    ) -> None:
        """Replace the properties, or say whether it is replicated; None leaves what there is."""
        kept = dict(self.properties if properties is None else properties)
        if self.replicated if replicated is None else replicated:
            kept[REPLICATED] = "1"
        await self.cursor.set_properties(kept)

    def watch(
        self,
        read_snapshot: Callable[[bytes], None] | None,
        moved: Callable[[Position], None] | None,
    ) -> None:
        """Tell of the snapshots that are read for it, and of its mark when that moves on."""
        self._filter.read_snapshot = read_snapshot
        self.cursor.moved = moved

    @property
    def awaits_entries(self) -> bool:
        """Whether it has read all there is, and would deliver more."""
        if self.cursor.reader.has_more or self.dispatch is None:
            return False
        return any(consumer.capacity > 0 for consumer in self.dispatch.strategy.receivers)

    @property
    def delayed(self) -> DelayedDelivery | None:
        """The delayed entries; None where there never was one."""
        return self._delayed if self.dispatch is None else self.dispatch.delayed

    def wake(self) -> None:
        """The topic grew."""
        if self.dispatch is not None:
            self.dispatch.wake()

    def acknowledge(
        self,
        consumer: Consumer,
        positions: Sequence[Position],
        parts: Sequence[tuple[Position, list[int]]] = (),
    ) -> None:
        for ledger_id, entry_ids in by_ledger(positions).items():
            self.acknowledge_entries(consumer, ledger_id, entry_ids)
        for position, words in parts:
            if self._settings.batch_index_acks or self._is_in_part(position):
                self._acknowledge_part(consumer, position, words)

    def acknowledge_entries(
        self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]
    ) -> None:
        done, pending = entry_ids, self._pending
        if pending is not None and (in_part := pending.pending.in_part(ledger_id, entry_ids)):
            done = [each for each in entry_ids if each not in in_part]
            for entry_id, words in in_part.items():
                if words is not None:
                    self.cursor.acknowledge_batch(Position(ledger_id, entry_id), words)
        self.cursor.acknowledge_entries(ledger_id, done)
        self._acknowledged(consumer, ledger_id, entry_ids)

    def acknowledge_cumulative(
        self, consumer: Consumer, position: Position, ack_set: list[int] | None = None
    ) -> None:
        if self.type is None or not self.type.single_active:
            return
        if ack_set:
            self.cursor.acknowledge_cumulative(self.cursor.previous(position))
            if self._settings.batch_index_acks and any(ack_set):
                self.cursor.acknowledge_batch(position, ack_set)
        else:
            self.cursor.acknowledge_cumulative(position)
        consumer.totals.acked_count += 1
        consumer.totals.last_acked_ms = self._clock.wall_ms()
        if self.ended:
            self._tell_end()

    async def acknowledge_in_transaction(
        self,
        consumer: Consumer,
        transaction: TxnId,
        positions: Sequence[Position],
        parts: Sequence[tuple[Position, list[int], int]] = (),
        *,
        cumulative: bool = False,
    ) -> None:
        if cumulative and (self.type is None or not self.type.single_active):
            return
        handle = await self._pending_ack_handle()
        self._watch_transactions()
        if cumulative:
            position, words = (parts[0][0], parts[0][1]) if parts else (positions[0], None)
            await handle.acknowledge_cumulative(transaction, position, words)
            return
        entries = by_ledger(positions)
        await handle.acknowledge(transaction, entries, parts)
        for ledger_id, entry_ids in entries.items():
            self._acknowledged(consumer, ledger_id, entry_ids)
        for position, _, _ in parts:
            self._hold_part(consumer, position)

    async def end_transaction(
        self, transaction: TxnId, *, commit: bool, low_watermark: int = -1
    ) -> None:
        if self._closed:
            raise TopicClosed(f"Subscription {self.name} is being closed: ask its next owner")
        if self._opening is not None:
            await asyncio.shield(self._opening)
        if self._pending is not None:
            await self._pending.end(transaction, commit=commit, low_watermark=low_watermark)
        else:  # What it acknowledges may come yet.
            if self._ends is None:
                self._ends = EndedTransactions()
            self._ends.end(transaction)
            self._ends.raise_watermark(transaction.most_bits, low_watermark)

    async def recover(self) -> None:
        """Learn what transactions acknowledged before. Raises what the stores raise."""
        if acknowledged_in(self.name) in self._state.ledger.properties:
            await self._pending_ack_handle()

    @property
    def pending_acks(self) -> PendingAckHandle | None:
        """What acknowledges in transactions; None where none has acknowledged."""
        return self._pending

    def begin_transactions(self) -> None:
        """There are transactions from now on: entries may be aborted or pending."""
        if self.dispatch is not None:
            self.dispatch.begin_transactions()

    async def _pending_ack_handle(self) -> PendingAckHandle:
        """What acknowledges in transactions, made for the first one."""
        if self._pending is not None:
            return self._pending
        if self._opening is None:
            self._opening = self._tasks.spawn("pending acks", self._open_pending_acks())
        opened = await asyncio.shield(self._opening)
        if isinstance(opened, MagnetarError):
            raise opened
        return opened

    async def _open_pending_acks(self) -> PendingAckHandle | MagnetarError:
        state, name = self._state, acknowledged_in(self.name)
        try:
            if name not in state.ledger.properties:
                await state.ledger.change_properties({name: "1"})
            records = await pending_ack_log(state.context, state.name, self.name)
            handle = PendingAckHandle(
                f"[{state.name}][{self.name}]",
                self.cursor,
                records,
                self._tasks,
                self._ends or EndedTransactions(),
                ended=self._transaction_ended,
                failed=self._failed,
            )
            await handle.recover()
        except MagnetarError as error:
            return error
        finally:
            self._opening = None
        self._pending = handle
        self._filter.pending = handle.pending
        self._watch_transactions()
        self.begin_transactions()
        return handle

    def _watch_transactions(self) -> None:
        if self._state.closed:
            return  # Nobody would end what is begun now.
        if self._open_transactions is None:
            self._open_transactions = OpenTransactions(
                self._state.context,
                self._state.name,
                self.name,
                self._tasks,
                find=lambda: self._pending.pending.open if self._pending is not None else (),
                abort=lambda transaction: self.end_transaction(transaction, commit=False),
            )
        self._open_transactions.watch()

    def _hold_part(self, consumer: Consumer, position: Position) -> None:
        """Messages of a batch are pending: its consumer holds so many fewer."""
        assert self._pending is not None, "they are pending"
        if self.dispatch is None:
            return
        left = self._left(position)
        if any(left):
            self.dispatch.acknowledged_part(consumer, position, pending_in(left))
        else:
            self.dispatch.acknowledged(consumer, position.ledger_id, [position.entry_id])

    def _transaction_ended(self, acks: TransactionAcks, commit: bool) -> None:  # noqa: FBT001 it says what it is
        """What was pending is acknowledged now, or is to be delivered again."""
        if commit:
            if acks.upto is not None:
                self.forget_acknowledged()
            elif self.ended:
                self._tell_end()
        elif self.dispatch is not None:
            entries = {ledger_id: sorted(ids) for ledger_id, ids in acks.entries.items()}
            for ledger_id, entry_id in acks.parts:
                entries.setdefault(ledger_id, []).append(entry_id)
            self.dispatch.deliver_aborted(entries, cumulative=acks.upto is not None)

    def redeliver(
        self, consumer: Consumer, positions: Sequence[Position] | None, epoch: int | None = None
    ) -> None:
        consumer.begin_epoch(epoch)
        if self.dispatch is not None and consumer in self.consumers:
            self.dispatch.redeliver(consumer, positions)

    def flow(self, consumer: Consumer, permits: int) -> None:
        super().flow(consumer, permits)
        if self.ended and not self.backlog:
            consumer.connection.send_end_of_topic(consumer.consumer_id)

    def end(self) -> None:
        """The topic has ended. Called again, it tells those again who know already."""
        self.ended = True
        self._tell_end()

    def unused_ms(self, now_ms: int) -> int:
        """For how long it has had no consumers."""
        return 0 if self.consumers else now_ms - self._left_ms

    def remove(self, consumer: Consumer) -> None:
        super().remove(consumer)
        self._left_ms = self._clock.wall_ms()

    def acknowledge_up_to(self, position: Position) -> None:
        """Acknowledge everything up to ``position``, delivered or not."""
        self.cursor.acknowledge_cumulative(position)
        self.forget_acknowledged()

    def forget_acknowledged(self) -> None:
        """Note that entries were acknowledged by an administrator, or by expiry."""
        if self.dispatch is not None:
            self.dispatch.forget_acknowledged()
        if self.ended:
            self._tell_end()

    def expire(self, position: Position) -> int:
        """Acknowledge expired entries, up to ``position``. Returns how many there were."""
        before = self.cursor.backlog
        self.acknowledge_up_to(position)
        expired = before - self.cursor.backlog
        if expired:
            self.expired_count += expired
            self.last_expired_ms = self._clock.wall_ms()
        return expired

    async def seek(
        self, target: Callable[[], Awaitable[Position]], ack_set: list[int] | None = None
    ) -> None:
        """Close all consumers, and make ``target()`` the next entry to be delivered.

        Raises Fenced while another seek is under way, and when the topic closes meanwhile.
        """

        async def move() -> None:
            position = await target()
            if self._closed:
                raise Fenced(f"Subscription {self.name} was closed during the seek")
            await self.cursor.reset(position, ack_set or None)

        await self._moved(move)

    async def replay(self, positions: Sequence[Position]) -> None:
        """Close all consumers, and let these entries, which ascend, be delivered again.

        What else is acknowledged stays so. Raises as ``seek``.
        """
        await self._moved(lambda: self.cursor.unacknowledge(positions))

    async def _moved(self, move: Callable[[], Awaitable[None]]) -> None:
        if self.seeking:
            raise Fenced("Failed to fence subscription")
        if self._closed:
            raise Fenced(f"Subscription {self.name} was closed: its topic is opened afresh")
        self.seeking = True
        try:
            self.disconnect_all()
            await move()
            if self._pending is not None:
                await self._pending.moved()
        finally:
            self.seeking = False

    async def close_logs(self) -> None:
        """Let go of what is kept of transactions, once nobody uses it any more."""
        if self._pending is not None:
            await self._pending.close()

    async def delete_logs(self) -> None:
        """Delete what is kept of transactions. Raises what the stores raise."""
        name = acknowledged_in(self.name)
        if name in self._state.ledger.properties:
            await (await self._pending_ack_handle()).delete()
            await self._state.ledger.change_properties({}, [name])
        self._pending = self._filter.pending = None

    def close(self, to: BrokerAddress | None = None) -> None:
        super().close(to)
        self._filter.rest()
        self._failed = unheard
        if self._delayed is not None:
            self._delayed.close()

    def _end_dispatch(self) -> None:
        self._delayed = self.delayed
        super()._end_dispatch()

    def _unacked_max(self, kind: SubscriptionType) -> int:
        """Messages that a consumer may hold; 0: no limit."""
        return 0 if kind.single_active else self._policies.unacked_per_consumer_max or 0

    def _acknowledged(self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]) -> None:
        totals, messages = consumer.totals, len(entry_ids)
        if self.dispatch is not None:  # Where an active consumer gets all, entries are counted.
            held = self.dispatch.acknowledged(consumer, ledger_id, entry_ids)
            messages = max(messages, held)
        totals.acked_count += messages
        totals.last_acked_ms = self._clock.wall_ms()
        if self.ended:
            self._tell_end()

    def _acknowledged_by_filter(self) -> None:
        if self.ended:
            self._tell_end()

    def _tell_end(self) -> None:
        """Tell the consumers that they have had everything, if they have."""
        if not self.backlog:
            for consumer in self.consumers:
                consumer.connection.send_end_of_topic(consumer.consumer_id)

    def _acknowledge_part(self, consumer: Consumer, position: Position, words: list[int]) -> None:
        self.cursor.acknowledge_batch(position, words)
        left = self._left(position)
        if self.cursor.is_acknowledged(position) or not any(left):
            self._acknowledged(consumer, position.ledger_id, [position.entry_id])
        elif self.dispatch is not None:
            messages = self.dispatch.acknowledged_part(consumer, position, pending_in(left))
            consumer.totals.acked_count += messages

    def _is_in_part(self, position: Position) -> bool:
        """Whether transactions acknowledge some messages of an entry: that is kept in any case."""
        if self._pending is None:
            return False
        return self._pending.pending.concerns(position) or bool(self.cursor.ack_set(position))

    def _left(self, position: Position) -> list[int]:
        """What of a batch that is acknowledged in part is neither that nor pending."""
        words = self.cursor.ack_set(position)
        left = words if self._pending is None else self._pending.pending.left(position, words)
        return left or []

    def fill(self, stats: SubscriptionStats) -> None:
        stats.backlog_bytes = self.cursor.backlog_bytes
        stats.acked_ranges = self.cursor.acked_ranges
        stats.acked_ranges_bytes = self.cursor.acked_ranges_bytes
        stats.last_mark_moved_ms = self.cursor.mark_moved_ms
        if self.delayed is not None:
            # What somebody acknowledges before its time is known when that has come.
            stats.delayed_entries = min(self.delayed.count, stats.backlog_entries)
            stats.delayed_index_bytes = self.delayed.size_bytes
        if self.throttle is not None:
            stats.rate_waits += self.throttle.waits
        stats.expired_counter = self.expired_count
        stats.last_expired_ms = self.last_expired_ms

    def _new_dispatch(self, request: SubscribeRequest) -> DispatchLoop:
        return DispatchLoop(
            self.cursor,
            self._strategy_for(request),
            self._filter,
            announce=request.type is SubscriptionType.FAILOVER,
            delayed=self._delayed,
            throttle=self.throttle or None,
            settings=self._settings,
            tasks=self._tasks,
            clock=self._clock,
        )
