"""What compaction left of a log: one ledger with the entries that stayed, in their order.

They are read as runs, with the positions that they have in the log.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from magnetar.model.position import Position
from magnetar.storage.codec.codec import Codec
from magnetar.storage.codec.compacted_entry import CompactedEntry
from magnetar.storage.ledger.store import LedgerReader
from magnetar.storage.managed_ledger.run import EntryRun

BLOCK_ENTRIES_MAX: Final = 1_000
BLOCK_BYTES_MAX: Final = 1024 * 1024
"""How much is read at once, and kept in memory by the reader."""


class Block(NamedTuple):
    """Consecutive entries of a compacted ledger."""

    runs: list[EntryRun]
    """They ascend; a run ends where the next entry in the log did not stay."""
    next_index: int
    """Where the ledger goes on."""


class CompactedLedger:
    """The entries up to ``horizon``, which was the last one when the log was compacted."""

    __slots__ = ("_codec", "_reader", "horizon")

    def __init__(self, reader: LedgerReader | None, horizon: Position, codec: Codec) -> None:
        """``reader`` is None where nothing stayed, and no ledger was kept for it."""
        self._reader = reader
        self._codec = codec
        self.horizon = horizon

    @property
    def ledger_id(self) -> int:
        """Return its id; -1 where there is none."""
        return -1 if self._reader is None else self._reader.ledger_id

    @property
    def entry_count(self) -> int:
        return 0 if self._reader is None else self._reader.end.last_entry_id + 1

    @property
    def size_bytes(self) -> int:
        return 0 if self._reader is None else self._reader.end.size_bytes

    async def index_of(self, position: Position) -> int:
        """Return the index of the first entry at or after ``position``. Raises as ``block``."""
        return await self._first_where(lambda entry: entry.position >= position)

    async def first_where(self, test: Callable[[bytes], bool]) -> Position | None:
        """Search for the first entry that passes a test, which all that follow must pass as well.

        Returns None when none passes. Raises what ``block`` raises.
        """
        index = await self._first_where(lambda entry: test(entry.data))
        return (await self._entry(index)).position if index < self.entry_count else None

    async def last_where(self, test: Callable[[bytes], bool]) -> CompactedEntry | None:
        """Return the last entry that passes a test, or None. Raises what ``block`` raises."""
        for index in reversed(range(self.entry_count)):
            if test((entry := await self._entry(index)).data):
                return entry
        return None

    async def block(self, index: int) -> Block:
        """Read from the entry at ``index`` on; nothing at the end.

        Raises CorruptEntry, and what the ledger store raises.
        """
        if self._reader is None or index >= self.entry_count:
            return Block([], index)
        found = await self._reader.read(index, BLOCK_ENTRIES_MAX, BLOCK_BYTES_MAX)
        return Block(
            _runs(list(map(self._codec.decode_compacted, found.data))), index + len(found.data)
        )

    async def _first_where(self, test: Callable[[CompactedEntry], bool]) -> int:
        low, high = 0, self.entry_count
        while low < high:
            middle = (low + high) // 2
            if test(await self._entry(middle)):
                high = middle
            else:
                low = middle + 1
        return low

    async def _entry(self, index: int) -> CompactedEntry:
        assert self._reader is not None, "an empty ledger has no entries"
        return self._codec.decode_compacted((await self._reader.read(index, 1, 1)).data[0])


def _runs(entries: Sequence[CompactedEntry]) -> list[EntryRun]:
    runs: list[EntryRun] = []
    start = 0
    for index in range(1, len(entries) + 1):
        if index < len(entries):
            (ledger_id, entry_id), (following, next_id) = entries[index - 1][0], entries[index][0]
            if ledger_id == following and entry_id + 1 == next_id:
                continue
        part = entries[start:index]
        ledger_id, first = part[0].position
        data, checksums = [each.data for each in part], [each.checksum for each in part]
        runs.append(EntryRun(ledger_id, first, data, checksums))
        start = index
    return runs
