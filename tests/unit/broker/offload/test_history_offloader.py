import pytest
from support.history import TOPIC, all_kinds, single

from magnetar import inner
from magnetar.broker.offload import history_offloader
from magnetar.broker.offload.history_offloader import HistoryOffloader
from magnetar.clock import SystemClock
from magnetar.errors import LedgerNotFound, StorageError
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.ledger.store import LedgerEntries

pytestmark = pytest.mark.slow


@pytest.fixture
async def offloader():
    made = HistoryOffloader(SystemClock())
    yield made
    await made.close()


@pytest.fixture
def properties(tmp_path):
    return {
        "url": tmp_path.as_uri(),
        "name": "a/0-x.parquet",
        "topic": TOPIC,
        "partition": "-1",
        "option.region": "here",
    }


def _nobody_asks(_first, _error):
    """Memory is always durable."""


async def ledger_of(data):
    ledger = await MemoryLedgerStore().create()
    ledger.append(data, list(map(inner.checksum, data)), _nobody_asks)
    return ledger


async def test_a_ledger_is_copied_read_and_deleted(offloader, properties, monkeypatch, tmp_path):
    monkeypatch.setattr(history_offloader, "READ_ENTRIES_MAX", 4)
    data = all_kinds()
    said = await offloader.offload(await ledger_of(data), properties, {})
    assert (int(said["rows"]) > 0, said["missing"]) == (True, "3")
    found = await offloader.read(properties, {}, first=2, count_max=3, bytes_max=1 << 20)
    assert found == LedgerEntries(data[2:5], list(map(inner.checksum, data[2:5])))
    assert [each.name for each in (tmp_path / "a").iterdir()] == ["0-x.parquet"]
    await offloader.delete(properties, {})
    await offloader.delete(properties, {})
    with pytest.raises(LedgerNotFound):
        await offloader.read(properties, {}, first=0, count_max=1, bytes_max=1)
    assert list((tmp_path / "a").iterdir()) == []


async def test_a_ledger_that_cannot_be_read_leaves_no_copy(offloader, properties, tmp_path):
    ledger = await ledger_of([single(b"x")])
    ledger.append([b"damaged"], [0], _nobody_asks)

    class Damaged:
        ledger_id, end = ledger.ledger_id, ledger.end

        async def read(self, first, count_max, bytes_max):
            if first:
                raise StorageError("damaged")
            return LedgerEntries([single(b"x")], [inner.checksum(single(b"x"))])

    with pytest.raises(StorageError, match=r"^damaged$"):
        await offloader.offload(Damaged(), properties, {})
    assert not list(tmp_path.rglob("*.parquet"))
    await offloader.offload(await ledger_of([single(b"y")]), properties, {})
