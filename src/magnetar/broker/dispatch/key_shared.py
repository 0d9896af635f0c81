"""Key_Shared: each entry goes to the owner of its key's slot, and a key keeps its order. Pure.

An entry that may not go out now (its slot drains, its owner has no capacity, or an earlier entry of
its slot waits) waits too. It waits for its owner, or for its slot while that drains, so that
whoever has capacity again finds its entries without looking at others'.
"""

from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Final, Generic

from magnetar.message import metadata
from magnetar.message.entry_traits import EntryTraits
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.run import EntryRun

from .blocked import Blocked, C, Why, all_blocked, receiver_blocked
from .chunk_slots import ChunkSlots
from .deliveries import Deliveries
from .draining_slots import DrainingSlots
from .hash_ranges import HashRanges
from .shared import chunk_at, fitting
from .strategy import Assignment

KEY_KNOWN_SIZE_MAX: Final = 128
"""Bytes of a key whose slot is remembered."""


class KeyShared(Generic[C]):
    """Assigns by key. ``ordered`` False (out-of-order delivery is allowed) never drains.

    Nor do STICKY consumers ever: a slot is declared again only after its owner has left.
    All chunks of a message go to one consumer, whatever becomes of its slot meanwhile.
    Entries of other slots are read while some wait, up to the look-ahead limits.
    """

    active = None

    def __init__(
        self,
        ranges: HashRanges[C],
        *,
        ordered: bool,
        look_ahead_per_consumer_max: int,
        look_ahead_max: int,
        keys_known_max: int,
        chunked_messages_max: int,
    ) -> None:
        self.receivers: list[C] = []  # Invariant: best priority first, then oldest first.
        self.ranges = ranges
        self.draining: DrainingSlots[C] = DrainingSlots()
        self.known_slots = KnownSlots(ranges.slot)
        self._ordered = ordered
        self._look_ahead_per_consumer_max = look_ahead_per_consumer_max
        self._look_ahead_max = look_ahead_max
        self._keys_known_max = keys_known_max
        self._chunk_slots: ChunkSlots[C] = ChunkSlots(chunked_messages_max)
        self._slots_freed = False  # A chunked message is complete: its slot may have a new owner.
        # Asked once for each slot until owners change.
        self._owner = cache(partial(_owner_of, self._chunk_slots, ranges))
        queue_of = partial(_queue_of, self.draining, self._owner)
        self.table: Deliveries[C] = Deliveries(queue_of)

    def join(self, consumer: C) -> None:
        self.ranges.add(consumer, consumer.name, consumer.hash_ranges)
        self.receivers.append(consumer)
        self.receivers.sort(key=lambda each: each.priority)
        self._owners_changed()

    def leave(self, consumer: C) -> None:
        self.ranges.remove(consumer)
        self.draining.forget(consumer)
        self._chunk_slots.forget(consumer)
        self.receivers.remove(consumer)
        self._owners_changed()

    def _owners_changed(self) -> None:
        self._slots_freed = False
        self._owner.cache_clear()
        if self._ordered:
            held = ((each, self.table.held_groups(each)) for each in self.receivers)
            self.draining.owners_changed(self._owner, held)
        self.table.requeue(list(self.table.queues))

    def may_read(self) -> bool:
        per_consumer = self._look_ahead_per_consumer_max * len(self.receivers)
        return self.table.waiting_count < min(per_consumer, self._look_ahead_max)

    def due(self, count_max: int) -> list[Position]:
        """The first entries in the queues of owners that can take them; each gets a fair part."""
        if self._slots_freed:
            self._owners_changed()
        queues = self.table.queues
        ready = [
            (queues[owner], capacity)
            for owner in self.receivers
            if owner in queues and (capacity := owner.capacity) > 0
        ]
        share = -(-count_max // max(len(ready), 1))
        found = [p for queue, capacity in ready for p in queue.first(min(capacity, share))]
        return sorted(found)[:count_max]

    def assign(
        self, run: EntryRun, indexes: Sequence[int], traits: EntryTraits, *, again: bool
    ) -> Assignment[C]:
        if self._slots_freed:
            self._owners_changed()
        slots = self._slots_of(run, traits)
        those = slots if len(indexes) == len(run) else list(map(slots.__getitem__, indexes))
        self.table.group(run.ledger_id, map(run.first_entry_id.__add__, indexes), those)
        # What is due was chosen so that nothing of its slot waits before it.
        waiting = () if again else self.table.waiting_groups
        ordered = self._ordered
        if traits.unusual and not ordered:  # The chunks of a message keep their order, too.
            ordered = any(map(partial(chunk_at, traits), traits.unusual))
        if ordered and (len(self.draining) or waiting):
            wanted, left = self._in_order(indexes, those, waiting)
        else:
            wanted, left = defaultdict(list), []
            for index, owner in zip(indexes, map(self._owner, those), strict=True):
                wanted[owner].append(index)
        picks: list[tuple[C, Sequence[int]]] = []
        for owner, asked in wanted.items():
            count = 0
            if owner is not None and not (again and ordered and self._overtakes(owner, run, asked)):
                counts = list(map(traits.message_counts.__getitem__, asked))
                capacity = owner.capacity
                count = len(asked) if sum(counts) <= capacity else fitting(counts, capacity)
            if owner is not None and count:
                picks.append((owner, asked[:count]))
            left += asked[count:]
        if traits.unusual:
            self._note_chunks(picks, slots, traits)
        return picks, left

    def _note_chunks(
        self,
        picks: Sequence[tuple[C, Sequence[int]]],
        slots: Sequence[int],
        traits: EntryTraits,
    ) -> None:
        """Slots that are freed change hands later, when what is picked now was handed over."""
        for consumer, picked in picks:
            for index in picked:
                chunk = chunk_at(traits, index)
                if chunk is not None and self._chunk_slots.delivered(chunk, slots[index], consumer):
                    self._slots_freed = True

    def _in_order(
        self, indexes: Sequence[int], slots: Sequence[int], waiting: Container[int]
    ) -> tuple[dict[C | None, list[int]], list[int]]:
        """Entries by owner, and those that must wait behind others of their slots."""
        wanted: dict[C | None, list[int]] = defaultdict(list)
        left: list[int] = []
        draining, owner = self.draining, self._owner
        for index, slot in zip(indexes, slots, strict=True):
            if draining.refuse(slot) or slot in waiting:
                left.append(index)
            else:
                wanted[owner(slot)].append(index)
        return wanted, left

    def _overtakes(self, owner: C, run: EntryRun, indexes: Sequence[int]) -> bool:
        """Whether entries that were due are not any more: others came to wait before them."""
        queue = self.table.queues.get(owner)
        if queue is None:
            return False
        last = Position(run.ledger_id, run.first_entry_id + indexes[-1])
        return queue.first(1)[0] < last

    def released(self, consumer: C, ledger_id: int, entry_ids: Sequence[int]) -> bool:
        """True when a slot no longer drains; its entries wait for its owner then."""
        if len(self._chunk_slots):
            for slot in set(self.table.groups_of(ledger_id, entry_ids)):
                mine = self._chunk_slots.holder(slot) is consumer
                if mine and self.table.held_since(consumer, slot) is None:
                    self._slots_freed = self._chunk_slots.free(slot)
        if self._slots_freed:  # It counts as well what is released now.
            self._owners_changed()
            return True
        if not len(self.draining):
            return False
        slots = [s for s in self.table.groups_of(ledger_id, entry_ids) if s in self.draining]
        freed = [slot for slot in slots if self.draining.released(consumer, slot)]
        self.table.requeue(freed)
        return bool(freed)

    def blocked(self, now: float) -> Blocked | None:
        """What the first entry that waits is waiting for."""
        if not self.table.queues:
            return all_blocked(self.receivers)
        queue = min(self.table.queues, key=lambda each: self.table.queues[each].first(1))
        [(ledger_id, entry_id)] = self.table.queues[queue].first(1)
        [slot] = self.table.groups_of(ledger_id, [entry_id])
        holder = self.draining.holder(slot)
        if holder is not None:
            since = self.table.held_since(holder, slot)
            held_s = 0.0 if since is None else now - since
            return Blocked(Why.SLOT_DRAINS, holder.name, slot, held_s)
        owner = self._owner(slot)
        if owner is None:
            return Blocked(Why.SLOT_UNOWNED, slot=slot)
        found = receiver_blocked(owner)
        return None if found is None else replace(found, slot=slot)

    def _slots_of(self, run: EntryRun, traits: EntryTraits) -> list[int]:
        kind = type(self.ranges)
        slots = traits.slots.get(kind)
        if slots is None:
            if len(self.known_slots) > self._keys_known_max:
                self.known_slots.clear()
            keys = map(metadata.sticky_key, run.data)
            slots = traits.slots[kind] = list(map(self.known_slots.__getitem__, keys))
        return slots


def _owner_of(chunk_slots: ChunkSlots[C], ranges: HashRanges[C], slot: int) -> C | None:
    return chunk_slots.holder(slot) or ranges.select(slot)


def _queue_of(
    draining: DrainingSlots[C], owner_of: Callable[[int], C | None], slot: int | None
) -> Hashable:
    if slot is None or slot in draining:
        return slot
    return owner_of(slot)


class KnownSlots(dict[bytes, int]):
    """The slots of keys; those of short keys are remembered."""

    def __init__(self, slot: Callable[[bytes], int]) -> None:
        super().__init__()
        self._slot = slot

    def __missing__(self, key: bytes) -> int:
        slot = self._slot(key)
        if len(key) <= KEY_KNOWN_SIZE_MAX:
            self[key] = slot
        return slot
