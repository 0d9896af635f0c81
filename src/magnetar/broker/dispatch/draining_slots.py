"""Slots that must wait so that a key's order holds while the owners of slots change. Pure.

A slot is a key's hash. When a consumer joins or leaves, slots move to other owners. Messages of a
moved slot that the old owner still holds unacknowledged make the slot *drain*: nobody, the old
owner included, gets more of it until those are acknowledged or given back (Pulsar's PIP-379).
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from operator import itemgetter
from typing import Generic, NamedTuple, TypeVar

C = TypeVar("C", bound=Hashable)


class DrainingSlot(NamedTuple):
    """A slot that drains: how many entries are awaited, and how often others had to wait for it."""

    slot: int
    awaited: int
    refusals: int


class DrainingSlots(Generic[C]):
    """The draining slots: for each, the consumer that holds its entries, and how many."""

    def __init__(self) -> None:
        self._awaited: dict[int, tuple[C, int]] = {}
        self._refusals: Counter[int] = Counter()
        self._cleared: Counter[C] = Counter()

    def __contains__(self, slot: int) -> bool:
        return slot in self._awaited

    def __len__(self) -> int:
        return len(self._awaited)

    def owners_changed(
        self, owner: Callable[[int], C | None], held: Iterable[tuple[C, Counter[int]]]
    ) -> None:
        """Find afresh which slots drain: those whose holder is no longer their owner.

        ``held`` says for each consumer how many unacknowledged messages it holds per slot.
        """
        self._awaited = {
            slot: (consumer, count)
            for consumer, slots in held
            for slot, count in slots.items()
            if count > 0 and owner(slot) != consumer
        }

    def released(self, consumer: C, slot: int) -> bool:
        """``consumer`` holds one entry less of ``slot``. True: the slot is free now."""
        holder, count = self._awaited.get(slot, (None, 0))
        if holder != consumer:
            return False
        if count > 1:
            self._awaited[slot] = (consumer, count - 1)
            return False
        del self._awaited[slot]
        self._refusals.pop(slot, None)
        self._cleared[consumer] += 1
        return True

    def holder(self, slot: int) -> C | None:
        """The consumer that must acknowledge before more of ``slot`` is delivered."""
        return self._awaited.get(slot, (None, 0))[0]

    def refuse(self, slot: int) -> bool:
        """Whether an entry of ``slot`` must wait; if so, that is counted."""
        if slot not in self._awaited:
            return False
        self._refusals[slot] += 1
        return True

    def of(self, consumer: C) -> list[DrainingSlot]:
        """The slots that wait for ``consumer``, ascending."""
        return [
            DrainingSlot(slot, count, self._refusals[slot])
            for slot, (awaited, count) in sorted(self._awaited.items(), key=itemgetter(0))
            if awaited == consumer
        ]

    def cleared_by(self, consumer: C) -> int:
        """How many slots have become free since ``consumer`` came, by its acknowledgements."""
        return self._cleared[consumer]

    def forget(self, consumer: C) -> None:
        """The consumer is gone."""
        self._cleared.pop(consumer, None)
