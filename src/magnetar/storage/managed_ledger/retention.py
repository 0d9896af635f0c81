"""Decides which ledgers may be deleted. Pure."""

from collections.abc import Sequence
from typing import Final

from magnetar.model.position import Position
from magnetar.storage.codec.ledger_list import SealedLedger
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings

FOR_EVER: Final = -1
"""A retention time or size of -1 is no limit."""

FAR_AHEAD_MS: Final = 2**62
"""So long no retention is, but the one that is for ever."""


def removable(
    sealed: Sequence[SealedLedger],
    slowest_mark: Position | None,
    limits: ManagedLedgerSettings,
    *,
    size_bytes: int,
    now_ms: int,
) -> list[int]:
    """Return the ids of the sealed ledgers that may be deleted: the oldest ones, or none.

    A ledger may be deleted when every durable cursor has passed it (``slowest_mark`` is None when
    there is none) and retention no longer keeps it: it was sealed longer ago than the time limit,
    or the log, of which ``size_bytes`` are stored, is larger than the size limit. With 0, nothing
    that is acknowledged is kept.
    """
    time_s, excess = limits.retention_time_s, size_bytes - limits.retention_size_bytes
    found: list[int] = []
    for ledger in sealed:
        end = Position(ledger.ledger_id, ledger.last_entry_id)
        if slowest_mark is not None and slowest_mark < end:
            break
        age_ms = now_ms - ledger.sealed_ms
        old = time_s == 0 or FOR_EVER != time_s <= age_ms / 1000
        surplus = limits.retention_size_bytes != FOR_EVER and excess > 0
        if not old and not surplus:
            break
        found.append(ledger.ledger_id)
        excess -= ledger.size_bytes
    return found
