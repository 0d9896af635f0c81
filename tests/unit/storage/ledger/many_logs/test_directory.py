import os

import pytest

from magnetar.errors import StorageError
from magnetar.storage.ledger.many_logs.directory import LedgerDirectory


@pytest.fixture
def path(tmp_path):
    LedgerDirectory.create(tmp_path / "d", 7)
    return tmp_path / "d"


async def test_ids_ascend_whoever_takes_them(path):
    one, other = LedgerDirectory(path), LedgerDirectory(path)
    taken = [await each.take(number) for each, number in ((one, 0), (other, 1), (one, 0))]
    assert taken == [7, 8, 9]
    assert [other.log_of(each) for each in taken] == [0, 1, 0]


async def test_an_id_is_given_once_over_a_restart(path):
    first = LedgerDirectory(path)
    taken = await first.take(3)
    first.close()
    assert await LedgerDirectory(path).take(3) == taken + 1


def test_ledgers_of_before_are_in_the_first_log_and_others_in_none(path):
    directory = LedgerDirectory(path)
    assert directory.log_of(6) == 0
    assert directory.log_of(7) is None


def test_another_file_is_refused(path):
    path.write_bytes(b"something else that is as long")
    with pytest.raises(StorageError, match="no directory of ledgers"):
        LedgerDirectory(path)


def test_a_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(StorageError, match="restore it from a backup"):
        LedgerDirectory(tmp_path / "none")


async def test_a_disk_that_refuses_gives_no_id(path):
    directory = LedgerDirectory(path)
    directory.close()
    full = os.open("/dev/full", os.O_RDWR)  # It takes the number of the file that was closed.
    with pytest.raises(StorageError, match="no ledger can be created"):
        await directory.take(0)
    os.close(full)
