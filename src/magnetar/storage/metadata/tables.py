"""The tables of the metadata, and every SQL statement.

    records    path, value, version, the session that owns an ephemeral record, the number of the
               change that touched it last, and a CRC-32 of path, version and value
    deletions  paths that were deleted, each with the number of that change
    sessions   the stores that own ephemeral records; ``beats`` counts their heartbeats
    counters   'change': the number of the last change; 'forgotten': deletions up to this number
               are no longer in ``deletions``

All changes of a transaction have one number. A watching store asks for what has a higher number
than the last it saw, so it never misses a change; several to one record are reported as one.
"""

import contextlib
import sqlite3
import zlib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from magnetar.errors import CorruptEntry, VersionMismatch
from magnetar.storage.metadata.store import ABSENT, Owner, Record

DELETIONS_KEPT: Final = 10_000
"""How many deletions a watch may lag behind; beyond that, every record counts as changed."""

SCHEMA: Final = """
CREATE TABLE records (
    path TEXT NOT NULL UNIQUE, value BLOB NOT NULL, version INTEGER NOT NULL,
    session INTEGER, change INTEGER NOT NULL, checksum INTEGER NOT NULL
);
CREATE INDEX changes ON records (change);
CREATE INDEX ephemeral ON records (session) WHERE session IS NOT NULL;
CREATE TABLE deletions (
    change INTEGER NOT NULL, path TEXT NOT NULL, PRIMARY KEY (change, path)
) WITHOUT ROWID;
CREATE TABLE sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, beats INTEGER NOT NULL);
CREATE TABLE counters (name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL);
INSERT INTO counters VALUES ('change', 0), ('forgotten', 0)
"""


class Changes(NamedTuple):
    """What changed since a number. ``missed`` says that deletions were forgotten meanwhile."""

    number: int
    paths: list[str]
    missed: bool


class MetadataTables:
    """The tables of one connection in autocommit mode.

    Everything but ``transaction`` must be called within a transaction.
    """

    def __init__(
        self, connection: sqlite3.Connection, *, deletions_kept: int = DELETIONS_KEPT
    ) -> None:
        self._connection = connection
        self._deletions_kept = deletions_kept
        self._change = 0  # The number of this transaction, 0 before its first change.
        self._deletions = 0  # How many were made here since ``forget_deletions``.
        self.changed = False  # Something was changed here; the caller sets it back.

    @contextlib.contextmanager
    def transaction(self, *, writes: bool) -> Iterator[None]:
        """Begin a transaction; commit it at the end, or roll it back on any error."""
        self._connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        self._change = 0
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def get(self, path: str, session: int | None = None) -> Record | None:
        """Return the record, as ``session`` sees it.

        Raises CorruptEntry when it is not what was written.
        """
        row = self._one(
            "SELECT value, version, checksum, session FROM records WHERE path = ?", path
        )
        if row is None:
            return None
        value, version, checksum, owner = row
        if not isinstance(value, bytes) or checksum != _checksum(path, version, value):
            raise CorruptEntry(
                f"the record {path} of the metadata is damaged: restore metadata.sqlite from a "
                "backup, or delete the record to go on without it"
            )
        if owner is None:
            return Record(value, version)
        return Record(value, version, Owner.OURS if owner == session else Owner.OTHER)

    def put(
        self, path: str, value: bytes, *, expected_version: int | None, session: int | None
    ) -> int:
        """Raises VersionMismatch, having changed nothing."""
        version = self._check(path, expected_version) + 1
        self._connection.execute(
            "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET"
            " value = excluded.value, version = excluded.version, session = excluded.session,"
            " change = excluded.change, checksum = excluded.checksum",
            (
                path,
                value,
                version,
                session,
                self._next_change(),
                _checksum(path, version, value),
            ),
        )
        return version

    def delete(self, path: str, *, expected_version: int | None) -> None:
        """Raises VersionMismatch, having changed nothing."""
        if self._check(path, expected_version) != ABSENT:
            self._delete([path])

    def children(self, path: str) -> list[str]:
        prefix = path.rstrip("/") + "/"
        # "0" follows "/" in the order of characters, so the range has all that is below.
        rows = self._connection.execute(
            "SELECT path FROM records WHERE path > ? AND path < ?", (prefix, prefix[:-1] + "0")
        )
        return sorted({path[len(prefix) :].partition("/")[0] for (path,) in rows.fetchall()})

    def begin_session(self) -> int:
        self._connection.execute("INSERT INTO sessions (beats) VALUES (0)")
        session: int = self._one("SELECT last_insert_rowid()")[0]
        return session

    def heartbeat(self, session: int) -> bool:
        """Count a heartbeat. Returns False when the session has ended."""
        counted = self._connection.execute(
            "UPDATE sessions SET beats = beats + 1 WHERE id = ?", (session,)
        )
        return counted.rowcount == 1

    def heartbeats(self) -> dict[int, int]:
        """Return the sessions, and how many heartbeats each has sent."""
        return dict(self._connection.execute("SELECT id, beats FROM sessions").fetchall())

    def end_session(self, session: int) -> None:
        owned = self._connection.execute("SELECT path FROM records WHERE session = ?", (session,))
        self._delete([path for (path,) in owned.fetchall()])
        self._connection.execute("DELETE FROM sessions WHERE id = ?", (session,))

    def last_change(self) -> int:
        return self._counter("change")

    def changes_since(self, number: int) -> Changes:
        missed = self._counter("forgotten") > number
        since = -1 if missed else number
        rows = self._connection.execute(
            "SELECT path FROM records WHERE change > ?"
            " UNION SELECT path FROM deletions WHERE change > ?",
            (since, since),
        )
        return Changes(self.last_change(), [path for (path,) in rows.fetchall()], missed)

    @property
    def overgrown(self) -> bool:
        """Whether ``forget_deletions`` is due."""
        return self._deletions >= self._deletions_kept

    def forget_deletions(self) -> None:
        """Remove all but the latest deletions from their table."""
        last = self._one(
            "SELECT change FROM deletions ORDER BY change DESC LIMIT 1 OFFSET ?",
            self._deletions_kept,
        )
        if last is not None:
            self._connection.execute("DELETE FROM deletions WHERE change <= ?", last)
            self._set_counter("forgotten", last[0])
        self._deletions = 0

    def _check(self, path: str, expected_version: int | None) -> int:
        """Return the version, ABSENT where there is no record. Raises VersionMismatch."""
        row = self._one("SELECT version FROM records WHERE path = ?", path)
        version: int = ABSENT if row is None else row[0]
        if expected_version is not None and expected_version != version:
            raise VersionMismatch(f"{path} is at version {version}, not {expected_version}")
        return version

    def _delete(self, paths: list[str]) -> None:
        for path in paths:
            self._connection.execute("DELETE FROM records WHERE path = ?", (path,))
            self._connection.execute(
                "INSERT OR IGNORE INTO deletions VALUES (?, ?)", (self._next_change(), path)
            )
        self._deletions += len(paths)

    def _next_change(self) -> int:
        if not self._change:
            self._change = self._counter("change") + 1
            self._set_counter("change", self._change)
            self.changed = True
        return self._change

    def _counter(self, name: str) -> int:
        value: int = self._one("SELECT value FROM counters WHERE name = ?", name)[0]
        return value

    def _set_counter(self, name: str, value: int) -> None:
        self._connection.execute("UPDATE counters SET value = ? WHERE name = ?", (value, name))

    def _one(self, question: str, *values: str | int) -> Any:
        return self._connection.execute(question, values).fetchone()


def _checksum(path: str, version: int, value: bytes) -> int:
    return zlib.crc32(value, zlib.crc32(f"{path}\0{version}\0".encode()))
