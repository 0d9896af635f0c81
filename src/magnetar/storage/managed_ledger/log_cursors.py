"""The cursors of one log: loaded when it is opened, created, found and deleted."""

import asyncio
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from magnetar.errors import AlreadyExists, MagnetarError
from magnetar.late_dataclass import dataclass
from magnetar.model.position import Position
from magnetar.storage.codec.cursor import CursorState
from magnetar.storage.managed_ledger.compaction import COMPACTION_CURSOR, Compaction
from magnetar.storage.managed_ledger.context import LogContext
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.cursor_record import CursorRecord
from magnetar.storage.managed_ledger.cursor_saver import Trimmer
from magnetar.storage.managed_ledger.cursor_store import CursorStore, StoredCursor
from magnetar.storage.managed_ledger.ledger_list import LedgerList
from magnetar.storage.managed_ledger.log_reader import LogReader

_NO_TASKS: Final[dict[str, asyncio.Task[Cursor | MagnetarError]]] = {}  # Of logs at rest.


@dataclass(slots=True, eq=False)
class LogCursors:
    """The cursors of one log, durable and not."""

    name: str
    by_name: dict[str, Cursor]
    ledger_list: LedgerList
    log: LogReader
    trimmer: Trimmer  # It is called after cursors moved.
    context: LogContext
    ranges_max: int  # Of each cursor's record.
    _creating: dict[str, asyncio.Task[Cursor | MagnetarError]] = field(
        default_factory=lambda: _NO_TASKS, init=False
    )

    async def load(self, stored: Mapping[str, StoredCursor]) -> None:
        """Load the durable ones, and what compaction left."""
        # First the one that tells whether marks may lie in what was trimmed.
        for name in sorted(stored, key=lambda each: each != COMPACTION_CURSOR):
            state, record = stored[name].state, self._store().record(name, stored[name])
            cursor = self._cursor(name, state.mark, record, state.properties)
            cursor.restore(state)
            self.by_name[name] = cursor
            if name == COMPACTION_CURSOR:
                await self.compaction(cursor).load()

    def compaction(self, cursor: Cursor) -> Compaction:
        """Return what compacts the log; ``cursor`` is the one of that name."""
        codec = self.context.codec
        return Compaction(cursor, self.log, codec, verify=self.ledger_list.verify)

    async def open(self, name: str, initial: Position, properties: dict[str, str]) -> Cursor:
        """Find or create a durable one, as ``ManagedLedger.open_cursor`` says."""
        cursor = self.by_name.get(name)
        if cursor is None:
            creating = self._creating.get(name)
            if creating is None:
                creating = self.context.tasks.spawn(
                    f"create cursor {name}", self._create(name, initial, properties)
                )
                if self._creating is _NO_TASKS:
                    self._creating = {}
                self._creating[name] = creating
            created = await asyncio.shield(creating)
            if isinstance(created, MagnetarError):
                raise created
            return created
        if not cursor.durable:
            raise AlreadyExists(f"Cursor {name} of {self.name} is a reader's: choose another name")
        return cursor

    def open_reader(self, name: str, start: Position) -> Cursor:
        """Create one that is not durable, as ``ManagedLedger.open_reader`` says."""
        if name in self.by_name or name in self._creating:
            raise AlreadyExists(f"Cursor {name} of {self.name} exists: choose another name")
        cursor = self.by_name[name] = self._cursor(name, self.log.mark_before(start), None, {})
        return cursor

    async def delete(self, name: str) -> None:
        """Delete one, as ``ManagedLedger.delete_cursor`` says."""
        cursor = self.by_name.pop(name, None)
        if cursor is None:
            return
        if name == COMPACTION_CURSOR:
            self.log.compacted = None
        try:
            await cursor.delete()
        except MagnetarError:
            self.by_name.setdefault(name, cursor)
            raise
        if cursor.durable:
            self.context.saver.trim_soon(self.trimmer)

    async def delete_all(self) -> None:
        """Delete the cursors of a log that is deleted. Raises what the stores raise."""
        for cursor in list(self.by_name.values()):
            await cursor.delete()
        self.by_name.clear()

    async def _create(
        self, name: str, initial: Position, properties: dict[str, str]
    ) -> Cursor | MagnetarError:
        """Return an error rather than raise it: the caller for the cursor raises it."""
        try:
            mark = self.log.mark_before(initial)
            record = await self._store().create(name, CursorState(mark, properties=properties))
            cursor = self.by_name[name] = self._cursor(name, mark, record, properties)
            # The log may have been trimmed while the record was written.
            cursor.clamp()
        except MagnetarError as error:
            return error
        finally:
            del self._creating[name]
        return cursor

    def _store(self) -> CursorStore:
        """What loads and creates records: most logs have few cursors, and need it once."""
        return CursorStore(self.name, self.context, self.ledger_list)

    def _cursor(
        self, name: str, mark: Position, record: CursorRecord | None, properties: dict[str, str]
    ) -> Cursor:
        return Cursor(
            name,
            mark,
            trimmer=self.trimmer,
            log=self.log,
            saver=self.context.saver,
            record=record,
            properties=properties,
            ranges_max=self.ranges_max,
        )
