"""Decides which ledgers may be deleted. Pure."""

from collections.abc import Sequence
from typing import Final

from magnetar.model.position import Position
from magnetar.storage.codec.ledger_list import SealedLedger

FOR_EVER: Final = -1
"""A retention time or size of -1 is no limit."""


def removable(
    sealed: Sequence[SealedLedger],
    slowest_mark: Position | None,
    *,
    size_bytes: int,
    now_ms: int,
    retention_time_s: int,
    retention_size_bytes: int,
) -> int:
    """Return how many of the oldest sealed ledgers may be deleted.

    A ledger may be deleted when every durable cursor has passed it (``slowest_mark`` is None when
    there is none) and retention no longer keeps it: it was sealed longer ago than the time limit,
    or the log, of which ``size_bytes`` are stored, is larger than the size limit. With 0, nothing
    that is acknowledged is kept.
    """
    excess = size_bytes - retention_size_bytes
    count = 0
    for ledger in sealed:
        end = Position(ledger.ledger_id, ledger.last_entry_id)
        if slowest_mark is not None and slowest_mark < end:
            break
        age_ms = now_ms - ledger.sealed_ms
        old = retention_time_s == 0 or FOR_EVER != retention_time_s <= age_ms / 1000
        surplus = retention_size_bytes != FOR_EVER and excess > 0
        if not old and not surplus:
            break
        count += 1
        excess -= ledger.size_bytes
    return count
