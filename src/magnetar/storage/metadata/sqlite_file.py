"""Opens the file of a metadata store, after checking that it is one and is not damaged."""

import contextlib
import sqlite3
import threading
from pathlib import Path
from typing import Final

from magnetar.errors import StorageError, WriteFailed
from magnetar.late_dataclass import dataclass
from magnetar.storage.metadata.sqlite_log import check_log
from magnetar.storage.metadata.sqlite_reserve import allocate_log, free_pages
from magnetar.storage.metadata.sqlite_upgrade import SCHEMA_VERSION, UPGRADED, upgrade
from magnetar.storage.metadata.tables import DELETIONS_KEPT, SCHEMA

APPLICATION_ID: Final = 0x4D474E54
""""MGNT", in the file's header, tells our files from those of other programs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteSettings:
    """How a metadata store treats its file."""

    busy_timeout_s: float = 10.0
    """How long an operation waits while another process commits."""
    poll_interval_s: float = 0.1
    """How often a store that watches looks for changes by other processes."""
    session_timeout_s: float = 5.0
    """A session without a heartbeat for so long expires, and its ephemeral records are deleted."""
    deletions_kept: int = DELETIONS_KEPT


def connect(path: Path, settings: SqliteSettings, *, must_exist: bool) -> sqlite3.Connection:
    """Open the file, or make it. Raises StorageError for a file that is not ours to touch."""
    if must_exist and (not path.exists() or not path.stat().st_size):
        raise StorageError(
            f"{path} is missing or empty, and the files beside it are of no use without it: "
            "restore it from a backup, or move the whole folder away to begin with an empty one"
        )
    check_log(path)
    connection = sqlite3.connect(path, timeout=settings.busy_timeout_s, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")  # On macOS, fsync alone is not enough.
        connection.execute("BEGIN")  # All answers must be of one moment.
        ours = _is_ours(connection, path)
        connection.execute("COMMIT")
        if not ours:
            connection.execute("BEGIN EXCLUSIVE")
            if not _is_ours(connection, path):  # No other process was faster.
                for statement in SCHEMA.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.execute("COMMIT")
        _use_log(connection, settings.busy_timeout_s)
        _check_structure(connection, path)
        if _version(connection) == UPGRADED:
            upgrade(connection)
        with contextlib.suppress(sqlite3.OperationalError):  # The next start may succeed.
            free_pages(connection)
        allocate_log(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def failure_of(
    path: Path, error: sqlite3.Error | StorageError, settings: SqliteSettings
) -> StorageError:
    """Return an error that says what went wrong with the file, and what to do."""
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
                f"{path} has been locked by another process for {settings.busy_timeout_s:.0f} s: "
                "stop that process, or try again"
            )
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            failure = WriteFailed(
                f"{path} cannot be written ({error}): make space or check the disk, then try again"
            )
        case _:
            failure = StorageError(f"{path}: {error}")
    failure.__cause__ = error
    return failure


def _is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    """Return True for a metadata file, False for an empty one. Raises StorageError for others."""
    application, tables = (
        connection.execute(question).fetchone()[0]
        for question in ("PRAGMA application_id", "SELECT count(*) FROM sqlite_master")
    )
    version = _version(connection)
    if application == APPLICATION_ID and version in (UPGRADED, SCHEMA_VERSION):
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


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _check_structure(connection: sqlite3.Connection, path: Path) -> None:
    """Check the structure, which takes about a millisecond for each thousand records.

    A record that no index leads to any more would otherwise be missing without an error.
    """
    found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != "ok":
        raise StorageError(
            f"{path} is damaged ({found.splitlines()[-1]}): restore it from a backup"
        )


def _use_log(connection: sqlite3.Connection, timeout_s: float) -> None:
    """Turn on the write-ahead log, for good. SQLite does not wait for other processes here."""
    pause = threading.Event()
    for _ in range(100):
        try:
            if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] == "wal":
                return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise  # The disk may be full.
        pause.wait(timeout_s / 100)
    connection.execute("PRAGMA journal_mode = WAL")
