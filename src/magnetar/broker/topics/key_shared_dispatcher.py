"""Key_Shared: each entry goes to the owner of its key's slot, in the order of the log per key.

An entry that may not go out now (its slot drains, its owner has no room, or an earlier entry of
its slot waits) waits in the replay queue, and its slot with it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from magnetar.broker.dispatch.hash_ranges import HashRanges
from magnetar.broker.dispatch.key_shared import DrainingSlots
from magnetar.broker.topics.consumer import Consumer
from magnetar.broker.topics.settings import TopicSettings
from magnetar.broker.topics.shared_dispatcher import SharedDispatcher
from magnetar.broker.topics.weighing import Chunk
from magnetar.clock import Clock
from magnetar.message import metadata
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.tasks import Tasks

_KEYS: Final = "sticky_keys"


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
        # The slot of every entry that a consumer holds or that waits in the replay queue.
        self._slots: dict[Position, int] = {}
        self._waiting: Counter[int] = Counter()  # Entries in the replay queue, per slot.
        self._stuck: set[int] = set()  # Slots of which an entry of this batch had to wait.
        self._given_back: set[int] = set()  # Slots of which entries came back during a read.

    def join(self, consumer: Consumer) -> None:
        self.ranges.add(consumer, consumer.name, consumer.request.hash_ranges)
        super().join(consumer)

    def leave(self, consumer: Consumer) -> None:
        self.ranges.remove(consumer)
        self.draining.forget(consumer)
        super().leave(consumer)

    def acknowledged(self, consumer: Consumer, positions: Sequence[Position]) -> None:
        positions = list(dict.fromkeys(positions))  # A client may name one twice.
        held = [(owner, p) for p in positions if (owner := self._holder(consumer, p)) is not None]
        queued = [p for p in positions if p in self.replay]
        super().acknowledged(consumer, positions)
        self._take_up(queued)
        freed = False
        for owner, position in held:
            slot = self._slots.pop(position, None)
            if slot is not None and self.draining.released(owner, slot):
                freed = True
        if freed or queued:
            self._replay_stuck = False
            self.wake()

    def redeliver(self, consumer: Consumer, positions: Sequence[Position] | None) -> None:
        wanted = consumer.pending if positions is None else positions
        released = [p for p in dict.fromkeys(wanted) if p in consumer.pending]
        for position in released:
            slot = self._slots.get(position)
            if slot is not None:
                self.draining.released(consumer, slot)
        super().redeliver(consumer, positions)

    # Dealing by key.

    def _deliver(self, runs: list[EntryRun], *, again: bool) -> None:
        # What is read again was chosen before: what came back meanwhile may belong before it.
        self._stuck = self._given_back
        self._given_back = set()
        super()._deliver(runs, again=again)

    def _deal(self, run: EntryRun, chunks: dict[int, Chunk], *, again: bool) -> None:
        """Entry by entry: who owns the slot, and may it go out now? Neighbours travel together."""
        taker: Consumer | None = None
        start = messages = 0
        for index, slot in enumerate(self._slots_of(run)):
            position = Position(run.ledger_id, run.first_entry_id + index)
            self._slots[position] = slot
            owner = self._taker(slot, again=again)
            if taker is not None and (owner is not taker or messages >= taker.room):
                self._hand_over(taker, run.part(start, index))
                if owner is taker and owner.room <= 0:
                    owner = None
                taker = None
            if owner is None:
                self._stuck.add(slot)
                self._set_aside([position])
                continue
            if taker is None:
                taker, start, messages = owner, index, 0
            messages += run.weights[index]
        if taker is not None:
            self._hand_over(taker, run.part(start, len(run)))

    def _taker(self, slot: int, *, again: bool) -> Consumer | None:
        """Who may have an entry of ``slot`` now.

        What is new waits behind what waits already; what is dealt out again was chosen so that
        nothing of its slot waited before it.
        """
        if self._ordered and (
            slot in self._stuck
            or self.draining.refuse(slot)
            or (not again and self._waiting[slot] > 0)
        ):
            return None
        owner = self.ranges.select(slot)
        return owner if owner is not None and owner.room > 0 else None

    def _slots_of(self, run: EntryRun) -> list[int]:
        keys: list[bytes] | None = run.memo.get(_KEYS)
        if keys is None:
            keys = list(map(metadata.sticky_key, run.data))
            run.memo[_KEYS] = keys
        return list(map(self.ranges.slot, keys))

    # The replay queue, slot by slot.

    def _replayable(self, count_max: int) -> list[Position]:
        """The first queued entries whose owner can take them, and none behind one that waits."""
        rooms = {c: c.room for c in self._consumers}
        found: list[Position] = []
        stuck: set[int] = set()
        for position in self.replay:
            slot = self._slots[position]
            if slot in stuck:
                continue
            owner = self.ranges.select(slot)
            draining = self._ordered and slot in self.draining
            if owner is None or draining or rooms[owner] <= 0:
                stuck.add(slot)
                continue
            rooms[owner] -= 1
            found.append(position)
            if len(found) == count_max:
                break
        return found

    def _may_read_on(self) -> bool:
        """Other slots may go on while some wait, up to the look-ahead limits."""
        limit = min(
            self._settings.look_ahead_per_consumer_max * len(self._consumers),
            self._settings.look_ahead_per_subscription_max,
        )
        return len(self.replay) < limit

    def _requeue(self, positions: Iterable[Position]) -> None:
        given_back = list(positions)
        if self._reading is not None:
            self._given_back.update(self._slots[position] for position in given_back)
        super()._requeue(given_back)

    def _set_aside(self, positions: list[Position]) -> None:
        fresh = [position for position in positions if position not in self.replay]
        self._waiting.update(self._slots[position] for position in fresh)
        super()._set_aside(fresh)

    def _take_up(self, positions: Iterable[Position]) -> None:
        for position in positions:
            slot = self._slots.pop(position, None)
            if slot is None:
                continue
            self._waiting[slot] -= 1
            if self._waiting[slot] <= 0:
                del self._waiting[slot]

    def _holder(self, consumer: Consumer, position: Position) -> Consumer | None:
        if position in consumer.pending:
            return consumer
        return next((c for c in self._consumers if position in c.pending), None)

    def _members_changed(self) -> None:
        if not self._consumers:
            self._slots.clear()
            self._waiting.clear()
        if not self._ordered:
            return
        held = [(c, Counter(self._slots[p] for p in c.pending)) for c in self._consumers]
        self.draining.owners_changed(self.ranges.select, held)
