"""What a metadata store's thread does with the file: transactions, sessions, watches.

Commits of other processes are noticed by ``PRAGMA data_version``, only while there are watches.
Each store measures by its own clock how long the heartbeats of another session have been missing,
so that clocks are never compared.
"""

import contextlib
import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path

from magnetar.clock import Clock
from magnetar.errors import CorruptEntry, MagnetarError, StorageError
from magnetar.storage.metadata.sqlite_file import SqliteSettings, connect, failure_of
from magnetar.storage.metadata.store import Record, SessionState
from magnetar.storage.metadata.tables import MetadataTables
from magnetar.storage.metadata.thread_queue import Operation, ThreadQueue
from magnetar.storage.workers import Work

log = logging.getLogger(__name__)


def serve(
    path: Path,
    batches: "ThreadQueue[SqliteWorker]",
    *,
    clock: Clock,
    settings: SqliteSettings,
    must_exist: bool,
    changed: Callable[[list[str | None]], None],
    session_changed: Callable[[SessionState], None],
) -> Work:
    """Open the file, and carry out operations until the end. The calls are made on the loop.

    Where the file cannot be used, every operation fails with the reason.
    """
    running = True
    try:
        connection = connect(path, settings, must_exist=must_exist)
    except (sqlite3.Error, StorageError) as error:
        while running:
            batch, running = batches.take((yield None))
            batches.answer(batch, [failure_of(path, error, settings) for _ in batch])
        return
    with contextlib.closing(connection):
        worker = SqliteWorker(path, connection, clock=clock, settings=settings)
        told = SessionState.CONNECTED
        while running:
            batch, running = batches.take((yield worker.wait_max_s))
            if batch:
                batches.answer(batch, worker.carry_out(batch))
            try:
                if paths := worker.changes():
                    batches.call(changed, paths)
                state = worker.maintain_sessions()
            except sqlite3.Error as error:
                state = SessionState.SUSPENDED
                # This is tried again. Where it fails for long, operations fail as well.
                log.warning("metadata.look_failed path=%s error=%s", path, error)
            if state is not told:
                told = state
                batches.call(session_changed, state)


class SqliteWorker:
    """One session on an open file. Operations are called with it, within a transaction."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, *, clock: Clock, settings: SqliteSettings
    ) -> None:
        self.connection = connection
        self.tables = MetadataTables(connection, deletions_kept=settings.deletions_kept)
        self._path = path
        self._clock = clock
        self._settings = settings
        self._session: int | None = None  # It begins with our first ephemeral record.
        # The last change that the watches know of; None while there are none.
        self._change_reported: int | None = None
        self._data_version = 0
        self._looked_at = float("-inf")  # When we last read the heartbeats.
        # The heartbeats of each session, and since when it has been so many.
        self._heartbeats_seen: dict[int, tuple[int, float]] = {}
        self._heartbeat_due = 0.0
        self._failing = False  # The last transaction that wrote anything failed.
        self._damage_logged: set[str] = set()

    def get(self, path: str) -> Record | None:
        return self.tables.get(path, self._session)

    def put(self, path: str, value: bytes, *, expected_version: int | None, ephemeral: bool) -> int:
        """Write a record; an ephemeral one belongs to our session."""
        if ephemeral and self._session is None:
            self._session = self.tables.begin_session()
        session = self._session if ephemeral else None
        return self.tables.put(path, value, expected_version=expected_version, session=session)

    def end_session(self) -> None:
        """Delete our ephemeral records."""
        if self._session is not None:
            self.tables.end_session(self._session)
            self._session = None

    def begin_watching(self) -> None:
        """Report what changes from now on."""
        self._change_reported = self.tables.last_change()
        self._data_version = 0

    def end_watching(self) -> None:
        """Report no more changes."""
        self._change_reported = None

    @property
    def wait_max_s(self) -> float:
        """How long the thread may wait for operations before it looks for changes and sessions."""
        heartbeat_s = self._settings.session_timeout_s / 4
        if self._change_reported is None:
            return heartbeat_s
        return min(self._settings.poll_interval_s, heartbeat_s)

    def carry_out(self, batch: list[Operation]) -> list[object]:
        """Do all in one transaction. Where that fails, what may still succeed is done alone."""
        writes = any(operation.writes for operation in batch)
        try:
            return self._transact(batch, writes=writes)
        except sqlite3.OperationalError as error:  # The file is full, locked or damaged.
            failure = failure_of(self._path, error, self._settings)
            if not self._failing:
                self._failing = True
                log.error("metadata.failing path=%s error=%s", self._path, failure)  # noqa: TRY400 - it says it all
            return [
                failure_of(self._path, error, self._settings)
                if operation.writes or not writes
                else self.carry_out([operation])[0]
                for operation in batch
            ]
        except Exception as error:  # noqa: BLE001 a mistake of one operation: its caller must hear
            if len(batch) > 1:
                return [self.carry_out([operation])[0] for operation in batch]
            return [
                failure_of(self._path, error, self._settings)
                if isinstance(error, sqlite3.Error)
                else error
            ]

    def _transact(self, batch: list[Operation], *, writes: bool) -> list[object]:
        """Do all or nothing, except that an operation which is refused has changed nothing."""
        results: list[object] = []
        session, reported = self._session, self._change_reported
        try:
            with self.tables.transaction(writes=writes):
                for operation in batch:
                    try:
                        results.append(operation.work(self))
                    except MagnetarError as refused:
                        results.append(refused)
                        self._log_damage(refused)
        except BaseException:
            self._session, self._change_reported = session, reported
            raise
        if self._failing and writes:
            self._failing = False
            log.warning("metadata.works_again path=%s", self._path)
        return results

    def _log_damage(self, error: MagnetarError) -> None:
        """Log damage once for each record, since clients will ask for it again."""
        if isinstance(error, CorruptEntry) and str(error) not in self._damage_logged:
            self._damage_logged.add(str(error))
            log.error("metadata.damaged path=%s error=%s", self._path, error)

    def changes(self) -> list[str | None]:
        """Return the paths that any process changed since the last call, while there are watches.

        None stands for deleted records of which the paths are no longer known.
        """
        if self._change_reported is None:
            return []
        # It changes with the commits of other processes.
        data_version = self.connection.execute("PRAGMA data_version").fetchone()[0]
        if data_version == self._data_version and not self.tables.changed:
            return []
        with self.tables.transaction(writes=False):
            self._change_reported, found, missed = self.tables.changes_since(self._change_reported)
        self._data_version = data_version
        self.tables.changed = False
        return [None, *found] if missed else [*found]

    def maintain_sessions(self) -> SessionState:
        """Send our heartbeat, end expired sessions, forget old deletions."""
        now, state = self._clock.now(), SessionState.CONNECTED
        if now < self._heartbeat_due:
            return state
        self._heartbeat_due = now + self._settings.session_timeout_s / 4
        if self._session is not None and not self._send_heartbeat():
            state = SessionState.LOST
        with self.tables.transaction(writes=False):
            expired = self._expired(self.tables.heartbeats(), now)
        if expired:
            log.warning("metadata.sessions_ended path=%s count=%d", self._path, len(expired))
        if expired or self.tables.overgrown:
            with self.tables.transaction(writes=True):
                for session in expired:
                    self.tables.end_session(session)
                if self.tables.overgrown:
                    self.tables.forget_deletions()
        return state

    def _send_heartbeat(self) -> bool:
        """Send our heartbeat, and return whether the session lives.

        It need not survive a loss of power, so it is not synced.
        """
        assert self._session is not None, "only who owns ephemeral records has a session"
        self.connection.execute("PRAGMA synchronous = NORMAL")
        try:
            with self.tables.transaction(writes=True):
                alive = self.tables.heartbeat(self._session)
        finally:
            self.connection.execute("PRAGMA synchronous = FULL")
        if not alive:
            log.error(
                "metadata.session_lost path=%s: this process was silent for so long that others "
                "took it for dead, and its ephemeral records are gone",
                self._path,
            )
            self._session = None
        return alive

    def _expired(self, sessions: dict[int, int], now: float) -> list[int]:
        """Return the other sessions whose heartbeats we have not seen change for too long.

        Who has not looked for so long cannot tell: the others may have been stopped as well.
        """
        away = now - self._looked_at >= self._settings.session_timeout_s
        before = {} if away else self._heartbeats_seen
        self._looked_at = now
        self._heartbeats_seen = {}
        for session, beats in sessions.items():
            known = before.get(session)
            since = known[1] if known is not None and known[0] == beats else now
            self._heartbeats_seen[session] = (beats, since)
        return [
            session
            for session, (_, since) in self._heartbeats_seen.items()
            if session != self._session and now - since >= self._settings.session_timeout_s
        ]
