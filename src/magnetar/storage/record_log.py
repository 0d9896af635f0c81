"""A record log: what a broker must not forget, as records in a managed ledger of its own.

Records are bytes, and mean something to their owner only. The owner appends them, reads all of them
again when it starts, and says up to which of them it needs none any more.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Final

from magnetar.errors import MagnetarError
from magnetar.inner import checksum
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.managed_ledger.cache import EntryCache
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.entries import Entries
from magnetar.storage.managed_ledger.info import ManagedLedgerInfo
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger
from magnetar.storage.managed_ledger.managed_ledger_factory import ManagedLedgerFactory
from magnetar.storage.managed_ledger.run import EntryRun

READ_RECORDS_MAX: Final = 1_000
"""A replay hands out so many records at once, at most."""

_READ_BYTES_MAX: Final = 1024 * 1024

_Waiting = tuple[list[bytes], asyncio.Future[Position]]


class RecordLog:
    """The record log of one owner. Once an append failed it must be closed and opened again."""

    def __init__(self, ledger: ManagedLedger, cursor: Cursor) -> None:
        """For ``open_record_log``."""
        self._ledger = ledger
        self._cursor = cursor
        self._inbox: list[_Waiting] = []
        self._storing: list[list[_Waiting]] = []  # The appends under way, in order.

    @property
    def name(self) -> str:
        """The name of its managed ledger."""
        return self._ledger.name

    def info(self) -> ManagedLedgerInfo:
        """Take a snapshot for statistics."""
        return self._ledger.info()

    @property
    def record_count(self) -> int:
        """How many records were not trimmed."""
        return self._cursor.backlog

    @property
    def trimmed_to(self) -> Position:
        """All records up to there are trimmed."""
        return self._cursor.mark

    @property
    def last_position(self) -> Position:
        """The last record that was appended, even if it is trimmed."""
        return self._ledger.last_position

    def append(self, records: list[bytes]) -> asyncio.Future[Position]:
        """Append at least one record. The answer is where the last one is, when all are durable.

        They are stored one after the other, all in one ledger, behind those of earlier calls. The
        answer is Fenced when they may not be durable; then every later append is answered so, too.
        Who no longer waits for the answer does not take the records back. The list must not be
        changed any more.
        """
        answer: asyncio.Future[Position] = asyncio.get_running_loop().create_future()
        self._inbox.append((records, answer))
        self._store()
        return answer

    async def replay(self) -> AsyncIterator[EntryRun]:
        """Hand out all records that there are now, as runs, from the oldest one on.

        A crash may bring back some that were trimmed last. Raises what the ledger store raises.
        """
        position, upto = self._ledger.next_position(self._cursor.mark), self.last_position
        while position <= upto:
            run = await self._ledger.read_uncached(position, READ_RECORDS_MAX, _READ_BYTES_MAX)
            if run is None:
                return
            yield run
            position = Position(run.ledger_id, run.last_entry_id + 1)

    def trim(self, upto: Position) -> None:
        """Forget all records up to a position, soon."""
        self._cursor.acknowledge_cumulative(upto)

    async def close(self) -> None:
        """Store what was appended, and take no more. Raises what the stores raise."""
        await self._ledger.close()

    async def delete(self) -> None:
        """Close the log, and delete it with all its records. Raises what the stores raise."""
        await self._ledger.delete()

    def _store(self) -> None:
        """Append all that waits, unless the ledger asks to wait for the appends under way."""
        if not self._inbox or (self._storing and not self._ledger.takes_more):
            return
        waiting, self._inbox = self._inbox, []
        self._storing.append(waiting)
        data = [record for records, _ in waiting for record in records]
        entries = Entries(data, list(map(checksum, data)), None, sum(map(len, data)))
        self._ledger.append(entries, self._stored)

    def _stored(self, ledger_id: int, first: int, error: MagnetarError | None) -> None:
        for records, answer in self._storing.pop(0):
            first += len(records)
            if answer.cancelled():
                continue
            if error is None:
                answer.set_result(Position(ledger_id, first - 1))
            else:
                answer.set_exception(error)
        self._store()


async def open_record_log(
    ledgers: ManagedLedgerFactory, name: str, *, cursor_name: str
) -> RecordLog:
    """Take over the record log in the managed ledger ``name``, or create it.

    Whoever had it open before can no longer append. What is trimmed is known by the cursor
    ``cursor_name``. Raises as ``ManagedLedgerFactory.open``.
    """
    settings = replace(ledgers.settings, retention_time_s=0, retention_size_bytes=0)
    # Nobody reads records but a replay: they must not push entries of topics out of the cache.
    ledger = await ledgers.open(name, settings, cache=EntryCache(0))
    return RecordLog(ledger, await ledger.open_cursor(cursor_name, EARLIEST))
