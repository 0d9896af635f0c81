"""Logs that SQLite itself wrote: whole, cut anywhere, with any bit flipped, or gone."""

import errno
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest

from magnetar.errors import StorageError
from magnetar.storage.metadata.sqlite_log import check_log, read_index

ROWS = 60


@pytest.fixture(scope="module")
def crashed(tmp_path_factory):
    """A database whose process died: everything is in the log. With what it takes to read it."""
    folder = tmp_path_factory.mktemp("database")
    connection = sqlite3.connect(folder / "m.sqlite", isolation_level=None)
    connection.execute("PRAGMA page_size = 1024")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t (x)")
    for number in range(ROWS):
        connection.execute("INSERT INTO t VALUES (?)", (f"{number}" * 100,))
    copy = tmp_path_factory.mktemp("crashed")
    for path in folder.iterdir():
        shutil.copy(path, copy)
    connection.close()
    return copy


@pytest.fixture
def folder(crashed, tmp_path):
    return shutil.copytree(crashed, tmp_path / "folder")


def rows(folder):
    connection = sqlite3.connect(folder / "m.sqlite")
    try:
        return connection.execute("SELECT count(*) FROM t").fetchone()[0]
    finally:
        connection.close()


def test_a_whole_log_holds_what_was_promised(folder):
    assert read_index((folder / "m.sqlite-shm").read_bytes())[0] > ROWS
    check_log(folder / "m.sqlite")
    assert rows(folder) == ROWS


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_flipped_bit_anywhere_in_the_log_is_refused(folder, share):
    log = folder / "m.sqlite-wal"
    data = bytearray(log.read_bytes())
    data[int(share * len(data)) + 9] ^= 4
    log.write_bytes(data)
    with pytest.raises(StorageError, match=r"m\.sqlite-wal is damaged.*remove m\.sqlite-shm"):
        check_log(folder / "m.sqlite")
    (folder / "m.sqlite-shm").unlink()  # The remedy.
    check_log(folder / "m.sqlite")


def test_any_page_that_is_missing_is_noticed(folder):
    """However the log is cut. What is checked is a copy: the files stay as they are."""
    log, index = folder / "m.sqlite-wal", folder / "m.sqlite-shm"
    data, promised = log.read_bytes(), index.read_bytes()
    for cut in range(len(data) - 1, 2000, -1717):
        log.write_bytes(data[:cut])
        with pytest.raises(StorageError, match=r"m\.sqlite-wal is damaged: \d+ of \d+ pages"):
            check_log(folder / "m.sqlite")
        assert (log.read_bytes(), index.read_bytes()) == (data[:cut], promised)


def test_where_the_copy_cannot_be_made_is_named(folder, monkeypatch, tmp_path):
    (tmp_path / "full").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "full"))

    def full(_, __):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(StorageError, match="cannot be checked in"):
        check_log(folder / "m.sqlite")


@pytest.mark.parametrize("left", [None, 0, 20, 5000])
def test_a_log_that_is_gone_or_cut_short_is_refused(folder, left):
    log = folder / "m.sqlite-wal"
    data = log.read_bytes()
    if left is None:
        log.unlink()
    else:
        log.write_bytes(data[:left])
    word = "missing" if left is None else "damaged"
    with pytest.raises(StorageError, match=rf"m\.sqlite-wal is {word}"):
        check_log(folder / "m.sqlite")


def test_what_an_unfinished_write_left_behind_is_no_damage(folder):
    log = folder / "m.sqlite-wal"
    log.write_bytes(log.read_bytes() + bytes(700))
    check_log(folder / "m.sqlite")
    assert rows(folder) == ROWS


def test_without_an_index_or_with_one_that_says_nothing_there_is_nothing_to_check(folder):
    (folder / "m.sqlite-wal").unlink()
    index = folder / "m.sqlite-shm"
    torn = bytearray(index.read_bytes())
    torn[60] ^= 1
    for content in (b"", bytes(200), bytes(torn)):
        index.write_bytes(content)
        check_log(folder / "m.sqlite")
    index.unlink()
    check_log(folder / "m.sqlite")
    check_log(folder / "nothing.sqlite")


def test_an_index_of_an_earlier_log_says_nothing(folder, tmp_path):
    """Power was lost, and of the index an older state came back."""
    other = tmp_path / "other"
    other.mkdir()
    connection = sqlite3.connect(other / "m.sqlite", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE u (x)")
    shutil.copy(other / "m.sqlite-wal", folder / "m.sqlite-wal")
    connection.close()
    check_log(folder / "m.sqlite")


def test_a_clean_stop_leaves_nothing_to_check(folder):
    rows(folder)  # Closing it moves everything into the database.
    assert not (folder / "m.sqlite-wal").exists()
    check_log(folder / "m.sqlite")
    assert rows(folder) == ROWS
