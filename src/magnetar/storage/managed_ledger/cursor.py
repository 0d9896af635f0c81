"""A cursor: what is acknowledged in a log, and what is to be read next."""

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence, Sized
from itertools import groupby
from operator import itemgetter

from magnetar.model.position import Position
from magnetar.storage.codec.cursor import CursorState, encode_cursor, ranges_size
from magnetar.storage.ledger.store import LedgerId, LedgerStore
from magnetar.storage.managed_ledger.ack_set import AckSet
from magnetar.storage.managed_ledger.compacted_reader import CompactedReader
from magnetar.storage.managed_ledger.cursor_saver import CursorSaver, Trimmable
from magnetar.storage.managed_ledger.cursor_store import CursorRecord, state_of
from magnetar.storage.managed_ledger.entry_ranges import ranges_of
from magnetar.storage.managed_ledger.kept import Kept
from magnetar.storage.managed_ledger.log_reader import LogReader
from magnetar.storage.managed_ledger.run import EntryRun

log = logging.getLogger(__name__)

Picked = tuple[EntryRun, Sequence[int]]
"""A run, and the ascending indexes of the entries in it that are meant."""

_ledger_id_of = itemgetter(0)

_READ_AT_BYTES = 5 * 1024 * 1024
"""The size of one run that ``read_at`` returns; it returns as many runs as are needed."""


class Cursor:
    """One cursor of one managed ledger, which makes it.

    ``cached`` and ``read`` go on from ``read_position``. The caller sets it back when it read more
    than it could use. They read nothing behind ``read_limit``, which the caller sets where the log
    has entries that must not be seen yet (None: there are none). Only one caller may read at a
    time. A cursor without a ``record`` is not durable: it is gone when the process ends, and its
    mark does not keep ledgers from being deleted.
    """

    def __init__(
        self,
        name: str,
        mark: Position,
        *,
        owner: Trimmable,
        log: LogReader,
        saver: CursorSaver,
        record: CursorRecord | None,
        properties: dict[str, str],
        ranges_max: int,
    ) -> None:
        self.name = name
        self.owner = owner
        self.properties = properties
        self.acks = AckSet(mark)
        self.read_position = log.layout.next_position(mark)
        self.read_limit: Position | None = None
        self.kept: Kept | None = None
        """``cached`` and ``read`` pass over these entries."""
        self.ledger_ids: tuple[int, ...] = ()
        """The ledgers of whoever reads with this cursor: ``cursor_ledgers.py``. They go with it."""
        self.mark_moved_ms = 0
        """When the mark last moved since the log was opened; 0 when it has not."""
        self._mark_noted = mark
        self._log: LogReader | CompactedReader = log
        self._saver = saver
        self._record = record
        self._ranges_max = ranges_max
        self._unknown: Mapping[str, object] = {}  # Fields of later versions.
        self._changes_noted = 0  # ``acks.changes`` at the last ``_note_changes``.
        self._changes_saved = 0  # ``acks.changes`` as of the stored record.
        self._passed_over_to: Position | None = None  # Where trimming moved it last.

    held_at: Position | None = None
    """Where it holds trimming back while nobody knows whether a later mark is durable."""

    def restore(self, state: CursorState) -> None:
        """Apply what was stored, as far as the log still has it."""
        self._unknown = state.unknown
        self.ledger_ids = state.ledger_ids
        layout = self._log.layout
        for ledger_id, (firsts, lasts) in state.ranges.items():
            for first, last in zip(firsts, lasts, strict=True):
                self.acks.add_range(ledger_id, first, last, layout)
        for position, words in state.batches:
            self.acks.add_batch(position, words, layout)
        for ledger_id, (entry_ids, counts) in state.redeliveries.items():
            self.acks.add_redeliveries(ledger_id, entry_ids, layout, counts=counts)
        # Without fsync a crash may have taken entries back that were acknowledged.
        if self.acks.mark > layout.last:
            self.acks.reset(layout.last)
        self._changes_noted = self.acks.changes
        self.clamp()
        self._mark_noted, self.mark_moved_ms = self.acks.mark, 0
        self.rewind()

    @property
    def fits_its_record(self) -> bool:
        """Whether a save leaves nothing out, so that a log opened again delivers nothing again."""
        acks = self.acks
        known: tuple[Mapping[int, Sized], ...] = (acks.ranges, acks.batches, acks.redeliveries)
        return max(sum(map(len, each.values())) for each in known) <= self._ranges_max

    def acknowledge_entries(self, ledger_id: int, entry_ids: Sequence[int]) -> None:
        """Acknowledge entries of one ledger, in any order; those that do not exist are ignored."""
        self.acks.add_entries(ledger_id, entry_ids, self._log.layout)
        self._note_changes()

    def acknowledge_cumulative(self, position: Position) -> None:
        """Acknowledge everything up to ``position``, which is ignored if it does not exist.

        Entry -1 of a ledger exists: it stands for everything before that ledger.
        """
        layout = self._log.layout
        if position <= layout.trimmed_to and isinstance(self._log, CompactedReader):
            self.acks.raise_mark(position, layout)
        else:
            self.acks.advance(position, layout)
        self._note_changes()

    def acknowledge_batch(self, position: Position, ack_set_words: Sequence[int]) -> None:
        """Acknowledge those messages of a batch whose bit is 0.

        The entry is acknowledged when no bit is left; an empty ack set acknowledges it, too.
        """
        self.acks.add_batch(position, ack_set_words, self._log.layout)
        self._note_changes()

    def count_redeliveries(self, ledger_id: int, entry_ids: Sequence[int]) -> None:
        """Count that a consumer asked for these entries of a ledger again, in any order."""
        self.acks.add_redeliveries(ledger_id, sorted(entry_ids), self._log.layout)
        self._note_changes()

    @property
    def durable(self) -> bool:
        return self._record is not None

    @property
    def ledger_store(self) -> LedgerStore:
        """What the log's own ledgers are in."""
        return self._log.ledgers

    @property
    def mark(self) -> Position:
        """The mark-delete position: everything up to it is acknowledged."""
        return self.acks.mark

    @property
    def oldest(self) -> Position:
        """The first entry that is not acknowledged; the end of the log where there is none."""
        return self._log.next_position(self.acks.mark)

    @property
    def backlog(self) -> int:
        """How many entries are not acknowledged."""
        layout = self._log.layout
        return layout.entries_between(self.acks.mark, layout.last) - self.acks.beyond

    @property
    def backlog_bytes(self) -> int:
        """About how many bytes lie after the mark, including those that are acknowledged."""
        return self._log.layout.size_after(self.acks.mark)

    @property
    def has_more(self) -> bool:
        """Whether there is an entry at ``read_position`` or after it, acknowledged or not."""
        return self.read_position <= self._log.layout.last and (
            self.read_limit is None or self.read_position <= self.read_limit
        )

    @property
    def at_read_limit(self) -> bool:
        """Whether what comes next must not be seen yet."""
        return self.read_limit is not None and self.read_position > self.read_limit

    @property
    def acked_ranges(self) -> int:
        """How many ranges of entries beyond the mark are acknowledged."""
        return sum(map(len, self.acks.ranges.values()))

    @property
    def acked_ranges_bytes(self) -> int:
        """How many bytes these ranges take in the record."""
        if not (self.durable and self.acks.ranges):
            return 0
        return ranges_size(state_of(self.acks, {}, ranges_max=self._ranges_max))

    def ack_set(self, position: Position) -> list[int] | None:
        """Return the ack set of a batch that is acknowledged in part; None for any other entry."""
        return self.acks.ack_set(position)

    def redeliveries_of(self, ledger_id: int, entry_ids: Iterable[int]) -> list[int] | None:
        """Return how often each of these was asked for again; None when none was."""
        return self.acks.redeliveries_of(ledger_id, entry_ids)

    def is_acknowledged(self, position: Position) -> bool:
        return self.acks.covers(position)

    def previous(self, position: Position) -> Position:
        """Return the position before an entry that exists; ``mark`` for one that does not."""
        layout = self._log.layout
        if layout.locate(position) != position:
            return self.acks.mark
        return layout.previous_position(position)

    def cached(self, entries_max: int, bytes_max: int) -> list[EntryRun] | None:
        """Return the next entries that are not acknowledged, as far as they are in memory.

        ``read_position`` moves past them. Returns [] at the end of the log or of what may be read,
        and None when the next entry must be awaited with ``read``.
        """
        log = self._log
        last = log.layout.last
        if self.read_limit is not None:
            last = min(last, self.read_limit)
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
                self._pass_over(self._log)
            if run is None:
                self.read_position = max(position, self._log.layout.end)
                return []
            runs = self._take(run)
            if runs:
                return runs
        return runs

    async def read_at(
        self, positions: Sequence[Position], *, apart: bool = False
    ) -> list[EntryRun]:
        """Read the entries at ``positions`` that exist and are not acknowledged.

        ``read_position`` does not move. ``apart``: they may lie anywhere, so that it does not help
        to read ahead. Raises what ``ManagedLedger.read`` raises.
        """
        read = self._log.read_apart if apart else self._log.read
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
        wanted = self.acks.missing(ledger_id, entry_ids)
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

    async def reset(self, position: Position, ack_set: Sequence[int] | None = None) -> None:
        """Read next from ``position``, with nothing acknowledged from there on.

        A position before the first entry means the first, one beyond the last means what comes
        after it. With an ack set, the batch there is acknowledged in part. The change is durable
        when this returns; if this raises, the cursor is moved all the same, and saved later.
        """
        layout = self._log.layout
        self.acks.reset(self._log.mark_before(position))
        if ack_set:
            self.acks.add_batch(position, ack_set, layout)
        self.rewind()
        self._note_changes()
        await self.flush()

    async def take_back(self, positions: Sequence[Position]) -> None:
        """Let entries, which ascend, be acknowledged no longer. Otherwise as ``reset``."""
        self.acks.take_back(positions, self._log.layout)
        self.rewind()
        self._note_changes()
        await self.flush()

    async def flush(self) -> None:
        """Return when all that was acknowledged so far is saved. Only durable cursors are saved.

        Raises Fenced when another broker owns the log, and what the metadata store raises.
        """
        changes = self.acks.changes
        if self._record is not None and self._changes_saved != changes:
            await self._record.save(self._state)
            self._changes_saved = max(self._changes_saved, changes)

    @property
    def saved(self) -> bool:
        """Whether the stored record says what is acknowledged."""
        return self._changes_saved == self.acks.changes

    async def set_properties(self, properties: dict[str, str]) -> None:
        """Replace the properties. They are durable when this returns, as with ``reset``."""
        self.properties = properties
        self._changes_saved = -1  # The stored record lacks them.
        await self.flush()

    async def save_with_mark(self, mark: Position, properties: dict[str, str]) -> None:
        """Acknowledge up to ``mark``, and replace the properties, in one write.

        Nothing is trimmed because of the new mark before it is durable. Raises as ``flush``.
        """
        self.held_at = self.held_at or self.acks.mark
        self.acknowledge_cumulative(mark)
        await self.set_properties(properties)
        self.held_at = None

    async def set_ledgers(self, ledger_ids: tuple[int, ...]) -> None:
        """Replace ``ledger_ids``, as ``set_properties`` does the properties."""
        self.ledger_ids = ledger_ids
        self._changes_saved = -1  # The stored record lacks the change.
        await self.flush()

    def close(self) -> None:
        """Save nothing any more: the log is closed."""
        if self._record is not None:
            self._record.close()

    async def delete(self) -> None:
        """Delete the record, and its ledgers first. Only the managed ledger calls this."""
        for ledger_id in self.ledger_ids:
            await self.ledger_store.delete(LedgerId(ledger_id))
        if self._record is not None:
            await self._record.delete()

    def clamp(self) -> None:
        """Move the mark and the read position behind the ledgers that were trimmed.

        A cursor that had not read all of them misses what was deleted. That is logged once, until
        the cursor has read on.
        """
        layout = self._log.layout
        before, first = self.read_position, layout.first
        if isinstance(self._log, CompactedReader):
            return  # Compaction has kept something of them.
        if self._log.compacted is None:
            self.acks.raise_mark(layout.trimmed_to, layout)
            self._note_changes()
        self.read_position = max(self.read_position, first)
        if before <= layout.trimmed_to:
            if before != self._passed_over_to:
                log.warning(
                    "cursor.passed_over name=%s cursor=%s from=%s to=%s: it had not read what was "
                    "deleted, and goes on at the oldest entry there is",
                    self.owner.name,
                    self.name,
                    before,
                    first,
                )
            self._passed_over_to = self.read_position

    def _pass_over(self, log: CompactedReader) -> None:
        """Acknowledge what compaction removed, or a durable cursor's backlog would keep it.

        While what was trimmed is being read the mark must stay where it is.
        """
        passed_over, layout = log.take_passed_over(), log.layout
        if not self.durable or self.acks.mark < layout.trimmed_to:
            return
        for first, end in passed_over:
            place = layout.locate(first)
            while place is not None and place < end:
                last = layout.last_entry_id(place.ledger_id)
                if place.ledger_id == end.ledger_id or last is None:
                    last = end.entry_id - 1
                self.acks.add_range(place.ledger_id, place.entry_id, last, layout)
                place = layout.locate(Position(place.ledger_id, last + 1))
        self._note_changes()

    def _note_changes(self) -> None:
        """If ``acks`` changed, move the read position behind the mark, and save it soon."""
        if self.acks.changes == self._changes_noted:
            return
        self._changes_noted = self.acks.changes
        mark = self.acks.mark
        if mark is not self._mark_noted:
            if mark > self._mark_noted:
                self.mark_moved_ms = self._saver.clock.wall_ms()
            self._mark_noted = mark
        if mark >= self.read_position:
            self.rewind()
        if self.durable:
            self._saver.save_soon(self)

    def _state(self) -> bytes:
        return encode_cursor(
            state_of(
                self.acks,
                self.properties,
                ranges_max=self._ranges_max,
                unknown=self._unknown,
                ledger_ids=self.ledger_ids,
            )
        )

    def _skip_acknowledged(self) -> Position:
        """Move the read position over what is not wanted, so that it is not read from disk."""
        position = self._log.locate(self.read_position)
        while position is not None:
            here = self.acks.ranges.get(position.ledger_id)
            end = None if here is None else here.end_of(position.entry_id)
            if end is None and self.kept is not None:
                end = self.kept.end_of(*position)
            if end is None:
                break
            position = self._log.locate(Position(position.ledger_id, end + 1))
        self.read_position = position or self._log.layout.end
        return self.read_position

    def _take(self, run: EntryRun) -> list[EntryRun]:
        limit = self.read_limit
        if limit is not None and run.last > limit:
            run = run.part(0, limit.entry_id + 1 - run.first_entry_id)
        self.read_position = Position(run.ledger_id, run.first_entry_id + len(run.data))
        runs = self._unacknowledged(run)
        if self.kept is None:
            return runs
        return [
            each.part(start - each.first_entry_id, stop - each.first_entry_id + 1)
            for each in runs
            for start, stop in self.kept.gaps(
                each.ledger_id, each.first_entry_id, each.last_entry_id
            )
        ]

    def _unacknowledged(self, run: EntryRun) -> list[EntryRun]:
        """Return the parts of a run that are not acknowledged; the run itself when that is all."""
        acks, first = self.acks, run.first_entry_id
        if run.ledger_id not in acks.ranges and (run.ledger_id, first) > acks.mark:
            return [run]
        return [
            run.part(start - first, stop - first + 1)
            for start, stop in acks.gaps(run.ledger_id, first, run.last_entry_id)
        ]
