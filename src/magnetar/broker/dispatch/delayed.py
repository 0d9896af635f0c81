"""Which entries of a subscription must not be delivered yet, and when they may be. Pure.

``held`` says which entries are delayed: those that were read, and neither taken nor acknowledged.
When each is due is kept apart, in memory (``recent``) or in buckets, which somebody else stores:
of a bucket only the first segment that is not used up is loaded, and not before it is due. What was
taken or acknowledged meanwhile stays there until its time comes, and is passed over then.

A bucket whose last segment is loaded is done with. After a crash the log is read again for what the
remaining buckets do not have.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import Final

from magnetar.model.position import Position

from .delayed_bucket import Delayed, Footer
from .entry_queue import by_ledger
from .entry_set import EntrySet

RECENT_MAX: Final = 20_000
"""Delayed entries in no bucket; then they become one."""

_ENTRY_BYTES: Final = 160
"""The approximate memory of one delayed entry."""


@dataclass(slots=True, order=True)
class Bucket:
    """Delayed entries that are stored; the ledger has a segment of them in each entry."""

    next_due_ms: int  # Of the first segment that is not loaded.
    ledger_id: int
    segment: int = field(compare=False)  # The number of that one.
    first_due_ms: Sequence[int] = field(compare=False)


class DelayedEntries:
    """The delayed entries of one subscription. They come and go in lists."""

    def __init__(self) -> None:
        self.held = EntrySet()
        self.recent: list[Delayed] = []  # A heap.
        self.buckets: list[Bucket] = []  # A heap.
        self._loaded: list[Delayed] = []  # A heap, of buckets.
        self.ready: list[Position] = []  # They are due. Invariant: in the order of the log.

    @property
    def full(self) -> bool:
        """As many are in memory as may be."""
        return len(self.recent) >= RECENT_MAX

    @property
    def size_bytes(self) -> int:
        """About how much memory they take."""
        segments = sum(len(bucket.first_due_ms) for bucket in self.buckets)
        in_memory = len(self.recent) + len(self._loaded)
        return self.held.count // 8 + in_memory * _ENTRY_BYTES + segments * 8

    @property
    def next_due_ms(self) -> int | None:
        """When the next one is due that is not ready yet; None: there is none."""
        heads = [heap[0][0] for heap in (self.recent, self._loaded) if heap]
        if self.buckets:
            heads.append(self.buckets[0].next_due_ms)
        return min(heads, default=None)

    def passed_ms(self, now_ms: int) -> int:
        """The latest time until ``now_ms`` of which nothing that was due by then is held."""
        next_due_ms = self.next_due_ms
        if self.ready:
            return 0
        return now_ms if next_due_ms is None else min(now_ms, next_due_ms - 1)

    def hold(self, ledger_id: int, due_ms: Sequence[int], entry_ids: Sequence[int]) -> None:
        """Keep these until they are due, each at its time."""
        self.held.add(ledger_id, entry_ids)
        for due, entry_id in zip(due_ms, entry_ids, strict=True):
            heappush(self.recent, (due, ledger_id, entry_id))

    def due(self, now_ms: int, count_max: int) -> list[Position]:
        """Some of those that are due, in log order: they stay until they are ``taken``.

        [] where none is, or one of ``to_load`` goes before all others.
        """
        wanted = count_max - len(self.ready)
        if wanted > 0:
            before = min(now_ms + 1, self.buckets[0].next_due_ms if self.buckets else now_ms + 1)
            fresh = list(islice(self._popped(before), wanted))
            if fresh:
                self.ready = sorted({*self.ready, *fresh})
        return self.ready[:count_max]

    def to_load(self, now_ms: int) -> Bucket | None:
        """The bucket whose next segment is due, if any."""
        due = self.buckets and self.buckets[0].next_due_ms <= now_ms
        return self.buckets[0] if due else None

    def loaded(self, bucket: Bucket, delayed: Iterable[Delayed]) -> bool:
        """The next segment of the first bucket is here. True: it was the bucket's last."""
        assert bucket is self.buckets[0], "segments are loaded in their order"
        heappop(self.buckets)
        for each in delayed:
            heappush(self._loaded, each)
        bucket.segment += 1
        if bucket.segment == len(bucket.first_due_ms):
            return True
        bucket.next_due_ms = bucket.first_due_ms[bucket.segment]
        heappush(self.buckets, bucket)
        return False

    def taken(self, positions: Sequence[Position]) -> None:
        """Some that were due are on their way to consumers, or acknowledged."""
        gone = set(positions)
        self.ready = [position for position in self.ready if position not in gone]
        for ledger_id, entry_ids in by_ledger(positions).items():
            self.held.discard(ledger_id, entry_ids)

    def take_recent(self) -> list[Delayed]:
        """All that is recent, ascending, to be stored: ``add_bucket`` or ``put_back`` follows."""
        recent, self.recent = sorted(self.recent), []
        return recent

    def put_back(self, delayed: Iterable[Delayed]) -> None:
        """They were not stored."""
        self.recent = [*delayed, *self.recent]
        heapify(self.recent)

    def add_bucket(self, ledger_id: int, footer: Footer) -> None:
        """A bucket that is stored in this ledger; what it has is held already."""
        first = array("q", footer.first_due_ms)
        heappush(self.buckets, Bucket(first[0], ledger_id, 0, first))

    def forget_bucket(self, bucket: Bucket, entries: EntrySet, now_ms: int) -> None:
        """A bucket is damaged: what it held is due, so that the log tells when it really is."""
        self.buckets.remove(bucket)
        heapify(self.buckets)
        for ledger_id, entry_id in entries.positions():
            if self.held.has(ledger_id, entry_id):
                heappush(self.recent, (now_ms, ledger_id, entry_id))

    def clear(self) -> None:
        """None is left."""
        self.held.clear()
        self.recent, self.buckets, self._loaded = [], [], []
        self.ready = []

    def _popped(self, before_ms: int) -> Iterator[Position]:
        """Entries in memory that are due before ``before_ms``, earliest first."""
        while heap := min((each for each in (self.recent, self._loaded) if each), default=None):
            if heap[0][0] >= before_ms:
                return
            _, ledger_id, entry_id = heappop(heap)
            if self.held.has(ledger_id, entry_id):
                yield Position(ledger_id, entry_id)
