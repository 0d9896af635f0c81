"""Exclusive and Failover: one active consumer gets everything, in order. Pure."""

from collections.abc import Callable, Sequence
from typing import Generic

from magnetar.message import metadata
from magnetar.message.entry_traits import EntryTraits
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.run import EntryRun

from .blocked import Blocked, C, Why, receiver_blocked
from .hash_ranges import StickyRanges
from .shared import fitting
from .strategy import Assignment


class Single(Generic[C]):
    """Elects the active consumer whenever one comes or goes; the others stand by."""

    table = None

    def __init__(self, elect: Callable[[Sequence[C]], C]) -> None:
        self.active: C | None = None
        self.receivers: Sequence[C] = ()  # The active consumer, unless its takeover waits.
        self._elect = elect
        self.consumers: list[C] = []

    def join(self, consumer: C) -> None:
        self.consumers.append(consumer)
        self._elect_again()

    def leave(self, consumer: C) -> None:
        self.consumers.remove(consumer)
        self._elect_again()

    def _elect_again(self) -> None:
        elected = self._elect(self.consumers) if self.consumers else None
        if elected is not self.active:
            self.active = elected
            self.receivers = ()

    def serve(self) -> None:
        """The active consumer may be given something from now on."""
        if self.active is not None:
            self.receivers = (self.active,)

    def may_read(self) -> bool:
        return True

    def due(self, count_max: int) -> list[Position]:
        return []

    def assign(
        self, run: EntryRun, indexes: Sequence[int], traits: EntryTraits, *, again: bool
    ) -> Assignment[C]:
        [consumer] = self.receivers
        permits = consumer.permits
        whole = len(indexes) == len(run.data)
        if whole and traits.message_count <= permits:
            return ((consumer, indexes),), ()
        counts = traits.message_counts
        count = fitting(counts if whole else list(map(counts.__getitem__, indexes)), permits)
        return ((consumer, indexes[:count]),) if count else (), indexes[count:]

    def released(self, consumer: C, ledger_id: int, entry_ids: Sequence[int]) -> bool:
        return False

    def blocked(self, now: float) -> Blocked | None:
        if self.active is None:
            return Blocked(Why.NO_CONSUMER)
        if not self.receivers:
            return Blocked(Why.FAILOVER_DELAY, self.active.name)
        return receiver_blocked(self.active)


class SingleInRanges(Single[C]):
    """Exclusive, where the consumer asked for some hash slots alone, as a reader may.

    Entries of other slots are passed over: nobody gets or acknowledges them.
    """

    def __init__(self, elect: Callable[[Sequence[C]], C]) -> None:
        super().__init__(elect)
        self._ranges: StickyRanges[C] = StickyRanges()

    def join(self, consumer: C) -> None:
        self._ranges.add(consumer, consumer.name, consumer.hash_ranges)
        super().join(consumer)

    def leave(self, consumer: C) -> None:
        self._ranges.remove(consumer)
        super().leave(consumer)

    def assign(
        self, run: EntryRun, indexes: Sequence[int], traits: EntryTraits, *, again: bool
    ) -> Assignment[C]:
        slots = (self._ranges.slot(metadata.sticky_key(run.data[index])) for index in indexes)
        owners = map(self._ranges.select, slots)
        wanted = [i for i, owner in zip(indexes, owners, strict=True) if owner is not None]
        return super().assign(run, wanted, traits, again=again)
