"""What a metadata store's thread does with the file: transactions, sessions, news of changes.

Commits of other processes are noticed by ``PRAGMA data_version``, and only while somebody watches.
Whether another session still beats is judged by this store's own clock: nobody compares times.
"""

import contextlib
import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path

from magnetar.clock import Clock
from magnetar.errors import CorruptEntry, MagnetarError, StorageError
from magnetar.storage.metadata.batches import Batches, Operation
from magnetar.storage.metadata.sqlite_file import SqliteSettings, connect, failure_of
from magnetar.storage.metadata.tables import Tables

log = logging.getLogger(__name__)


def serve(
    path: Path,
    batches: "Batches[SqliteWorker]",
    *,
    clock: Clock,
    settings: SqliteSettings,
    must_exist: bool,
    changed: Callable[[list[str | None]], None],
) -> None:
    """Open the file, and do what is asked until the end. ``changed`` is called on the loop.

    Where the file cannot be used, whoever asks hears why.
    """
    running = True
    try:
        connection = connect(path, settings, must_exist=must_exist)
    except (sqlite3.Error, StorageError) as error:
        while running:
            batch, running = batches.take(None)
            batches.answer(batch, [failure_of(path, error, settings) for _ in batch])
        return
    with contextlib.closing(connection):
        worker = SqliteWorker(path, connection, clock=clock, settings=settings)
        while running:
            batch, running = batches.take(worker.patience_s)
            if batch:
                batches.answer(batch, worker.carry_out(batch))
            try:
                if paths := worker.changes():
                    batches.call(changed, paths)
                worker.mind_sessions()
            except sqlite3.Error as error:
                # Next time will do; who waits for an operation hears of lasting trouble.
                log.warning("metadata.look_failed path=%s error=%s", path, error)


class SqliteWorker:
    """One session on an open file. Operations are called with it, inside of a transaction."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, *, clock: Clock, settings: SqliteSettings
    ) -> None:
        self.connection = connection
        self.tables = Tables(connection, deletions_kept=settings.deletions_kept)
        self._path = path
        self._clock = clock
        self._settings = settings
        self._session: int | None = None  # Ours, once we own an ephemeral record.
        self._told: int | None = None  # The last change our watches know of; None: nobody watches.
        self._data_version = 0
        self._beats_seen: dict[int, tuple[int, float]] = {}  # Of sessions: beats, since when.
        self._beat_due = 0.0
        self._failing = False  # The last transaction that wrote anything failed.
        self._damage_told: set[str] = set()

    def put(self, path: str, value: bytes, *, expected_version: int | None, ephemeral: bool) -> int:
        """Write a record; an ephemeral one belongs to our session."""
        if ephemeral and self._session is None:
            self._session = self.tables.begin_session()
        session = self._session if ephemeral else None
        return self.tables.put(path, value, expected_version=expected_version, session=session)

    def end_session(self) -> None:
        """Our ephemeral records go."""
        if self._session is not None:
            self.tables.end_session(self._session)
            self._session = None

    def begin_watching(self) -> None:
        """Tell of what changes from now on."""
        self._told = self.tables.last_change()
        self._data_version = 0

    def end_watching(self) -> None:
        """Nobody watches."""
        self._told = None

    @property
    def patience_s(self) -> float:
        """How long it may wait for operations before it looks around."""
        beat_s = self._settings.session_timeout_s / 4
        return beat_s if self._told is None else min(self._settings.poll_interval_s, beat_s)

    def carry_out(self, batch: list[Operation]) -> list[object]:
        """Do all in one transaction. Where that fails, what need not fail with it is done alone."""
        writes = any(operation.writes for operation in batch)
        try:
            return self._transact(batch, writes=writes)
        except sqlite3.OperationalError as error:  # Trouble with the file: full, locked, damaged.
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
        """All or nothing; but an operation that is refused has changed nothing."""
        results: list[object] = []
        session, told = self._session, self._told
        try:
            with self.tables.transaction(writes=writes):
                for operation in batch:
                    try:
                        results.append(operation.work(self))
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

    def changes(self) -> list[str | None]:
        """What changed since the last call, by whichever process, if anybody watches.

        None stands for records that were deleted, and nobody knows which.
        """
        if self._told is None:
            return []
        # It moves with the commits of others.
        data_version = self.connection.execute("PRAGMA data_version").fetchone()[0]
        if data_version == self._data_version and not self.tables.news:
            return []
        with self.tables.transaction(writes=False):
            self._told, found, missed = self.tables.changes_since(self._told)
        self._data_version = data_version
        self.tables.news = False
        return [None, *found] if missed else [*found]

    def mind_sessions(self) -> None:
        """Give a sign of life, end the sessions of the dead, forget old deletions."""
        now = self._clock.now()
        if now < self._beat_due:
            return
        self._beat_due = now + self._settings.session_timeout_s / 4
        if self._session is not None:
            self._beat()
        with self.tables.transaction(writes=False):
            silent = self._silent(self.tables.beats(), now)
        if silent:
            log.warning("metadata.sessions_ended path=%s count=%d", self._path, len(silent))
        if silent or self.tables.overgrown:
            with self.tables.transaction(writes=True):
                for session in silent:
                    self.tables.end_session(session)
                if self.tables.overgrown:
                    self.tables.forget_deletions()

    def _beat(self) -> None:
        """A sign of life need not survive a loss of power, so it is not synced."""
        assert self._session is not None, "only who owns ephemeral records has a session"
        self.connection.execute("PRAGMA synchronous = NORMAL")
        try:
            with self.tables.transaction(writes=True):
                alive = self.tables.beat(self._session)
        finally:
            self.connection.execute("PRAGMA synchronous = FULL")
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
            if session != self._session and now - since >= self._settings.session_timeout_s
        ]
