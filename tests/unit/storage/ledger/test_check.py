import pytest

from magnetar.errors import StorageError
from magnetar.storage.ledger.check import check_ledgers
from magnetar.storage.ledger.memory import MemoryLedgerStore


async def test_a_store_that_stores_is_well_and_as_before():
    store = MemoryLedgerStore()
    await check_ledgers(store)
    assert not store._ledgers
    await store.close()


async def test_a_store_that_is_closed_is_not_well():
    store = MemoryLedgerStore()
    await store.close()
    with pytest.raises(StorageError):
        await check_ledgers(store)
