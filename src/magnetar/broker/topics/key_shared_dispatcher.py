"""Key_Shared: each entry goes to the owner of its key's slot, in the order of the log per key.

An entry that may not go out now (its slot drains, its owner has no room, or an earlier entry of
its slot waits) waits in the replay queue, and its slot with it.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Final

from magnetar.broker.dispatch.hash_ranges import HashRanges
from magnetar.broker.dispatch.key_shared import DrainingSlots
from magnetar.broker.dispatch.shared import fitting
from magnetar.broker.topics.consumer import Consumer
from magnetar.broker.topics.redelivery import ReplayQueue
from magnetar.broker.topics.settings import TopicSettings
from magnetar.broker.topics.shared_dispatcher import SharedDispatcher
from magnetar.broker.topics.weighing import Chunk
from magnetar.clock import Clock
from magnetar.message import metadata
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.cursor import Cursor, Picked
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.tasks import Tasks

KEYS_KNOWN_MAX: Final = 10_000
"""Keys whose slots are remembered; hashing one takes longer than looking it up."""
KEY_KNOWN_SIZE_MAX: Final = 128
"""Bytes of a key whose slot is remembered."""


class KeySharedDispatcher(SharedDispatcher):
    """Deals by key. ``ordered`` False (out-of-order delivery allowed, or STICKY) never drains."""

    def __init__(
        self,
        cursor: Cursor,
        *,
        ranges: HashRanges[Consumer],
        ordered: bool,
        settings: TopicSettings,
        tasks: Tasks,
        clock: Clock,
    ) -> None:
        super().__init__(cursor, settings=settings, tasks=tasks, clock=clock)
        self.ranges = ranges
        self.draining: DrainingSlots[Consumer] = DrainingSlots()
        self._ordered = ordered
        self._owners = _Owners(ranges.select)
        self._slot_of = _SlotOf(ranges.slot)
        # The slot of every entry that a consumer holds or that waits in the replay queue.
        self._slots: dict[int, dict[int, int]] = {}  # By ledger and entry id; none is empty.
        self._waiting: Counter[int] = Counter()  # Entries in the replay queue, per slot.
        # The replay queue once more, in lines: by owner (None: nobody), but what is of a draining
        # slot by slot. So whoever has room again finds its entries without looking at others'.
        self._lines: dict[Consumer | int | None, ReplayQueue] = {}
        self._stuck: set[int] = set()  # Slots of which an entry of this batch had to wait.
        self._came_back: set[int] = set()  # Slots of which entries came back during a read.

    def join(self, consumer: Consumer) -> None:
        self.ranges.add(consumer, consumer.name, consumer.request.hash_ranges)
        super().join(consumer)

    def leave(self, consumer: Consumer) -> None:
        self.ranges.remove(consumer)
        self.draining.forget(consumer)
        super().leave(consumer)

    # Dealing by key.

    def _deliver(self, picks: Iterable[Picked], *, again: bool) -> None:
        # What is read again was chosen before: what came back meanwhile may belong before it.
        self._stuck = self._came_back
        self._came_back = set()
        super()._deliver(picks, again=again)

    def _deal(
        self, run: EntryRun, indexes: Sequence[int], chunks: dict[int, Chunk], *, again: bool
    ) -> None:
        """To each owner what is of its slots, as far as that may go out now and there is room."""
        slots = self._slots_of(run)
        those = slots if len(indexes) == len(run) else list(map(slots.__getitem__, indexes))
        first = run.first_entry_id
        known = self._slots.setdefault(run.ledger_id, {})
        known.update(zip(map(first.__add__, indexes), those, strict=True))
        picks, left = self._sort_out(indexes, those, again=again)
        for owner, picked in picks.items():
            room = 0 if owner is None else owner.room
            weights = list(map(run.weights.__getitem__, picked))
            count = len(picked) if sum(weights) <= room else fitting(weights, room)
            if owner is not None and count:
                self._hand_over(owner, run, picked[:count])
            left += picked[count:]
        if left:
            self._stuck.update(map(slots.__getitem__, left))
            self._set_aside(run.ledger_id, list(map(first.__add__, left)))

    def _sort_out(
        self, indexes: Sequence[int], slots: list[int], *, again: bool
    ) -> tuple[dict[Consumer | None, list[int]], list[int]]:
        """Which of ``indexes`` are whose, and which must wait whoever owns them.

        What is new waits behind what waits already; what is dealt out again was chosen so that
        nothing of its slot waited before it.
        """
        picks: dict[Consumer | None, list[int]] = defaultdict(list)
        left: list[int] = []
        stuck, draining, owners = self._stuck, self.draining, self._owners
        waiting: Container[int] = () if again else self._waiting
        if not self._ordered or not (stuck or len(draining) or waiting):
            for index, owner in zip(indexes, map(owners.__getitem__, slots), strict=True):
                picks[owner].append(index)
            return picks, left
        for index, slot in zip(indexes, slots, strict=True):
            if slot in stuck or draining.refuse(slot) or slot in waiting:
                left.append(index)
            else:
                picks[owners[slot]].append(index)
        return picks, left

    def _slots_of(self, run: EntryRun) -> list[int]:
        kind = type(self.ranges)
        slots: list[int] | None = run.memo.get(kind)
        if slots is None:
            if len(self._slot_of) > KEYS_KNOWN_MAX:
                self._slot_of.clear()
            slots = list(map(self._slot_of.__getitem__, map(metadata.sticky_key, run.data)))
            run.memo[kind] = slots
        return slots

    # The replay queue, line by line.

    def _replayable(self, count_max: int) -> list[Position]:
        """The first queued entries of each owner that can take them; each gets a fair part."""
        ready = [(self._lines[c], c.room) for c in self._consumers if c in self._lines]
        ready = [(line, room) for line, room in ready if room > 0]
        share = -(-count_max // max(len(ready), 1))
        found = [position for line, room in ready for position in line.first(min(room, share))]
        return sorted(found)[:count_max]

    def _may_read_on(self) -> bool:
        """Other slots may go on while some wait, up to the look-ahead limits."""
        limit = min(
            self._settings.look_ahead_per_consumer_max * len(self._consumers),
            self._settings.look_ahead_per_subscription_max,
        )
        return len(self.replay) < limit

    def _requeue(self, ledger_id: int, entry_ids: Sequence[int]) -> None:
        if self._reading is not None and entry_ids:
            self._came_back.update(map(self._slots[ledger_id].__getitem__, entry_ids))
        super()._requeue(ledger_id, entry_ids)

    def _set_aside(self, ledger_id: int, entry_ids: Sequence[int]) -> list[int]:
        fresh = super()._set_aside(ledger_id, entry_ids)
        if fresh:
            self._line_up(ledger_id, fresh)
            self._waiting.update(map(self._slots[ledger_id].__getitem__, fresh))
        return fresh

    def _line_up(self, ledger_id: int, entry_ids: Sequence[int]) -> None:
        for line, those in self._by_line(ledger_id, entry_ids).items():
            self._lines.setdefault(line, ReplayQueue()).add(ledger_id, those)

    def _take_up(self, ledger_id: int, entry_ids: Sequence[int]) -> list[int]:
        gone = super()._take_up(ledger_id, entry_ids)
        if not gone:
            return gone
        for line, those in self._by_line(ledger_id, gone).items():
            queue = self._lines[line]
            queue.discard(ledger_id, those)
            if not queue:
                del self._lines[line]
        waiting = self._waiting
        for slot in map(self._slots[ledger_id].__getitem__, gone):
            waiting[slot] -= 1
            if not waiting[slot]:
                del waiting[slot]
        self._forget(ledger_id, gone)
        return gone

    def _by_line(
        self, ledger_id: int, entry_ids: Sequence[int]
    ) -> dict[Consumer | int | None, list[int]]:
        found: dict[Consumer | int | None, list[int]] = defaultdict(list)
        known, owners, draining = self._slots[ledger_id], self._owners, self.draining
        if len(draining):
            for entry_id in entry_ids:
                slot = known[entry_id]
                found[slot if slot in draining else owners[slot]].append(entry_id)
            return found
        owned = map(owners.__getitem__, map(known.__getitem__, entry_ids))
        for entry_id, owner in zip(entry_ids, owned, strict=True):
            found[owner].append(entry_id)
        return found

    def _forget(self, ledger_id: int, entry_ids: Iterable[int]) -> None:
        """Entries whose slots need not be known any more."""
        known = self._slots[ledger_id]
        deque(map(known.pop, entry_ids), maxlen=0)
        if not known:
            del self._slots[ledger_id]

    # What leaves consumers' hands, and slots that become free by it.

    def _finished(self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]) -> bool:
        if not entry_ids:
            return False
        freed = self._left(consumer, ledger_id, entry_ids)
        self._forget(ledger_id, entry_ids)
        return freed

    def _given_back(self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]) -> None:
        self._left(consumer, ledger_id, entry_ids)

    def _left(self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]) -> bool:
        """True when a slot has become free. Its entries line up for its owner then."""
        if not entry_ids or not len(self.draining):
            return False
        known = self._slots[ledger_id]
        slots = [slot for slot in map(known.__getitem__, entry_ids) if slot in self.draining]
        freed = [slot for slot in slots if self.draining.released(consumer, slot)]
        for slot in freed:
            queue = self._lines.pop(slot, None)
            if queue is not None:
                for ledger, those in queue.by_ledger():
                    self._line_up(ledger, those)
        return bool(freed)

    def _members_changed(self) -> None:
        self._owners.clear()
        self._lines.clear()
        if not self._consumers:
            self._slots.clear()
            self._waiting.clear()
        if self._ordered:
            held = map(self._held_by, self._consumers)
            self.draining.owners_changed(self._owners.__getitem__, held)
        for ledger_id, entry_ids in self.replay.by_ledger():
            self._line_up(ledger_id, entry_ids)

    def _held_by(self, consumer: Consumer) -> tuple[Consumer, Counter[int]]:
        """How many entries a consumer holds of each slot."""
        held: Counter[int] = Counter()
        for ledger_id, entry_ids in consumer.pending.by_ledger():
            held.update(map(self._slots[ledger_id].__getitem__, entry_ids))
        return consumer, held


class _Owners(dict[int, Consumer | None]):
    """Owners of slots, each asked for once until they change."""

    def __init__(self, select: Callable[[int], Consumer | None]) -> None:
        super().__init__()
        self._select = select

    def __missing__(self, slot: int) -> Consumer | None:
        owner = self[slot] = self._select(slot)
        return owner


class _SlotOf(dict[bytes, int]):
    """Slots of keys; those of short ones are remembered."""

    def __init__(self, slot: Callable[[bytes], int]) -> None:
        super().__init__()
        self._slot = slot

    def __missing__(self, key: bytes) -> int:
        slot = self._slot(key)
        if len(key) <= KEY_KNOWN_SIZE_MAX:
            self[key] = slot
        return slot
