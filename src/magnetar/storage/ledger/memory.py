"""A ledger store in memory: for tests, and for ``standalone --memory``. Nothing survives it."""

from magnetar.errors import EntryNotFound, LedgerFenced, LedgerNotFound
from magnetar.storage.ledger.store import Entries, LedgerEnd, LedgerId


class MemoryLedger:
    """A ledger, its writer and its reader in one."""

    def __init__(self, ledger_id: LedgerId) -> None:
        self._ledger_id = ledger_id
        self._data: list[bytes] = []
        self._checksums: list[int] = []
        self._size_bytes = 0
        self._fenced = False

    @property
    def ledger_id(self) -> LedgerId:
        return self._ledger_id

    @property
    def end(self) -> LedgerEnd:
        return LedgerEnd(len(self._data) - 1, self._size_bytes)

    async def append(self, data: list[bytes], checksums: list[int]) -> int:
        if self._fenced:
            raise LedgerFenced(f"ledger {self._ledger_id} takes no more entries")
        first = len(self._data)
        self._data += data
        self._checksums += checksums
        self._size_bytes += sum(map(len, data))
        return first

    async def read(self, first: int, count_max: int, bytes_max: int) -> Entries:
        if not 0 <= first < len(self._data):
            raise EntryNotFound(
                f"ledger {self._ledger_id} has no entry {first}: it ends at {self.end.last_entry_id}"
            )
        stop = first
        size = 0
        for entry in self._data[first : first + count_max]:
            size += len(entry)
            if stop > first and size > bytes_max:
                break
            stop += 1
        return Entries(self._data[first:stop], self._checksums[first:stop])

    async def close(self) -> LedgerEnd:
        self.fence()
        return self.end

    def fence(self) -> None:
        """Take no more entries."""
        self._fenced = True


class MemoryLedgerStore:
    """Ledgers in a dictionary."""

    def __init__(self) -> None:
        self._ledgers: dict[LedgerId, MemoryLedger] = {}
        self._next_id = 0
        self._closed = False

    async def create(self) -> MemoryLedger:
        if self._closed:
            raise LedgerFenced("the ledger store is closed")
        ledger = MemoryLedger(LedgerId(self._next_id))
        self._ledgers[ledger.ledger_id] = ledger
        self._next_id += 1
        return ledger

    async def open(self, ledger_id: LedgerId) -> MemoryLedger:
        ledger = self._ledgers.get(ledger_id)
        if ledger is None:
            raise LedgerNotFound(f"ledger {ledger_id} does not exist")
        ledger.fence()
        return ledger

    async def delete(self, ledger_id: LedgerId) -> None:
        ledger = self._ledgers.pop(ledger_id, None)
        if ledger is not None:
            ledger.fence()

    async def close(self) -> None:
        self._closed = True
        for ledger in self._ledgers.values():
            ledger.fence()
