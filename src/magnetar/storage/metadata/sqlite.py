"""Metadata in one SQLite file: for one machine, shared by its processes.

One thread owns the connection. It takes every operation that waits, runs them in one transaction
and commits once, so that many cursors saved together cost one sync (write-ahead log,
``synchronous=FULL``). ``tables.py`` has the tables and the statements.

Commits of other processes are noticed by ``PRAGMA data_version``, and only while somebody watches.
Whether another session still beats is judged by this store's own clock: nobody compares times.
"""

import asyncio
import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self, TypeVar

from magnetar.clock import Clock, SystemClock
from magnetar.errors import CorruptEntry, MagnetarError, StorageError, WriteFailed
from magnetar.storage.metadata.batches import Batches, Operation
from magnetar.storage.metadata.sqlite_log import check_log
from magnetar.storage.metadata.sqlite_reserve import allocate_log, free_pages
from magnetar.storage.metadata.store import Record
from magnetar.storage.metadata.tables import SCHEMA, Tables

log = logging.getLogger(__name__)
T = TypeVar("T")

APPLICATION_ID: Final = 0x4D474E54
""""MGNT", in the file's header: it tells our files from those of other programs."""

SCHEMA_VERSION: Final = 3
"""Of the tables and the records in them: 1 and 2 are of a time before the first release."""

BUSY_TIMEOUT_S: Final = 10.0
"""How long to wait while another process commits."""

POLL_INTERVAL_S: Final = 0.1
"""How often a store that watches looks for changes by other processes."""

SESSION_TIMEOUT_S: Final = 5.0
"""A session without a sign of life for so long is over, and its ephemeral records go."""


class SqliteWatch:
    """A watch on everything at or below a prefix."""

    def __init__(
        self, store: "SqliteMetadataStore", prefix: str, changed: Callable[[str], None]
    ) -> None:
        self._store = store
        self._prefix = prefix
        self._below = prefix.rstrip("/") + "/"
        self._changed = changed

    def tell(self, path: str | None) -> None:
        """A record changed; None: some were deleted, and nobody knows which."""
        if path is None:
            self._changed(self._prefix)
        elif path == self._prefix or path.startswith(self._below):
            self._changed(path)

    def cancel(self) -> None:
        self._store.forget(self)


class SqliteMetadataStore:
    """One session on a file. ``open`` makes it."""

    def __init__(
        self, path: Path, clock: Clock, session_timeout_s: float, *, must_exist: bool
    ) -> None:
        """For ``open``."""
        self._path = path
        self._must_exist = must_exist
        self._clock = clock
        self._session_timeout_s = session_timeout_s
        self._batches: Batches[Tables] = Batches()
        self._watches: list[SqliteWatch] = []
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="magnetar-metadata", daemon=True)
        # The rest belongs to the thread.
        self._session: int | None = None  # Ours, once we own an ephemeral record.
        self._told: int | None = None  # The last change our watches know of; None: nobody watches.
        self._data_version = 0
        self._beats_seen: dict[int, tuple[int, float]] = {}  # Of sessions: beats, since when.
        self._beat_due = 0.0
        self._failing = False  # The last transaction that wrote anything failed.
        self._damage_told: set[str] = set()

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        clock: Clock | None = None,
        session_timeout_s: float = SESSION_TIMEOUT_S,
        must_exist: bool = False,
    ) -> Self:
        """Open the file, or make it.

        Raises StorageError, naming the file and the remedy, for one that is damaged, of another
        program, or of another format; with ``must_exist`` also for one that is missing or empty.
        """
        store = cls(path, clock or SystemClock(), session_timeout_s, must_exist=must_exist)
        store._thread.start()
        try:
            await store._ask(Tables.last_change, writes=False)
        except BaseException:
            await store._stop()
            raise
        return store

    # The contract.

    async def get(self, path: str) -> Record | None:
        return await self._ask(lambda tables: tables.get(path), writes=False)

    async def put(
        self,
        path: str,
        value: bytes,
        *,
        expected_version: int | None = None,
        ephemeral: bool = False,
    ) -> int:
        def work(tables: Tables) -> int:
            session = self._our_session(tables) if ephemeral else None
            return tables.put(path, value, expected_version=expected_version, session=session)

        return await self._ask(work, writes=True)

    async def delete(self, path: str, *, expected_version: int | None = None) -> None:
        await self._ask(
            lambda tables: tables.delete(path, expected_version=expected_version), writes=True
        )

    async def children(self, path: str) -> list[str]:
        return await self._ask(lambda tables: tables.children(path), writes=False)

    def watch(self, prefix: str, changed: Callable[[str], None]) -> SqliteWatch:
        self._check_open()
        watch = SqliteWatch(self, prefix, changed)
        if not self._watches:
            self._batches.post(self._begin_watching, writes=False)
        self._watches.append(watch)
        return watch

    def forget(self, watch: SqliteWatch) -> None:
        """End a watch; for the watch itself."""
        if watch in self._watches:
            self._watches.remove(watch)
            if not self._watches and not self._closed:
                self._batches.post(self._end_watching, writes=False)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._watches.clear()
        farewell = self._batches.post(self._end_our_session, writes=True)
        try:
            await asyncio.shield(farewell)
        except StorageError as error:
            log.warning("metadata.session_not_ended path=%s error=%s", self._path, error)
        finally:
            await self._stop()

    async def _ask(self, work: Callable[[Tables], T], *, writes: bool) -> T:
        self._check_open()
        return await self._batches.ask(work, writes=writes)

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError(f"the metadata store {self._path} is closed")

    async def _stop(self) -> None:
        self._closed = True
        self._batches.end()
        await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    def _tell_watches(self, paths: list[str | None]) -> None:
        loop = asyncio.get_running_loop()
        for path in paths:
            for watch in self._watches:
                # Each by itself: a watch that fails is the loop's to report, and stops no other.
                loop.call_soon(self._tell_watch, watch, path)

    def _tell_watch(self, watch: SqliteWatch, path: str | None) -> None:
        if watch in self._watches:
            watch.tell(path)

    # In the thread.

    def _run(self) -> None:
        try:
            connection = _connect(self._path, must_exist=self._must_exist)
        except (sqlite3.Error, StorageError) as error:
            self._refuse_all(error)
            return
        tables = Tables(connection)
        with contextlib.closing(connection):
            running = True
            while running:
                batch, running = self._batches.take(self._patience_s())
                if batch:
                    self._batches.answer(batch, self._carry_out(tables, batch))
                try:
                    self._tell_changes(connection, tables)
                    self._mind_sessions(connection, tables)
                except sqlite3.Error as error:
                    # Next time will do; who waits for an operation hears of lasting trouble.
                    log.warning("metadata.look_failed path=%s error=%s", self._path, error)

    def _refuse_all(self, error: sqlite3.Error | StorageError) -> None:
        """The file cannot be used."""
        running = True
        while running:
            batch, running = self._batches.take(None)
            self._batches.answer(batch, [_failure(self._path, error) for _ in batch])

    def _patience_s(self) -> float:
        beat_s = self._session_timeout_s / 4
        return beat_s if self._told is None else min(POLL_INTERVAL_S, beat_s)

    def _carry_out(self, tables: Tables, batch: list[Operation]) -> list[object]:
        """Do all in one transaction. Where that fails, what need not fail with it is done alone."""
        writes = any(operation.writes for operation in batch)
        try:
            return self._transact(tables, batch, writes=writes)
        except sqlite3.OperationalError as error:  # Trouble with the file: full, locked, damaged.
            failure = _failure(self._path, error)
            if not self._failing:
                self._failing = True
                log.error("metadata.failing path=%s error=%s", self._path, failure)  # noqa: TRY400 - it says it all
            return [
                _failure(self._path, error)
                if operation.writes or not writes
                else self._carry_out(tables, [operation])[0]
                for operation in batch
            ]
        except Exception as error:  # noqa: BLE001 a mistake of one operation: its caller must hear
            if len(batch) > 1:
                return [self._carry_out(tables, [operation])[0] for operation in batch]
            return [_failure(self._path, error) if isinstance(error, sqlite3.Error) else error]

    def _transact(self, tables: Tables, batch: list[Operation], *, writes: bool) -> list[object]:
        """All or nothing; but an operation that is refused has changed nothing."""
        results: list[object] = []
        session, told = self._session, self._told
        try:
            with tables.transaction(writes=writes):
                for operation in batch:
                    try:
                        results.append(operation.work(tables))
                    except MagnetarError as refused:
                        results.append(refused)
                        self._tell_damage(refused)
        except BaseException:
            self._session, self._told = session, told
            raise
        if self._failing and writes:
            self._failing = False
            log.warning("metadata.works_again path=%s", self._path)
        return results

    def _tell_damage(self, error: MagnetarError) -> None:
        """Once for each record: clients will ask for it again and again."""
        if isinstance(error, CorruptEntry) and str(error) not in self._damage_told:
            self._damage_told.add(str(error))
            log.error("metadata.damaged path=%s error=%s", self._path, error)

    def _our_session(self, tables: Tables) -> int:
        if self._session is None:
            self._session = tables.begin_session()
        return self._session

    def _end_our_session(self, tables: Tables) -> None:
        if self._session is not None:
            tables.end_session(self._session)
            self._session = None

    def _begin_watching(self, tables: Tables) -> None:
        self._told = tables.last_change()
        self._data_version = 0

    def _end_watching(self, tables: Tables) -> None:
        self._told = None

    def _tell_changes(self, connection: sqlite3.Connection, tables: Tables) -> None:
        """By whichever process; ``data_version`` moves with the commits of others."""
        if self._told is None:
            return
        data_version = connection.execute("PRAGMA data_version").fetchone()[0]
        if data_version == self._data_version and not tables.news:
            return
        with tables.transaction(writes=False):
            self._told, found, missed = tables.changes_since(self._told)
        self._data_version = data_version
        tables.news = False
        paths: list[str | None] = [None, *found] if missed else [*found]
        if paths:
            self._batches.call(self._tell_watches, paths)

    def _mind_sessions(self, connection: sqlite3.Connection, tables: Tables) -> None:
        """Give a sign of life, end the sessions of the dead, forget old deletions."""
        now = self._clock.now()
        if now < self._beat_due:
            return
        self._beat_due = now + self._session_timeout_s / 4
        if self._session is not None:
            self._beat(connection, tables)
        with tables.transaction(writes=False):
            silent = self._silent(tables.beats(), now)
        if silent:
            log.warning("metadata.sessions_ended path=%s count=%d", self._path, len(silent))
        if silent or tables.overgrown:
            with tables.transaction(writes=True):
                for session in silent:
                    tables.end_session(session)
                if tables.overgrown:
                    tables.forget_deletions()

    def _beat(self, connection: sqlite3.Connection, tables: Tables) -> None:
        """A sign of life need not survive a loss of power, so it is not synced."""
        assert self._session is not None, "only who owns ephemeral records has a session"
        connection.execute("PRAGMA synchronous = NORMAL")
        try:
            with tables.transaction(writes=True):
                alive = tables.beat(self._session)
        finally:
            connection.execute("PRAGMA synchronous = FULL")
        if not alive:
            log.error(
                "metadata.session_lost path=%s: this process was silent for so long that others "
                "took it for dead, and its ephemeral records are gone",
                self._path,
            )
            self._session = None

    def _silent(self, sessions: dict[int, int], now: float) -> list[int]:
        """Sessions of others whose beats have not changed for too long, as far as we have seen."""
        before = self._beats_seen
        self._beats_seen = {}
        for session, beats in sessions.items():
            known = before.get(session)
            since = known[1] if known is not None and known[0] == beats else now
            self._beats_seen[session] = (beats, since)
        return [
            session
            for session, (_, since) in self._beats_seen.items()
            if session != self._session and now - since >= self._session_timeout_s
        ]


def _connect(path: Path, *, must_exist: bool) -> sqlite3.Connection:
    """Open the file, or make it. Raises StorageError for a file that is not ours to touch."""
    if must_exist and (not path.exists() or not path.stat().st_size):
        raise StorageError(
            f"{path} is missing or empty, and the files beside it are of no use without it: "
            "restore it from a backup, or move the whole folder away to begin with an empty one"
        )
    check_log(path)
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")  # Where fsync alone is not enough: macOS.
        connection.execute("BEGIN")  # All that is asked must be of one moment.
        ours = _is_ours(connection, path)
        connection.execute("COMMIT")
        if not ours:
            connection.execute("BEGIN EXCLUSIVE")
            if not _is_ours(connection, path):  # Nobody else was faster.
                for statement in SCHEMA.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.execute("COMMIT")
        _use_log(connection)
        _check_structure(connection, path)
        with contextlib.suppress(sqlite3.OperationalError):  # Full, or busy: perhaps next time.
            free_pages(connection)
        allocate_log(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether it is a metadata file; False for an empty one. Raises StorageError for others."""
    application, version, tables = (
        connection.execute(question).fetchone()[0]
        for question in (
            "PRAGMA application_id",
            "PRAGMA user_version",
            "SELECT count(*) FROM sqlite_master",
        )
    )
    if application == APPLICATION_ID and version == SCHEMA_VERSION:
        return True
    if application == APPLICATION_ID and version < SCHEMA_VERSION:
        raise StorageError(
            f"{path} has metadata of format {version}, of a time before the first release, and "
            f"this Magnetar reads {SCHEMA_VERSION}: move its whole folder away to begin with an "
            "empty one, or use the Magnetar that wrote it"
        )
    if application == APPLICATION_ID:
        raise StorageError(
            f"{path} has metadata of format {version}, and this Magnetar reads {SCHEMA_VERSION}: "
            "use the Magnetar that wrote it, or a newer one"
        )
    if application or tables:
        raise StorageError(
            f"{path} is a database of another program: choose another place for the metadata, "
            "or move the file away"
        )
    return False


def _check_structure(connection: sqlite3.Connection, path: Path) -> None:
    """Whether the file is sound: about a millisecond for each thousand records.

    A record that no index leads to any more would be no error later, but gone.
    """
    found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != "ok":
        raise StorageError(
            f"{path} is damaged ({found.splitlines()[-1]}): restore it from a backup"
        )


def _use_log(connection: sqlite3.Connection) -> None:
    """Turn on the write-ahead log, which stays on. SQLite itself does not wait for others here."""
    pause = threading.Event()
    for _ in range(100):
        try:
            if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] == "wal":
                return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise  # A full disk, say.
        pause.wait(BUSY_TIMEOUT_S / 100)
    connection.execute("PRAGMA journal_mode = WAL")


def _failure(path: Path, error: sqlite3.Error | StorageError) -> StorageError:
    """What went wrong with the file, and what to do."""
    if isinstance(error, StorageError):
        return StorageError(*error.args)
    failure: StorageError
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
            failure = StorageError(
                f"{path} is damaged, or not a metadata file ({error}): restore it from a backup, "
                "or move its whole folder away to begin with an empty one"
            )
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            failure = StorageError(
                f"{path} cannot be used ({error}): its folder must exist, and both be writable"
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            failure = WriteFailed(
                f"{path} has been locked by another process for {BUSY_TIMEOUT_S:.0f} s: stop that "
                "process, or try again"
            )
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            failure = WriteFailed(
                f"{path} cannot be written ({error}): make space or check the disk, then try again"
            )
        case _:
            failure = StorageError(f"{path}: {error}")
    failure.__cause__ = error
    return failure
