"""Shared: entries go round the consumers, best priority first, a few at a time. Pure."""

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from itertools import accumulate, groupby
from operator import attrgetter
from typing import Final, Generic

from magnetar.message.entry_traits import EntryTraits
from magnetar.message.metadata import ChunkInfo
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.run import EntryRun

from .blocked import Blocked, C, Why, all_blocked
from .deliveries import Deliveries
from .strategy import Assignment

_priority_of = attrgetter("priority")

ROUND_ROBIN_MESSAGES_MAX: Final = 20
"""Messages a consumer gets before the next one does: ``dispatcherMaxRoundRobinBatchSize``."""


def fitting(message_counts: Sequence[int], capacity: int) -> int:
    """How many of the leading entries may go out where ``capacity`` messages may.

    An entry is never split: it goes while any capacity is left, so the last one may overdraw.
    """
    if capacity <= 0:
        return 0
    return min(bisect_left(list(accumulate(message_counts)), capacity) + 1, len(message_counts))


class RoundRobin(Generic[C]):
    """Remembers, per priority, who was served last."""

    def __init__(self) -> None:
        self._last: dict[int, C] = {}

    def assign(
        self, indexes: Sequence[int], message_counts: Sequence[int], capacities: dict[C, int]
    ) -> tuple[dict[C, list[int]], int]:
        """The entries for each consumer, and how many are assigned: the first ones.

        ``capacities`` has consumers, sorted by priority, and the messages that each may still take,
        which go down.
        """
        picks: dict[C, list[int]] = {}
        start, end = 0, len(message_counts)
        plain = message_counts.count(1) == end
        for priority, level in groupby(capacities, _priority_of):
            ring = [each for each in self._ring(priority, list(level)) if capacities[each] > 0]
            while ring and start < end:
                for consumer in ring:
                    most = min(capacities[consumer], ROUND_ROBIN_MESSAGES_MAX, end - start)
                    if not most:
                        break
                    stop = start + most
                    if not plain:
                        stop = start + fitting(message_counts[start:stop], most)
                    capacities[consumer] -= most if plain else sum(message_counts[start:stop])
                    picks.setdefault(consumer, []).extend(indexes[start:stop])
                    self._last[priority] = consumer
                    start = stop
                ring = [consumer for consumer in ring if capacities[consumer] > 0]
        return picks, start

    def forget(self, consumer: C) -> None:
        """The consumer is gone."""
        for priority in [known for known, last in self._last.items() if last is consumer]:
            del self._last[priority]

    def _ring(self, priority: int, level: list[C]) -> list[C]:
        """The consumers of a priority, beginning behind the one that was served last."""
        last = self._last.get(priority)
        after = level.index(last) + 1 if last in level else 0
        return level[after:] + level[:after]


class Shared(Generic[C]):
    """Any consumer gets any entry, save that all chunks of a message go to one consumer."""

    active = None

    def __init__(self, *, chunked_messages_max: int, waiting_chunks_max: int) -> None:
        self._chunked_messages_max = chunked_messages_max
        self._waiting_chunks_max = waiting_chunks_max
        self.receivers: list[C] = []  # Invariant: best priority first, then oldest first.
        self.table: Deliveries[C] = Deliveries()
        self.chunk_owners: dict[str, C] = {}
        """Consumers of the chunked messages that were delivered in part, by uuid."""
        self._round_robin: RoundRobin[C] = RoundRobin()

    def join(self, consumer: C) -> None:
        self.receivers.append(consumer)
        self.receivers.sort(key=_priority_of)

    def leave(self, consumer: C) -> None:
        self.receivers.remove(consumer)
        self._round_robin.forget(consumer)
        for uuid in [u for u, owner in self.chunk_owners.items() if owner is consumer]:
            del self.chunk_owners[uuid]

    def may_read(self) -> bool:
        """Entries that wait go before new ones, but for chunks that wait for their owners."""
        waiting = self.table.waiting_count
        return not waiting or (None not in self.table.queues and waiting < self._waiting_chunks_max)

    def due(self, count_max: int) -> list[Position]:
        """Entries that wait, save chunks whose owner takes no more."""
        ready = [queue for uuid, queue in self.table.queues.items() if not self._owner_full(uuid)]
        found = [position for queue in ready for position in queue.first(count_max)]
        return found if len(ready) < 2 else sorted(found)[:count_max]

    def assign(
        self, run: EntryRun, indexes: Sequence[int], traits: EntryTraits, *, again: bool
    ) -> Assignment[C]:
        capacities = {
            consumer: capacity for consumer in self.receivers if (capacity := consumer.capacity) > 0
        }
        if traits.unusual and any(chunk_at(traits, index) for index in indexes):
            return self._assign_chunks(run, indexes, traits, capacities)
        counts = traits.message_counts
        if len(indexes) < len(run.data):
            counts = list(map(counts.__getitem__, indexes))
        picks, stop = self._round_robin.assign(indexes, counts, capacities)
        return list(picks.items()), indexes[stop:]

    def _assign_chunks(
        self,
        run: EntryRun,
        indexes: Sequence[int],
        traits: EntryTraits,
        capacities: dict[C, int],
    ) -> Assignment[C]:
        """Assign each entry by itself: a chunk goes to the owner of its message.

        If a consumer left, or asked again, while these were being read, then earlier chunks wait,
        and go first.
        """
        picks: dict[C, list[int]] = {}
        left: list[int] = []
        for index in indexes:
            chunk, count = chunk_at(traits, index), traits.message_counts[index]
            owner = self.chunk_owners.get(chunk.uuid) if chunk else None
            if chunk:
                entry_id = run.first_entry_id + index
                self.table.group(run.ledger_id, [entry_id], [chunk.uuid])
                queue = self.table.queues.get(chunk.uuid)
                if queue is not None and queue.first(1)[0] < (run.ledger_id, entry_id):
                    left.append(index)
                    continue
            if owner is None:
                owner = next(iter(self._round_robin.assign([index], [count], capacities)[0]), None)
            elif capacities.get(owner, 0) > 0:
                capacities[owner] -= count
            else:
                owner = None
            if owner is not None:
                picks.setdefault(owner, []).append(index)
                if chunk:
                    self._chunk_assigned(chunk, owner)
                continue
            left.append(index)
        return list(picks.items()), left

    def _chunk_assigned(self, chunk: ChunkInfo, owner: C) -> None:
        self.chunk_owners.pop(chunk.uuid, None)
        if not chunk.last:
            self.chunk_owners[chunk.uuid] = owner
            if len(self.chunk_owners) > self._chunked_messages_max:
                del self.chunk_owners[next(iter(self.chunk_owners))]

    def released(self, consumer: C, ledger_id: int, entry_ids: Sequence[int]) -> bool:
        return False

    def blocked(self, now: float) -> Blocked | None:
        for uuid in self.table.queues:
            if self._owner_full(uuid):
                return Blocked(Why.CHUNK_OWNER, self.chunk_owners[str(uuid)].name)
        return all_blocked(self.receivers)

    def _owner_full(self, uuid: Hashable) -> bool:
        owner = self.chunk_owners.get(uuid) if isinstance(uuid, str) else None
        return owner is not None and owner.capacity <= 0


def chunk_at(traits: EntryTraits, index: int) -> ChunkInfo | None:
    """Which part of a chunked message an entry of a run is; None for a whole message."""
    seen = traits.unusual.get(index)
    return None if seen is None else seen.chunk
