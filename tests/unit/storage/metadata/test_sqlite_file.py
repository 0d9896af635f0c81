"""Which files are taken, and which refused. ``test_sqlite.py`` has the rest."""

import contextlib
import sqlite3

import pytest

from magnetar.errors import StorageError, WriteFailed
from magnetar.storage.metadata.sqlite_file import (
    APPLICATION_ID,
    SCHEMA_VERSION,
    SqliteSettings,
    connect,
    failure_of,
)

SETTINGS = SqliteSettings()


def test_a_new_file_says_whose_it_is(tmp_path):
    for _ in range(2):
        with contextlib.closing(
            connect(tmp_path / "m.sqlite", SETTINGS, must_exist=False)
        ) as connection:
            for name, expected in (
                ("application_id", APPLICATION_ID),
                ("user_version", SCHEMA_VERSION),
                ("journal_mode", "wal"),
            ):
                assert connection.execute(f"PRAGMA {name}").fetchone()[0] == expected


@pytest.mark.parametrize(
    ("code", "kind", "remedy"),
    [
        (sqlite3.SQLITE_CORRUPT, StorageError, "restore it from a backup"),
        (sqlite3.SQLITE_CANTOPEN, StorageError, "its folder must exist"),
        (sqlite3.SQLITE_BUSY, WriteFailed, "locked by another process for 10 s"),
        (sqlite3.SQLITE_FULL, WriteFailed, "make space"),
        (sqlite3.SQLITE_ERROR, StorageError, "m.sqlite: what happened"),
    ],
)
def test_a_failure_says_what_to_do(tmp_path, code, kind, remedy):
    error = sqlite3.OperationalError("what happened")
    error.sqlite_errorcode = code
    failure = failure_of(tmp_path / "m.sqlite", error, SETTINGS)
    assert type(failure) is kind
    assert remedy in str(failure)
    assert failure.__cause__ is error
