"""Which ids new ledgers get; ``tests/contract/test_long_ids.py`` has them with a real ZooKeeper."""

from collections import defaultdict

import pytest

from magnetar.storage.ledger.bookkeeper.ledger_ids import LedgerIds
from magnetar.storage.metadata.memory import MemoryMetadataStore

SPENT = 2**31 - 1


class Counting(MemoryMetadataStore):
    """Counts as ZooKeeper does, from where it is told."""

    def __init__(self, **begins):
        super().__init__()
        self.counts = defaultdict(int, begins)

    async def next_number(self, path):
        name = path.split("/")[-2]
        number = self.counts[name]
        self.counts[name] = -(2**31) if number == SPENT else number + 1
        if name != "idgen":
            await self.put(f"{path.rpartition('/')[0]}", b"")
        return number


async def taken(store, count):
    ids = LedgerIds(store, "/ledgers")
    return [await ids.next() for _ in range(count)]


async def test_ids_are_short_until_their_sequence_is_spent():
    store = Counting(idgen=SPENT - 2)
    assert await taken(store, 4) == [SPENT - 2, SPENT - 1, 2**32, 2**32 + 1]
    assert await taken(store, 1) == [2**32 + 2]  # Whoever begins later sees that they are long.


@pytest.mark.parametrize("spent", [SPENT, -(2**31), -1234567890, -5])
async def test_a_sequence_that_is_spent_is_not_used(spent):
    assert await taken(Counting(idgen=spent), 1) == [2**32]


async def test_ids_are_long_where_somebody_has_begun_with_that():
    store = Counting()
    await store.put("/ledgers/idgen-long", b"")
    assert await taken(store, 2) == [2**32, 2**32 + 1]


async def test_the_last_directory_counts():
    store = Counting(**{"HOB-0000000003": 7})
    for upper in (1, 3, 2):
        await store.put(f"/ledgers/idgen-long/HOB-{upper:010}", b"")
    await store.put("/ledgers/idgen-long/other", b"")
    assert await taken(store, 1) == [3 << 32 | 7]


async def test_a_directory_that_is_spent_is_followed_by_another():
    store = Counting(**{"HOB-0000000001": SPENT - 1})
    await store.put("/ledgers/idgen-long/HOB-0000000001", b"")
    assert await taken(store, 2) == [1 << 32 | SPENT - 1, 2 << 32]


async def test_what_another_client_has_begun_is_gone_on_with():
    store = Counting(idgen=SPENT - 1, **{"HOB-0000000002": 4})
    ids = LedgerIds(store, "/ledgers")
    assert await ids.next() == SPENT - 1
    await store.put("/ledgers/idgen-long/HOB-0000000002", b"")
    assert await ids.next() == 2 << 32 | 4
