import contextlib

import pytest

from magnetar.errors import LedgerNotFound, StorageError
from magnetar.history.folder import Folder


def test_a_file_is_there_when_it_is_whole(tmp_path):
    folder = Folder(tmp_path / "new")
    with folder.writing("a/7.parquet") as file:
        file.write(b"content")
        assert not (tmp_path / "new/a/7.parquet").exists()
    assert folder.reading("a/7.parquet").read() == b"content"
    assert folder.names("a") == folder.names("") == ["a/7.parquet"]


def test_nothing_is_left_of_a_file_that_could_not_be_finished(tmp_path):
    folder = Folder(tmp_path)
    with contextlib.suppress(ZeroDivisionError), folder.writing("a/7.parquet") as file:
        file.write(b"content")
        raise ZeroDivisionError
    assert folder.names("") == []


def test_a_deleted_file_is_gone_with_what_a_dead_process_left_of_it(tmp_path):
    (tmp_path / "7.parquet.unfinished").write_bytes(b"")
    Folder(tmp_path).delete("7.parquet")
    Folder(tmp_path).delete("never/there")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(LedgerNotFound, match=r"7\.parquet"):
        Folder(tmp_path).reading("7.parquet")


def test_what_the_disk_refuses_is_an_error_that_names_the_file(tmp_path):
    (tmp_path / "a").write_bytes(b"a file, and no folder")
    with pytest.raises(StorageError, match=r"7\.parquet cannot be written"):
        Folder(tmp_path).writing("a/7.parquet").__enter__()
    with pytest.raises(StorageError, match="cannot be read"):
        Folder(tmp_path).reading("a/7.parquet")
    with pytest.raises(StorageError, match="cannot be deleted"):
        Folder(tmp_path).delete("a/7.parquet")
