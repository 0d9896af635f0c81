"""Counts what a subscription has not acknowledged, by reading it: only so are messages counted."""

from typing import Final

from magnetar.broker.topics.subscriptions.consumer import messages_of
from magnetar.broker.topics.subscriptions.entry_delivery import ack_sets_of
from magnetar.clock import Clock
from magnetar.late_dataclass import dataclass
from magnetar.message.entry_traits import EntryTraits, traits_of
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger

_READ_ENTRIES: Final = 1_000
_READ_BYTES: Final = 1024 * 1024


@dataclass(slots=True)
class BacklogCount:
    """Entries, and the messages in them, that are not acknowledged."""

    entries: int = 0
    messages: int = 0  # Those of a batch that are acknowledged by themselves do not count.
    first: Position | None = None
    last: Position | None = None
    aborted: bool = False  # It was too much: there is more behind ``last``.


async def count_backlog(
    ledger: ManagedLedger,
    cursor: Cursor,
    start: Position | None,
    *,
    entries_max: int,
    time_s_max: float,
    clock: Clock,
) -> BacklogCount:
    """Count from ``start`` on, or from the mark. Raises what ``ManagedLedger.read`` raises.

    As in Pulsar all entries count, as they do in ``Cursor.backlog``: also markers, those of aborted
    transactions, and what is not committed yet.
    """
    found, until = BacklogCount(), clock.now() + time_s_max
    position = ledger.next_position(cursor.mark) if start is None else start
    while position <= ledger.last_position:
        if found.entries >= entries_max or clock.now() >= until:
            found.aborted = True
            break
        wanted = min(_READ_ENTRIES, entries_max - found.entries)
        run = await ledger.read(position, wanted, _READ_BYTES)
        if run is None:
            break
        position = ledger.next_position(run.last)
        ids = cursor.acks.missing(
            run.ledger_id, list(range(run.first_entry_id, run.last_entry_id + 1))
        )
        if not ids:
            continue
        picked = [entry_id - run.first_entry_id for entry_id in ids]
        traits = run.traits if isinstance(run.traits, EntryTraits) else traits_of(run.data)
        found.entries += len(ids)
        found.messages += sum(messages_of(traits, picked, ack_sets_of(cursor, run, picked)))
        found.first = found.first or Position(run.ledger_id, ids[0])
        found.last = Position(run.ledger_id, ids[-1])
    return found
