from random import Random

import pytest

from magnetar.errors import StorageError
from magnetar.storage.ledger.store import LedgerEnd, LedgerEntries
from magnetar.testing.simulation.bucket import Bucket
from magnetar.testing.simulation.processes import ProcessClock

PLACE = {"name": "a copy"}


class Ledger:
    """Entries 0 to 6, of which one may be unreadable."""

    end = LedgerEnd(6, 7)

    def __init__(self, bad=None):
        self.bad = bad

    async def read(self, first, count_max, _bytes_max):
        if self.bad is not None and first <= self.bad < first + count_max:
            raise StorageError("it cannot be read")
        ids = range(first, min(first + count_max, 7))
        return LedgerEntries([b"%d" % each for each in ids], list(ids))


@pytest.fixture
def bucket():
    bucket = Bucket(Random(1))
    bucket.delay_s = (0.0, 0.0)
    return bucket


async def test_a_copy_is_read_in_parts_until_it_is_deleted(bucket):
    offloader = bucket.offloader(ProcessClock())
    await offloader.offload(Ledger(), PLACE, {})
    found = await offloader.read(PLACE, {}, first=2, count_max=3, bytes_max=100)
    assert (found.data, found.checksums) == ([b"2", b"3", b"4"], [2, 3, 4])
    found = await offloader.read(PLACE, {}, first=5, count_max=9, bytes_max=1)
    assert found.data == [b"5"]
    await offloader.delete(PLACE, {})
    with pytest.raises(StorageError, match="no whole copy"):
        await offloader.read(PLACE, {}, first=0, count_max=1, bytes_max=1)


async def test_what_was_not_copied_to_its_end_cannot_be_read(bucket):
    offloader = bucket.offloader(ProcessClock())
    with pytest.raises(StorageError, match="cannot be read"):
        await offloader.offload(Ledger(bad=6), PLACE, {})
    assert len(bucket.copies["a copy"].data) == 5
    with pytest.raises(StorageError, match="no whole copy"):
        await offloader.read(PLACE, {}, first=0, count_max=1, bytes_max=1)


async def test_a_bucket_that_fails_answers_nobody(bucket):
    bucket.fails = True
    with pytest.raises(StorageError, match="does not answer"):
        await bucket.offloader(ProcessClock()).delete(PLACE, {})
