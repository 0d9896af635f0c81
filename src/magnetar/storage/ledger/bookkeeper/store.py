"""A ledger store on BookKeeper: the contract of ``ledger/store.py`` over a cluster of bookies."""

from contextlib import suppress
from weakref import WeakValueDictionary

from magnetar.clock import Clock, SystemClock
from magnetar.errors import InvalidValue, StorageError
from magnetar.loop_iteration import LoopIteration
from magnetar.model.cluster_stores import BookieState, LedgerCounts
from magnetar.storage.ledger.capacity import Capacity
from magnetar.storage.ledger.store import AS_THE_STORE_IS_SET, LedgerId, LedgerOptions
from magnetar.storage.metadata.store import MetadataStore
from magnetar.tasks import Tasks

from .affinity import with_affinity
from .bookie_watcher import BookieWatcher
from .context import StoreContext
from .ledger_ids import NumberingStore
from .ledger_manager import LedgerManager
from .ledger_metadata import LedgerMetadata, LedgerState, Segment
from .ledger_paths import LAYOUT, check_layout
from .reader import BookKeeperReader
from .recovery import recover
from .settings import BookKeeperSettings
from .waiting_writers import WaitingWriters
from .writer import BookKeeperWriter


class BookKeeperLedgerStore:
    """Ledgers at the bookies of one cluster."""

    def __init__(
        self,
        metadata: NumberingStore,
        bookies: BookieWatcher,
        namespaces_in: MetadataStore,
        *,
        settings: BookKeeperSettings,
        clock: Clock,
    ) -> None:
        """For ``start`` alone."""
        self._settings = settings
        self._tasks = Tasks("ledgers")
        self._bookies = bookies
        self._namespaces_in = namespaces_in
        self._manager = LedgerManager(metadata, settings.ledgers_root)
        self.counts = LedgerCounts()
        self._context = StoreContext(
            settings,
            self._manager,
            bookies,
            clock,
            self._tasks,
            Capacity(settings.pending_bytes_max),
            WaitingWriters(clock, self._tasks),
            self.counts,
        )
        self._writers: WeakValueDictionary[int, BookKeeperWriter] = WeakValueDictionary()
        self._closed = False

    @classmethod
    async def start(
        cls,
        metadata: NumberingStore,
        *,
        settings: BookKeeperSettings | None = None,
        namespaces_in: MetadataStore | None = None,
        clock: Clock | None = None,
        iteration: LoopIteration,
    ) -> "BookKeeperLedgerStore":
        """Read which bookies there are, and what a ledger's metadata look like here.

        ``namespaces_in`` has namespaces, and the racks of bookies, where that is another store than
        ``metadata``.
        ``iteration`` is that of the loop; where topics append, it must be the one they use. Raises
        StorageError where the metadata are not of BookKeeper, or of a layout that is not supported.
        """
        settings = settings or BookKeeperSettings()
        clock = clock or SystemClock()
        layout = await metadata.get(f"{settings.ledgers_root}/{LAYOUT}")
        if layout is None:
            raise StorageError(
                f"there is no cluster of bookies at {settings.ledgers_root} in the metadata "
                "store: make it with `magnetar initialize-cluster-metadata`"
            )
        check_layout(layout.value)
        bookies = BookieWatcher(
            metadata,
            settings,
            racks_in=namespaces_in or metadata,
            clock=clock,
            iteration=iteration,
        )
        await bookies.start()
        return cls(metadata, bookies, namespaces_in or metadata, settings=settings, clock=clock)

    def bookies(self) -> list[BookieState]:
        """All that the cluster knows."""
        return self._bookies.states()

    async def create(self, options: LedgerOptions = AS_THE_STORE_IS_SET) -> BookKeeperWriter:
        self._check_open()
        with self.counts.created.counted(self._context.clock.now):
            return await self._create(options)

    async def _create(self, options: LedgerOptions) -> BookKeeperWriter:
        ensemble_size, write_quorum, ack_quorum = self._settings.sizes(options)
        custom = await with_affinity(self._namespaces_in, options.metadata)
        metadata = LedgerMetadata(
            ensemble_size,
            write_quorum,
            ack_quorum,
            (Segment(0, self._bookies.placement(custom).choose(ensemble_size, write_quorum)),),
            digest_type=self._settings.digest_type,
            password=self._settings.password,
            custom=custom,
        )
        for bookie_id in metadata.last_segment.ensemble:
            self._bookies.get(bookie_id).connect_soon()
        ledger_id, stored = await self._manager.create(metadata)
        writer = BookKeeperWriter(ledger_id, stored, self._context)
        self._writers[ledger_id] = writer
        return writer

    async def open(self, ledger_id: LedgerId) -> BookKeeperReader:
        self._check_open()
        with self.counts.opened.counted(self._context.clock.now):
            return await self._open(ledger_id)

    async def _open(self, ledger_id: LedgerId) -> BookKeeperReader:
        writer = self._writers.pop(ledger_id, None)
        if writer is not None:
            with suppress(StorageError):  # It may have failed to, long ago: what is stored counts.
                await writer.close("it was opened elsewhere")
        stored = await self._manager.read(ledger_id)
        metadata = stored.metadata
        if metadata.password != self._settings.password:
            raise InvalidValue(
                f"ledger {ledger_id} was written with another password: set managedLedgerPassword"
            )
        if metadata.state is not LedgerState.CLOSED:
            with self.counts.recovered.counted(self._context.clock.now):
                metadata = await recover(ledger_id, stored, self._context)
        return BookKeeperReader(ledger_id, metadata, self._context)

    async def metadata_of(self, ledger_id: LedgerId) -> LedgerMetadata:
        """What is kept of a ledger, without opening it. Raises LedgerNotFound."""
        return (await self._manager.read(ledger_id)).metadata

    async def check(self) -> None:
        self._check_open()
        settings = self._settings
        self._bookies.placement({}).choose(settings.ensemble_size, settings.write_quorum)

    async def delete(self, ledger_id: LedgerId) -> None:
        self._check_open()
        writer = self._writers.pop(ledger_id, None)
        if writer is not None:
            writer.delete()
        with self.counts.deleted.counted(self._context.clock.now):
            await self._manager.delete(ledger_id)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for writer in list(self._writers.values()):
            with suppress(StorageError):
                await writer.close("the store was closed")
        await self._tasks.close()
        await self._bookies.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError("the ledger store is closed")
