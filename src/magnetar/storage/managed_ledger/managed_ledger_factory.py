"""Opens managed ledgers, each made of its parts."""

from magnetar.model.counts import LogCounts
from magnetar.storage.managed_ledger.cache import EntryCache
from magnetar.storage.managed_ledger.context import LogContext
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.ledger_list import LedgerList
from magnetar.storage.managed_ledger.log_cursors import LogCursors
from magnetar.storage.managed_ledger.log_reader import LogReader
from magnetar.storage.managed_ledger.log_trimmer import LogTrimmer
from magnetar.storage.managed_ledger.log_writer import LogWriter
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings


class ManagedLedgerFactory(LogContext):
    """Opens the managed ledgers of a broker."""

    __slots__ = ()

    async def open(
        self,
        name: str,
        settings: ManagedLedgerSettings | None = None,
        counts: LogCounts | None = None,
        *,
        cache: EntryCache | None = None,
    ) -> ManagedLedger:
        """Take over the log ``name`` (``paths.managed_ledger_name``), or create it.

        A broker that had it open before can no longer append. All durable cursors are there when
        this returns. It may have ``settings`` and a ``cache`` of its own; what it does is added to
        ``counts``. Raises Fenced when another broker is opening the log, CorruptEntry for a
        damaged record.
        """
        settings = settings or self.settings
        ledger_list, newest = await LedgerList.open(name, self)
        log = LogReader(
            ledger_list.layout,
            ledgers=self.ledgers,
            cache=cache or self.cache,
            tasks=self.tasks,
            counts=counts or LogCounts(),
        )
        by_name: dict[str, Cursor] = {}
        trimmer = LogTrimmer(name, ledger_list, log, by_name, self, settings)
        ranges_max = settings.cursor_ranges_max
        cursors = LogCursors(name, by_name, ledger_list, log, trimmer, self, ranges_max)
        writer = LogWriter(
            name, ledger_list, log, self, settings=settings, cursors=by_name, trimmer=trimmer
        )
        opened = ManagedLedger(
            name, ledger_list, self, log=log, writer=writer, cursors=cursors, trimmer=trimmer
        )
        if newest is not None:
            log.serve(newest)
        await cursors.load()
        if by_name:
            await trimmer.trim()
        if not opened.entry_count:
            # Positions in an empty log name a ledger that exists, as they do in Pulsar.
            await writer.start_ledger()
        return opened
