"""A ledger store in a local folder: the contract of ``ledger/store.py`` over the log.

store = await LocalLedgerStore.start(Path("data/ledgers"))
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from magnetar.clock import Clock, SystemClock
from magnetar.errors import LedgerNotFound, StorageError
from magnetar.inner.record import SALT_SIZE
from magnetar.loop_iteration import LoopIteration
from magnetar.model.counts import GroupTimes
from magnetar.model.histogram import Histogram
from magnetar.storage.ledger.store import AS_THE_STORE_IS_SET, LedgerId, LedgerOptions
from magnetar.storage.workers import InThread, StartWorker
from magnetar.tasks import Tasks

from .compaction import Compaction
from .disk import Files, FolderLock, RealFiles
from .format import Kind
from .index import Ledger
from .jobs import Deletion, DiskCheck, LedgerMark
from .journal import Journal
from .ledgers import LocalLedgerReader, LocalLedgerWriter
from .recovery import Recovered, recover
from .segments import Segments
from .settings import LocalLedgerSettings
from .upkeep import StoreContext, Upkeep

P = ParamSpec("P")
T = TypeVar("T")

DISK_THREADS: Final = 4
FOLDER_CHECK_S: Final = 1.0
"""How often it is looked whether the folder is still there: files stay open when it is deleted."""

log = logging.getLogger(__name__)


def random_salt() -> bytes:
    """The salt of a new segment, which must be unguessable."""
    return os.urandom(SALT_SIZE)


class LocalLedgerStore:
    """Ledgers in a folder, which it holds locked until it is closed."""

    def __init__(
        self,
        folder: Path,
        recovered: Recovered,
        *,
        settings: LocalLedgerSettings,
        clock: Clock,
        iteration: LoopIteration,
        files: Files,
        lock: FolderLock,
        pool: ThreadPoolExecutor,
        salt: Callable[[], bytes],
        start: StartWorker,
        take_id: Callable[[], Awaitable[int]] | None,
    ) -> None:
        """For ``start`` alone."""
        self._folder = folder
        self._lock = lock
        self._pool = pool
        self.damage = recovered.damage  # What this start did not find as it was written.
        self._ledgers = recovered.ledgers
        self._half_deleted: dict[int, Ledger] = {}  # Deleted, but not durably yet.
        self._next_ledger_id = recovered.next_ledger_id
        self._take_id = take_id
        self._closed = False
        self.folder_lost = ""  # Why the folder is no longer ours; "": it is.
        self._when_lost: list[Callable[[str], None]] = []
        self.segments = segments = Segments(folder, settings, salt)
        segments.adopt(recovered.segments, recovered.spares)
        segments.deleted.update(recovered.deleted)
        self._journal = Journal(
            files,
            segments,
            settings,
            clock,
            next_ledger_id=lambda: self._next_ledger_id,
            wake=self._wake,
            iteration=iteration,
            check_folder=lock.check,
            start=start,
        )
        if recovered.active is not None:
            self._journal.resume(recovered.active)
        self._parts = StoreContext(
            settings,
            files,
            segments,
            self._ledgers,
            self._journal,
            self._in_thread,
            clock,
            self._wake,
        )
        self._upkeep = Upkeep(self._parts)
        self._compaction = Compaction(self._parts)
        self._tasks = Tasks("ledgers")
        self._upkeep_task = self._tasks.spawn("upkeep", self._upkeep.run())
        self._tasks.spawn("compaction", self._compaction.run())
        self._tasks.spawn("folder", self._watch_folder())
        self._wake()

    @classmethod
    async def start(
        cls,
        folder: Path,
        *,
        settings: LocalLedgerSettings | None = None,
        clock: Clock | None = None,
        iteration: LoopIteration | None = None,
        files: Files | None = None,
        salt: Callable[[], bytes] = random_salt,
        start: StartWorker = InThread,
        take_id: Callable[[], Awaitable[int]] | None = None,
    ) -> "LocalLedgerStore":
        """Lock the folder, created where it is missing, and find out what it holds.

        ``iteration`` is that of the loop; where topics append, it must be the one they use.
        ``salt`` makes eight bytes that nobody who appends can guess. ``start`` begins what writes
        the log: in a thread, but for tests. ``take_id`` gives ids where this log is one of several.

        Raises StoreLocked when another process has it, and StorageError, naming the file and the
        remedy, when it cannot be read.
        """
        settings = settings or LocalLedgerSettings()
        files = files or RealFiles()
        loop = asyncio.get_running_loop()
        pool = ThreadPoolExecutor(DISK_THREADS, thread_name_prefix="magnetar-disk")
        lock = None
        try:
            lock = _lock(files, folder)  # Here, so that no cancellation can lose it.
            recovered = await loop.run_in_executor(pool, recover, files, folder, settings)
            return cls(
                folder,
                recovered,
                settings=settings,
                clock=clock or SystemClock(),
                iteration=iteration or LoopIteration(loop),
                files=files,
                lock=lock,
                pool=pool,
                salt=salt,
                start=start,
                take_id=take_id,
            )
        except BaseException:
            pool.shutdown()
            if lock is not None:
                lock.release()
            raise

    @property
    def next_ledger_id(self) -> int:
        """Behind all that this log has had."""
        return self._next_ledger_id

    @property
    def is_empty(self) -> bool:
        """Whether it has no ledgers."""
        return not self._ledgers and not self._half_deleted

    @property
    def sync_latency(self) -> Histogram:
        """How long the disk took to sync the log."""
        return self._journal.sync_latency

    @property
    def times(self) -> GroupTimes | None:
        """When what the log answers at the moment was written and synced, where it is timed."""
        return self._journal.times

    @property
    def write_error(self) -> str:
        """Why the last write to the log failed; "" where it succeeded."""
        return self._journal.write_error

    @property
    def write_failure(self) -> tuple[float, str] | None:
        """When the last write failed that did, and why; None where none did."""
        return self._journal.write_failure

    async def create(
        self,
        options: LedgerOptions = AS_THE_STORE_IS_SET,
    ) -> LocalLedgerWriter:
        self._check_open()
        if self._journal.capacity.over_limit:
            await self._journal.capacity.wait()
            self._check_open()
        ledger_id = self._next_ledger_id
        if self._take_id is not None:
            ledger_id = await self._take_id()
            self._check_open()
        ledger = Ledger(ledger_id)
        self._next_ledger_id = max(self._next_ledger_id, ledger_id + 1)
        self._ledgers[ledger.ledger_id] = ledger
        mark = LedgerMark(Kind.CREATED, ledger, self.segments)
        self._journal.append(mark)
        try:
            await mark.receipt
        except StorageError:
            del self._ledgers[ledger.ledger_id]
            raise
        return LocalLedgerWriter(ledger, self._parts)

    async def open(self, ledger_id: LedgerId) -> LocalLedgerReader:
        self._check_open()
        ledger = self._ledgers.get(ledger_id)
        if ledger is None:
            raise LedgerNotFound(f"there is no ledger {ledger_id} in {self._folder}")
        reader = LocalLedgerReader(ledger, self._parts)
        await reader.fence("it was opened elsewhere")
        return reader

    async def check(self) -> None:
        """Return when the log took a record, durably. Raises WriteFailed, StorageError."""
        self._check_open()
        await self._look_at_folder()
        if self._journal.capacity.over_limit:
            await self._journal.capacity.wait()
            self._check_open()
        check = DiskCheck()
        self._journal.append(check)
        await check.receipt

    async def delete(self, ledger_id: LedgerId) -> None:
        self._check_open()
        if self._journal.capacity.over_limit:
            await self._journal.capacity.wait()
            self._check_open()
        ledger = self._ledgers.pop(ledger_id, None) or self._half_deleted.get(ledger_id)
        if ledger is None:
            return
        ledger.delete()
        self.segments.begin_delete(ledger_id)
        self._half_deleted[ledger_id] = ledger
        deletion = Deletion(ledger_id, partial(self._forget, ledger))
        self._journal.append(deletion)
        await deletion.receipt

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for ledger in self._ledgers.values():
            ledger.fence("the store was closed")
        self._upkeep.stop()
        await asyncio.wait([self._upkeep_task])
        await self._tasks.close()
        await self._journal.close()
        await self._upkeep.finish()
        await asyncio.get_running_loop().run_in_executor(None, self._pool.shutdown)
        self._lock.release()

    def when_lost(self, lost: Callable[[str], None]) -> None:
        """Call ``lost`` with the reason when the folder turns out to be no longer ours."""
        self._when_lost.append(lost)

    async def _watch_folder(self) -> None:
        while not self.folder_lost:
            await self._parts.clock.sleep(FOLDER_CHECK_S)
            await self._look_at_folder()

    async def _look_at_folder(self) -> None:
        """Take nothing more where the folder is not ours any more."""
        try:
            await self._in_thread(self._lock.check)
        except StorageError as error:
            if not self.folder_lost:
                self.folder_lost = str(error)
                log.error("storage.folder_lost folder=%s error=%s", self._folder, error)  # noqa: TRY400
                self._journal.refuse(error)
                for lost in self._when_lost:
                    lost(self.folder_lost)
        except OSError as error:
            log.warning("storage.upkeep_failed folder=%s error=%s", self._folder, error)

    def _forget(self, ledger: Ledger, *, durable: bool) -> None:
        """Forget a deleted ledger; until that is durable, ``delete`` may be called again."""
        self.segments.end_delete(ledger.ledger_id)
        if durable:
            self._half_deleted.pop(ledger.ledger_id, None)
        self._wake()

    def _wake(self) -> None:
        """Let upkeep and compaction look for work: a segment was begun, sealed or emptied."""
        self._upkeep.wake()
        self._compaction.wake()

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError(f"the ledger store in {self._folder} is closed")

    async def _in_thread(
        self, function: Callable[P, T], /, *arguments: P.args, **options: P.kwargs
    ) -> T:
        loop = asyncio.get_running_loop()
        try:
            work = loop.run_in_executor(self._pool, partial(function, *arguments, **options))
        except RuntimeError:
            self._check_open()
            raise
        return await work


def _lock(files: Files, folder: Path) -> FolderLock:
    try:
        files.make_folder(folder)
        return FolderLock.take(folder)
    except OSError as error:
        raise StorageError(
            f"the data folder {folder} cannot be used ({error}): check its permissions, "
            "or choose another folder"
        ) from error
