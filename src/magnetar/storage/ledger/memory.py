"""A ledger store in memory: for tests, and for brokers that need not remember."""

import asyncio

from magnetar.errors import EntryNotFound, LedgerNotFound, StorageError

from .answers import fenced
from .store import Answered, LedgerEnd, LedgerEntries, LedgerId


class MemoryLedgerReader:
    """Reads one ledger."""

    def __init__(self, ledger: "_Ledger") -> None:
        self._ledger = ledger

    @property
    def ledger_id(self) -> LedgerId:
        return self._ledger.ledger_id

    @property
    def end(self) -> LedgerEnd:
        return LedgerEnd(len(self._ledger.data) - 1, self._ledger.size_bytes)

    async def read(self, first: int, count_max: int, bytes_max: int) -> LedgerEntries:
        ledger = self._ledger
        if ledger.deleted:
            raise LedgerNotFound(f"ledger {ledger.ledger_id} was deleted")
        if not 0 <= first < len(ledger.data):
            raise EntryNotFound(
                f"ledger {ledger.ledger_id} has no entry {first}: "
                f"it ends at entry {len(ledger.data) - 1}"
            )
        size = 0
        stop = first
        for entry in ledger.data[first : first + count_max]:
            stop += 1
            size += len(entry)
            if size >= bytes_max:
                break
        return LedgerEntries(ledger.data[first:stop], ledger.checksums[first:stop])


class MemoryLedgerWriter(MemoryLedgerReader):
    """Appends to one ledger."""

    over_limit = False

    async def wait_for_capacity(self) -> None:
        """There is always enough."""

    def append(self, data: list[bytes], checksums: list[int], answered: Answered) -> None:
        assert data, "an append has at least one entry"
        assert len(data) == len(checksums), "every entry has a checksum"
        ledger, loop = self._ledger, asyncio.get_running_loop()
        if ledger.closed_because:
            loop.call_soon(answered, -1, fenced(ledger.ledger_id, ledger.closed_because))
            return
        first = len(ledger.data)
        ledger.data += data
        ledger.checksums += checksums
        ledger.size_bytes += sum(map(len, data))
        loop.call_soon(answered, first, None)

    async def close(self) -> LedgerEnd:
        self._ledger.closed_because = self._ledger.closed_because or "it was closed"
        return self.end


class MemoryLedgerStore:
    """Ledgers for as long as this object lives."""

    def __init__(self) -> None:
        self._ledgers: dict[int, _Ledger] = {}
        self._next_ledger_id = 1
        self._closed = False

    async def create(self) -> MemoryLedgerWriter:
        self._check_open()
        ledger = _Ledger(LedgerId(self._next_ledger_id))
        self._next_ledger_id += 1
        self._ledgers[ledger.ledger_id] = ledger
        return MemoryLedgerWriter(ledger)

    async def open(self, ledger_id: LedgerId) -> MemoryLedgerReader:
        self._check_open()
        ledger = self._ledgers.get(ledger_id)
        if ledger is None:
            raise LedgerNotFound(f"there is no ledger {ledger_id}")
        ledger.closed_because = ledger.closed_because or "it was opened elsewhere"
        return MemoryLedgerReader(ledger)

    async def delete(self, ledger_id: LedgerId) -> None:
        self._check_open()
        ledger = self._ledgers.pop(ledger_id, None)
        if ledger is not None:
            ledger.deleted = True
            ledger.closed_because = "it was deleted"
            ledger.data.clear()
            ledger.checksums.clear()

    async def close(self) -> None:
        self._closed = True
        for ledger in self._ledgers.values():
            ledger.closed_because = ledger.closed_because or "the store was closed"

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError("the ledger store is closed")


class _Ledger:
    """The entries of one ledger."""

    __slots__ = ("checksums", "closed_because", "data", "deleted", "ledger_id", "size_bytes")

    def __init__(self, ledger_id: LedgerId) -> None:
        self.ledger_id = ledger_id
        self.data: list[bytes] = []
        self.checksums: list[int] = []
        self.size_bytes = 0
        self.closed_because = ""
        self.deleted = False
