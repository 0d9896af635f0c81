import pytest
from unit.storage.ledger.local.support import append, run

from magnetar.errors import LedgerFenced
from magnetar.storage.ledger.memory import MemoryLedgerStore

# tests/contract/test_ledger_store.py holds it to the contract.


async def test_a_deleted_ledger_frees_its_memory():
    store = MemoryLedgerStore()
    ledger = await store.create()
    await append(ledger, *run("a"))
    await store.delete(ledger.ledger_id)
    assert ledger._ledger.data == ledger._ledger.checksums == []


async def test_the_error_says_why_a_ledger_takes_no_more():
    store = MemoryLedgerStore()
    ledger = await store.create()
    await store.open(ledger.ledger_id)
    with pytest.raises(LedgerFenced, match=f"{ledger.ledger_id} .* it was opened elsewhere"):
        await append(ledger, *run("a"))
