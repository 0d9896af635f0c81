"""Ledgers that belong to a durable cursor: its record names them, and deletes them with it."""

from magnetar.storage.ledger.store import LedgerId, LedgerOptions, LedgerReader, LedgerWriter
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.settings import ledger_metadata


class CursorLedgers:
    """The ledgers of one cursor. What is in them only their owner knows."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._store = cursor.ledger_store

    @property
    def ids(self) -> tuple[int, ...]:
        """Its ledgers, oldest first."""
        return self._cursor.ledger_ids

    async def create(self) -> LedgerWriter:
        """A new ledger. Raises Fenced when another broker owns the log, what the stores raise."""
        cursor = self._cursor
        metadata = ledger_metadata(cursor.trimmer.name, cursor.name)
        writer = await self._store.create(LedgerOptions(metadata=metadata))
        try:
            await cursor.set_ledgers((*self.ids, writer.ledger_id))
        except BaseException:
            cursor.ledger_ids = self._without(writer.ledger_id)
            await self._store.delete(writer.ledger_id)
            raise
        return writer

    async def open(self, ledger_id: int) -> LedgerReader:
        """Open one of them. Raises LedgerNotFound."""
        return await self._store.open(LedgerId(ledger_id))

    async def delete(self, ledger_id: int) -> None:
        """Delete one of them. Raises as ``create``."""
        await self._store.delete(LedgerId(ledger_id))
        await self._cursor.set_ledgers(self._without(ledger_id))

    def _without(self, ledger_id: int) -> tuple[int, ...]:
        return tuple(each for each in self.ids if each != ledger_id)
