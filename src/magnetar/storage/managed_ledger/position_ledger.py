"""The ledger of a cursor whose position is too large for its record: its last entry counts.

An entry is the whole position, with all that is acknowledged. Only the newest is of use, so the
ledger is replaced when it is large. What ends without a word leaves a ledger that its next owner
recovers, as any other; where there is nothing in it, the mark in the record is where to start.
"""

import logging
from contextlib import suppress
from typing import Final

from magnetar import inner
from magnetar.errors import LedgerNotFound, StorageError
from magnetar.storage.ledger.appending import append_durably
from magnetar.storage.ledger.store import LedgerId, LedgerOptions, LedgerStore, LedgerWriter
from magnetar.storage.managed_ledger.settings import ledger_metadata

log = logging.getLogger(__name__)

POSITIONS_SIZE_MAX: Final = 16 * 1024 * 1024
"""The bytes of a ledger that takes no more positions."""


class PositionLedger:
    """The positions of one cursor: the ledger that its record names, and the next one."""

    __slots__ = ("_cursor", "_former", "_ledgers", "_log", "_writer")

    def __init__(
        self, log_name: str, cursor: str, ledgers: LedgerStore, kept_in: int | None
    ) -> None:
        self._log = log_name
        self._cursor = cursor
        self._ledgers = ledgers
        self._writer: LedgerWriter | None = None
        self._former: tuple[int, ...] = ()  # To be deleted.
        if kept_in is not None:
            self._former = (kept_in,)

    @property
    def appended_to(self) -> bool:
        return self._writer is not None

    async def append(self, position: bytes) -> int:
        """Append, and return the ledger's id when that is durable. One at a time.

        Raises what the ledger store raises; then the next one goes to another ledger.
        """
        writer = self._writer
        if writer is None or writer.end.size_bytes >= POSITIONS_SIZE_MAX:
            await self._end()
            metadata = ledger_metadata(self._log, self._cursor)
            writer = await self._ledgers.create(LedgerOptions(metadata=metadata))
            self._writer = writer
        try:
            await append_durably(writer, [position], [inner.checksum(position)])
        except StorageError:
            await self._end()
            raise
        return writer.ledger_id

    async def delete_former(self) -> None:
        """Delete the ledgers that the record names no longer. Raises what the store raises."""
        while self._former:
            await self._ledgers.delete(LedgerId(self._former[0]))
            self._former = self._former[1:]

    async def delete(self) -> None:
        """Delete all: the position is elsewhere. Raises what the ledger store raises."""
        await self._end()
        await self.delete_former()

    async def close(self) -> None:
        """Append no more, so that nobody must recover it."""
        if self._writer is not None:
            with suppress(StorageError):
                await self._writer.close()

    async def _end(self) -> None:
        await self.close()
        if self._writer is not None:
            self._former = (*self._former, self._writer.ledger_id)
            self._writer = None


async def last_position(ledgers: LedgerStore, ledger_id: int, *, source: str) -> bytes | None:
    """Return the last entry of the ledger that a record names, and fence whoever appends to it.

    Returns None, and says so, where it is gone or empty. Raises what the ledger store raises.
    """
    try:
        reader = await ledgers.open(LedgerId(ledger_id))
    except LedgerNotFound:
        last = -1
    else:
        last = reader.end.last_entry_id
        if last >= 0:
            return (await reader.read(last, 1, 1)).data[0]
    log.warning(
        "cursor.ledger_missing path=%s ledger_id=%d: what was acknowledged since its record was "
        "written is delivered again",
        source,
        ledger_id,
    )
    return None
