"""The records of durable cursors in the metadata store, one for each.

A record is bounded: it has the oldest ``ranges_max`` ranges, as many ack sets, and as many entries'
redelivery counts. After a restart, entries that are left out are delivered again, or counted anew.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from magnetar.errors import VersionMismatch
from magnetar.late_dataclass import dataclass
from magnetar.model.position import Position
from magnetar.storage.codec.cursor import CursorState, Ranges, Redeliveries
from magnetar.storage.managed_ledger.ack_set import AckSet
from magnetar.storage.managed_ledger.context import LogContext
from magnetar.storage.managed_ledger.cursor_record import CursorRecord
from magnetar.storage.managed_ledger.ledger_list import LedgerList
from magnetar.storage.managed_ledger.position_ledger import last_position
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


class StoredCursor(NamedTuple):
    """The state of a cursor, and the version of its record."""

    state: CursorState
    version: int


async def read_cursors(
    name: str, context: LogContext, children: Sequence[str]
) -> dict[str, StoredCursor]:
    """Read the cursors of a log whose records have these names. Raises CorruptEntry."""
    found: dict[str, StoredCursor] = {}
    for start in range(0, len(children), _LOADS_AT_ONCE):
        names = [paths.decode(child) for child in children[start : start + _LOADS_AT_ONCE]]
        loaded = await asyncio.gather(*(_read(paths.cursor(name, each), context) for each in names))
        found |= {each: one for each, one in zip(names, loaded, strict=True) if one is not None}
    return found


async def _read(path: str, context: LogContext) -> StoredCursor | None:
    record, codec = await context.metadata.get(path), context.codec
    if record is None:
        return None
    state = codec.decode_cursor(record.value, source=path)
    if state.kept_in is not None:
        entry = await last_position(context.ledgers, state.kept_in, source=path)
        if entry is not None:
            source = f"{path}, ledger {state.kept_in}"
            state = codec.decode_position(entry, state, source=source)
    return StoredCursor(state, record.version)


@dataclass(slots=True, frozen=True)
class CursorStore:
    """The records of a log's durable cursors, for its owner."""

    name: str
    context: LogContext
    ledger_list: LedgerList

    async def create(self, name: str, state: CursorState) -> CursorRecord:
        """Write the record of a new cursor. Raises Fenced when another broker owns the log."""
        self.ledger_list.check()
        metadata, path = self.context.metadata, paths.cursor(self.name, name)
        value = self.context.codec.encode_cursor(state, name=name)
        try:
            version = await metadata.put(path, value, expected_version=ABSENT)
        except VersionMismatch:
            # A former owner of the log created it meanwhile; what it wrote is out of date.
            await self.ledger_list.verify()
            version = await metadata.put(path, value)
        return self.record(name, StoredCursor(state, version))

    def record(self, name: str, stored: StoredCursor) -> CursorRecord:
        """The record of a cursor, as it was read."""
        return CursorRecord(
            name,
            paths.cursor(self.name, name),
            stored.version,
            context=self.context,
            ledger_list=self.ledger_list,
            kept_in=stored.state.kept_in,
        )
