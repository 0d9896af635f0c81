"""The one loop that delivers for a subscription: read, choose, hand over, until nothing may go out.

A *strategy* (``broker/dispatch``) chooses who gets what; everything else is here. The loop runs
when somebody wakes it, as far as entries in memory go, at once and without a task; only what must
be read from disk is awaited in a task.

An iteration first hands out what waits to be delivered again, then what is new. How much may go
out at all ``dispatch_capacity.py`` says, what becomes of the entries that were read is done in
``entry_delivery.py``, and why nothing moves is told by ``dispatch_blocked.py``.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Final

from magnetar.broker.dispatch.blocked import Blocked, Why
from magnetar.broker.dispatch.entry_queue import by_ledger
from magnetar.broker.dispatch.single import Single
from magnetar.broker.dispatch.strategy import Strategy
from magnetar.broker.topics.features.dispatch_throttle import DispatchThrottle
from magnetar.broker.topics.settings import TopicSettings
from magnetar.broker.topics.subscriptions import dispatch_blocked
from magnetar.broker.topics.subscriptions.consumer import Consumer
from magnetar.broker.topics.subscriptions.delayed_delivery import DelayedDelivery
from magnetar.broker.topics.subscriptions.dispatch_capacity import DispatchCapacity
from magnetar.broker.topics.subscriptions.entry_delivery import EntryDelivery
from magnetar.broker.topics.subscriptions.entry_filter import EntryFilter
from magnetar.broker.topics.subscriptions.held_entries import HeldEntries
from magnetar.broker.topics.subscriptions.takeover import Takeover
from magnetar.callbacks import unheard
from magnetar.clock import Clock
from magnetar.errors import StorageError
from magnetar.model.policies import Policies
from magnetar.model.policy_values import DelayedDeliveryPolicies
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.cursor_reader import Picked
from magnetar.tasks import Tasks

log = logging.getLogger(__name__)

READ_RETRY_S: Final = 15.0
"""How long a subscription waits before it tries again to read what could not be read."""


class DispatchLoop:
    """Delivers from a cursor to consumers, from the first one that joins until it is closed.

    ``announce`` is True for Failover: consumers hear who is active, and a takeover waits
    ``failover_delay_s`` for the old consumer's acknowledgements. ``delayed`` is of the loop before
    this one, if that had any.
    """

    def __init__(
        self,
        cursor: Cursor,
        strategy: Strategy[Consumer],
        entry_filter: EntryFilter,
        *,
        announce: bool = False,
        delayed: DelayedDelivery | None = None,
        throttle: DispatchThrottle | None = None,
        settings: TopicSettings,
        tasks: Tasks,
        clock: Clock,
    ) -> None:
        self.strategy = strategy
        self._cursor, self._reader = cursor, cursor.reader
        self._filter = entry_filter
        self._table = strategy.table
        self._settings = settings
        self._tasks = tasks
        self._clock = clock
        self._held = None
        if self._table is not None:
            self._held = HeldEntries(
                strategy,
                self._table,
                at_once_max=settings.returned_at_once_max,
                wake=self.wake,
                missing=cursor.acks.missing,
                count_redeliveries=cursor.count_redeliveries,
            )
        self._takeover = None
        if isinstance(strategy, Single):
            delay_s = settings.failover_delay_s if announce else None
            self._takeover = Takeover(
                strategy, served=self._start_again, delay_s=delay_s, tasks=tasks, clock=clock
            )
        self._reading: asyncio.Task[None] | None = None
        self._read_failed = False  # The read is tried again soon.
        self._running = False
        self._rewinds = 0  # What was read before a rewind is dropped.
        self._aborted: list[Position] = []  # What is to be delivered again, in log order.
        self._closed = False
        self._capacity = DispatchCapacity(
            cursor, strategy, throttle, settings=settings, wake=self.wake
        )
        self._delivery = EntryDelivery(
            cursor,
            strategy,
            self._capacity,
            entry_filter,
            delayed,
            settings=settings,
            wake=self.wake,
            tasks=tasks,
            clock=clock,
        )
        self._delivery.serve()
        self._reader.rewind()

    def join(self, consumer: Consumer) -> None:
        """A consumer came. Raises ConsumerAssignFailed (Key_Shared) and changes nothing then."""
        self.strategy.join(consumer)
        if self._takeover is not None:
            self._takeover.joined(consumer)

    def leave(self, consumer: Consumer) -> None:
        """A consumer went; what it held goes to the others."""
        held = {} if self._table is None else self._table.leave(consumer)
        self.strategy.leave(consumer)
        if self._takeover is not None:
            self._takeover.elected()
        elif self._held is not None and self.strategy.receivers:
            self._held.release(None, held)

    def flowed(self, consumer: Consumer) -> None:
        """A consumer got permits."""
        if self._table is not None or consumer is self.strategy.active:
            self.wake()

    def acknowledged(self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]) -> int:
        """Note acknowledged entries. Returns how many of their messages were pending."""
        if self._held is None or self._table is None:
            return 0
        before = self._table.messages
        freed = self._held.acknowledged(consumer, ledger_id, entry_ids)
        messages = before - self._table.messages
        if freed or self._capacity.over_unacked_limit:
            self.wake()
        return messages

    def acknowledged_part(self, consumer: Consumer, position: Position, left: int) -> int:
        """Note a batch acknowledged in part: ``left`` of its messages are still pending."""
        if self._held is None or self._table is None:
            return 0
        before = self._table.messages
        freed = self._held.acknowledged_part(consumer, position, left)
        messages = before - self._table.messages
        if freed or self._capacity.over_unacked_limit:
            self.wake()
        return messages

    def forget_acknowledged(self) -> None:
        """Dequeue entries that an administrator or expiry has acknowledged."""
        if self._table is not None:
            for ledger_id, entry_ids in self._table.waiting().items():
                pending = self._cursor.acks.missing(ledger_id, entry_ids)
                self._table.dequeue(ledger_id, sorted(set(entry_ids).difference(pending)))
        self.wake()

    def deliver_aborted(self, entries: Mapping[int, Sequence[int]], *, cumulative: bool) -> None:
        """Deliver what was acknowledged in a transaction that was aborted.

        ``cumulative``: that was everything up to some entry.
        """
        if cumulative:
            self._start_again()
            return
        found = {
            position
            for ledger_id, entry_ids in entries.items()
            for position in map(Position, repeat(ledger_id), entry_ids)
            # What lies further on is read in its turn.
            if position < self._reader.read_position
        }
        holders = {position: holder for position in found if (holder := self._holder_of(position))}
        self._aborted = sorted(found.difference(holders).union(self._aborted))
        for position, holder in holders.items():
            self.redeliver(holder, [position])
        self.wake()

    def begin_transactions(self) -> None:
        """Entries may be aborted or pending acknowledgement from now on."""
        self._delivery.in_transactions = True

    def _holder_of(self, position: Position) -> Consumer | None:
        """The consumer that has other messages of a batch, which comes again as a whole."""
        table = self._table
        if table is None:
            return None
        return next(
            (
                each
                for each in self.strategy.receivers
                if table.entry_held_since(each, position) is not None
            ),
            None,
        )

    def redeliver(self, consumer: Consumer, positions: Sequence[Position] | None) -> None:
        """The consumer wants these again; None: all it holds.

        Where there is no table, the active consumer gets everything behind the mark again.
        """
        if self._held is not None:
            self._held.redeliver(consumer, positions)
        elif consumer in self.strategy.receivers:
            self._start_again()

    def apply(self, policies: Policies) -> None:
        """Apply new limits."""
        self._capacity.apply(policies)
        self._delivery.apply(policies.delayed_delivery or DelayedDeliveryPolicies())
        self.wake()

    def limit_rates(self, throttle: DispatchThrottle | None) -> None:
        """Deliver no faster than this allows from now on."""
        self._capacity.limit_rates(throttle)

    def close(self) -> None:
        """Deliver nothing more. A read under way is dropped."""
        self._closed = True
        if self._held is not None:
            self._held.wake = unheard
        if self._takeover is not None:
            self._takeover.close()
        self._capacity.rest()
        if self._table is not None:
            self._table.returned.clear()
        self._delivery.rest()
        if self._reading is not None:
            # It would move the cursor on, which may be another loop's from now on.
            self._reading.cancel()

    @property
    def over_unacked_limit(self) -> bool:
        """Nothing is delivered: too much is unacknowledged on the subscription."""
        return self._capacity.over_unacked_limit

    @property
    def delayed(self) -> DelayedDelivery | None:
        """The delayed entries, if there were any; they outlive this loop."""
        return self._delivery.delayed

    @property
    def waiting_count(self) -> int:
        """Entries that were read and wait to be delivered, again or at all."""
        return 0 if self._table is None else self._table.waiting_count

    def blocked(self) -> Blocked | None:
        """Why nothing is delivered; None when nothing keeps it."""
        reading = None
        if self._reading is not None:
            reading = Why.READ_FAILED if self._read_failed else Why.READING
        found = dispatch_blocked.reasons(
            self._cursor,
            self.strategy,
            self._capacity,
            self.delayed,
            reading=reading,
            uncommitted=self._filter.uncommitted(self._clock.wall_ms()),
            now=self._clock.now(),
        )
        return next(filter(None, found), None)

    def wake(self) -> None:
        """There may be something to deliver: entries, permits, or a client that reads again."""
        if self._reading is not None or self._running or self._closed:
            return
        self._running = True
        try:
            self._run()
        finally:
            self._running = False

    def _run(self) -> None:
        count, reader, table, delivery = 0, self._reader, self._table, self._delivery
        while (
            reader.has_more
            or (table is not None and table.waiting_count)
            or delivery.delayed is not None
            or self._aborted
        ):
            capacity = self._capacity.messages()
            if capacity <= 0:
                return
            if count >= self._settings.iteration_entries_max:
                asyncio.get_running_loop().call_soon(self.wake)
                return
            deliver = self._deliver_some_aborted if self._aborted else self._deliver_some
            delivered = deliver(capacity)
            if not delivered:
                return
            count += delivered

    def _deliver_some(self, capacity: int) -> int:
        """Deliver what waits, or was delayed, or is new; return how many entries.

        0: there is nothing, or it is being read and the loop woken then.
        """
        settings, table, delivery = self._settings, self._table, self._delivery
        if table is not None and table.waiting_count:
            due = self.strategy.due(min(capacity, settings.replay_entries_max))
            if due:
                return self._deliver_due(due)
            if not self.strategy.may_read():
                return 0
        if table is not None and (delayed := delivery.delayed) is not None:
            due = delayed.due(min(capacity, settings.replay_entries_max))
            if due:
                return self._deliver_due(due, delayed)
            if not (delayed.may_read and self._reader.has_more):
                return 0
        # So many entries are likely to take up the permits.
        likely = int(capacity / delivery.messages_per_entry) + 1
        wanted = min(likely, capacity, settings.read_entries_max)
        runs = self._reader.cached(wanted, self._capacity.read_bytes_max)
        if runs is None:
            self._reading = self._tasks.spawn("read", self._read(wanted, []))
            return 0
        return delivery.deliver(runs)

    def _deliver_due(self, due: list[Position], delayed: DelayedDelivery | None = None) -> int:
        """Deliver what is due again, or was ``delayed``. 0: it must be read from disk."""
        picks = self._cached_again(due)
        if picks is None:
            self._reading = self._tasks.spawn("replay", self._read(0, due, delayed))
            return 0
        self._delivery.deliver_again(due, picks, delayed)
        return len(due)

    def _deliver_some_aborted(self, capacity: int) -> int:
        """The same for what was acknowledged in transactions that were aborted."""
        due = self._aborted[: min(capacity, self._settings.replay_entries_max)]
        picks = self._cached_again(due)
        if picks is None:
            self._reading = self._tasks.spawn("replay", self._read_aborted(due))
            return 0
        return self._take_aborted(due, picks)

    async def _read_aborted(self, due: list[Position]) -> None:
        rewinds = self._rewinds
        try:
            runs = await self._reader.read_at(due)
            if rewinds == self._rewinds and self._capacity.messages() > 0:
                self._take_aborted(due, [(run, range(len(run))) for run in runs])
        except StorageError as error:
            await self._wait_for_retry(error)
        finally:
            self._reading = None
        self.wake()

    def _take_aborted(self, due: list[Position], picks: list[Picked]) -> int:
        """Deliver these; return how many are done with."""
        left = self._delivery.deliver_aborted(picks)
        if self._aborted[: len(due)] == due:
            self._aborted[: len(due)] = sorted(left)
        else:  # More was aborted while they were being read.
            self._aborted = sorted({*self._aborted}.difference(due).union(left))
        return len(due) - len(left)

    async def _read(
        self, wanted: int, due: list[Position], delayed: DelayedDelivery | None = None
    ) -> None:
        """Deliver what is due, again or ``delayed``, or else what is new, from disk. Then go on."""
        rewinds = self._rewinds
        try:
            if due:
                runs = await self._reader.read_at(due, uncached=delayed is not None)
            else:
                runs = await self._reader.read(wanted, self._capacity.read_bytes_max)
            if rewinds != self._rewinds:
                self._reader.rewind()
            elif self._capacity.messages() <= 0:
                if runs and not due:
                    self._reader.read_position = runs[0].first
            elif due:
                picks = [(run, range(len(run))) for run in runs]
                self._delivery.deliver_again(due, picks, delayed)
            else:
                self._delivery.deliver(runs)
        except StorageError as error:
            await self._wait_for_retry(error)
        finally:
            self._reading = None
        self.wake()

    async def _wait_for_retry(self, error: StorageError) -> None:
        """Wait, and skip nothing: only a seek skips entries."""
        log.error(
            "subscription.read_failed cursor=%s position=%s error=%s remedy=%s",
            self._cursor.name,
            self._reader.read_position,
            error,
            "restore the file, or seek the subscription beyond this position",
        )
        self._read_failed = True
        try:
            await self._clock.sleep(READ_RETRY_S)
        finally:
            self._read_failed = False

    def _cached_again(self, due: Sequence[Position]) -> list[Picked] | None:
        """The entries that are due, or None where one of them must be read from disk."""
        found: list[Picked] = []
        for ledger_id, entry_ids in by_ledger(due).items():
            picks = self._reader.cached_at(ledger_id, entry_ids)
            if picks is None:
                return None
            found += picks
        return found

    def _start_again(self) -> None:
        """Deliver from the mark again; a read under way is dropped."""
        self._rewinds += 1
        self._aborted = []
        active = self.strategy.active
        if active is not None:
            self._reader.read_compacted(active.request.read_compacted)
        self._reader.rewind()
        self.wake()
