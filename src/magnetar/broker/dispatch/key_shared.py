"""Key_Shared: which slots must wait so that a key's order holds while owners change. Pure.

A slot is a key's hash. When a consumer joins or leaves, slots move to other owners. Messages of a
moved slot that the old owner still holds unacknowledged make the slot *drain*: nobody, the old
owner included, gets more of it until those are acknowledged or given back (Pulsar's PIP-379).
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

C = TypeVar("C", bound=Hashable)


class DrainingSlots(Generic[C]):
    """The slots that drain: for each, whose messages are awaited, and how many."""

    def __init__(self) -> None:
        self._awaited: dict[int, tuple[C, int]] = {}
        self.cleared_total = 0

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

    def released(self, consumer: C, slot: int, count: int = 1) -> bool:
        """``count`` entries of ``slot`` left ``consumer``'s hands. True: the slot is free now."""
        awaited = self._awaited.get(slot)
        if awaited is None or awaited[0] != consumer:
            return False
        left = awaited[1] - count
        if left > 0:
            self._awaited[slot] = (consumer, left)
            return False
        del self._awaited[slot]
        self.cleared_total += 1
        return True

    def count_of(self, consumer: C) -> int:
        """How many slots wait for ``consumer``."""
        return sum(1 for awaited, _ in self._awaited.values() if awaited == consumer)
