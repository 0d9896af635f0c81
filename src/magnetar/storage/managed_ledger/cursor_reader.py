"""Reads a log for one cursor: from a position on, without what is acknowledged."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Protocol

from magnetar.callbacks import unheard
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.ack_set import AckSet
from magnetar.storage.managed_ledger.compacted_reader import CompactedReader
from magnetar.storage.managed_ledger.entry_ranges import Range, ranges_of
from magnetar.storage.managed_ledger.log_reader import LogReader
from magnetar.storage.managed_ledger.run import EntryRun

Picked = tuple[EntryRun, Sequence[int]]
"""A run, and the ascending indexes of the entries in it that are meant."""

_ledger_id_of = itemgetter(0)

_READ_AT_BYTES = 5 * 1024 * 1024
"""The size of one run that ``read_at`` returns; it returns as many runs as are needed."""


class SkippedEntries(Protocol):
    """Entries that a cursor's reader skips: delayed ones, which their owner reads when due."""

    def end_of(self, ledger_id: int, entry_id: int) -> int | None:
        """The last of the consecutive skipped entries from ``entry_id`` on; None: not skipped."""

    def gaps(self, ledger_id: int, first: int, last: int) -> list[Range]:
        """Which of entries ``first`` to ``last`` are not skipped."""


class CursorReader:
    """The place up to which a cursor was read, and reads from there on.

    ``cached`` and ``read`` go on from ``read_position``. The caller sets it back when it read more
    than it could use. They read nothing that the log hides. Only one caller may read at a time.
    """

    __slots__ = ("_acks", "_log", "_removed", "read_position", "skipped")

    def __init__(
        self,
        acks: AckSet,
        log: LogReader,
        *,
        removed: Callable[[Sequence[tuple[Position, Position]]], None],
    ) -> None:
        """``removed`` is told what compaction left out of what was read: from where up to where."""
        self.read_position = log.next_position(acks.mark)
        self.skipped: SkippedEntries | None = None
        """``cached`` and ``read`` pass over these entries."""
        self._acks = acks
        self._log: LogReader | CompactedReader = log
        self._removed = removed

    def rest(self) -> None:
        """Tell nobody what compaction left out."""
        self._removed = unheard

    @property
    def has_more(self) -> bool:
        """Whether there is an entry at ``read_position`` or after it, acknowledged or not."""
        log = self._log
        last = log.layout.last if log.visible_to is None else log.last_visible
        return self.read_position <= last

    def has_together(self, count: int) -> bool:
        """Whether so many entries are in one ledger from ``read_position`` on, or in several."""
        last, position = self._log.last_visible, self.read_position
        return last.ledger_id > position.ledger_id or last.entry_id - position.entry_id + 1 >= count

    @property
    def has_hidden(self) -> bool:
        """Whether what comes next is stored, and must not be seen yet."""
        return self._log.last_visible < self.read_position <= self._log.layout.last

    @property
    def oldest(self) -> Position:
        """The first entry that is not acknowledged; the end of the log where there is none."""
        return self._log.next_position(self._acks.mark)

    @property
    def reads_compacted(self) -> bool:
        """Whether it reads the log as compaction left it."""
        return isinstance(self._log, CompactedReader)

    def cached(self, entries_max: int, bytes_max: int) -> list[EntryRun] | None:
        """Return the next entries that are not acknowledged, as far as they are in memory.

        ``read_position`` moves past them. Returns [] at the end of the log or of what may be read,
        and None when the next entry must be awaited with ``read``.
        """
        log = self._log
        last = log.layout.last if log.visible_to is None else log.last_visible
        runs: list[EntryRun] = []
        while self.read_position <= last:
            run = log.cached(self.read_position, entries_max, bytes_max)
            if run is None:
                return runs or None
            taken = self._take(run)
            if not taken:
                continue  # All of it is acknowledged, so it does not count.
            runs += taken
            entries_max -= len(run.data)
            if entries_max <= 0 or self.read_position > last:
                break
            bytes_max -= run.size_bytes
            if bytes_max <= 0:
                break
        return runs

    async def read(self, entries_max: int, bytes_max: int) -> list[EntryRun]:
        """Read as ``cached`` does, from disk where needed. Returns [] only at the end.

        Raises what ``ManagedLedger.read`` raises; then ``read_position`` has not moved.
        """
        while (runs := self.cached(entries_max, bytes_max)) is None:
            position = self._skip_acknowledged()
            if not self.has_more:
                return []
            run = await self._log.read(position, entries_max, bytes_max)
            if self.read_position != position:
                continue  # It was moved meanwhile: begin again.
            if isinstance(self._log, CompactedReader):
                self._removed(self._log.take_skipped())
            if run is None:
                self.read_position = max(position, self._log.layout.end)
                return []
            runs = self._take(run)
            if runs:
                return runs
        return runs

    async def read_at(
        self, positions: Sequence[Position], *, uncached: bool = False
    ) -> list[EntryRun]:
        """Read the entries at ``positions`` that exist and are not acknowledged.

        ``read_position`` does not move. ``uncached``: they may lie anywhere, so that reading ahead
        and caching would not help. Raises what ``ManagedLedger.read`` raises.
        """
        read = self._log.read_uncached if uncached else self._log.read
        runs: list[EntryRun] = []
        for ledger_id, places in groupby(sorted(positions), _ledger_id_of):
            for first, last in ranges_of(entry_id for _, entry_id in places):
                entry_id = max(first, 0)
                while entry_id <= min(last, self._log.last_entry_id(ledger_id)):
                    place, wanted = Position(ledger_id, entry_id), last + 1 - entry_id
                    run = await read(place, wanted, _READ_AT_BYTES)
                    if run is None or run.first != place:
                        break  # Its ledger was trimmed.
                    runs += self._unacknowledged(run)
                    entry_id = run.last_entry_id + 1
        return runs

    def cached_at(self, ledger_id: int, entry_ids: Sequence[int]) -> list[Picked] | None:
        """Return those of ``entry_ids``, which ascend, that exist and are not acknowledged.

        Returns None when some are not in memory and must be awaited with ``read_at``.
        ``read_position`` does not move.
        """
        last = self._log.last_entry_id(ledger_id)
        wanted = self._acks.missing(ledger_id, entry_ids)
        picks: list[Picked] = []
        at, end = bisect_left(wanted, 0), bisect_right(wanted, last)
        while at < end:
            run = self._log.holding(ledger_id, wanted[at])
            if run is None:
                return None
            stop = bisect_right(wanted, run.last_entry_id, at, end)
            first = run.first_entry_id
            picks.append((run, [entry_id - first for entry_id in wanted[at:stop]]))
            at = stop
        return picks

    def rewind(self) -> None:
        """Read again what is not acknowledged."""
        self.read_position = self.oldest

    def read_compacted(self, compacted: bool) -> None:  # noqa: FBT001 it says what it is
        """Read the log as compaction left it, or as it is. ``rewind`` must follow."""
        log = self._log
        if compacted and isinstance(log, LogReader):
            self._log = CompactedReader(log)
        elif not compacted and isinstance(log, CompactedReader):
            self._log = log.log

    def _skip_acknowledged(self) -> Position:
        """Move the read position over what is not wanted, so that it is not read from disk."""
        position = self._log.locate(self.read_position)
        while position is not None:
            here = self._acks.ranges.get(position.ledger_id)
            end = None if here is None else here.end_of(position.entry_id)
            if end is None and self.skipped is not None:
                end = self.skipped.end_of(*position)
            if end is None:
                break
            position = self._log.locate(Position(position.ledger_id, end + 1))
        self.read_position = position or self._log.layout.end
        return self.read_position

    def _take(self, run: EntryRun) -> list[EntryRun]:
        limit = self._log.visible_to
        if limit is not None and run.last > limit:
            run = run.part(0, limit.entry_id + 1 - run.first_entry_id)
        self.read_position = Position(run.ledger_id, run.first_entry_id + len(run.data))
        runs = self._unacknowledged(run)
        if self.skipped is None:
            return runs
        return [
            each.part(start - each.first_entry_id, stop - each.first_entry_id + 1)
            for each in runs
            for start, stop in self.skipped.gaps(
                each.ledger_id, each.first_entry_id, each.last_entry_id
            )
        ]

    def _unacknowledged(self, run: EntryRun) -> list[EntryRun]:
        """Return the parts of a run that are not acknowledged; the run itself when that is all."""
        acks, first = self._acks, run.first_entry_id
        if run.ledger_id not in acks.ranges and (run.ledger_id, first) > acks.mark:
            return [run]
        return [
            run.part(start - first, stop - first + 1)
            for start, stop in acks.gaps(run.ledger_id, first, run.last_entry_id)
        ]
