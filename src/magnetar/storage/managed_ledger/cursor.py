"""A cursor: what is acknowledged in a log, and saved where the cursor is durable.

Acknowledgements change memory only (``AckSet``: a mark, ranges beyond it, bits of batches). A
durable cursor that changed is saved a moment later, together with others (``CursorSaver``), so a
crash takes back the newest acknowledgements, and their entries are delivered again: at least once.
What must not be taken back, as by a seek, waits for its save. A record has so many ranges at most;
what it leaves out is delivered again after a restart.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized

from magnetar.model.position import Position
from magnetar.storage.codec.cursor import CursorState
from magnetar.storage.ledger.store import LedgerId, LedgerStore
from magnetar.storage.managed_ledger.ack_set import AckSet
from magnetar.storage.managed_ledger.cursor_reader import CursorReader
from magnetar.storage.managed_ledger.cursor_record import CursorRecord
from magnetar.storage.managed_ledger.cursor_saver import CursorSaver, Trimmer
from magnetar.storage.managed_ledger.cursor_store import state_of
from magnetar.storage.managed_ledger.log_reader import LogReader

log = logging.getLogger(__name__)


class Cursor:
    """One cursor of one managed ledger, which makes it.

    It is read with its ``reader``. A cursor without a ``record`` is not durable: it is gone when
    the process ends, and its mark does not keep ledgers from being deleted.
    """

    def __init__(
        self,
        name: str,
        mark: Position,
        *,
        trimmer: Trimmer,
        log: LogReader,
        saver: CursorSaver,
        record: CursorRecord | None,
        properties: dict[str, str],
        ranges_max: int,
    ) -> None:
        self.name = name
        self.trimmer = trimmer
        self.properties = properties
        self.acks = AckSet(mark)
        self.reader = CursorReader(self.acks, log, removed=self._acknowledge_removed)
        self.ledger_ids: tuple[int, ...] = ()
        """The cursor's own ledgers: ``cursor_ledgers.py``. They are deleted with it."""
        self.mark_moved_ms = 0
        """When the mark last moved since the log was opened; 0 when it has not."""
        self.moved: Callable[[Position], None] | None = None
        """Gets the mark whenever it moves on."""
        self._mark_noted = mark
        self._log = log
        self._saver = saver
        self._record = record
        self._ranges_max = ranges_max
        self._unknown: Mapping[str, object] = {}  # Fields of later versions.
        self._changes_noted = 0  # ``acks.changes`` at the last ``_note_changes``.
        self._changes_saved = 0  # ``acks.changes`` as of the stored record.
        self._passed_over_to: Position | None = None  # Where trimming moved it last.

    held_at: Position | None = None
    """Holds trimming back here while it is unknown whether a later mark is durable."""

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
        self.reader.rewind()

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
        if position <= layout.trimmed_to and self.reader.reads_compacted:
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
    def backlog(self) -> int:
        """How many entries are not acknowledged."""
        layout = self._log.layout
        mark, last = self.acks.mark, layout.last
        return 0 if mark == last else layout.entries_between(mark, last) - self.acks.beyond

    @property
    def backlog_bytes(self) -> int:
        """About how many bytes lie after the mark, including those that are acknowledged."""
        return self._log.layout.size_after(self.acks.mark)

    @property
    def acked_ranges(self) -> int:
        """How many ranges of entries beyond the mark are acknowledged."""
        return sum(map(len, self.acks.ranges.values()))

    @property
    def acked_ranges_bytes(self) -> int:
        """How many bytes these ranges take in the record."""
        if self._record is None or not self.acks.ranges:
            return 0
        return self._record.ranges_size(state_of(self.acks, {}, ranges_max=self._ranges_max))

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
        self.reader.rewind()
        self._note_changes()
        await self.flush()

    async def unacknowledge(self, positions: Sequence[Position]) -> None:
        """Let entries, which ascend, be acknowledged no longer. Otherwise as ``reset``."""
        self.acks.unacknowledge(positions, self._log.layout)
        self.reader.rewind()
        self._note_changes()
        await self.flush()

    async def flush(self) -> None:
        """Return when all that was acknowledged so far is saved. Only durable cursors are saved.

        Raises Fenced when another broker owns the log, and what the metadata store raises.
        """
        changes = self.acks.changes
        if self._record is not None and self._changes_saved != changes:
            await self._record.save(self._state)
            self._log.counts.cursors_saved += 1
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

    async def close(self) -> None:
        """Save nothing any more: the log is closed."""
        if self._record is not None:
            await self._record.close()
        self.reader.rest()

    async def delete(self) -> None:
        """Delete the record, and its ledgers first. Only the managed ledger calls this."""
        for ledger_id in self.ledger_ids:
            await self.ledger_store.delete(LedgerId(ledger_id))
        if self._record is not None:
            await self._record.delete()
        self.reader.rest()

    def clamp(self) -> None:
        """Move the mark and the read position behind the ledgers that were trimmed.

        A cursor that had not read all of them misses what was deleted. That is logged once, until
        the cursor has read on.
        """
        if self.reader.reads_compacted:
            return  # Compaction has kept something of them.
        layout, reader = self._log.layout, self.reader
        before, first = reader.read_position, layout.first
        if self._log.compacted is None:
            self.acks.raise_mark(layout.trimmed_to, layout)
            self._note_changes()
        reader.read_position = max(reader.read_position, first)
        if before <= layout.trimmed_to:
            if before != self._passed_over_to:
                log.warning(
                    "cursor.skipped name=%s cursor=%s from=%s to=%s: it had not read what was "
                    "deleted, and goes on at the oldest entry there is",
                    self.trimmer.name,
                    self.name,
                    before,
                    first,
                )
            self._passed_over_to = reader.read_position

    def _acknowledge_removed(self, removed: Sequence[tuple[Position, Position]]) -> None:
        """Acknowledge what compaction removed, or a durable cursor's backlog would keep it.

        While what was trimmed is being read the mark must stay where it is.
        """
        layout = self._log.layout
        if not self.durable or self.acks.mark < layout.trimmed_to:
            return
        for first, end in removed:
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
        mark, moved = self.acks.mark, False
        if mark is not self._mark_noted:
            if mark > self._mark_noted:
                moved = True
                self.mark_moved_ms = self._saver.clock.wall_ms()
            self._mark_noted = mark
        if mark >= self.reader.read_position:
            self.reader.rewind()
        if self.durable:
            self._saver.save_soon(self)
        if moved and self.moved is not None:
            self.moved(mark)

    def _state(self) -> CursorState:
        return state_of(
            self.acks,
            self.properties,
            ranges_max=self._ranges_max,
            unknown=self._unknown,
            ledger_ids=self.ledger_ids,
        )
