"""The reserve is there after opening, survives use, and does no harm where there is no room."""

import contextlib
import sqlite3

import pytest

from magnetar.storage.metadata import sqlite_reserve
from magnetar.storage.metadata.sqlite_reserve import (
    FREE_PAGES_MIN,
    LOG_PAGES_MAX,
    allocate_log,
    free_pages,
)

LOG_BYTES = 2 * LOG_PAGES_MAX * 4096


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.sqlite"


@pytest.fixture
def connection(path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (x)")
        yield connection


def make_reserve(connection, path):
    free_pages(connection)
    allocate_log(connection, path)


def pragma(connection, name):
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def test_there_is_room_in_the_database_and_in_its_log(connection, path):
    make_reserve(connection, path)
    assert pragma(connection, "freelist_count") >= FREE_PAGES_MIN
    assert path.stat().st_size >= FREE_PAGES_MIN * 4096
    log = path.with_name("m.sqlite-wal")
    assert log.stat().st_size > LOG_BYTES
    assert log.stat().st_blocks * 512 >= LOG_BYTES, "allocated, not only long"
    assert pragma(connection, "integrity_check") == "ok"


def test_writing_for_long_stays_within_it(connection, path):
    make_reserve(connection, path)
    log = path.with_name("m.sqlite-wal")
    sizes = path.stat().st_size, log.stat().st_size
    for number in range(1000):
        connection.execute("DELETE FROM t")
        connection.execute("INSERT INTO t VALUES (?)", (bytes(number * 100 % 50_000),))
    assert (path.stat().st_size, log.stat().st_size) == sizes


def test_it_is_made_once(connection, path):
    make_reserve(connection, path)
    size = path.stat().st_size
    make_reserve(connection, path)
    assert path.stat().st_size == size


def test_a_crash_leaves_a_log_that_is_read_as_ever(connection, path, tmp_path):
    make_reserve(connection, path)
    connection.execute("INSERT INTO t VALUES (17)")
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in tmp_path.glob("m.sqlite*"):
        (copy / file.name).write_bytes(file.read_bytes())
    with contextlib.closing(sqlite3.connect(copy / "m.sqlite")) as again:
        assert again.execute("SELECT x FROM t").fetchall() == [(17,)]


def test_where_there_is_no_room_nothing_is_done(connection, path, monkeypatch):
    pages = pragma(connection, "page_count")
    connection.execute(f"PRAGMA max_page_count = {pages}")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sqlite_reserve.os, "posix_fallocate", full)
    with pytest.raises(sqlite3.OperationalError, match="full"):
        free_pages(connection)
    allocate_log(connection, path)
    assert pragma(connection, "page_count") == pages
    assert not connection.in_transaction
    connection.execute("INSERT INTO t VALUES (1)")
