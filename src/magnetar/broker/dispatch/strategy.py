"""What the dispatch loop asks of a strategy: choices about entries and consumers. Pure."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from magnetar.message.entry_traits import EntryTraits
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.run import EntryRun

from .blocked import Blocked, Receiver
from .deliveries import Deliveries

C = TypeVar("C", bound=Receiver)

Assignment = tuple[Sequence[tuple[C, Sequence[int]]], Sequence[int]]
"""The entries of a run for each consumer, by index, and those that no consumer gets now."""


class Strategy(Protocol[C]):
    """Chooses for one subscription, from its first consumer until the last one is gone."""

    @property
    def table(self) -> Deliveries[C] | None:
        """Pending and queued entries; None where the cursor alone knows (Exclusive, Failover)."""

    @property
    def active(self) -> C | None:
        """The one consumer that is served, where the subscription type has such a one."""

    @property
    def receivers(self) -> Sequence[C]:
        """The consumers that may be given something, best priority first."""

    def join(self, consumer: C) -> None:
        """A consumer came. Raises ConsumerAssignFailed (Key_Shared) and changes nothing then."""

    def leave(self, consumer: C) -> None:
        """A consumer went; the table knows nothing of it any more."""

    def may_read(self) -> bool:
        """Whether new entries may be read, whatever waits."""

    def due(self, count_max: int) -> list[Position]:
        """What of the entries that wait can go out now, in log order."""

    def assign(
        self, run: EntryRun, indexes: Sequence[int], traits: EntryTraits, *, again: bool
    ) -> Assignment[C]:
        """Choose consumers for entries. ``again``: they were ``due``, and wait no longer.

        Whoever calls then hands the entries over, and lets the others wait.
        """

    def released(self, consumer: C, ledger_id: int, entry_ids: Sequence[int]) -> bool:
        """A consumer no longer holds these. True: others may go out now."""

    def blocked(self, now: float) -> Blocked | None:
        """Why what there is to deliver does not go out; None when it does."""
