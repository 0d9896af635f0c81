"""The cache of recent entries, as the runs they moved in, for all managed ledgers of a broker.

A ``LedgerCache`` holds the runs of one ledger; whoever reads the same range gets the same
``EntryRun``, so that what one reader saw in it (its ``traits``) serves the next. An
``EvictionQueue`` bounds the bytes of many ledger caches and evicts the oldest runs first. There are
two queues, so that a reader far behind does not push out what was just appended.
"""

from bisect import bisect_right
from collections import OrderedDict
from itertools import accumulate, chain
from typing import Final

from magnetar.storage.managed_ledger.run import EntryRun

CACHE_SIZE_MAX: Final = 64 * 1024 * 1024

# About how much memory an entry and a run take up beside the bytes of the entries.
_ENTRY_OVERHEAD: Final = 100
_RUN_OVERHEAD: Final = 600

# A run of fewer entries and bytes is small: small runs are merged, which copies a few lists.
_SMALL_ENTRIES: Final = 64
_SMALL_BYTES: Final = 64 * 1024
_MERGED_ENTRIES_MAX: Final = 1_000
_MERGED_BYTES_MAX: Final = 256 * 1024
# So many runs at the end of a cache stay as they were appended: consumers that keep up share them.
_HOT_RUNS: Final = 64

_PARTS_MAX: Final = 8
"""How many different parts of one run are remembered."""


class EntryCache:
    """The memory for recent entries; a broker has one for all its managed ledgers."""

    def __init__(self, size_bytes_max: int = CACHE_SIZE_MAX) -> None:
        # What was read from disk must not push out what was just appended.
        self.reread = EvictionQueue(size_bytes_max // 4)
        self.appended = EvictionQueue(size_bytes_max - size_bytes_max // 4)

    @property
    def size_bytes(self) -> int:
        """About how much memory the cached runs take up."""
        return self.reread.size_bytes + self.appended.size_bytes


class EvictionQueue:
    """A bound on the bytes of some caches. The oldest run of all of them goes first."""

    def __init__(self, size_bytes_max: int) -> None:
        self.size_bytes_max = size_bytes_max
        self.size_bytes = 0
        self.inserted = 0  # Entries, and so those evicted; and how often any were.
        self.evicted = 0
        self.evictions = 0
        self.dropped = 0  # Entries that went with their ledgers.
        # Invariant: every cached run is here by its first entry, the oldest first. A merged run is
        # as old as the first of its parts.
        self._runs: OrderedDict[tuple[LedgerCache, int], None] = OrderedDict()

    def added(self, cache: "LedgerCache", run: EntryRun) -> None:
        """Note that a cache took a run. The run may be evicted already when this returns."""
        self._runs[cache, run.first_entry_id] = None
        self.size_bytes += _cost(run)
        self.inserted += len(run.data)
        if self.size_bytes > self.size_bytes_max:
            self.evict()

    def merged(self, cache: "LedgerCache", firsts: list[int]) -> None:
        """Note that the runs that begin at ``firsts`` became part of the run before them."""
        self.size_bytes -= len(firsts) * _RUN_OVERHEAD
        for first in firsts:
            del self._runs[cache, first]

    def cleared(self, cache: "LedgerCache", runs: list[EntryRun]) -> None:
        """Note that a cache dropped these runs."""
        for run in runs:
            self.size_bytes -= _cost(run)
            self.dropped += len(run.data)
            del self._runs[cache, run.first_entry_id]

    def evict(self) -> None:
        """Evict the oldest runs until the bound is kept."""
        self.evictions += 1
        while self.size_bytes > self.size_bytes_max and self._runs:
            (cache, first), _ = self._runs.popitem(last=False)
            run = cache.drop(first)
            self.evicted += len(run.data)
            self.size_bytes -= _cost(run)


class LedgerCache:
    """Cached runs of one ledger."""

    __slots__ = ("_cold", "_firsts", "_queue", "_runs")

    def __init__(self, queue: EvictionQueue) -> None:
        self._queue = queue
        # Invariant: both are equally long, and the runs ascend and do not overlap.
        self._firsts: list[int] = []
        self._runs: list[EntryRun] = []
        self._cold = 0  # So many runs at the beginning are merged already.

    def append(self, run: EntryRun) -> None:
        """Take the newest run of the ledger."""
        self._firsts.append(run.first_entry_id)
        self._runs.append(run)
        self._queue.added(self, run)
        if len(self._runs) >= self._cold + 2 * _HOT_RUNS:
            self._cool()

    def insert(self, run: EntryRun) -> None:
        """Take a run from anywhere in the ledger, unless some of it is cached already.

        Nothing may be appended to such a cache.
        """
        assert not self._cold, "only what is appended grows cold"
        index = bisect_right(self._firsts, run.first_entry_id)
        if index and self._runs[index - 1].last_entry_id >= run.first_entry_id:
            return
        if index < len(self._firsts) and self._firsts[index] <= run.last_entry_id:
            return
        self._firsts.insert(index, run.first_entry_id)
        self._runs.insert(index, run)
        self._queue.added(self, run)

    def find(self, entry_id: int, entries_max: int, bytes_max: int) -> EntryRun | None:
        """Return entries from ``entry_id`` on, at least one; None when it is not cached."""
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
        if count <= entries_max and run.size_bytes <= bytes_max:
            return run
        return part_of(run, 0, entries_max, bytes_max)

    def holding(self, entry_id: int) -> EntryRun | None:
        """Return the whole run that has an entry; None when it is not cached."""
        index = bisect_right(self._firsts, entry_id) - 1
        if index < 0:
            return None
        if len(self._runs[index].data) < _SMALL_ENTRIES:
            self._merge(index, _MERGED_ENTRIES_MAX, _MERGED_BYTES_MAX)
        run = self._runs[index]
        return run if entry_id <= run.last_entry_id else None

    def first_after(self, entry_id: int) -> int | None:
        """Return where the next cached run after ``entry_id`` begins."""
        index = bisect_right(self._firsts, entry_id)
        return self._firsts[index] if index < len(self._firsts) else None

    def drop(self, first: int) -> EntryRun:
        """Drop the run that begins at ``first``, and return it. Only the queue calls this."""
        index = bisect_right(self._firsts, first) - 1
        del self._firsts[index]
        if index < self._cold:
            self._cold -= 1
        return self._runs.pop(index)

    def clear(self) -> None:
        """Drop everything."""
        self._queue.cleared(self, self._runs)
        self._firsts.clear()
        self._runs.clear()
        self._cold = 0

    def _cool(self) -> None:
        """Merge the small runs that consumers which keep up have read, and forget their parts."""
        index, stop = self._cold, self._cold + _HOT_RUNS
        while index < stop:
            before = len(self._runs)
            self._merge(index, _MERGED_ENTRIES_MAX, _MERGED_BYTES_MAX, stop)
            stop -= before - len(self._runs)
            self._runs[index].parts = None
            index += 1
        self._cold = stop

    def _merge(self, index: int, entries_max: int, bytes_max: int, stop: int | None = None) -> None:
        """Merge the run at ``index`` with the small ones right after it."""
        firsts, runs = self._firsts, self._runs
        entries_max = min(entries_max, _MERGED_ENTRIES_MAX)
        bytes_max = min(bytes_max, _MERGED_BYTES_MAX)
        entries, size = len(runs[index]), runs[index].size_bytes
        if entries >= _SMALL_ENTRIES or size >= _SMALL_BYTES:
            return
        after = index + 1
        stop = len(runs) if stop is None else stop
        while after < stop and firsts[after] == firsts[index] + entries:
            following = runs[after]
            entries += len(following)
            size += following.size_bytes
            if entries > entries_max or size > bytes_max or len(following) >= _SMALL_ENTRIES:
                break
            after += 1
        if after - index < 2:
            return
        self._queue.merged(self, firsts[index + 1 : after])
        runs[index:after] = (_joined(runs[index:after]),)
        del firsts[index + 1 : after]
        if after <= self._cold:
            self._cold -= after - index - 1
        elif index < self._cold:
            self._cold = index + 1


def part_of(run: EntryRun, start: int, entries_max: int, bytes_max: int) -> EntryRun:
    """Return a part of a cached run, from index ``start`` on: the same part is the same object."""
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


def _cost(run: EntryRun) -> int:
    return run.size_bytes + len(run.data) * _ENTRY_OVERHEAD + _RUN_OVERHEAD


def _joined(runs: list[EntryRun]) -> EntryRun:
    known = [run.traits for run in runs if run.traits is not None]
    return EntryRun(
        runs[0].ledger_id,
        runs[0].first_entry_id,
        list(chain.from_iterable(run.data for run in runs)),
        list(chain.from_iterable(run.checksums for run in runs)),
        known[0].joined(known[1:]) if len(known) == len(runs) else None,
        sum(run.size_bytes for run in runs),
    )
