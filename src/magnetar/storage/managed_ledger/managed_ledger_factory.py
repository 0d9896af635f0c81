"""Opens managed ledgers: what all of one broker share, and what each is made of."""

from dataclasses import dataclass, field

from magnetar.clock import Clock
from magnetar.model.log_counts import LogCounts
from magnetar.storage.codec.codec import Codec
from magnetar.storage.ledger.offloader import Offloader
from magnetar.storage.ledger.store import LedgerStore
from magnetar.storage.managed_ledger.cache import EntryCache
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.cursor_saver import CursorSaver
from magnetar.storage.managed_ledger.ledger_list import LedgerList
from magnetar.storage.managed_ledger.log_cursors import LogCursors
from magnetar.storage.managed_ledger.log_reader import LogReader
from magnetar.storage.managed_ledger.log_trimmer import LogTrimmer
from magnetar.storage.managed_ledger.log_writer import LogWriter
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings
from magnetar.storage.metadata.store import MetadataStore
from magnetar.tasks import Tasks


@dataclass(kw_only=True, slots=True)
class ManagedLedgerFactory:
    """What the managed ledgers of a broker share."""

    metadata: MetadataStore
    ledgers: LedgerStore
    codec: Codec
    cache: EntryCache
    clock: Clock
    tasks: Tasks
    settings: ManagedLedgerSettings = field(default_factory=ManagedLedgerSettings)
    offloader: Offloader | None = None
    saver: CursorSaver = field(init=False)
    """Saves the cursors of all of them."""

    def __post_init__(self) -> None:
        interval_s = self.settings.cursor_save_interval_s
        self.saver = CursorSaver(self.tasks, self.clock, interval_s=interval_s)

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
        ledger_list, newest = await LedgerList.open(
            name,
            metadata=self.metadata,
            codec=self.codec,
            ledgers=self.ledgers,
            tasks=self.tasks,
            now_ms=self.clock.wall_ms(),
        )
        log = LogReader(
            ledger_list.layout,
            ledgers=self.ledgers,
            cache=cache or self.cache,
            tasks=self.tasks,
            counts=counts or LogCounts(),
        )
        by_name: dict[str, Cursor] = {}
        trimmer = LogTrimmer(
            name,
            ledger_list,
            log,
            ledgers=self.ledgers,
            cursors=by_name,
            clock=self.clock,
            settings=settings,
        )
        cursors = LogCursors(
            name,
            by_name,
            ledger_list,
            log,
            trimmer=trimmer,
            metadata=self.metadata,
            codec=self.codec,
            tasks=self.tasks,
            saver=self.saver,
            ranges_max=settings.cursor_ranges_max,
        )
        writer = LogWriter(
            name,
            ledger_list,
            log,
            ledgers=self.ledgers,
            clock=self.clock,
            tasks=self.tasks,
            settings=settings,
            cursors=by_name,
            saver=self.saver,
            trimmer=trimmer,
        )
        opened = ManagedLedger(
            name,
            ledger_list,
            log=log,
            writer=writer,
            cursors=cursors,
            trimmer=trimmer,
            ledgers=self.ledgers,
            offloader=self.offloader,
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
