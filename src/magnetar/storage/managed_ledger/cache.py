"""Recent entries, kept as the runs they moved in, for all managed ledgers of a broker together.

A ``LedgerCache`` holds the runs of one ledger; whoever reads the same range gets the same
``EntryRun``, so that what one reader saw in it (its ``traits``) serves the next. An
``EvictionQueue`` bounds the bytes of many ledger caches and evicts the oldest runs first. There are
two queues, so that a reader far behind does not push out what was just appended.
"""

from bisect import bisect_right
from heapq import heapify, heappop, heappush, heapreplace
from itertools import accumulate, chain
from typing import Final

from magnetar.storage.managed_ledger.run import EntryRun

CACHE_SIZE_MAX: Final = 64 * 1024 * 1024

# What an entry and a run take up beside the entry's own bytes, about.
_ENTRY_OVERHEAD: Final = 100
_RUN_OVERHEAD: Final = 600

# A run of fewer entries and bytes is small: it is worth copying a few lists to have fewer of them.
_SMALL_ENTRIES: Final = 64
_SMALL_BYTES: Final = 64 * 1024
_MERGED_ENTRIES_MAX: Final = 1_000
_MERGED_BYTES_MAX: Final = 256 * 1024
# So many runs at the end of a cache stay as they were appended: readers that keep up share them.
_HOT_RUNS: Final = 64

_PARTS_MAX: Final = 8
"""Different cuts of one run that are remembered."""


class EntryCache:
    """The memory for recent entries: one for all managed ledgers of a broker."""

    def __init__(self, size_bytes_max: int = CACHE_SIZE_MAX) -> None:
        self.reread = EvictionQueue(size_bytes_max // 4)  # What was read back from disk.
        self.appended = EvictionQueue(size_bytes_max - size_bytes_max // 4)

    @property
    def size_bytes(self) -> int:
        """Memory taken up, about."""
        return self.reread.size_bytes + self.appended.size_bytes


class EvictionQueue:
    """A bound on the bytes of some caches. The oldest run of all of them goes first."""

    def __init__(self, size_bytes_max: int) -> None:
        self.size_bytes_max = size_bytes_max
        self.size_bytes = 0
        self.runs_added = 0  # A run's age is how many had come before it.
        # Invariant: every cache that holds runs is here once, with the age of its oldest run or an
        # earlier one.
        self._oldest: list[tuple[int, LedgerCache]] = []
        self._empty_count = 0  # Ledger caches in ``_oldest`` that were emptied otherwise.

    def ledger_cache(self) -> "LedgerCache":
        """A new, empty cache."""
        return LedgerCache(self)

    def add(self, age: int, cache: "LedgerCache") -> None:
        heappush(self._oldest, (age, cache))

    def evict(self) -> None:
        """Evict the oldest runs until the bound is kept."""
        oldest = self._oldest
        while self.size_bytes > self.size_bytes_max and oldest:
            queued_age, cache = oldest[0]
            age = cache.oldest_age
            if age == queued_age:
                cache.drop_oldest()
                age = cache.oldest_age
            if age is None:
                heappop(oldest)
                cache.queued = False
            else:
                heapreplace(oldest, (age, cache))

    def cleared(self) -> None:
        """A cache was cleared. Now and then, forget all such caches."""
        self._empty_count += 1
        if self._empty_count > 64 + len(self._oldest) // 2:
            kept = [each for each in self._oldest if each[1].oldest_age is not None]
            for _, cache in self._oldest:
                cache.queued = cache.oldest_age is not None
            heapify(kept)
            self._oldest = kept
            self._empty_count = 0


class LedgerCache:
    """Cached runs of one ledger."""

    __slots__ = (
        "_ages",
        "_cold",
        "_firsts",
        "_in_order",
        "_queue",
        "_runs",
        "_sizes",
        "queued",
    )

    def __init__(self, queue: EvictionQueue) -> None:
        self.queued = False  # Known to the queue.
        self._queue = queue
        # Invariant: as long as each other, ascending and disjoint by entry id.
        self._firsts: list[int] = []
        self._runs: list[EntryRun] = []
        self._sizes: list[int] = []  # Of the entries alone.
        self._ages: list[int] = []
        self._in_order = True  # Ages ascend, too.
        self._cold = 0  # So many runs at the beginning are merged as far as it pays.

    def __lt__(self, other: "LedgerCache") -> bool:
        """Ages differ, so a heap of (age, cache) never needs to know; but it wants to."""
        return id(self) < id(other)

    @property
    def oldest_age(self) -> int | None:
        if not self._ages:
            return None
        return self._ages[0] if self._in_order else min(self._ages)

    def append(self, run: EntryRun, size_bytes: int) -> None:
        """Take the newest run of the ledger, whose entries have ``size_bytes``."""
        self._firsts.append(run.first_entry_id)
        self._runs.append(run)
        self._sizes.append(size_bytes)
        self._ages.append(self._queue.runs_added)
        if len(self._runs) >= self._cold + 2 * _HOT_RUNS:
            self._cool()
        self._grown(size_bytes, len(run.data))

    def insert(self, run: EntryRun, size_bytes: int) -> None:
        """Take a run from anywhere in the ledger, unless some of it is here already.

        For caches that nothing is appended to.
        """
        assert not self._cold, "only what is appended grows cold"
        index = bisect_right(self._firsts, run.first_entry_id)
        if index and self._runs[index - 1].last_entry_id >= run.first_entry_id:
            return
        if index < len(self._firsts):
            if self._firsts[index] <= run.last_entry_id:
                return
            self._in_order = False
        self._firsts.insert(index, run.first_entry_id)
        self._runs.insert(index, run)
        self._sizes.insert(index, size_bytes)
        self._ages.insert(index, self._queue.runs_added)
        self._grown(size_bytes, len(run.data))

    def find(self, entry_id: int, entries_max: int, bytes_max: int) -> EntryRun | None:
        """Entries from ``entry_id`` on: at most so many, and at least one if it is here."""
        firsts = self._firsts
        if not firsts:
            return None
        index = len(firsts) - 1 if entry_id >= firsts[-1] else bisect_right(firsts, entry_id) - 1
        if index < 0:
            return None
        run = self._runs[index]
        start = entry_id - firsts[index]
        count = len(run.data)
        if start:
            return part_of(run, start, entries_max, bytes_max) if start < count else None
        if index + 1 < len(firsts) and count < _SMALL_ENTRIES:
            self._merge(index, entries_max, bytes_max)
            run = self._runs[index]
            count = len(run.data)
        if count <= entries_max and self._sizes[index] <= bytes_max:
            return run
        return part_of(run, 0, entries_max, bytes_max)

    def holding(self, entry_id: int) -> EntryRun | None:
        """The whole run that has an entry, if it is here."""
        index = bisect_right(self._firsts, entry_id) - 1
        if index < 0:
            return None
        if len(self._runs[index].data) < _SMALL_ENTRIES:
            self._merge(index, _MERGED_ENTRIES_MAX, _MERGED_BYTES_MAX)
        run = self._runs[index]
        return run if entry_id <= run.last_entry_id else None

    def first_after(self, entry_id: int) -> int | None:
        """Where the next cached run after ``entry_id`` begins."""
        index = bisect_right(self._firsts, entry_id)
        return self._firsts[index] if index < len(self._firsts) else None

    def drop_oldest(self) -> None:
        self._drop(0 if self._in_order else self._ages.index(min(self._ages)))

    def clear(self) -> None:
        """Drop everything: the ledger is gone, or closed."""
        if not self._runs:
            return
        costs = map(_cost, self._sizes, map(len, self._runs))
        self._queue.size_bytes -= sum(costs)
        for column in (self._firsts, self._runs, self._sizes, self._ages):
            column.clear()
        self._cold = 0
        self._in_order = True
        self._queue.cleared()

    def _grown(self, size_bytes: int, entry_count: int) -> None:
        queue = self._queue
        if not self.queued:
            self.queued = True
            queue.add(queue.runs_added, self)
        queue.runs_added += 1
        queue.size_bytes += _cost(size_bytes, entry_count)
        if queue.size_bytes > queue.size_bytes_max:
            queue.evict()

    def _drop(self, index: int) -> None:
        self._queue.size_bytes -= _cost(self._sizes[index], len(self._runs[index]))
        for column in (self._firsts, self._runs, self._sizes, self._ages):
            del column[index]
        if index < self._cold:
            self._cold -= 1

    def _cool(self) -> None:
        """Merge small runs that readers which keep up have passed, and forget their cuts."""
        index, stop = self._cold, self._cold + _HOT_RUNS
        while index < stop:
            before = len(self._runs)
            self._merge(index, _MERGED_ENTRIES_MAX, _MERGED_BYTES_MAX, stop)
            stop -= before - len(self._runs)
            self._runs[index].parts = None
            index += 1
        self._cold = stop

    def _merge(self, index: int, entries_max: int, bytes_max: int, stop: int | None = None) -> None:
        """Make one run of the run at ``index`` and the small ones right after it."""
        firsts, runs, sizes = self._firsts, self._runs, self._sizes
        entries_max = min(entries_max, _MERGED_ENTRIES_MAX)
        bytes_max = min(bytes_max, _MERGED_BYTES_MAX)
        entries, size = len(runs[index]), sizes[index]
        if entries >= _SMALL_ENTRIES or size >= _SMALL_BYTES:
            return
        after = index + 1
        stop = len(runs) if stop is None else stop
        while after < stop and firsts[after] == firsts[index] + entries:
            entries += len(runs[after])
            size += sizes[after]
            if entries > entries_max or size > bytes_max or len(runs[after]) >= _SMALL_ENTRIES:
                entries -= len(runs[after])
                size -= sizes[after]
                break
            after += 1
        if after - index < 2:
            return
        self._queue.size_bytes -= (after - index - 1) * _RUN_OVERHEAD
        runs[index:after] = (_joined(runs[index:after]),)
        sizes[index:after] = (size,)
        del firsts[index + 1 : after], self._ages[index + 1 : after]
        if after <= self._cold:
            self._cold -= after - index - 1
        elif index < self._cold:
            self._cold = index + 1


def part_of(run: EntryRun, start: int, entries_max: int, bytes_max: int) -> EntryRun:
    """A cut of a cached run from index ``start`` on; the same cut is the same object."""
    stop = min(start + entries_max, len(run.data))
    parts = run.parts
    if parts is None:
        parts = run.parts = {}
    asked = (start, stop, bytes_max)
    part = parts.get(asked)
    if part is None:
        reach = list(accumulate(map(len, run.data[start:stop])))
        if reach[-1] > bytes_max:
            stop = start + max(bisect_right(reach, bytes_max), 1)
        if start == 0 and stop == len(run.data):
            return run
        if len(parts) >= _PARTS_MAX:
            del parts[next(iter(parts))]
        part = parts[asked] = run.part(start, stop)
    return part


def _cost(size_bytes: int, entry_count: int) -> int:
    return size_bytes + entry_count * _ENTRY_OVERHEAD + _RUN_OVERHEAD


def _joined(runs: list[EntryRun]) -> EntryRun:
    known = [run.traits for run in runs if run.traits is not None]
    return EntryRun(
        runs[0].ledger_id,
        runs[0].first_entry_id,
        list(chain.from_iterable(run.data for run in runs)),
        list(chain.from_iterable(run.checksums for run in runs)),
        known[0].joined(known[1:]) if len(known) == len(runs) else None,
    )
