"""An offloader that keeps copies in memory, and waits or fails on demand."""

from unit.storage.managed_ledger.logs import Gate

from magnetar.errors import EntryNotFound, LedgerNotFound
from magnetar.storage.ledger.store import LedgerEntries


class MemoryOffloader:
    """``copies`` are what is there, by name. ``written`` is passed when one has been written."""

    def __init__(self):
        self.copies = {}
        self.written, self.deletes = Gate(), Gate()
        self.reads = []
        self.secrets = None

    async def offload(self, ledger, properties, secrets):
        self.secrets = secrets
        found = await ledger.read(0, 1_000_000, 1 << 30)
        self.copies[properties["name"]] = LedgerEntries(*found)
        await self.written.enter()
        return {"rows": str(len(found.data)), "missing": "0"}

    async def read(self, properties, secrets, *, first, count_max, bytes_max):
        self.reads.append((properties["name"], first))
        if properties["name"] not in self.copies:
            raise LedgerNotFound(properties["name"])
        data, checksums = self.copies[properties["name"]]
        if first >= len(data):
            raise EntryNotFound(str(first))
        stop = first + count_max
        return LedgerEntries(data[first:stop], checksums[first:stop])

    async def delete(self, properties, secrets):
        await self.deletes.enter()
        self.copies.pop(properties["name"], None)
