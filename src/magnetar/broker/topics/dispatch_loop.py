"""The one loop that delivers for a subscription: read, choose, hand over, until nothing may go out.

A *strategy* (``broker/dispatch``) chooses who gets what; everything else is here. The loop runs
when somebody wakes it, as far as entries in memory go, at once and without a task; only what must
be read from disk is awaited in a task.

An iteration first hands out what waits to be delivered again, then what is new. ``_capacity`` says
how much may go out at all, by permits and by rates (``dispatch_throttle.py``). ``_assign`` looks at
the traits of entries before a strategy does: there entries are held back until they are due
(``delayed_delivery.py``).
"""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from magnetar.broker.dispatch.blocked import Blocked, Why
from magnetar.broker.dispatch.entry_queue import by_ledger
from magnetar.broker.dispatch.single import Single
from magnetar.broker.dispatch.strategy import Strategy
from magnetar.broker.topics.consumer import Consumer, entry_ids_of, messages_of
from magnetar.broker.topics.delayed_delivery import DelayedDelivery
from magnetar.broker.topics.dispatch_throttle import DispatchThrottle
from magnetar.broker.topics.pending_acks import PendingAcks
from magnetar.broker.topics.settings import TopicSettings
from magnetar.broker.topics.takeover import Takeover
from magnetar.clock import Clock
from magnetar.errors import StorageError
from magnetar.message.entry_traits import EntryTraits, traits_of
from magnetar.model.policies import Policies
from magnetar.model.policy_values import DelayedDeliveryPolicies
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.cursor_reader import Picked
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.tasks import Tasks

log = logging.getLogger(__name__)

CAUGHT_UP_ENTRIES_MAX: Final = 1_000
"""With a smaller backlog a subscription counts as caught up, and may be spared the limits."""
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
        self._table = strategy.table
        self._settings = settings
        self._tasks = tasks
        self._clock = clock
        self._pending = None
        if self._table is not None:
            self._pending = PendingAcks(
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
        self._unacked_max = 0  # Messages, of all consumers together; 0: no limit.
        self.over_unacked_limit = False
        """Nothing is delivered: too much is unacknowledged on the subscription."""
        self._messages_per_entry = 1.0
        self._rewinds = 0  # What was read before a rewind is dropped.
        self._closed = False
        self.limit_rates(throttle)
        self.delayed = delayed
        """What is held back until it is due, where there was any; it outlives this loop."""
        self._delay_policy = DelayedDeliveryPolicies()
        if self._table is not None and (delayed is not None or cursor.ledger_ids):
            self._delays().serve(self.wake)
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
        elif self._pending is not None and self.strategy.receivers:
            self._pending.give_back(None, held)

    def flowed(self, consumer: Consumer) -> None:
        """A consumer got permits."""
        if self._table is not None or consumer is self.strategy.active:
            self.wake()

    def acknowledged(self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]) -> int:
        """These entries are acknowledged as a whole. Return the messages of those that were out."""
        if self._pending is None or self._table is None:
            return 0
        before = self._table.messages
        freed = self._pending.acknowledged(consumer, ledger_id, entry_ids)
        messages = before - self._table.messages
        if freed or self.over_unacked_limit:
            self.wake()
        return messages

    def acknowledged_part(self, consumer: Consumer, position: Position, left: int) -> int:
        """The same for a part of a batch, of which ``left`` messages are not acknowledged."""
        if self._pending is None or self._table is None:
            return 0
        before = self._table.messages
        freed = self._pending.acknowledged_part(consumer, position, left)
        messages = before - self._table.messages
        if freed or self.over_unacked_limit:
            self.wake()
        return messages

    def passed_over(self) -> None:
        """Entries were acknowledged whoever holds them: what waits of them waits no more."""
        if self._table is not None:
            for ledger_id, entry_ids in self._table.waiting().items():
                pending = self._cursor.acks.missing(ledger_id, entry_ids)
                self._table.take_up(ledger_id, sorted(set(entry_ids).difference(pending)))
        self.wake()

    def redeliver(self, consumer: Consumer, positions: Sequence[Position] | None) -> None:
        """The consumer wants these again; None: all it holds.

        Where there is no table, the active consumer gets everything behind the mark again.
        """
        if self._pending is not None:
            self._pending.redeliver(consumer, positions)
        elif consumer in self.strategy.receivers:
            self._start_again()

    def apply(self, policies: Policies) -> None:
        """These limits hold from now on."""
        self._unacked_max = policies.unacked_per_subscription_max or 0
        self._delay_policy = policies.delayed_delivery or DelayedDeliveryPolicies()
        if self.delayed is not None:
            self.delayed.apply(self._delay_policy)
        self.over_unacked_limit = False  # ``wake`` looks at the new limit.
        self.wake()

    def limit_rates(self, throttle: DispatchThrottle | None) -> None:
        """Deliver no faster than this allows from now on."""
        self._throttle = throttle
        self._read_bytes_max = self._settings.read_bytes_max

    def close(self) -> None:
        """Deliver nothing more. A read under way is dropped."""
        self._closed = True
        if self._takeover is not None:
            self._takeover.close()
        if self._throttle is not None:
            self._throttle.rest()
        if self._table is not None:
            self._table.returned.clear()
        if self.delayed is not None:
            self.delayed.rest()
        if self._reading is not None:
            # It would move the cursor on, which may be another loop's from now on.
            self._reading.cancel()

    @property
    def waiting_count(self) -> int:
        """Entries that were read and wait to be delivered, again or at all."""
        return 0 if self._table is None else self._table.waiting_count

    def blocked(self) -> Blocked | None:
        """Why nothing is delivered; None when nothing keeps it."""
        return next(filter(None, self._reasons()), None)

    def _reasons(self) -> Iterator[Blocked | None]:
        """All that can hold up this subscription, by what must change first."""
        table, now = self._table, self._clock.now()
        if not self.strategy.receivers:
            yield self.strategy.blocked(now)
        delayed = None if table is None else self.delayed
        if delayed is not None and delayed.busy:
            yield Blocked(Why.READ_FAILED if delayed.failed else Why.READING)
        waiting = table is not None and (table.waiting_count or table.returned)
        if not waiting and not self._reader.has_more:
            yield self._nothing_to_read() if delayed is None else self._all_delayed(delayed)
        if self._read_failed:
            yield Blocked(Why.READ_FAILED)
        if self._reading is not None:
            yield Blocked(Why.READING)
        if table is not None and self._check_unacked_limit():
            yield Blocked(Why.SUBSCRIPTION_UNACKED)
        if self._throttle is not None:
            yield self._throttle.blocked()
        yield self.strategy.blocked(now)

    def _all_delayed(self, delayed: DelayedDelivery) -> Blocked | None:
        if not delayed.count:
            return self._nothing_to_read()
        until_ms = delayed.until_ms
        return None if until_ms is None else Blocked(Why.DELAYED, until_ms=until_ms)

    def _nothing_to_read(self) -> Blocked:
        if not self._cursor.backlog:
            return Blocked(Why.NOTHING_TO_READ)
        if self._reader.at_read_limit:
            return Blocked(Why.NOT_COMMITTED)
        table, oldest = self._table, self._reader.oldest
        for consumer in self.strategy.receivers:
            since = None if table is None else table.entry_held_since(consumer, oldest)
            if since is not None:
                return Blocked(Why.AWAITED, consumer.name, held_s=self._clock.now() - since)
        return Blocked(Why.ALL_DELIVERED)

    def _capacity(self) -> int:
        """Messages that may go out now, over all consumers."""
        table = self._table
        if table is not None and (table.returned or self._check_unacked_limit()):
            return 0
        capacity = 0
        for consumer in self.strategy.receivers:
            its = consumer.capacity
            if its > 0:
                capacity += its
            elif not consumer.connection.writable:
                consumer.connection.when_writable(self.wake)
        if self._throttle is not None and capacity > 0:
            return self._within_rates(capacity, self._throttle)
        return capacity

    def _within_rates(self, capacity: int, throttle: DispatchThrottle) -> int:
        settings = self._settings
        if settings.throttle_caught_up or self._cursor.backlog >= CAUGHT_UP_ENTRIES_MAX:
            capacity = throttle.capacity(capacity, self.wake)
        else:
            throttle.spare()
        self._read_bytes_max = int(min(settings.read_bytes_max, throttle.bytes_left))
        return capacity

    def _check_unacked_limit(self) -> bool:
        """Once it is reached, half of it must be acknowledged; a limit of 1 as a whole."""
        limit = self._unacked_max
        if self.over_unacked_limit:
            limit = max(limit // 2, 1)
        messages = 0 if self._table is None else self._table.messages
        self.over_unacked_limit = self._unacked_max > 0 and messages >= limit
        return self.over_unacked_limit

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
        count, reader, table = 0, self._reader, self._table
        while (
            reader.has_more
            or (table is not None and table.waiting_count)
            or self.delayed is not None
        ):
            capacity = self._capacity()
            if capacity <= 0:
                return
            if count >= self._settings.iteration_entries_max:
                asyncio.get_running_loop().call_soon(self.wake)
                return
            delivered = self._deliver_some(capacity)
            if not delivered:
                return
            count += delivered

    def _deliver_some(self, capacity: int) -> int:
        """Deliver what waits, or was delayed, or is new; return how many entries.

        0: there is nothing, or it is being read and the loop woken then.
        """
        settings, table, delayed = self._settings, self._table, self.delayed
        if table is not None and table.waiting_count:
            due = self.strategy.due(min(capacity, settings.replay_entries_max))
            if due:
                return self._deliver_due(due)
            if not self.strategy.may_read():
                return 0
        if table is not None and delayed is not None:
            due = delayed.due(min(capacity, settings.replay_entries_max))
            if due:
                return self._deliver_due(due, delayed)
            if not (delayed.may_read and self._reader.has_more):
                return 0
        # So many entries are likely to take up the permits.
        likely = int(capacity / self._messages_per_entry) + 1
        wanted = min(likely, capacity, settings.read_entries_max)
        runs = self._reader.cached(wanted, self._read_bytes_max)
        if runs is None:
            self._reading = self._tasks.spawn("read", self._read(wanted, []))
            return 0
        return self._deliver(runs)

    def _deliver_due(self, due: list[Position], delayed: DelayedDelivery | None = None) -> int:
        """Deliver what is due again, or was ``delayed``. 0: it must be read from disk."""
        picks = self._cached_again(due)
        if picks is None:
            self._reading = self._tasks.spawn("replay", self._read(0, due, delayed))
            return 0
        self._deliver_again(due, picks, delayed)
        return len(due)

    async def _read(
        self, wanted: int, due: list[Position], delayed: DelayedDelivery | None = None
    ) -> None:
        """Deliver what is due, again or ``delayed``, or else what is new, from disk. Then go on."""
        rewinds = self._rewinds
        try:
            if due:
                runs = await self._reader.read_at(due, apart=delayed is not None)
            else:
                runs = await self._reader.read(wanted, self._read_bytes_max)
            if rewinds != self._rewinds:
                self._reader.rewind()
            elif self._capacity() <= 0:
                if runs and not due:
                    self._reader.read_position = runs[0].first
            elif due:
                picks = [(run, range(len(run))) for run in runs]
                self._deliver_again(due, picks, delayed)
            else:
                self._deliver(runs)
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

    def _deliver(self, runs: Sequence[EntryRun]) -> int:
        """Deliver new entries; return how many. Those left over wait, or are read again."""
        count = 0
        for run in runs:
            entries = len(run.data)
            count += entries
            left = self._assign(run, range(entries), again=False)
            if left and self._table is None:
                self._reader.read_position = Position(run.ledger_id, run.first_entry_id + left[0])
                break
        return count

    def _deliver_again(
        self, due: Sequence[Position], picks: Iterable[Picked], delayed: DelayedDelivery | None
    ) -> None:
        """Deliver entries that were due; ``picks`` has those still not acknowledged.

        Those that were ``delayed`` are new to the strategy.
        """
        assert self._table is not None, "nothing waits without a table"
        if delayed is not None:
            delayed.taken(due)
        else:
            for ledger_id, entry_ids in by_ledger(due).items():
                self._table.take_up(ledger_id, entry_ids)
        for run, picked in picks:
            self._assign(run, picked, again=delayed is None)

    def _cached_again(self, due: Sequence[Position]) -> list[Picked] | None:
        """The entries that are due, or None where one of them must be read from disk."""
        found: list[Picked] = []
        for ledger_id, entry_ids in by_ledger(due).items():
            picks = self._reader.cached_at(ledger_id, entry_ids)
            if picks is None:
                return None
            found += picks
        return found

    def _assign(self, run: EntryRun, indexes: Sequence[int], *, again: bool) -> Sequence[int]:
        """Let the strategy choose, and hand over. Returns the entries that no consumer got."""
        traits = run.traits
        if not isinstance(traits, EntryTraits):
            traits = run.traits = traits_of(run.data)  # It was just read from disk.
        if traits.unusual:
            indexes = self._readable(run, traits, indexes)
        if traits.due_ms and self._table is not None:
            indexes = self._delays().hold(run, traits.due_ms, indexes)
        if not indexes:
            return ()
        self._messages_per_entry = traits.messages_per_entry
        picks, left = self.strategy.assign(run, indexes, traits, again=again)
        for consumer, picked in picks:
            self._hand_over(consumer, run, traits, picked)
            if self._throttle is not None:
                self._throttle.count(run, traits, picked)
        if left and self._table is not None:
            self._table.wait(run.ledger_id, list(map(run.first_entry_id.__add__, left)))
        return left

    def _delays(self) -> DelayedDelivery:
        """What holds entries back; made when it is first needed."""
        if self.delayed is None:
            self.delayed = DelayedDelivery(
                self._cursor,
                strict=self._settings.delayed_strict,
                tasks=self._tasks,
                clock=self._clock,
            )
            self.delayed.apply(self._delay_policy)
            self.delayed.serve(self.wake)
        return self.delayed

    def _readable(
        self, run: EntryRun, traits: EntryTraits, indexes: Sequence[int]
    ) -> Sequence[int]:
        """Acknowledge entries whose metadata is corrupt, and return the others."""
        bad = {index for index, seen in traits.unusual.items() if seen is None}
        bad.intersection_update(indexes)
        if not bad:
            return indexes
        self._cursor.acknowledge_entries(
            run.ledger_id, [run.first_entry_id + index for index in sorted(bad)]
        )
        return [index for index in indexes if index not in bad]

    def _hand_over(
        self, consumer: Consumer, run: EntryRun, traits: EntryTraits, indexes: Sequence[int]
    ) -> None:
        picked = indexes if len(indexes) < len(run.data) else None
        ack_sets = ack_sets_of(self._cursor, run, picked) if self._cursor.acks.batches else None
        counts = None
        consumer.totals.delivered_at = now = self._clock.now()
        if self._table is not None:
            messages = messages_of(traits, picked, ack_sets)
            counts = self._cursor.redeliveries_of(run.ledger_id, entry_ids_of(run, picked))
            self._table.hand_over(consumer, run.ledger_id, entry_ids_of(run, picked), messages, now)
        consumer.deliver(run, traits, picked=picked, redelivery_counts=counts, ack_sets=ack_sets)

    def _start_again(self) -> None:
        """Deliver from the mark again; a read under way is dropped."""
        self._rewinds += 1
        active = self.strategy.active
        if active is not None:
            self._reader.read_compacted(active.request.read_compacted)
        self._reader.rewind()
        self.wake()


def ack_sets_of(
    cursor: Cursor, run: EntryRun, picked: Sequence[int] | None = None
) -> list[list[int]] | None:
    """The batch-index acknowledgements of a run, or of what is picked of it, parallel to it.

    None when there are none.
    """
    found = [
        cursor.ack_set(Position(run.ledger_id, entry)) or [] for entry in entry_ids_of(run, picked)
    ]
    return found if any(found) else None
