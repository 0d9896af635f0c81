"""From entries that a dispatch loop has read to the consumers that get them.

First what nobody is to get is sorted out (``entry_filter.py``), then what is not due yet
(``delayed_delivery.py``); of what is left the strategy says who gets what.
"""

from collections.abc import Callable, Iterable, Sequence

from magnetar.broker.dispatch.entry_queue import by_ledger
from magnetar.broker.dispatch.strategy import Strategy
from magnetar.broker.topics.settings import TopicSettings
from magnetar.broker.topics.subscriptions.consumer import Consumer, entry_ids_of, messages_of
from magnetar.broker.topics.subscriptions.delayed_delivery import DelayedDelivery
from magnetar.broker.topics.subscriptions.dispatch_capacity import DispatchCapacity
from magnetar.broker.topics.subscriptions.entry_filter import EntryFilter
from magnetar.callbacks import unheard
from magnetar.clock import Clock
from magnetar.message.entry_traits import EntryTraits, traits_of
from magnetar.model.policy_values import DelayedDeliveryPolicies
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.cursor_reader import Picked
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.tasks import Tasks


class EntryDelivery:
    """Delivers entries of one cursor; ``wake`` is called when delayed ones may be due."""

    __slots__ = (
        "_capacity",
        "_clock",
        "_cursor",
        "_delay_policy",
        "_filter",
        "_settings",
        "_strategy",
        "_table",
        "_tasks",
        "_wake",
        "delayed",
        "in_transactions",
        "messages_per_entry",
    )

    def __init__(
        self,
        cursor: Cursor,
        strategy: Strategy[Consumer],
        capacity: DispatchCapacity,
        entry_filter: EntryFilter,
        delayed: DelayedDelivery | None,
        *,
        settings: TopicSettings,
        wake: Callable[[], None],
        tasks: Tasks,
        clock: Clock,
    ) -> None:
        self._cursor = cursor
        self._strategy = strategy
        self._table = strategy.table
        self._capacity = capacity
        self._filter = entry_filter
        self.in_transactions = entry_filter.in_transactions
        """Whether entries may be aborted or pending: then each is looked up."""
        self._settings = settings
        self._wake = wake
        self._tasks = tasks
        self._clock = clock
        self.messages_per_entry = 1.0
        """The traits of the entries delivered last."""
        self.delayed = delayed
        """The delayed entries, if there were any; they outlive their loop."""
        self._delay_policy = DelayedDeliveryPolicies()

    def serve(self) -> None:
        """Have the loop woken for entries that were delayed before it began."""
        if self._table is not None and (self.delayed is not None or self._cursor.ledger_ids):
            self._delays().serve(self._wake)

    def apply(self, policy: DelayedDeliveryPolicies) -> None:
        """Hold entries back as this says, from now on."""
        self._delay_policy = policy
        if self.delayed is not None:
            self.delayed.apply(policy)

    def rest(self) -> None:
        """Stop waking the dispatch loop."""
        self._wake = unheard
        if self.delayed is not None:
            self.delayed.rest()

    def deliver(self, runs: Sequence[EntryRun]) -> int:
        """Deliver new entries; return how many. Those left over wait, or are read again."""
        count = 0
        for run in runs:
            entries = len(run.data)
            count += entries
            left = self._assign(run, range(entries), again=False)
            if left and self._table is None:
                self._cursor.reader.read_position = Position(
                    run.ledger_id, run.first_entry_id + left[0]
                )
                break
        return count

    def deliver_again(
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
                self._table.dequeue(ledger_id, entry_ids)
        for run, picked in picks:
            self._assign(run, picked, again=delayed is None, released=delayed is not None)

    def deliver_aborted(self, picks: Iterable[Picked]) -> list[Position]:
        """Deliver entries whose transaction was aborted; return those that no consumer took.

        They are new to the strategy, which forgot them when they were acknowledged.
        """
        left: list[Position] = []
        for run, picked in picks:
            indexes = self._assign(run, picked, again=False)
            if self._table is None:
                left += [Position(run.ledger_id, run.first_entry_id + index) for index in indexes]
        return left

    def _assign(
        self, run: EntryRun, indexes: Sequence[int], *, again: bool, released: bool = False
    ) -> Sequence[int]:
        """Let the strategy choose, and hand over. Returns the entries that no consumer got."""
        traits = run.traits
        if not isinstance(traits, EntryTraits):
            traits = run.traits = traits_of(run.data)  # It was just read from disk.
        if traits.unusual or self.in_transactions:
            indexes = self._filter.deliverable(run, traits, indexes)
        if traits.due_ms and self._table is not None:
            indexes = self._delays().hold(run, traits, indexes, released=released)
        if not indexes:
            return ()
        self.messages_per_entry = traits.messages_per_entry
        picks, left = self._strategy.assign(run, indexes, traits, again=again)
        throttle = self._capacity.throttle
        for consumer, picked in picks:
            self._hand_over(consumer, run, traits, picked)
            if throttle is not None:
                throttle.count(run, traits, picked)
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
            self.delayed.serve(self._wake)
        return self.delayed

    def _hand_over(
        self, consumer: Consumer, run: EntryRun, traits: EntryTraits, indexes: Sequence[int]
    ) -> None:
        picked = indexes if len(indexes) < len(run.data) else None
        ack_sets = None
        if self._cursor.acks.batches or self.in_transactions:
            ack_sets = self._filter.ack_sets(run, picked)
        counts = None
        consumer.totals.delivered_at = now = self._clock.now()
        if self._table is not None:
            messages = messages_of(traits, picked, ack_sets)
            counts = self._cursor.redeliveries_of(run.ledger_id, entry_ids_of(run, picked))
            self._table.hand_over(consumer, run.ledger_id, entry_ids_of(run, picked), messages, now)
        consumer.deliver(run, traits, picked=picked, redelivery_counts=counts, ack_sets=ack_sets)


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
