from unit.storage.ledger.local.support import append, run

from magnetar.storage.ledger.memory import MemoryLedgerStore

# tests/contract/test_ledger_store.py holds it to the contract.


async def test_a_deleted_ledger_frees_its_memory():
    store = MemoryLedgerStore()
    ledger = await store.create()
    await append(ledger, *run("a"))
    await store.delete(ledger.ledger_id)
    assert ledger.data == ledger.checksums == []
