"""A managed ledger: an endless log made of ledgers, and the cursors in it.

A ledger is append-only, has one writer and ends. The log appends to its last one, and begins
another when that is large, old or failed; one that ended is *sealed*, and never changes. A position
is a ledger's id and an entry's number in it, so positions ascend, with gaps where ledgers change.

One record in the metadata store lists the ledgers. Who changes it owns the log: a change that finds
another version means that another broker took the log over, and this one is *fenced*: it takes no
more appends. A failed append fences it as well, since the entry may be durable or not;
opened again, the log is what its ledgers hold.

A cursor is a reader whose progress is kept: a mark-delete position and acknowledged ranges beyond
it. Ledgers that every durable cursor has acknowledged, and no retention keeps, are trimmed. The
parts are ``LogWriter`` (appends), ``LogReader`` (reads and caches), ``LogCursors``, ``LogTrimmer``
and ``LedgerList`` (the record, and who owns it); this file is what they are to others.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence

from magnetar.callbacks import unheard
from magnetar.errors import Fenced, NotAllowed, StorageError
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.codec.ledger_list import SealedLedger
from magnetar.storage.ledger.store import LedgerOptions
from magnetar.storage.managed_ledger.compacted_ledger import CompactedLedger
from magnetar.storage.managed_ledger.compacted_reader import CompactedReader
from magnetar.storage.managed_ledger.compaction import COMPACTION_CURSOR, CompactedLedgerWriter
from magnetar.storage.managed_ledger.context import LogContext
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.entries import Appendable, Stored
from magnetar.storage.managed_ledger.info import ManagedLedgerInfo, describe
from magnetar.storage.managed_ledger.layout import Layout
from magnetar.storage.managed_ledger.ledger_list import LedgerList, LogOwnership
from magnetar.storage.managed_ledger.log_cursors import LogCursors
from magnetar.storage.managed_ledger.log_offload import LogOffload
from magnetar.storage.managed_ledger.log_reader import LogReader
from magnetar.storage.managed_ledger.log_trimmer import LogTrimmer
from magnetar.storage.managed_ledger.log_writer import LogWriter
from magnetar.storage.managed_ledger.run import EntryRun


class ManagedLedger:
    """One log. Who appends waits for the answer before appending again, unless it ``takes_more``.

    Once an append failed, or another broker has taken the log over, everything that writes raises
    Fenced: this one must be closed and the log opened again. Reading goes on.
    """

    __slots__ = (
        "_context",
        "_cursors",
        "_list",
        "_log",
        "_offload",
        "_trimmer",
        "_writer",
        "cursors",
        "name",
    )

    def __init__(
        self,
        name: str,
        ledger_list: LedgerList,
        context: LogContext,
        *,
        log: LogReader,
        writer: LogWriter,
        cursors: LogCursors,
        trimmer: LogTrimmer,
    ) -> None:
        """For ``ManagedLedgerFactory``."""
        self.name = name
        self.cursors: Mapping[str, Cursor] = cursors.by_name
        self._list = ledger_list
        self._log = log
        self._writer = writer
        self._cursors = cursors
        self._trimmer = trimmer
        self._context = context
        self._offload: LogOffload | None = None
        if self.has_offloaded:
            self.offload()

    @property
    def fenced(self) -> bool:
        """Whether it takes no more changes and must be opened again."""
        return not self._list.owned

    def when_fenced(self, told: Callable[[], None]) -> None:
        """Let ``told`` be called soon after it is fenced, unless it is closed before."""
        self._list.when_fenced = told

    def append(self, entries: Appendable, stored: Stored) -> None:
        """Append entries. ``stored`` is called exactly once, and never before this returns.

        The entries are stored one after the other in one ledger. The answer is Fenced when they may
        not be durable; then all behind them are answered so, and this log takes no more appends.
        """
        self._writer.append(entries, stored)

    @property
    def takes_more(self) -> bool:
        """Whether more may be appended now, although an append may not be answered yet.

        Not while a ledger is to be begun, or the store asks to wait. Answers come in order.
        """
        return self._writer.takes_more

    def begin_soon(self) -> None:
        """Begin a ledger where the next append would wait for one: it is going to come."""
        self._writer.begin_soon()

    async def roll_over_if_due(self) -> None:
        """End the current ledger if that is due and nothing is being appended.

        Raises Fenced.
        """
        await self._writer.roll_over_if_due()

    @property
    def layout(self) -> Layout:
        """The ledgers of the log. The caller must not change them."""
        return self._list.layout

    @property
    def last_position(self) -> Position:
        """The last entry, even if it was trimmed; (ledger, -1) in a log that never had one."""
        return self.layout.last

    @property
    def last_visible(self) -> Position:
        """The last entry that readers may see; ``last_position`` where nothing is hidden."""
        return self._log.last_visible

    @property
    def sealed_visible(self) -> Sequence[SealedLedger]:
        """The ledgers that take no more entries, and of which nothing is hidden."""
        visible_to, sealed = self._log.visible_to, self.layout.sealed
        if visible_to is None:
            return sealed
        return [
            each for each in sealed if Position(each.ledger_id, each.last_entry_id) <= visible_to
        ]

    def show_to(self, position: Position | None) -> None:
        """Hide what is behind a position from all who read; None: show everything.

        Cursors, compaction and whoever looks for the last message ask for ``last_visible``; what
        is told a position reads there.
        """
        self._log.visible_to = position

    @property
    def properties(self) -> Mapping[str, str]:
        """What its owner keeps with it."""
        return self.layout.properties

    async def change_properties(
        self, changed: Mapping[str, str], removed: Collection[str] = ()
    ) -> None:
        """Set and remove properties, durably. Raises Fenced, and what the metadata store raises."""
        await self._list.change(lambda layout: layout.change_properties(changed, removed))

    @property
    def entry_count(self) -> int:
        return self.layout.entry_count

    @property
    def size_bytes(self) -> int:
        return self.layout.size_bytes

    def next_position(self, position: Position) -> Position:
        """Return the first entry after ``position``; the position after the last otherwise."""
        return self.layout.next_position(position)

    async def read(self, position: Position, entries_max: int, bytes_max: int) -> EntryRun | None:
        """Read a run at ``position``, or at the first entry after it; None where there is none.

        It has at least one entry, at most ``entries_max``, and about ``bytes_max``. Raises
        CorruptEntry when the first entry is damaged, LedgerNotFound when a ledger is missing.
        """
        return await self._log.read(position, entries_max, bytes_max)

    async def read_uncached(
        self, position: Position, entries_max: int, bytes_max: int
    ) -> EntryRun | None:
        """As ``read``, and nothing is read ahead or cached: for who reads what others do not."""
        while (place := self.layout.locate(position)) is not None:
            left = (self.layout.last_entry_id(place.ledger_id) or 0) - place.entry_id + 1
            run = await self._log.read_uncached(place, min(entries_max, left), bytes_max)
            if run is not None:
                return run
        return None

    async def first_where(self, test: Callable[[bytes], bool]) -> Position:
        """Search for the first entry that passes a test, which all that follow must pass as well.

        Returns the position after the last entry when none passes; the entry may be one that was
        trimmed, if compaction has kept it. Raises what ``read`` raises.
        """
        found = await self._log.first_where(test)
        if self.compacted is not None and found == self.layout.first:
            earlier = await self.compacted.first_where(test)
            if earlier is not None and earlier <= self.layout.trimmed_to:
                return earlier
        return found

    @property
    def compacted(self) -> CompactedLedger | None:
        """What compaction left; None in a log that was never compacted."""
        return self._log.compacted

    def compacted_reader(self) -> CompactedReader:
        """Return what reads the log as compaction left it."""
        return CompactedReader(self._log)

    async def begin_compaction(self) -> CompactedLedgerWriter:
        """Begin another compacted ledger. Raises Fenced, and what the stores raise."""
        cursor = await self.open_cursor(COMPACTION_CURSOR, EARLIEST)
        return await self._cursors.compaction(cursor).begin()

    async def open_cursor(
        self, name: str, initial: Position, *, properties: dict[str, str] | None = None
    ) -> Cursor:
        """Return the durable cursor ``name``; if there is none, create it to start at ``initial``.

        A position before the first entry (EARLIEST) means the first, one after the last (LATEST)
        means what comes next. Raises AlreadyExists when a reader has the name, Fenced.
        """
        self._writer.check()
        return await self._cursors.open(name, initial, properties or {})

    def open_reader(self, name: str, start: Position) -> Cursor:
        """Create a cursor that is not durable and starts at ``start``, as with ``open_cursor``.

        It does not prevent trimming: entries that it has not read may be deleted, and it goes on
        at the oldest entry there is. Raises AlreadyExists.
        """
        return self._cursors.open_reader(name, start)

    async def delete_cursor(self, name: str) -> None:
        """Delete a cursor, durable or not. An unknown name is no error.

        With the cursor of compaction goes what that left. Raises what the metadata store raises;
        then the cursor is still there, to be deleted again.
        """
        await self._cursors.delete(name)

    async def trim(self, *, retained: bool = False) -> None:
        """Delete the ledgers that every durable cursor has passed and that retention does not keep.

        ``retained``: those it keeps, too. The saver calls this after marks moved and after
        a rollover, housekeeping when only time has passed. Raises Fenced.
        """
        await self._trimmer.trim(retained=retained)

    def retain(self, time_s: int, size_bytes: int) -> None:
        """Set how long and how much of what is acknowledged is kept; see ``ledger_rules.py``."""
        self._trimmer.retain(time_s, size_bytes)

    def replicate(self, options: LedgerOptions) -> None:
        """Create ledgers with these options from the next one on."""
        self._writer.replicate(options)

    def offload(self) -> LogOffload:
        """Return what offloads its ledgers. Raises NotAllowed where the broker has no offloader."""
        if self._offload is None:
            if self._context.offloader is None:
                raise NotAllowed(f"Managed ledger {self.name} has nothing that offloads ledgers")
            self._offload = LogOffload(
                self._list, self._context.ledgers, self._context.offloader, self._log.close_readers
            )
            self._log.copy_reader = self._offload.reader
        return self._offload

    @property
    def has_offloaded(self) -> bool:
        """Whether it has copies of ledgers elsewhere, or had and they are to be deleted."""
        layout = self.layout
        return bool(layout.deleting_offloaded) or any(each.offload for each in layout.sealed)

    async def prepare_for_rest(self) -> bool:
        """Delete what may be deleted. False: the log must stay open, or something would be lost.

        In a closed log nothing is deleted as time passes, and of a cursor with very many ranges
        some would be forgotten. Raises what ``trim`` raises.
        """
        durable = [cursor for cursor in self.cursors.values() if cursor.durable]
        if not all(cursor.fits_its_record for cursor in durable):
            return False
        if self.entry_count and self._trimmer.keeps_nothing:
            await self._writer.end_ledger()
            await self._trimmer.trim()
        return self._trimmer.done

    def info(self) -> ManagedLedgerInfo:
        """Take a snapshot for statistics."""
        return describe(
            self.layout,
            self.cursors.values(),
            state="closed" if self._writer.closed else "fenced" if self.fenced else "open",
            entries_added=self._writer.entries_added,
            began_ms=self._writer.began_ms,
            compacted=self.compacted,
        )

    async def close(self, *, handed_over: bool = False) -> None:
        """End the current ledger, save every cursor, give the memory back. May be called again.

        ``handed_over``: another broker waits for it, and is spared a write. A log that another
        broker has taken over is left alone. Raises what the stores raise; the log is closed all the
        same, and the next ``open`` recovers it.
        """
        if self._writer.closed:
            return
        self._writer.refuse_appends()
        self._trimmer.close()
        self._list.when_fenced = unheard
        cursors = list(self.cursors.values())
        try:
            results = await asyncio.gather(
                self._writer.close(handed_over=handed_over),
                *(cursor.flush() for cursor in cursors),
                return_exceptions=True,
            )
        finally:
            for cursor in cursors:
                await cursor.close()
            self._log.close()
        for result in results:
            lost = self._list.ownership is LogOwnership.LOST and isinstance(result, Fenced)
            if isinstance(result, BaseException) and not lost:
                raise result

    async def delete(self) -> None:
        """Close, and delete the log with all its cursors.

        Raises Fenced when it is fenced: open it again to delete it. If the process dies half-way,
        the log is still there, perhaps empty.
        """
        with contextlib.suppress(StorageError):  # What cannot be saved is deleted all the same.
            await self.close()
        await self._list.change(Layout.clear)
        await self._list.delete_removed()
        if self._offload is not None:
            await self._offload.delete_removed()
        await self._cursors.delete_all()
        await self._list.delete_record()
