"""Metadata in one SQLite file, which several processes of one machine may share.

One thread owns the connection. It takes every operation that waits, runs them in one transaction
and commits once, so that many cursors saved together cost one sync (write-ahead log,
``synchronous=FULL``). ``sqlite_worker.py`` is what the thread does, ``sqlite_file.py`` opens the
file, ``tables.py`` has the tables and the statements.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

from magnetar.clock import Clock, SystemClock
from magnetar.errors import StorageError, WriteFailed
from magnetar.model.counts import OperationCounts
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.bells import Bells
from magnetar.storage.metadata.sqlite_file import SqliteSettings
from magnetar.storage.metadata.sqlite_worker import SqliteWorker, serve
from magnetar.storage.metadata.store import Record, SessionState, Watch
from magnetar.storage.metadata.thread_queue import ThreadQueue
from magnetar.storage.metadata.watches import SessionWatches, Watches
from magnetar.storage.workers import InThread, StartWorker

log = logging.getLogger(__name__)
T = TypeVar("T")


class SqliteMetadataStore:
    """One session on a file. ``open`` makes it."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        settings: SqliteSettings,
        *,
        must_exist: bool,
        start: StartWorker,
    ) -> None:
        """For ``open``."""
        self._path = path
        self._batches: ThreadQueue[SqliteWorker] = ThreadQueue()
        self._watches = Watches(lambda: self._batches.post(SqliteWorker.end_watching, writes=False))
        self._session_watches = SessionWatches()
        self._closed = False
        self._refusal = ""
        self._bells: Bells | None = None
        self.counts = {kind: OperationCounts() for kind in ("get", "put", "del")}
        self.put_bytes = 0
        work = serve(
            path,
            self._batches,
            clock=clock,
            settings=settings,
            must_exist=must_exist,
            changed=self._notify_watches,
            session_changed=self._session_watches.notify,
        )
        self._worker = start("magnetar-metadata", work)
        self._batches.wake = self._worker.wake

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        clock: Clock | None = None,
        settings: SqliteSettings | None = None,
        must_exist: bool = False,
        start: StartWorker = InThread,
    ) -> Self:
        """Open the file, or make it.

        Raises StorageError, naming the file and the remedy, for one that is damaged, of another
        program, or of another format; with ``must_exist`` also for one that is missing or empty.
        ``start`` begins what uses the file: in a thread, but for tests.
        """
        settings = settings or SqliteSettings()
        store = cls(path, clock or SystemClock(), settings, must_exist=must_exist, start=start)
        try:
            await store._ask(lambda worker: worker.tables.last_change(), writes=False)
        except BaseException:
            await store._stop()
            raise
        return store

    async def get(self, path: str) -> Record | None:
        with self.counts["get"].counted(asyncio.get_running_loop().time):
            return await self._ask(lambda worker: worker.get(path), writes=False)

    async def put(
        self,
        path: str,
        value: bytes,
        *,
        expected_version: int | None = None,
        ephemeral: bool = False,
    ) -> int:
        self.put_bytes += len(value)
        with self.counts["put"].counted(asyncio.get_running_loop().time):
            version = await self._ask(
                lambda worker: worker.put(
                    path, value, expected_version=expected_version, ephemeral=ephemeral
                ),
                writes=True,
            )
            if ephemeral:  # The watches are told of what was put before, then this is done.
                await self._ask(_look, writes=False)
        self._tell_others(path)
        return version

    async def delete(self, path: str, *, expected_version: int | None = None) -> None:
        with self.counts["del"].counted(asyncio.get_running_loop().time):
            await self._ask(
                lambda worker: worker.tables.delete(path, expected_version=expected_version),
                writes=True,
            )
        self._tell_others(path)

    async def children(self, path: str) -> list[str]:
        return await self._ask(lambda worker: worker.tables.children(path), writes=False)

    def watch(self, prefix: str, changed: Callable[[str], None]) -> Watch:
        self._check_open()
        if not self._watches:
            self._batches.post(SqliteWorker.begin_watching, writes=False)
        return self._watches.begin(prefix, changed)

    def watch_session(self, changed: Callable[[SessionState], None]) -> Watch:
        self._check_open()
        return self._session_watches.begin(changed)

    def share_by(self, bells: Bells) -> None:
        """Have others that share the file look when this one has changed it, and hear them.

        What happens to logs and cursors, all the time, is not worth it: they look soon anyway.
        """
        self._bells = bells
        bells.listen(lambda: self._batches.post(_look, writes=False))

    def _tell_others(self, path: str) -> None:
        if self._bells is not None and not path.startswith(paths.MANAGED_LEDGERS):
            self._bells.ring()

    async def close(self) -> None:
        if self._closed:
            return
        if self._bells is not None:
            self._bells.close()
        self._closed = True
        self._watches.clear()
        ended = self._batches.post(SqliteWorker.end_session, writes=True)
        try:
            await asyncio.shield(ended)
        except StorageError as error:
            log.warning("metadata.session_not_ended path=%s error=%s", self._path, error)
        finally:
            await self._stop()

    def refuse(self, reason: str) -> None:
        """Refuse all writes from now on, for this reason."""
        self._refusal = reason

    async def _ask(self, work: Callable[[SqliteWorker], T], *, writes: bool) -> T:
        self._check_open()
        if writes and self._refusal:
            raise WriteFailed(self._refusal)
        return await self._batches.ask(work, writes=writes)

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError(f"the metadata store {self._path} is closed")

    async def _stop(self) -> None:
        self._closed = True
        self._batches.end()
        await self._worker.ended()

    def _notify_watches(self, changed: list[str | None]) -> None:
        for path in changed:
            self._watches.notify(path)


def _look(_worker: SqliteWorker) -> None:
    """Nothing: the thread looks for changes whenever it has done something."""
