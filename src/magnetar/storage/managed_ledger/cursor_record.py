"""The record of one durable cursor, and the ledger that has its position where that is large."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from magnetar.errors import MagnetarError, StorageError, VersionMismatch
from magnetar.model.position import EARLIEST
from magnetar.storage.codec.cursor import CursorState
from magnetar.storage.managed_ledger.context import LogContext
from magnetar.storage.managed_ledger.ledger_list import LedgerList
from magnetar.storage.managed_ledger.own_write import put_or_find
from magnetar.storage.managed_ledger.position_ledger import PositionLedger
from magnetar.storage.metadata.store import ABSENT


class CursorRecord:
    """The record of one cursor. It is written by one write at a time."""

    __slots__ = (
        "_context",
        "_ended",
        "_ledger",
        "_list",
        "_name",
        "_path",
        "_pointer",
        "_saved",
        "_version",
        "_wanted",
        "_writing",
    )

    def __init__(
        self,
        name: str,
        path: str,
        version: int,
        *,
        context: LogContext,
        ledger_list: LedgerList,
        kept_in: int | None = None,
    ) -> None:
        """``kept_in`` is the ledger that the record names."""
        self._name = name
        self._path = path
        self._version = version
        self._context = context
        self._list = ledger_list
        self._ledger = PositionLedger(ledger_list.name, name, context.ledgers, kept_in)
        self._pointer = b""  # What the record says of the ledger, but for the mark.
        self._wanted = 0  # How often ``save`` was called,
        self._saved = 0  # and how many of these calls are answered.
        self._writing: asyncio.Task[MagnetarError | None] | None = None
        self._ended = False

    async def save(self, state: Callable[[], CursorState]) -> None:
        """Write the state as it is now, or as it is later, and return when that is durable.

        Raises Fenced when another broker owns the log, and what the metadata store raises.
        Cancelling the await does not take the write back.
        """
        self._wanted += 1
        mine = self._wanted
        while self._saved < mine and not self._ended:
            if self._writing is None:
                self._writing = self._context.tasks.spawn("save cursor", self._write(state))
            error = await asyncio.shield(self._writing)
            if error is not None:
                raise error

    def ranges_size(self, state: CursorState) -> int:
        """Return how many bytes the acknowledged ranges of a state take in the record."""
        return self._context.codec.ranges_size(state)

    async def close(self) -> None:
        """Write no more."""
        self._ended = True
        await self._ledger.close()

    async def delete(self) -> None:
        """Remove the record, for good: no save will bring it back.

        Raises what the metadata store raises; then saves go on.
        """
        self._ended = True
        if self._writing is not None:
            await asyncio.wait([self._writing])
        try:
            await self._context.metadata.delete(self._path)
        except MagnetarError:
            self._ended = False
            raise
        await self._ledger.delete()

    async def _write(self, state: Callable[[], CursorState]) -> MagnetarError | None:
        """Return an error rather than raise it: the caller of the save raises it."""
        upto = self._wanted
        try:
            try:
                await self._put(state())
            except VersionMismatch:
                # A former owner of the log wrote once more, or we are the former owner.
                await self._list.verify()
                record = await self._context.metadata.get(self._path)
                self._version = record.version if record else ABSENT
                await self._put(state())
            self._saved = upto
        except MagnetarError as error:
            return error
        finally:
            self._writing = None
        return None

    async def _put(self, state: CursorState) -> None:
        """Write a position that goes to a ledger there until the log is closed: not to and fro."""
        fits = self._context.codec.fits_record(state, name=self._name)
        if self._ledger.appended_to or not fits:
            await self._put_elsewhere(state)
        else:
            await self._put_record(state)
            await self._ledger.delete()

    async def _put_elsewhere(self, state: CursorState) -> None:
        """Append the position to the ledger; let the record name it if it does not yet."""
        position = self._context.codec.encode_position(state, name=self._name)
        try:
            state = replace(state, kept_in=await self._ledger.append(position))
        except StorageError:
            await self._list.verify()  # Another broker may have fenced the ledger.
            raise
        pointer = self._encoded(replace(state, mark=EARLIEST))
        if pointer != self._pointer:
            await self._put_record(state)
            self._pointer = pointer
            await self._ledger.delete_former()

    async def _put_record(self, state: CursorState) -> None:
        self._version = await put_or_find(
            self._context.metadata, self._path, self._encoded(state), expected_version=self._version
        )

    def _encoded(self, state: CursorState) -> bytes:
        return self._context.codec.encode_cursor(state, name=self._name)
