import pytest
from google_crc32c import value as checksum

from magnetar.errors import LedgerFenced
from magnetar.storage.ledger.appending import append_durably
from magnetar.storage.ledger.memory import MemoryLedgerStore


async def test_an_append_returns_its_first_entry_or_raises_what_was_answered():
    store = MemoryLedgerStore()
    writer = await store.create()
    for first in (0, 2):
        data = [b"a", b"b"]
        assert await append_durably(writer, data, list(map(checksum, data))) == first
    await writer.close()
    with pytest.raises(LedgerFenced):
        await append_durably(writer, [b"c"], [checksum(b"c")])
    await store.close()
