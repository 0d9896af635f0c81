"""Where something is in a topic's log, by what its entries say of themselves."""

from bisect import bisect_left
from typing import Final

from magnetar.broker.topics.transaction_buffer import TransactionBuffer
from magnetar.clock import Clock
from magnetar.message import metadata
from magnetar.message.compaction import last_index
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger

SKIPPED_AT_ONCE_MAX: Final = 1_000
"""Entries that an administrator skips before others are served."""


async def position_at(ledger: ManagedLedger, publish_time_ms: int) -> Position:
    """The first entry published then or later; the end where none was."""
    return await ledger.first_where(
        lambda entry: metadata.publish_time_ms(entry) >= publish_time_ms
    )


async def position_behind(
    ledger: ManagedLedger, cursor: Cursor, count: int | None, clock: Clock
) -> Position:
    """The last of the next ``count`` entries that are not acknowledged yet; None: of all."""
    if count is None or count > cursor.backlog:
        return ledger.last_position
    position, steps = cursor.mark, 0
    while count > 0 and position < ledger.last_position:
        position = ledger.next_position(position)
        count -= not cursor.is_acknowledged(position)
        steps += 1
        if steps % SKIPPED_AT_ONCE_MAX == 0:
            await clock.sleep(0)
    return position


def position_before_last(ledger: ManagedLedger, mark: Position, size_bytes: int) -> Position:
    """The first position from a mark on that about so many bytes follow, or fewer."""
    layout = ledger.layout
    acknowledged, count = layout.entries_through(mark), layout.entries_through(layout.last)
    found = bisect_left(
        range(acknowledged, count),
        -size_bytes,
        key=lambda index: -layout.size_after(layout.position_at(index)),
    )
    if layout.size_after(mark) <= size_bytes or acknowledged == count:
        return mark
    return layout.position_at(min(acknowledged + found, count - 1))


async def publish_time_behind(ledger: ManagedLedger, mark: Position) -> int:
    """When the entry behind a mark-delete position was published, in ms; -1 where none is."""
    # It is not acknowledged, or the mark would have moved past it.
    position = ledger.next_position(mark)
    run = None
    if position <= ledger.last_position:
        run = await ledger.read(position, 1, 1)
    return -1 if run is None else metadata.publish_time_ms(run.data[0])


async def last_message_id(
    ledger: ManagedLedger, transactions: TransactionBuffer | None, *, compacted: bool = False
) -> tuple[Position, int]:
    """The last entry that consumers may get, and the index of its last message (-1: no batch).

    A message of which the last chunk has not come is none: who waits for it may wait for ever.
    ``compacted``: as compaction left the log, where nothing that is shown was published since.
    """
    left = ledger.compacted if compacted else None
    last = ledger.last_visible
    while last.entry_id >= 0 and (left is None or last > left.horizon):
        first = None if transactions is None else transactions.first_aborted(last)
        if first is None:
            run = await ledger.read(last, 1, 1) if ledger.entry_count else None
            if run is None or run.first > last:
                break
            seen = metadata.peek(run.data[0])
            if seen.ends_message:
                return run.first, seen.message_count - 1 if seen.is_batch else -1
        last = ledger.layout.previous_position(first or last)
    entry = None if left is None else await left.last_where(_ends_message)
    return (EARLIEST, -1) if entry is None else (entry.position, last_index(entry.data))


def _ends_message(entry: bytes) -> bool:
    return metadata.peek(entry).ends_message
