"""Which consumer of a Key_Shared subscription owns which hash slots: three rules, one interface.

A sticky key is hashed to a slot, and a slot is owned by at most one consumer. Ranges, counts and
error texts are those of Apache Pulsar 4.0.7, so that its clients and tools see what they know:

    ConsistentHashRanges   slots 1..65535; each consumer marks many points on a ring, and a slot
                           belongs to the next point at or above it (the first one after the top)
    AutoSplitRanges        slots 0..65535; a newcomer takes the lower half of the biggest range
    StickyRanges           slots 0..65535; consumers say which ranges they want

Slot 0 is never given to a key: Pulsar reads it as "no slot", and uses 1. Pure.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Hashable, Sequence
from operator import itemgetter
from typing import Generic, Protocol, TypeVar

from magnetar.errors import ConsumerAssignFailed
from magnetar.model.hashing import murmur3_32

C = TypeVar("C", bound=Hashable)
_first = itemgetter(0)

Range = tuple[int, int]
"""The first and the last slot; both belong to it."""

RING_SIZE = 65_535
SPLIT_SIZE = 65_536
POINTS = 100


class HashRanges(Protocol[C]):
    """Slots and their owners. Consumers are told apart by equality; names may repeat."""

    def add(self, consumer: C, name: str, ranges: Sequence[Range] | None = None) -> None:
        """Give ``consumer`` its slots. Raises ConsumerAssignFailed, and changes nothing then."""

    def remove(self, consumer: C) -> None:
        """Take all slots from ``consumer``; a stranger is ignored."""

    def select(self, slot: int) -> C | None:
        """The owner of ``slot``."""

    def slot(self, sticky_key: bytes) -> int:
        """Where a key belongs."""

    def ranges(self) -> dict[C, list[Range]]:
        """All slots by owner, ascending, touching ranges joined."""


class ConsistentHashRanges(Generic[C]):
    """A ring of points: the order of joins matters only where two points fall together."""

    def __init__(self, points: int = POINTS) -> None:
        self._points_per_consumer = points
        # A consumer's name, its index among those of that name, the first that was free, and its
        # points.
        self._marked: dict[C, tuple[str, int, list[int]]] = {}
        # Invariant: no list is empty; its first consumer owns the point, later ones wait for it.
        self._ring: dict[int, list[C]] = {}
        self._points: list[int] = []  # Invariant: the keys of _ring, ascending.

    def add(self, consumer: C, name: str, ranges: Sequence[Range] | None = None) -> None:
        used = {index for other, index, _ in self._marked.values() if other == name}
        index = next(i for i in range(len(used) + 1) if i not in used)
        points = self._points_of(name, index)
        self._marked[consumer] = (name, index, points)
        for point in points:
            waiting = self._ring.setdefault(point, [])
            if not waiting:
                insort(self._points, point)
            waiting.append(consumer)

    def remove(self, consumer: C) -> None:
        if consumer not in self._marked:
            return
        _, _, points = self._marked.pop(consumer)
        for point in points:
            waiting = self._ring[point]
            waiting.remove(consumer)
            if not waiting:
                del self._ring[point]
                del self._points[bisect_left(self._points, point)]

    def select(self, slot: int) -> C | None:
        points = self._points
        if not points:
            return None
        at = bisect_left(points, slot)
        return self._ring[points[at if at < len(points) else 0]][0]

    def slot(self, sticky_key: bytes) -> int:
        return murmur3_32(sticky_key) % RING_SIZE + 1

    def ranges(self) -> dict[C, list[Range]]:
        result: dict[C, list[Range]] = {consumer: [] for consumer in self._marked}
        start = 1
        for point in self._points:
            _extend(result[self._ring[point][0]], start, point)
            start = point + 1
        if self._points and start <= RING_SIZE:
            _extend(result[self._ring[self._points[0]][0]], start, RING_SIZE)
        return result

    def _points_of(self, name: str, index: int) -> list[int]:
        return [
            self.slot(f"{name}\0{index}\0{i}".encode()) for i in range(self._points_per_consumer)
        ]


class AutoSplitRanges(Generic[C]):
    """One range per consumer: split for a new one, joined with a neighbour when one leaves."""

    def __init__(self, size: int = SPLIT_SIZE) -> None:
        self._size = size
        # The last slot of each range, and its owner. Invariant: ascending, up to ``size``.
        self._ranges: list[tuple[int, C]] = []

    def add(self, consumer: C, name: str, ranges: Sequence[Range] | None = None) -> None:
        if not self._ranges:
            self._ranges.append((self._size, consumer))
            return
        tops = [top for top, _ in self._ranges]
        sizes = [top - below for below, top in zip([0, *tops], tops, strict=False)]
        size = max(sizes)
        if size <= 1:
            raise ConsumerAssignFailed(
                f"No more range can assigned to new consumer, assigned consumers {len(tops)}"
            )
        at = sizes.index(size)
        self._ranges.insert(at, (tops[at] - size // 2, consumer))

    def remove(self, consumer: C) -> None:
        kept = [(top, owner) for top, owner in self._ranges if owner != consumer]
        if kept:  # A range goes to the consumer above it; the top one to the consumer below.
            kept[-1] = (self._size, kept[-1][1])
        self._ranges = kept

    def select(self, slot: int) -> C | None:
        at = bisect_left(self._ranges, slot, key=_first)
        return self._ranges[at][1] if at < len(self._ranges) else None

    def slot(self, sticky_key: bytes) -> int:
        return murmur3_32(sticky_key) % SPLIT_SIZE or 1

    def ranges(self) -> dict[C, list[Range]]:
        starts = [0, *(top + 1 for top, _ in self._ranges)]
        return {
            owner: [(start, top)] for start, (top, owner) in zip(starts, self._ranges, strict=False)
        }


class StickyRanges(Generic[C]):
    """Ranges that consumers declare. Slots that none declared have no owner."""

    def __init__(self) -> None:
        # Invariant: the ranges ascend and are disjoint.
        self._ranges: list[tuple[Range, C]] = []

    def add(self, consumer: C, name: str, ranges: Sequence[Range] | None = None) -> None:
        other = self.conflict(ranges)
        if other is not None:
            raise ConsumerAssignFailed(f"Range conflict with consumer {other}")
        for declared in ranges or ():
            insort(self._ranges, (declared, consumer), key=_first)

    def conflict(self, ranges: Sequence[Range] | None) -> C | None:
        """Who owns slots of ``ranges`` already: to be asked for a sign of life before ``add``.

        Raises ConsumerAssignFailed for ranges that no consumer could have.
        """
        if not ranges:
            raise ConsumerAssignFailed("Ranges for KeyShared policy must not be empty.")
        ascending = sorted(ranges)
        for at, (start, end) in enumerate(ascending):
            if start > end:
                raise ConsumerAssignFailed(
                    f"Fixed hash range start > end for range: [{start},{end}]"
                )
            if at + 1 < len(ascending) and ascending[at + 1][0] <= end:
                following = ascending[at + 1]
                raise ConsumerAssignFailed(
                    f"Consumer's own ranges conflict: [{start},{end}] overlaps with "
                    f"[{following[0]},{following[1]}]"
                )
        for start, end in ranges:
            for (taken_start, taken_end), owner in self._ranges:
                if start <= taken_end and taken_start <= end:
                    return owner
        return None

    def remove(self, consumer: C) -> None:
        self._ranges = [(taken, owner) for taken, owner in self._ranges if owner != consumer]

    def select(self, slot: int) -> C | None:
        at = bisect_right(self._ranges, (slot, SPLIT_SIZE), key=_first) - 1
        if at < 0:
            return None
        (_, end), owner = self._ranges[at]
        return owner if slot <= end else None

    def slot(self, sticky_key: bytes) -> int:
        return murmur3_32(sticky_key) % SPLIT_SIZE or 1

    def ranges(self) -> dict[C, list[Range]]:
        result: dict[C, list[Range]] = {}
        for taken, owner in self._ranges:
            result.setdefault(owner, []).append(taken)
        return result


def _extend(ranges: list[Range], start: int, end: int) -> None:
    if ranges and ranges[-1][1] + 1 == start:
        ranges[-1] = (ranges[-1][0], end)
    else:
        ranges.append((start, end))
