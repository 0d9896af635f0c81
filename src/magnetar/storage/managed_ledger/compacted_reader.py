"""Reads a log as compaction left it: up to the horizon the compacted ledger, then the log itself.

A cursor reads through this instead of through its log when its consumer asked for it.
"""

from bisect import bisect_left

from magnetar.errors import StorageError
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.cache import part_of
from magnetar.storage.managed_ledger.compacted_ledger import CompactedLedger
from magnetar.storage.managed_ledger.layout import Layout
from magnetar.storage.managed_ledger.log_reader import LogReader
from magnetar.storage.managed_ledger.run import EntryRun


class CompactedReader:
    """One reader's way through one log. It keeps the block that it read last."""

    def __init__(self, log: LogReader) -> None:
        self.log = log
        self._of: CompactedLedger | None = None  # The block is a part of this.
        self._from = Position(0, 0)  # It has all entries from here on, up to its last one.
        self._runs: list[EntryRun] = []
        self._following = Position(0, 0)  # Right after the last one; that is
        self._next_index = 0  # here in the compacted ledger.
        self._skipped: list[tuple[Position, Position]] = []

    @property
    def layout(self) -> Layout:
        """The ledgers of the log itself."""
        return self.log.layout

    @property
    def visible_to(self) -> Position | None:
        """The last entry that readers may see; None: all of them."""
        return self.log.visible_to

    @property
    def last_visible(self) -> Position:
        """The last entry that readers may see."""
        return self.log.last_visible

    def next_position(self, position: Position) -> Position:
        """Return where to read on behind ``position``; an entry need not be there."""
        compacted = self.log.compacted
        if compacted is None or position >= compacted.horizon:
            return self.log.next_position(position)
        return _after(position)

    def locate(self, position: Position) -> Position | None:
        """Return where to read for ``position``; an entry need not be there."""
        compacted = self.log.compacted
        if compacted is None or position > compacted.horizon:
            return self.log.locate(position)
        return position

    def cached(self, position: Position, entries_max: int, bytes_max: int) -> EntryRun | None:
        """Return the run at ``position``, or at the first entry after it; None if not in memory."""
        compacted = self.log.compacted
        if compacted is None or position > compacted.horizon:
            return self.log.cached(position, entries_max, bytes_max)
        if compacted is not self._of or position < self._from:
            return None
        index = bisect_left(self._runs, position, key=lambda run: run.last)
        if index == len(self._runs):
            return None
        run = self._runs[index]
        start = 0
        if run.ledger_id == position.ledger_id:
            start = max(position.entry_id - run.first_entry_id, 0)
        return part_of(run, start, entries_max, bytes_max)

    async def read_uncached(
        self, position: Position, entries_max: int, bytes_max: int
    ) -> EntryRun | None:
        """Read as ``read`` does: what is compacted lies together."""
        return await self.read(position, entries_max, bytes_max)

    async def read(self, position: Position, entries_max: int, bytes_max: int) -> EntryRun | None:
        """Read as ``LogReader.read`` does. Raises what that and ``CompactedLedger`` raise."""
        while (compacted := self.log.compacted) is not None and position <= compacted.horizon:
            run = self.cached(position, entries_max, bytes_max)
            if run is not None:
                return run
            try:
                follows = compacted is self._of and position == self._following
                index = self._next_index if follows else await compacted.index_of(position)
                block = await compacted.block(index)
            except StorageError:
                if compacted is not self.log.compacted:
                    continue  # It was compacted again meanwhile.
                raise
            firsts = [run.first for run in block.runs]
            ends = [_after(run.last) for run in block.runs]
            if not firsts:
                after = _after(compacted.horizon)
                self._skipped, position = [(position, after)], after
                break
            self._skipped = list(zip([position, *ends], firsts, strict=False))
            self._of, self._from, self._following = compacted, position, ends[-1]
            self._runs, self._next_index = block
        return await self.log.read(position, entries_max, bytes_max)

    def take_skipped(self) -> list[tuple[Position, Position]]:
        """Return what compaction removed around what was read: from where, and up to where."""
        skipped, self._skipped = self._skipped, []
        return skipped

    def holding(self, ledger_id: int, entry_id: int) -> EntryRun | None:
        """Return None: what is delivered again is read again."""
        return None

    def last_entry_id(self, ledger_id: int) -> int:
        return self.log.last_entry_id(ledger_id)


def _after(position: Position) -> Position:
    return Position(position.ledger_id, position.entry_id + 1)
