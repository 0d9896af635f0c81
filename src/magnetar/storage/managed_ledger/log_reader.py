"""Reads one log: from the cache, or from its ledgers, once for all who ask at the same time."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, field
from typing import Final

from magnetar.errors import CorruptEntry, StorageError
from magnetar.late_dataclass import dataclass
from magnetar.model.counts import LogCounts
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.ledger.store import LedgerEntries, LedgerId, LedgerReader, LedgerStore
from magnetar.storage.managed_ledger.cache import EntryCache, LedgerCache, part_of
from magnetar.storage.managed_ledger.compacted_ledger import CompactedLedger
from magnetar.storage.managed_ledger.layout import Layout
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.tasks import Tasks

READ_AHEAD_ENTRIES: Final = 1_000
READ_AHEAD_BYTES: Final = 1024 * 1024
"""How much is read from disk at least, since more reads will follow."""
READERS_MAX: Final = 16
"""How many sealed ledgers are kept open for reading."""

_NO_CACHES: Final[dict[int, LedgerCache]] = {}  # Shared by the logs that cached nothing yet.


class _DiskReads:
    """State of reads from ledgers: open readers and reads under way."""

    __slots__ = ("caches", "fills", "readers")

    def __init__(self) -> None:
        self.readers: dict[int, LedgerReader] = {}  # The one that was opened first is closed first.
        self.caches: dict[int, LedgerCache] = {}
        self.fills: dict[Position, asyncio.Task[EntryRun | StorageError]] = {}


@dataclass(slots=True, eq=False)
class LogReader:
    """The reader of one log."""

    layout: Layout
    _: KW_ONLY
    ledgers: LedgerStore
    cache: EntryCache
    tasks: Tasks
    counts: LogCounts
    compacted: CompactedLedger | None = None
    visible_to: Position | None = None
    """The last entry that readers may see; None: all of them."""
    # Of offloaded ledgers.
    copy_reader: Callable[[int], LedgerReader | None] = field(default_factory=lambda: _no_copy)
    _appended: dict[int, LedgerCache] = field(default_factory=lambda: _NO_CACHES)
    _newest: LedgerReader | None = None  # It reads the newest ledger.
    _disk: _DiskReads | None = None  # Most logs at rest have none.
    _closed: bool = False

    def serve(self, reader: LedgerReader) -> None:
        """Read the newest ledger through ``reader``."""
        if self._newest is not None:
            self._keep(self._newest)
        self._newest = reader

    def appended(self, run: EntryRun) -> None:
        """Cache what was appended to the newest ledger."""
        cache = self._appended.get(run.ledger_id)
        if cache is None:
            if self._appended is _NO_CACHES:
                self._appended = {}
            cache = self._appended[run.ledger_id] = LedgerCache(self.cache.appended)
        cache.append(run)

    def forget(self, ledger_ids: Iterable[int]) -> None:
        """Forget ledgers that are no longer part of the log."""
        gone = set(ledger_ids)
        self.close_readers(gone)
        for ledger_id in gone:
            for caches in self._caches():
                cache = caches.pop(ledger_id, None)
                if cache is not None:
                    cache.clear()

    def close(self) -> None:
        """Give the memory back. Reads still work, but nothing is cached."""
        self._closed = True
        self.forget({ledger_id for caches in self._caches() for ledger_id in caches})
        self._newest = None
        if self._disk is not None:
            self._disk.readers.clear()

    @property
    def last_visible(self) -> Position:
        """The last entry that readers may see."""
        last, visible_to = self.layout.last, self.visible_to
        return last if visible_to is None or last <= visible_to else visible_to

    def next_position(self, position: Position) -> Position:
        """Return the first entry after ``position``; the position after the last otherwise."""
        return self.layout.next_position(position)

    def locate(self, position: Position) -> Position | None:
        """Return the first entry at or after ``position``; None where there is none."""
        return self.layout.locate(position)

    def mark_before(self, position: Position) -> Position:
        """Return the mark of a cursor that is to read from ``position`` on.

        That may be in a trimmed ledger of which compaction has kept something.
        """
        trimmed_to = self.layout.trimmed_to
        if self.compacted is None or trimmed_to == EARLIEST or position > trimmed_to:
            return self.layout.mark_before(position)
        return Position(position.ledger_id, max(position.entry_id - 1, -1))

    def cached(self, position: Position, entries_max: int, bytes_max: int) -> EntryRun | None:
        """Return the run at ``position``, or at the first entry after it; None if not in memory."""
        cache = self._appended.get(position.ledger_id)
        run = None if cache is None else cache.find(position.entry_id, entries_max, bytes_max)
        if run is None:
            run = self._cached_further(position, entries_max, bytes_max)
            if run is None:
                return None
        counts = self.counts
        counts.hit_entries += len(run.data)
        counts.hit_bytes += run.size_bytes
        return run

    def _cached_further(
        self, position: Position, entries_max: int, bytes_max: int
    ) -> EntryRun | None:
        """Look in the older caches, for a position that the newest append does not have."""
        place = self.layout.locate(position)
        if place is None:
            return None
        for caches in self._caches():
            cache = caches.get(place.ledger_id)
            if cache is not None:
                run = cache.find(place.entry_id, entries_max, bytes_max)
                if run is not None:
                    return run
        return None

    def holding(self, ledger_id: int, entry_id: int) -> EntryRun | None:
        """Return the whole run that has an entry; None if it is not in memory."""
        for caches in self._caches():
            cache = caches.get(ledger_id)
            run = None if cache is None else cache.holding(entry_id)
            if run is not None:
                return run
        return None

    def last_entry_id(self, ledger_id: int) -> int:
        """Return a ledger's last entry; -1 when it has none or is not in the log."""
        last = self.layout.last_entry_id(ledger_id)
        return -1 if last is None else last

    async def read(self, position: Position, entries_max: int, bytes_max: int) -> EntryRun | None:
        """Read as ``ManagedLedger.read`` says."""
        while True:
            place = self.layout.locate(position)
            if place is None:
                return None
            run = self.cached(place, entries_max, bytes_max)
            if run is not None:
                return run
            fill = self._fill_over(place)
            ours = fill is None
            if fill is None:
                fill = self.tasks.spawn("read", self._fill(place, entries_max, bytes_max))
                self._reads().fills[place] = fill
            block = await asyncio.shield(fill)
            if isinstance(block, StorageError):
                trimmed = self.layout.last_entry_id(place.ledger_id) is None
                if ours and not trimmed:
                    self.counts.reads_failed += 1
                    raise block
                continue
            start = place.entry_id - block.first_entry_id
            if start < len(block):
                return part_of(block, start, entries_max, bytes_max)

    async def first_where(self, test: Callable[[bytes], bool]) -> Position:
        """Search as ``ManagedLedger.first_where`` says."""
        layout = self.layout
        low, high = layout.first, layout.end
        # Invariant: what lies before ``low`` fails, what lies at or after ``high`` passes.
        while (count := layout.entries_before(high) - layout.entries_before(low)) > 0:
            middle = layout.position_at(layout.entries_before(low) + count // 2)
            run = await self.read_uncached(middle, 1, 1)
            if run is None:
                low = max(low, layout.first)  # It was trimmed meanwhile.
            elif test(run.data[0]):
                high = middle
            else:
                low = layout.next_position(middle)
        return low

    async def read_uncached(
        self, position: Position, entries_max: int, bytes_max: int
    ) -> EntryRun | None:
        """Read an entry that lies alone, and those behind it, without reading ahead or caching.

        Returns None when it is no longer in the log. Raises as ``read``.
        """
        run = self.cached(position, entries_max, bytes_max)
        if run is not None and run.first == position:
            return run
        ledger_id, entry_id = position
        try:
            reader = await self._reader(ledger_id)
            found = await reader.read(entry_id, entries_max, bytes_max)
        except StorageError as error:
            if self.layout.last_entry_id(ledger_id) is None:
                return None
            if entries_max > 1 and isinstance(error, CorruptEntry):
                return await self.read_uncached(position, 1, 1)  # Perhaps others are damaged.
            self.counts.reads_failed += 1
            raise
        return EntryRun(ledger_id, entry_id, found.data, found.checksums)

    def _fill_over(self, place: Position) -> "asyncio.Task[EntryRun | StorageError] | None":
        """Return a read under way that is likely to bring the entry at ``place``."""
        for started, fill in self._reads().fills.items():
            ahead = place.entry_id - started.entry_id
            if started.ledger_id == place.ledger_id and 0 <= ahead < READ_AHEAD_ENTRIES:
                return fill
        return None

    async def _fill(
        self, place: Position, entries_max: int, bytes_max: int
    ) -> EntryRun | StorageError:
        """Read from disk and cache it. Returns an error, which the caller raises."""
        try:
            found = await self._block(place, entries_max, bytes_max)
        except StorageError as error:
            return error
        finally:
            del self._reads().fills[place]
        run = EntryRun(place.ledger_id, place.entry_id, found.data, found.checksums)
        self.counts.missed_entries += len(run.data)
        self.counts.missed_bytes += run.size_bytes
        if not self._closed and self.layout.last_entry_id(place.ledger_id) is not None:
            caches = self._reads().caches
            cache = caches.get(place.ledger_id)
            if cache is None:
                cache = caches[place.ledger_id] = LedgerCache(self.cache.reread)
            cache.insert(run)
        return run

    async def _block(self, place: Position, entries_max: int, bytes_max: int) -> LedgerEntries:
        reader = await self._reader(place.ledger_id)
        last = self.layout.last_entry_id(place.ledger_id)
        # Nothing is read that was not answered yet, or that is cached already.
        until = place.entry_id if last is None else last + 1
        cache = self._appended.get(place.ledger_id)
        cached_from = None if cache is None else cache.first_after(place.entry_id)
        if cached_from is not None:
            until = min(until, cached_from)
        count = max(min(until - place.entry_id, max(entries_max, READ_AHEAD_ENTRIES)), 1)
        try:
            return await reader.read(place.entry_id, count, max(bytes_max, READ_AHEAD_BYTES))
        except CorruptEntry:
            if count == 1:
                raise
            # Perhaps only what was to be read ahead is damaged.
            return await reader.read(place.entry_id, 1, 1)
        except StorageError:
            copy = self.copy_reader(place.ledger_id)
            if copy is None or self._reads().readers.get(place.ledger_id) is reader:
                raise
            # It was deleted here while it was read.
            return await copy.read(place.entry_id, count, max(bytes_max, READ_AHEAD_BYTES))

    async def _reader(self, ledger_id: int) -> LedgerReader:
        if self._newest is not None and self._newest.ledger_id == ledger_id:
            return self._newest
        reader = self._reads().readers.get(ledger_id)
        if reader is None:
            reader = self.copy_reader(ledger_id) or await self.ledgers.open(LedgerId(ledger_id))
            self._keep(reader)
        return reader

    def close_readers(self, ledger_ids: Iterable[int]) -> None:
        """Open ledgers again when they are read the next time."""
        for ledger_id in ledger_ids:
            if self._disk is not None:
                self._disk.readers.pop(ledger_id, None)
            if self._newest is not None and self._newest.ledger_id == ledger_id:
                self._newest = None

    def _keep(self, reader: LedgerReader) -> None:
        readers = self._reads().readers
        readers[reader.ledger_id] = reader
        if len(readers) > READERS_MAX:
            del readers[next(iter(readers))]

    def _caches(self) -> tuple[dict[int, LedgerCache], ...]:
        return (self._appended,) if self._disk is None else (self._appended, self._disk.caches)

    def _reads(self) -> _DiskReads:
        if self._disk is None:
            self._disk = _DiskReads()
        return self._disk


def _no_copy(_ledger_id: int) -> LedgerReader | None:
    return None
