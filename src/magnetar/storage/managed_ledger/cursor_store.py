"""The records of durable cursors in the metadata store, one for each.

A record is bounded: it has the oldest ``ranges_max`` ranges, as many ack sets, and as many entries'
redelivery counts. After a restart, entries that are left out are delivered again, or counted anew.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from magnetar.errors import MagnetarError, VersionMismatch
from magnetar.model.position import Position
from magnetar.storage.codec.cursor import CursorState, Ranges, Redeliveries
from magnetar.storage.managed_ledger.ack_set import AckSet
from magnetar.storage.managed_ledger.context import LogContext
from magnetar.storage.managed_ledger.ledger_list import LedgerList
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import ABSENT

_LOADS_AT_ONCE = 64


def state_of(
    acks: AckSet,
    properties: dict[str, str],
    *,
    ranges_max: int,
    unknown: Mapping[str, Any] | None = None,
    ledger_ids: tuple[int, ...] = (),
) -> CursorState:
    """Return what is written of a cursor."""
    ranges: Ranges = {}
    left = ranges_max
    for ledger_id in sorted(acks.ranges):
        if left <= 0:
            break
        here = acks.ranges[ledger_id]
        ranges[ledger_id] = here.starts[:left], here.ends[:left]
        left -= len(here)
    batches = [
        (Position(ledger_id, entry_id), words)
        for ledger_id, entries in sorted(acks.batches.items())
        for entry_id, words in sorted(entries.items())
    ]
    redeliveries: Redeliveries = {}
    left = ranges_max
    for ledger_id in sorted(acks.redeliveries):
        if left <= 0:
            break
        counts = acks.redeliveries[ledger_id]
        entry_ids = sorted(counts)[:left]
        redeliveries[ledger_id] = entry_ids, list(map(counts.__getitem__, entry_ids))
        left -= len(entry_ids)
    return CursorState(
        acks.mark,
        ranges,
        batches[:ranges_max],
        redeliveries,
        properties,
        dict(unknown or {}),
        ledger_ids,
    )


class CursorRecord:
    """The record of one cursor. It is written by one write at a time."""

    def __init__(self, store: "CursorStore", path: str, version: int) -> None:
        self._store = store
        self._path = path
        self._version = version
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
                self._writing = self._store.context.tasks.spawn("save cursor", self._write(state))
            error = await asyncio.shield(self._writing)
            if error is not None:
                raise error

    def ranges_size(self, state: CursorState) -> int:
        """Return how many bytes the acknowledged ranges of a state take in the record."""
        return self._store.context.codec.ranges_size(state)

    def close(self) -> None:
        """Write no more."""
        self._ended = True

    async def delete(self) -> None:
        """Remove the record, for good: no save will bring it back.

        Raises what the metadata store raises; then saves go on.
        """
        self._ended = True
        if self._writing is not None:
            await asyncio.wait([self._writing])
        try:
            await self._store.context.metadata.delete(self._path)
        except MagnetarError:
            self._ended = False
            raise

    async def _write(self, state: Callable[[], CursorState]) -> MagnetarError | None:
        """Return an error rather than raise it: the caller of the save raises it."""
        upto = self._wanted
        try:
            try:
                await self._put(state())
            except VersionMismatch:
                # A former owner of the log wrote once more, or we are the former owner.
                await self._store.ledger_list.verify()
                record = await self._store.context.metadata.get(self._path)
                self._version = record.version if record else ABSENT
                await self._put(state())
            self._saved = upto
        except MagnetarError as error:
            return error
        finally:
            self._writing = None
        return None

    async def _put(self, state: CursorState) -> None:
        store = self._store
        self._version = await store.context.metadata.put(
            self._path, store.context.codec.encode_cursor(state), expected_version=self._version
        )


@dataclass(slots=True, frozen=True)
class CursorStore:
    """The records of a log's durable cursors."""

    name: str
    context: LogContext
    ledger_list: LedgerList

    async def load(self) -> dict[str, tuple[CursorState, CursorRecord]]:
        """Read every durable cursor, by name. Raises CorruptEntry."""
        found: dict[str, tuple[CursorState, CursorRecord]] = {}
        metadata = self.context.metadata
        children = await metadata.children(paths.managed_ledger(self.name))
        for start in range(0, len(children), _LOADS_AT_ONCE):
            names = [paths.decode(child) for child in children[start : start + _LOADS_AT_ONCE]]
            records = await asyncio.gather(*(metadata.get(self._path(name)) for name in names))
            for name, record in zip(names, records, strict=True):
                if record is not None:
                    state = self.context.codec.decode_cursor(record.value, source=self._path(name))
                    found[name] = state, CursorRecord(self, self._path(name), record.version)
        return found

    async def create(self, name: str, state: CursorState) -> CursorRecord:
        """Write the record of a new cursor. Raises Fenced when another broker owns the log."""
        self.ledger_list.check()
        metadata, value = self.context.metadata, self.context.codec.encode_cursor(state)
        try:
            version = await metadata.put(self._path(name), value, expected_version=ABSENT)
        except VersionMismatch:
            # A former owner of the log created it meanwhile; what it wrote is out of date.
            await self.ledger_list.verify()
            version = await metadata.put(self._path(name), value)
        return CursorRecord(self, self._path(name), version)

    def _path(self, name: str) -> str:
        return paths.cursor(self.name, name)
