"""Delivers what is published to consumers with permits at that moment, and drops the rest."""

from collections.abc import Sequence
from typing import ClassVar

from magnetar.broker.dispatch.blocked import Blocked
from magnetar.broker.dispatch.single import Single
from magnetar.broker.dispatch.strategy import Strategy
from magnetar.broker.topics.subscriptions.consumer import Consumer
from magnetar.broker.topics.subscriptions.takeover import Takeover
from magnetar.clock import Clock
from magnetar.late_dataclass import dataclass
from magnetar.message.entry_traits import EntryTraits
from magnetar.model.policies import Policies
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.tasks import Tasks


@dataclass(slots=True)
class PassingRun(EntryRun):
    """Entries that are on their way and stored nowhere: all have the id 0:0, as in Pulsar."""

    id_step: ClassVar[int] = 0


class NonPersistentDispatch:
    """Serves the consumers of one subscription of a non-persistent topic.

    A new active consumer is served at once, and nobody hears of it: there are no acknowledgements
    of the one before it to wait for.
    """

    over_unacked_limit = False
    waiting_count = 0

    def __init__(self, strategy: Strategy[Consumer], *, tasks: Tasks, clock: Clock) -> None:
        self.strategy = strategy
        self._clock = clock
        self._takeover = None
        if isinstance(strategy, Single):
            self._takeover = Takeover(
                strategy, served=_nothing_waits, delay_s=None, tasks=tasks, clock=clock
            )

    def join(self, consumer: Consumer) -> None:
        self.strategy.join(consumer)
        if self._takeover is not None:
            self._takeover.joined(consumer)

    def leave(self, consumer: Consumer) -> None:
        self.strategy.leave(consumer)
        if self._takeover is not None:
            self._takeover.elected()

    def flowed(self, consumer: Consumer) -> None:
        """What came before there were permits is gone."""

    def apply(self, policies: Policies) -> None:
        """None of them limits what is not kept."""

    def close(self) -> None:
        if self._takeover is not None:
            self._takeover.close()

    def blocked(self) -> Blocked | None:
        return self.strategy.blocked(self._clock.now())

    def deliver(
        self, run: PassingRun, traits: EntryTraits, indexes: Sequence[int]
    ) -> Sequence[int]:
        """Deliver entries of a run. Returns those that no consumer could take."""
        if not any(consumer.capacity > 0 for consumer in self.strategy.receivers):
            return indexes
        picks, left = self.strategy.assign(run, indexes, traits, again=False)
        now, entries = self._clock.now(), len(run.data)
        for consumer, picked in picks:
            consumer.totals.delivered_at = now
            consumer.deliver(run, traits, picked=picked if len(picked) < entries else None)
        if self.strategy.table is not None:  # Key_Shared noted the slots of all.
            self.strategy.table.forget(run.ledger_id, range(entries))
        return left


def _nothing_waits() -> None:
    """Stands for a loop that goes on when another consumer is served."""
