"""A ledger store in memory: for tests, and for brokers that need not remember."""

import asyncio

from magnetar.errors import EntryNotFound, LedgerNotFound, StorageError

from .store import (
    AS_THE_STORE_IS_SET,
    Answered,
    LedgerEnd,
    LedgerEntries,
    LedgerId,
    LedgerOptions,
    fenced,
)


class MemoryLedger:
    """One ledger. Its writer and its readers are this one object."""

    over_limit = False

    def __init__(self, ledger_id: LedgerId, options: LedgerOptions) -> None:
        self.ledger_id = ledger_id
        self.options = options
        self.data: list[bytes] = []
        self.checksums: list[int] = []
        self._size_bytes = 0
        self._closed_because = ""
        self._deleted = False

    @property
    def end(self) -> LedgerEnd:
        return LedgerEnd(len(self.data) - 1, self._size_bytes)

    async def read(self, first: int, count_max: int, bytes_max: int) -> LedgerEntries:
        if self._deleted:
            raise LedgerNotFound(f"ledger {self.ledger_id} was deleted")
        if not 0 <= first < len(self.data):
            raise EntryNotFound(
                f"ledger {self.ledger_id} has no entry {first}: "
                f"it ends at entry {len(self.data) - 1}"
            )
        size = 0
        stop = first
        for entry in self.data[first : first + count_max]:
            stop += 1
            size += len(entry)
            if size >= bytes_max:
                break
        return LedgerEntries(self.data[first:stop], self.checksums[first:stop])

    async def wait_for_capacity(self) -> None:
        """Memory has no limit here."""

    def append(self, data: list[bytes], checksums: list[int], answered: Answered) -> None:
        assert data, "an append has at least one entry"
        assert len(data) == len(checksums), "every entry has a checksum"
        loop = asyncio.get_running_loop()
        if self._closed_because:
            loop.call_soon(answered, -1, fenced(self.ledger_id, self._closed_because))
            return
        first = len(self.data)
        self.data += data
        self.checksums += checksums
        self._size_bytes += sum(map(len, data))
        loop.call_soon(answered, first, None)

    async def close(self) -> LedgerEnd:
        self.fence("it was closed")
        return self.end

    def fence(self, because: str) -> None:
        """Take no more entries; the first reason stays."""
        self._closed_because = self._closed_because or because

    def delete(self) -> None:
        """Let go of the entries."""
        self._deleted = True
        self._closed_because = "it was deleted"
        self.data.clear()
        self.checksums.clear()


class MemoryLedgerStore:
    """Ledgers for as long as this object lives."""

    def __init__(self) -> None:
        self._ledgers: dict[int, MemoryLedger] = {}
        self._next_ledger_id = 1
        self._closed = False

    async def create(self, options: LedgerOptions = AS_THE_STORE_IS_SET) -> MemoryLedger:
        self._check_open()
        ledger = MemoryLedger(LedgerId(self._next_ledger_id), options)
        self._next_ledger_id += 1
        self._ledgers[ledger.ledger_id] = ledger
        return ledger

    async def open(self, ledger_id: LedgerId) -> MemoryLedger:
        self._check_open()
        ledger = self._ledgers.get(ledger_id)
        if ledger is None:
            raise LedgerNotFound(f"there is no ledger {ledger_id}")
        ledger.fence("it was opened elsewhere")
        return ledger

    async def delete(self, ledger_id: LedgerId) -> None:
        self._check_open()
        ledger = self._ledgers.pop(ledger_id, None)
        if ledger is not None:
            ledger.delete()

    async def check(self) -> None:
        self._check_open()

    async def close(self) -> None:
        self._closed = True
        for ledger in self._ledgers.values():
            ledger.fence("the store was closed")

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError("the ledger store is closed")
