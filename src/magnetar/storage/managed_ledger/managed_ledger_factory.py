"""Opens managed ledgers, each made of its parts."""

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, NamedTuple

from magnetar.errors import Fenced, MagnetarError, VersionMismatch
from magnetar.model.counts import LogCounts
from magnetar.storage.ledger.store import LedgerId, LedgerOptions, LedgerReader, LedgerWriter
from magnetar.storage.managed_ledger.cache import EntryCache
from magnetar.storage.managed_ledger.compaction import COMPACTION_CURSOR
from magnetar.storage.managed_ledger.context import LogContext
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.cursor_store import StoredCursor, read_cursors
from magnetar.storage.managed_ledger.ledger_list import LedgerList
from magnetar.storage.managed_ledger.log_cursors import LogCursors
from magnetar.storage.managed_ledger.log_reader import LogReader
from magnetar.storage.managed_ledger.log_trimmer import LogTrimmer
from magnetar.storage.managed_ledger.log_writer import LogWriter
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings, ledger_metadata
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import Record

log = logging.getLogger(__name__)


class FoundLog(NamedTuple):
    """What is stored of a log before it is opened."""

    record: Record | None
    """None: there is no such log."""
    cursors: Sequence[str]
    """The names of their records."""
    read: Mapping[str, StoredCursor] = MappingProxyType({})
    """The cursors that were read along, by their names."""
    ended: LedgerReader | None = None
    """A ledger that a former owner left open, if it was ended along."""


NOTHING_FOUND: Final = FoundLog(None, ())


class ManagedLedgerFactory(LogContext):
    """Opens the managed ledgers of a broker."""

    __slots__ = ()

    async def find(self, name: str, before: FoundLog = NOTHING_FOUND) -> FoundLog:
        """Read what is stored of the log ``name``.

        ``before`` is what was found while another broker had it: what that names is read along, and
        its last ledger ended, since most likely it is what is named now. The log must be ours to
        open.
        """
        path = paths.managed_ledger(name)
        record, cursors, read, ended = await asyncio.gather(
            self.metadata.get(path),
            self.metadata.children(path),
            read_cursors(name, self, before.cursors),
            self._end_last_of(name, before.record),
        )
        return FoundLog(record, cursors, read, ended)

    async def _end_last_of(self, name: str, record: Record | None) -> LedgerReader | None:
        if record is None:
            return None
        try:
            open_id = LedgerList.of(name, record, self).layout.open_id
            return None if open_id is None else await self.ledgers.open(LedgerId(open_id))
        except MagnetarError:
            return None  # Whoever opens the log tries again, and says so.

    def find_soon(self, name: str) -> asyncio.Task[FoundLog]:
        """Read what is stored of the log ``name``, while another broker has it."""
        return self.tasks.spawn(f"find {name}", self._find_if_possible(name))

    async def _find_if_possible(self, name: str) -> FoundLog:
        try:
            return await self.find(name)
        except MagnetarError:
            return NOTHING_FOUND

    def begin(self, name: str, options: LedgerOptions) -> asyncio.Task[LedgerWriter]:
        """Begin a ledger for the log ``name``, to be given to ``open``, or to ``abandon``."""
        return self.tasks.start(f"begin {name}", self._create(name, options))

    async def _create(self, name: str, options: LedgerOptions) -> LedgerWriter:
        return await self.ledgers.create(replace(options, metadata=ledger_metadata(name)))

    def abandon(self, begun: asyncio.Future[LedgerWriter]) -> None:
        """Delete a ledger that was begun for a log, and is not in its list."""
        self.tasks.spawn("abandon ledger", self._abandon(begun))

    async def _abandon(self, begun: asyncio.Future[LedgerWriter]) -> None:
        try:
            await self.ledgers.delete((await begun).ledger_id)
        except MagnetarError as error:
            log.info("managed_ledger.not_abandoned error=%s", error)

    async def open(
        self,
        name: str,
        settings: ManagedLedgerSettings | None = None,
        counts: LogCounts | None = None,
        *,
        cache: EntryCache | None = None,
        found: FoundLog | None = None,
        begun: asyncio.Future[LedgerWriter] | None = None,
    ) -> ManagedLedger:
        """Take over the log ``name`` (``paths.managed_ledger_name``), or create it.

        A broker that had it open before can no longer append. All durable cursors are there when
        this returns. It may have ``settings`` and a ``cache`` of its own; what it does is added to
        ``counts``. Who has ``found`` it says so, and which ledger was ``begun`` for what is to be
        appended, which has its place in the same write. Raises Fenced when another broker is
        opening the log, CorruptEntry for a damaged record.
        """
        settings = settings or self.settings
        found, hurry = found or await self.find(name), begun is not None
        if found.record is None and begun is None:
            begun = asyncio.get_running_loop().create_future()  # Nothing is to be done meanwhile.
            begun.set_result(await self._create(name, settings.ledger_options))
        counts, cache = counts or LogCounts(), cache or self.cache

        async def attempt(found: FoundLog) -> ManagedLedger:
            return await self._open(
                name, settings, found, begun, counts=counts, cache=cache, hurry=hurry
            )

        try:
            try:
                return await attempt(found)
            except Fenced:
                # A former owner, who knows of nobody else yet, has changed it meanwhile.
                await self._claim(name)
                return await attempt(await self.find(name))
        except MagnetarError:
            if begun is not None:
                self.abandon(begun)
            raise

    async def _claim(self, name: str) -> None:
        """Write the record of a log as it is, so that a former owner cannot change it any more."""
        path = paths.managed_ledger(name)
        while (record := await self.metadata.get(path)) is not None:
            with contextlib.suppress(VersionMismatch):
                await self.metadata.put(path, record.value, expected_version=record.version)
                return

    async def _open(
        self,
        name: str,
        settings: ManagedLedgerSettings,
        found: FoundLog,
        begun: asyncio.Future[LedgerWriter] | None,
        *,
        counts: LogCounts,
        cache: EntryCache,
        hurry: bool,  # Somebody waits to append.
    ) -> ManagedLedger:
        ledger_list = LedgerList.of(name, found.record, self)
        unread = [each for each in found.cursors if paths.decode(each) not in found.read]
        ending, stored = ledger_list.end_what_was_open(begun, found.ended), dict(found.read)
        if unread:
            (newest, current), read = await asyncio.gather(ending, read_cursors(name, self, unread))
            stored |= read
        else:  # As in every new log, which is spared two tasks.
            newest, current = await ending
        reader = LogReader(
            ledger_list.layout,
            ledgers=self.ledgers,
            cache=cache,
            tasks=self.tasks,
            counts=counts,
        )
        by_name: dict[str, Cursor] = {}
        trimmer = LogTrimmer(name, ledger_list, reader, by_name, self, settings)
        ranges_max = settings.cursor_ranges_max
        cursors = LogCursors(name, by_name, ledger_list, reader, trimmer, self, ranges_max)
        writer = LogWriter(
            name, ledger_list, reader, self, settings=settings, cursors=by_name, trimmer=trimmer
        )
        opened = ManagedLedger(
            name, ledger_list, self, log=reader, writer=writer, cursors=cursors, trimmer=trimmer
        )
        if newest is not None:
            reader.serve(newest)
        if current is not None:
            writer.begin(current)
        if COMPACTION_CURSOR in stored:  # To load what compaction left is the owner's.
            await ledger_list.take_over()
            await cursors.load(stored)
            await trimmer.trim()
        else:
            await cursors.load(stored)
            trimmer.remove()
            await ledger_list.take_over()
            if not hurry:
                await ledger_list.delete_removed()
            elif ledger_list.layout.deleting:
                self.saver.trim_soon(trimmer)
        if not opened.entry_count and current is None:
            # Positions in an empty log name a ledger that exists, as they do in Pulsar.
            await writer.start_ledger()
        return opened
