"""Shared: each entry goes to any one consumer that has room; what comes back goes out again."""

import asyncio
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from magnetar.broker.dispatch.shared import RoundRobin, Seat
from magnetar.broker.topics.consumer import Consumer, entry_ids_of
from magnetar.broker.topics.dispatcher import ack_sets_of, read_failed
from magnetar.broker.topics.pending import by_ledger
from magnetar.broker.topics.redelivery import RedeliveryCounts, ReplayQueue
from magnetar.broker.topics.settings import TopicSettings
from magnetar.broker.topics.weighing import Chunk, weigh
from magnetar.clock import Clock
from magnetar.errors import StorageError
from magnetar.model.policies import Policies
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.cursor import Cursor, Picked
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.tasks import Tasks

CHUNKED_MESSAGES_MAX: Final = 10_000
"""Half-delivered messages whose owners are remembered; the rest of the oldest goes to anybody."""
TURN_ENTRIES_MAX: Final = 1_000
"""Entries dealt out before others get the loop; what is left goes on in its next turn."""
RETURNED_AT_ONCE_MAX: Final = 2_000
"""Likewise entries that come back: a consumer may have held 50,000 when it asks for all again."""
CHUNKS_ASIDE_MAX: Final = 1_000
"""Chunks waiting for a busy owner before reading on stops."""


class SharedDispatcher:
    """Deals runs out round robin. Key_Shared overrides how a run is dealt, and what may replay."""

    def __init__(
        self, cursor: Cursor, *, settings: TopicSettings, tasks: Tasks, clock: Clock
    ) -> None:
        self._cursor = cursor
        self._settings = settings
        self._tasks = tasks
        self._clock = clock
        self._consumers: list[Consumer] = []  # Invariant: best priority first, then oldest first.
        self.replay = ReplayQueue()
        self.redelivery_counts = RedeliveryCounts()
        self._round_robin: RoundRobin[Consumer] = RoundRobin()
        self._chunk_owners: dict[str, Consumer] = {}  # By uuid: messages that are half delivered.
        self._chunks_aside: dict[Position, str] = {}  # In the replay queue, for their owners only.
        # What is on its way back: whose it is (None: gone), ledger and entry ids, in log order.
        # Invariant: nothing is dealt out before all of it is queued.
        self._returning: deque[tuple[Consumer | None, int, list[int]]] = deque()
        self._reading: asyncio.Task[None] | None = None
        self._turn_running = False
        self._replay_stuck = False  # True: nothing queued can go out until somebody has room.
        self._reads_paused = False  # True: too much is unacknowledged on the subscription.
        self._unacked_max = 0  # Of all consumers together; 0: no limit.
        self._closed = False

    @property
    def active(self) -> Consumer | None:
        return None

    @property
    def unacked(self) -> int:
        return sum(consumer.unacked for consumer in self._consumers)

    def join(self, consumer: Consumer) -> None:
        if not self._consumers:
            self._begin()
        self._consumers.append(consumer)
        self._consumers.sort(key=lambda c: c.priority)
        self._replay_stuck = False
        self._members_changed()

    def leave(self, consumer: Consumer) -> None:
        self._consumers.remove(consumer)
        self._round_robin.forget(consumer)
        for uuid in [u for u, owner in self._chunk_owners.items() if owner is consumer]:
            del self._chunk_owners[uuid]
        released = consumer.release_all()
        if not self._consumers:
            released.clear()
            self._returning.clear()
            self.replay.clear()
            self._chunks_aside.clear()
            self.redelivery_counts.clear()
        self._members_changed()
        self._take_back(None, released)

    def flowed(self, consumer: Consumer) -> None:
        self._replay_stuck = False
        self.wake()

    def acknowledged(self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]) -> None:
        room_before = consumer.room
        released = consumer.release(ledger_id, entry_ids)
        freed = self._finished(consumer, ledger_id, released)
        freed = freed or consumer.room > room_before
        if len(released) < len(entry_ids):
            freed = self._acknowledged_elsewhere(ledger_id, entry_ids, released) or freed
        self.redelivery_counts.discard(ledger_id, entry_ids)
        self._after_release(freed=freed)

    def acknowledged_part(self, consumer: Consumer, position: Position, pending: int) -> None:
        room_before = consumer.room
        consumer.release_part(position, pending)
        self._after_release(freed=consumer.room > room_before)

    def redeliver(self, consumer: Consumer, positions: Sequence[Position] | None) -> None:
        held = consumer.pending
        self._take_back(consumer, held.in_order() if positions is None else by_ledger(positions))

    def apply(self, policies: Policies) -> None:
        self._unacked_max = policies.unacked_per_subscription_max or 0
        self._reads_paused = False  # Unless the new limit says so, too.
        self._replay_stuck = False
        self.wake()

    def close(self) -> None:
        self._closed = True
        if self._reading is not None:
            # It would move the cursor on, which may be another dispatcher's from now on.
            self._reading.cancel()

    def wake(self) -> None:
        if self._reading is not None or self._turn_running or self._closed:
            return
        self._turn_running = True
        try:
            self._turn()
        finally:
            self._turn_running = False

    # The turn: first what waits to go out again, then what is new.

    def _turn(self) -> None:
        dealt = 0
        while (self.replay or self._cursor.has_more) and (room := self._room()) > 0:
            if dealt >= TURN_ENTRIES_MAX:
                asyncio.get_running_loop().call_soon(self.wake)
                return
            again = self._again(room)
            if again:
                picks = self._cached_again(again)
                if picks is None:
                    self._reading = self._tasks.spawn("replay", self._read_again(again))
                    return
                self._deal_again(again, picks)
                dealt += len(again)
                continue
            if not self._may_read_on():
                return
            wanted = min(room, self._settings.read_entries_max)
            runs = self._cursor.cached(wanted, self._settings.read_bytes_max)
            if runs is None:
                self._reading = self._tasks.spawn("read", self._read(wanted))
                return
            if not runs:
                return
            self._deliver(map(_whole, runs), again=False)
            dealt += sum(map(len, runs))

    def _again(self, room: int) -> list[Position]:
        """What of the replay queue can go out, as far as there is room; not too much at once."""
        if not self.replay or self._replay_stuck:
            return []
        found = self._replayable(min(room, self._settings.replay_entries_max))
        self._replay_stuck = not found
        return found

    async def _read(self, wanted: int) -> None:
        try:
            runs = await self._cursor.read(wanted, self._settings.read_bytes_max)
            if not self._returning:
                self._deliver(map(_whole, runs), again=False)
            elif runs:
                self._cursor.read_position = runs[0].first
        except StorageError as error:
            await read_failed(self._cursor, error, self._clock)
        finally:
            self._reading = None
        self.wake()

    async def _read_again(self, positions: list[Position]) -> None:
        try:
            runs = await self._cursor.read_at(positions)
            if not self._returning:
                self._deal_again(positions, map(_whole, runs))
        except StorageError as error:
            await read_failed(self._cursor, error, self._clock)
        finally:
            self._reading = None
        self.wake()

    def _cached_again(self, positions: list[Position]) -> list[Picked] | None:
        """What is queued at ``positions``, if it is in memory."""
        found: list[Picked] = []
        for ledger_id, entry_ids in by_ledger(positions).items():
            picks = self._cursor.cached_at(ledger_id, entry_ids)
            if picks is None:
                return None
            found += picks
        return found

    def _deal_again(self, positions: list[Position], picks: Iterable[Picked]) -> None:
        """Deal out what was queued at ``positions``: ``picks`` is what is left of it."""
        for ledger_id, entry_ids in by_ledger(positions).items():
            self._take_up(ledger_id, entry_ids)
        self._deliver(picks, again=True)

    def _deliver(self, picks: Iterable[Picked], *, again: bool) -> None:
        """Deal out what was read; ``again``: it comes from the replay queue."""
        for run, picked in picks:
            weighed = weigh(run)
            if weighed.corrupt:
                self._cursor.acknowledge(weighed.corrupt)
            for part, chunks in zip(weighed.runs, weighed.chunks, strict=True):
                indexes = picked
                if len(part) < len(run):
                    indexes = _within(part, picked, part.first_entry_id - run.first_entry_id)
                if indexes:
                    self._deal(part, indexes, chunks, again=again)

    def _deal(
        self, run: EntryRun, indexes: Sequence[int], chunks: dict[int, Chunk], *, again: bool
    ) -> None:
        """Give entries of a weighed run to consumers with room; the rest waits to be replayed."""
        if chunks:
            self._deal_with_chunks(run, indexes, chunks)
            return
        weights = run.weights
        if len(indexes) < len(run):
            weights = list(map(weights.__getitem__, indexes))
        shares = self._round_robin.assign(weights, self._seats())
        picks: dict[Consumer, list[int]] = {}
        for share in shares:
            picks.setdefault(share.consumer, []).extend(indexes[share.start : share.stop])
        for consumer, picked in picks.items():
            self._hand_over(consumer, run, picked)
        left = indexes[shares[-1].stop if shares else 0 :]
        if left:
            self._requeue(run.ledger_id, list(map(run.first_entry_id.__add__, left)))

    def _seats(self) -> list[Seat[Consumer]]:
        rooms = ((consumer, consumer.room) for consumer in self._consumers)
        return [Seat(consumer, consumer.priority, room) for consumer, room in rooms if room > 0]

    def _deal_with_chunks(
        self, run: EntryRun, indexes: Sequence[int], chunks: dict[int, Chunk]
    ) -> None:
        """All parts of a chunked message go to one consumer, wherever the others go."""
        for index in indexes:
            entry = run.part(index, index + 1)
            chunk = chunks.get(index)
            owner = self._chunk_owners.get(chunk.uuid) if chunk else None
            if owner is None:
                shares = self._round_robin.assign(entry.weights, self._seats())
                owner = shares[0].consumer if shares else None
            if owner is None or owner.room <= 0:
                self._set_aside(entry.ledger_id, [entry.first_entry_id])
                if chunk:
                    self._chunks_aside[entry.first] = chunk.uuid
                continue
            if chunk:
                self._chunk_delivered(chunk, owner)
            self._hand_over(owner, entry)

    def _chunk_delivered(self, chunk: Chunk, owner: Consumer) -> None:
        self._chunk_owners.pop(chunk.uuid, None)
        if not chunk.last:
            self._chunk_owners[chunk.uuid] = owner
            if len(self._chunk_owners) > CHUNKED_MESSAGES_MAX:
                del self._chunk_owners[next(iter(self._chunk_owners))]

    def _must_wait(self, position: Position) -> bool:
        """Whether a queued entry is a chunk whose owner has no room."""
        uuid = self._chunks_aside.get(position)
        owner = None if uuid is None else self._chunk_owners.get(uuid)
        return owner is not None and owner.room <= 0

    def _hand_over(
        self, consumer: Consumer, run: EntryRun, picked: Sequence[int] | None = None
    ) -> None:
        """Give a consumer a run, or what is picked of it."""
        if picked is not None and len(picked) == len(run):
            picked = None
        counts = None
        if self.redelivery_counts:
            counts = self.redelivery_counts.of(run.ledger_id, entry_ids_of(run, picked))
        ack_sets = ack_sets_of(self._cursor, run, picked)
        consumer.hold(run, picked, ack_sets)
        consumer.deliver(run, picked=picked, redelivery_counts=counts, ack_sets=ack_sets)

    # What decides whether there is a turn.

    def _room(self) -> int:
        """Messages that may go out now, over all consumers."""
        if self._closed or self._returning or self._over_unacked_limit():
            return 0
        room = 0
        for consumer in self._consumers:
            its = consumer.room
            if its > 0:
                room += its
            elif not consumer.outlet.writable:
                consumer.outlet.when_writable(self._writable_again)
        return room

    def _over_unacked_limit(self) -> bool:
        limit = self._unacked_max
        if not limit:
            return False
        unacked = self.unacked
        if self._reads_paused:
            self._reads_paused = unacked >= limit // 2
        else:
            self._reads_paused = unacked >= limit
        return self._reads_paused

    def _may_read_on(self) -> bool:
        """Whatever waits goes before what is new, save chunks that wait for their owners."""
        return not self.replay or len(self.replay) == len(self._chunks_aside) < CHUNKS_ASIDE_MAX

    def _replayable(self, count_max: int) -> list[Position]:
        if not self._chunks_aside:
            return self.replay.first(count_max)
        ready = (position for position in self.replay if not self._must_wait(position))
        return list(islice(ready, count_max))

    def _writable_again(self) -> None:
        self._replay_stuck = False
        self.wake()

    def _acknowledged_elsewhere(
        self, ledger_id: int, entry_ids: Sequence[int], released: Iterable[int]
    ) -> bool:
        """Take acknowledged entries from whoever has them. True: more may go out now."""
        elsewhere = list(set(entry_ids).difference(released))
        freed = False
        for other in self._consumers:
            room_before = other.room
            found = other.release(ledger_id, elsewhere)
            freed = self._finished(other, ledger_id, found) or freed or other.room > room_before
        return bool(self._take_up(ledger_id, elsewhere)) or freed

    def _after_release(self, *, freed: bool) -> None:
        if freed or self._reads_paused:
            self._replay_stuck = False
            self.wake()

    # What comes back.

    def _take_back(self, consumer: Consumer | None, entries: Mapping[int, list[int]]) -> None:
        """Queue what ``consumer`` holds of ``entries``, or all of them from one that is gone."""
        size = RETURNED_AT_ONCE_MAX
        for ledger_id, entry_ids in entries.items():
            for start in range(0, len(entry_ids), size):
                self._returning.append((consumer, ledger_id, entry_ids[start : start + size]))
        self._queue_some()

    def _queue_some(self) -> None:
        room = 0 if self._closed else RETURNED_AT_ONCE_MAX
        while self._returning and room > 0:
            consumer, ledger_id, part = self._returning.popleft()
            room -= len(part)
            entry_ids = part if consumer is None else consumer.release(ledger_id, part)
            if not entry_ids:
                continue
            if consumer is not None:
                self.redelivery_counts.add(ledger_id, entry_ids)
                self._given_back(consumer, ledger_id, entry_ids)
            self._requeue(ledger_id, entry_ids)
        if not self._returning:
            self.wake()
        elif not self._closed:
            asyncio.get_running_loop().call_soon(self._queue_some)

    # What Key_Shared adds to: entries come into and leave our keeping.

    def _begin(self) -> None:
        """The first consumer is here: start at the mark."""
        self._cursor.rewind()

    def _members_changed(self) -> None:
        """A consumer came or went."""

    def _requeue(self, ledger_id: int, entry_ids: Sequence[int]) -> None:
        """These entries were given back: they are in nobody's hands, and may go out at once."""
        self._set_aside(ledger_id, entry_ids)
        self._replay_stuck = False

    def _set_aside(self, ledger_id: int, entry_ids: Sequence[int]) -> list[int]:
        """These entries go to the replay queue. Returns those that were not in it yet."""
        return self.replay.add(ledger_id, entry_ids)

    def _take_up(self, ledger_id: int, entry_ids: Sequence[int]) -> list[int]:
        """These entries leave the replay queue. Returns those that were in it."""
        gone = self.replay.discard(ledger_id, entry_ids)
        if self._chunks_aside:
            for entry_id in gone:
                self._chunks_aside.pop(Position(ledger_id, entry_id), None)
        return gone

    def _finished(self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]) -> bool:
        """These entries left a consumer's hands for good. True: more may go out now."""
        return False

    def _given_back(self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]) -> None:
        """These entries left a consumer's hands, and will be queued."""


def _whole(run: EntryRun) -> Picked:
    return run, range(len(run))


def _within(part: EntryRun, indexes: Sequence[int], offset: int) -> list[int]:
    """Those of ``indexes`` that fall into a part of the run, as indexes into that."""
    start, stop = bisect_left(indexes, offset), bisect_left(indexes, offset + len(part))
    return [index - offset for index in indexes[start:stop]]
