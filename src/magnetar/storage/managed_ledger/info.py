"""A snapshot of a managed ledger for statistics. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from magnetar.late_dataclass import dataclass
from magnetar.model.position import Position
from magnetar.storage.codec.ledger_list import SealedLedger
from magnetar.storage.managed_ledger.compacted_ledger import CompactedLedger
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.layout import Layout


class PositionRange(NamedTuple):
    """Entries ``first`` to ``last`` of a ledger."""

    ledger_id: int
    first: int
    last: int


@dataclass(slots=True, frozen=True)
class CursorInfo:
    """A snapshot of a cursor. Its ``ranges`` are acknowledged beyond the mark."""

    name: str
    durable: bool
    mark: Position
    read_position: Position
    entries_since_mark: int
    """The entries up to the read position, and one more when all were read, as in Pulsar."""
    backlog: int
    ranges: tuple[PositionRange, ...]
    properties: dict[str, str]
    moved: bool
    """Whether anything was acknowledged since the log was opened."""


class CompactedLedgerInfo(NamedTuple):
    """What compaction left."""

    ledger_id: int
    entry_count: int
    size_bytes: int


@dataclass(slots=True, frozen=True)
class ManagedLedgerInfo:
    """A snapshot of a managed ledger. Its ``state`` is open, fenced or closed."""

    state: str
    entries_added: int
    entry_count: int
    size_bytes: int
    open_entry_count: int
    open_size_bytes: int
    open_began_ms: int
    last_position: Position
    ledgers: tuple[SealedLedger, ...]
    """The last one has ``sealed_ms`` 0 while it takes appends."""
    cursors: dict[str, CursorInfo]
    compacted: CompactedLedgerInfo | None = None


def describe(
    layout: Layout,
    cursors: Iterable[Cursor],
    *,
    state: str,
    entries_added: int,
    began_ms: int,
    compacted: CompactedLedger | None,
) -> ManagedLedgerInfo:
    """Take a snapshot."""
    return ManagedLedgerInfo(
        state=state,
        entries_added=entries_added,
        entry_count=layout.entry_count,
        size_bytes=layout.size_bytes,
        open_entry_count=layout.open_entry_count,
        open_size_bytes=layout.open_size_bytes,
        open_began_ms=began_ms,
        last_position=layout.last,
        ledgers=tuple(layout.ledgers(0)),
        cursors={cursor.name: _describe_cursor(cursor, layout) for cursor in cursors},
        compacted=None
        if compacted is None
        else CompactedLedgerInfo(compacted.ledger_id, compacted.entry_count, compacted.size_bytes),
    )


def _describe_cursor(cursor: Cursor, layout: Layout) -> CursorInfo:
    ranges = tuple(
        PositionRange(ledger_id, first, last)
        for ledger_id, here in sorted(cursor.acks.ranges.items())
        for first, last in zip(here.starts, here.ends, strict=True)
    )
    return CursorInfo(
        name=cursor.name,
        durable=cursor.durable,
        mark=cursor.mark,
        read_position=cursor.reader.read_position,
        entries_since_mark=layout.entries_between(cursor.mark, cursor.reader.read_position)
        + (cursor.reader.read_position > layout.last),
        backlog=cursor.backlog,
        ranges=ranges,
        properties=dict(cursor.properties),
        moved=bool(cursor.mark_moved_ms or ranges),
    )
