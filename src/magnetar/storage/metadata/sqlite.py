"""Metadata in one SQLite file: for one machine, shared by its processes.

One thread owns the connection. It takes every operation that waits, runs them in one transaction
and commits once, so that many cursors saved together cost one sync (write-ahead log,
``synchronous=FULL``). The tables:

    records   path, value, version, and the session that an ephemeral record belongs to
    sessions  the stores that own ephemeral records, and when each last gave a sign of life
    changes   the latest changed paths, for the watches of other processes

The thread wakes by itself only while this store watches, or owns ephemeral records.
"""

import asyncio
import sqlite3
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple, Self, TypeVar

from magnetar.clock import Clock, SystemClock
from magnetar.errors import MagnetarError, StorageError, VersionMismatch
from magnetar.storage.metadata.store import ABSENT, Record

T = TypeVar("T")

POLL_INTERVAL_S: Final = 0.2
"""How often a store that watches looks for changes by other processes."""
SESSION_TIMEOUT_MS: Final = 5_000
"""A session without a sign of life for so long is over, and its ephemeral records go."""
CHANGES_KEPT: Final = 10_000
OPERATIONS_PER_COMMIT_MAX: Final = 1_000
BUSY_TIMEOUT_S: Final = 10.0

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS records (
    path TEXT PRIMARY KEY, value BLOB NOT NULL, version INTEGER NOT NULL, session TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ephemeral ON records (session) WHERE session IS NOT NULL;
CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY, seen_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS changes (number INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL);
"""


class Operation(NamedTuple):
    """What the thread is to do, and who waits for it."""

    work: Callable[[sqlite3.Connection], Any]
    writes: bool
    result: asyncio.Future[Any] | None


class SqliteWatch:
    """A watch on everything at or below a prefix."""

    def __init__(
        self, store: "SqliteMetadataStore", prefix: str, changed: Callable[[str], None]
    ) -> None:
        self._store = store
        self._prefix = prefix
        self._below = prefix.rstrip("/") + "/"
        self._changed = changed

    def report(self, path: str) -> None:
        """Tell of a change; ``""`` stands for changes that nobody can name any more."""
        if not path:
            self._changed(self._prefix)
        elif path == self._prefix or path.startswith(self._below):
            self._changed(path)

    def cancel(self) -> None:
        self._store.forget(self)


class SqliteMetadataStore:
    """One session on a file. ``open`` makes it."""

    def __init__(self, path: Path, clock: Clock) -> None:
        """For ``open``."""
        self._path = path
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._session = uuid.uuid4().hex
        self._operations: SimpleQueue[Operation | None] = SimpleQueue()
        self._watches: list[SqliteWatch] = []
        self._closed = False
        # For the thread: whether it wakes by itself, and how far it has told of changes.
        self._watching = False
        self._has_ephemeral = False
        self._told = 0
        self._swept_ms = 0
        self._thread = threading.Thread(target=self._run, name="metadata", daemon=True)

    @classmethod
    async def open(cls, path: Path, *, clock: Clock | None = None) -> Self:
        """Open the file, or make it. Raises StorageError for one that is no metadata store."""
        store = cls(path, clock or SystemClock())
        store._thread.start()
        try:
            await store._do(store._prepare, writes=False)
        except StorageError:
            await store._stop()
            raise
        return store

    # The contract.

    async def get(self, path: str) -> Record | None:
        def work(connection: sqlite3.Connection) -> Record | None:
            row = connection.execute(
                "SELECT value, version FROM records WHERE path = ?", (path,)
            ).fetchone()
            return None if row is None else Record(bytes(row[0]), row[1])

        return await self._do(work, writes=False)

    async def put(
        self,
        path: str,
        value: bytes,
        *,
        expected_version: int | None = None,
        ephemeral: bool = False,
    ) -> int:
        session = self._session if ephemeral else None

        def work(connection: sqlite3.Connection) -> int:
            version = _check(connection, path, expected_version) + 1
            connection.execute(
                "INSERT INTO records VALUES (?, ?, ?, ?) ON CONFLICT (path) DO UPDATE"
                " SET value = excluded.value, version = excluded.version,"
                " session = excluded.session",
                (path, value, version, session),
            )
            _note(connection, path)
            if ephemeral:
                self._has_ephemeral = True
                self._sign_of_life(connection)
            return version

        return await self._do(work, writes=True)

    async def delete(self, path: str, *, expected_version: int | None = None) -> None:
        def work(connection: sqlite3.Connection) -> None:
            if _check(connection, path, expected_version) != ABSENT:
                connection.execute("DELETE FROM records WHERE path = ?", (path,))
                _note(connection, path)

        await self._do(work, writes=True)

    async def children(self, path: str) -> list[str]:
        prefix = path.rstrip("/") + "/"

        def work(connection: sqlite3.Connection) -> list[str]:
            # "0" follows "/" in the order of characters: the range holds all that is below.
            rows = connection.execute(
                "SELECT path FROM records WHERE path >= ? AND path < ?", (prefix, prefix[:-1] + "0")
            )
            return sorted({row[0][len(prefix) :].partition("/")[0] for row in rows})

        return await self._do(work, writes=False)

    def watch(self, prefix: str, changed: Callable[[str], None]) -> SqliteWatch:
        watch = SqliteWatch(self, prefix, changed)
        self._watches.append(watch)
        if not self._watching:
            self._operations.put(Operation(self._begin_watching, writes=False, result=None))
        return watch

    def forget(self, watch: SqliteWatch) -> None:
        """End a watch; for the watch itself."""
        if watch in self._watches:
            self._watches.remove(watch)

    async def close(self) -> None:
        if self._closed:
            return
        self._watches.clear()
        if self._has_ephemeral:
            await self._do(lambda connection: _end_session(connection, self._session), writes=True)
        self._closed = True
        await self._stop()

    # To the thread, and back.

    async def _do(self, work: Callable[[sqlite3.Connection], T], *, writes: bool) -> T:
        if self._closed:
            raise StorageError(f"the metadata store {self._path} is closed")
        result: asyncio.Future[T] = self._loop.create_future()
        self._operations.put(Operation(work, writes, result))
        # Shielded: once handed over it is done, whether or not the caller still waits.
        return await asyncio.shield(result)

    async def _stop(self) -> None:
        self._operations.put(None)
        await self._loop.run_in_executor(None, self._thread.join)

    def _answered(self, answers: list[tuple[asyncio.Future[Any], Any]]) -> None:
        for result, answer in answers:
            if result.done():
                continue
            if isinstance(answer, BaseException):
                result.set_exception(answer)
                result.exception()  # Nobody may be waiting any more.
            else:
                result.set_result(answer)

    def _report(self, paths: list[str]) -> None:
        for path in paths:
            for watch in list(self._watches):
                if watch in self._watches:
                    watch.report(path)

    def _tell(self, call: Callable[..., None], *args: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, *args)

    # In the thread.

    def _run(self) -> None:
        try:
            connection = sqlite3.connect(
                self._path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            self._refuse_all(_failure(self._path, error))
            return
        try:
            stopping = False
            while not stopping:
                operations, stopping = self._waiting()
                if operations:
                    self._tell(self._answered, self._carry_out(connection, operations))
                if self._watching or self._has_ephemeral:
                    self._look_around(connection)
        finally:
            connection.close()

    def _refuse_all(self, failure: StorageError) -> None:
        """The file cannot even be opened."""
        while (operation := self._operations.get()) is not None:
            if operation.result is not None:
                self._tell(self._answered, [(operation.result, failure)])

    def _waiting(self) -> tuple[list[Operation], bool]:
        """What waits, after waiting for the first; and whether the end was among it."""
        wakes = self._watching or self._has_ephemeral
        try:
            first = self._operations.get(timeout=POLL_INTERVAL_S if wakes else None)
        except Empty:
            return [], False
        if first is None:
            return [], True
        operations = [first]
        while len(operations) < OPERATIONS_PER_COMMIT_MAX:
            try:
                following = self._operations.get_nowait()
            except Empty:
                break
            if following is None:
                return operations, True
            operations.append(following)
        return operations, False

    def _carry_out(
        self, connection: sqlite3.Connection, operations: list[Operation]
    ) -> list[tuple[asyncio.Future[Any], Any]]:
        """Do all in one transaction; an operation that fails has changed nothing before it did."""
        answers: list[tuple[asyncio.Future[Any], Any]] = []
        try:
            if any(operation.writes for operation in operations):
                connection.execute("BEGIN IMMEDIATE")
            for work, _, result in operations:
                try:
                    answer = work(connection)
                except MagnetarError as refused:
                    answer = refused
                if result is not None:
                    answers.append((result, answer))
            if connection.in_transaction:
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            failure = _failure(self._path, error)
            return [(result, failure) for _, _, result in operations if result is not None]
        return answers

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.executescript(_SCHEMA)
        self._sweep(connection)

    def _begin_watching(self, connection: sqlite3.Connection) -> None:
        if not self._watching:
            self._told = _last_change(connection)
            self._watching = True

    def _look_around(self, connection: sqlite3.Connection) -> None:
        """Tell of changes, by whichever process; give a sign of life; end dead sessions."""
        try:
            if self._watching:
                self._tell_changes(connection)
            if self._clock.wall_ms() - self._swept_ms >= SESSION_TIMEOUT_MS // 4:
                connection.execute("BEGIN IMMEDIATE")
                if self._has_ephemeral:
                    self._sign_of_life(connection)
                self._sweep(connection)
                connection.execute("COMMIT")
        except sqlite3.Error:
            # The next look will do; whoever waits for an operation hears of a lasting failure.
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _tell_changes(self, connection: sqlite3.Connection) -> None:
        rows = connection.execute(
            "SELECT number, path FROM changes WHERE number > ? ORDER BY number", (self._told,)
        ).fetchall()
        if not rows:
            return
        missed = rows[0][0] > self._told + 1
        self._told = rows[-1][0]
        paths = [""] if missed else list(dict.fromkeys(path for _, path in rows))
        self._tell(self._report, paths)

    def _sign_of_life(self, connection: sqlite3.Connection) -> None:
        connection.execute(
            "INSERT INTO sessions VALUES (?, ?) ON CONFLICT (id) DO UPDATE"
            " SET seen_ms = excluded.seen_ms",
            (self._session, self._clock.wall_ms()),
        )

    def _sweep(self, connection: sqlite3.Connection) -> None:
        """End the sessions of processes that died, and keep the list of changes short."""
        self._swept_ms = self._clock.wall_ms()
        dead = connection.execute(
            "SELECT id FROM sessions WHERE seen_ms < ?", (self._swept_ms - SESSION_TIMEOUT_MS,)
        ).fetchall()
        for (session,) in dead:
            _end_session(connection, session)
        connection.execute(
            "DELETE FROM changes WHERE number <= ?", (_last_change(connection) - CHANGES_KEPT,)
        )


def _check(connection: sqlite3.Connection, path: str, expected_version: int | None) -> int:
    """The version now, ABSENT where there is no record. Raises VersionMismatch."""
    row = connection.execute("SELECT version FROM records WHERE path = ?", (path,)).fetchone()
    version: int = ABSENT if row is None else row[0]
    if expected_version is not None and expected_version != version:
        raise VersionMismatch(f"{path} is at version {version}, not {expected_version}")
    return version


def _note(connection: sqlite3.Connection, path: str) -> None:
    connection.execute("INSERT INTO changes (path) VALUES (?)", (path,))


def _last_change(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT max(number) FROM changes").fetchone()
    last: int = row[0] or 0
    return last


def _end_session(connection: sqlite3.Connection, session: str) -> None:
    owned = connection.execute("SELECT path FROM records WHERE session = ?", (session,)).fetchall()
    for (path,) in owned:
        connection.execute("DELETE FROM records WHERE path = ?", (path,))
        _note(connection, path)
    connection.execute("DELETE FROM sessions WHERE id = ?", (session,))


def _failure(path: Path, error: sqlite3.Error) -> StorageError:
    """What went wrong with the file, and what to do."""
    text = str(error)
    if "not a database" in text or "malformed" in text:
        return StorageError(
            f"{path} is damaged, or not a metadata store ({text}): restore it from a copy, or move "
            "it away to begin with an empty one"
        )
    if "unable to open" in text:
        return StorageError(f"{path} cannot be opened: its folder must exist and be writable")
    if "disk" in text or "full" in text or "I/O" in text:
        return StorageError(f"{path} cannot be written ({text}): free disk space, then try again")
    return StorageError(f"{path}: {text}")
