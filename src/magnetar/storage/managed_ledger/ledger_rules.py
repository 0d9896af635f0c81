"""Decides when to start a ledger, and which may be deleted, offloaded and dropped. Pure."""

from collections.abc import Sequence
from typing import Final

from magnetar.model.position import Position
from magnetar.storage.codec.ledger_list import SealedLedger
from magnetar.storage.managed_ledger.layout import is_local
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings

FOR_EVER: Final = -1
"""A retention time or size of -1 is no limit."""
FAR_AHEAD_MS: Final = 2**62
"""So long no retention is, but the one that is for ever."""


def rollover_due(
    entry_count: int, size_bytes: int, age_s: float, limits: ManagedLedgerSettings
) -> bool:
    """Say whether a new ledger is due.

    Too many entries only count once the ledger is ``ledger_age_min_s`` old, as in Pulsar: else a
    log of small entries would have very many ledgers. Too many bytes count at once, because disk
    space comes back a ledger at a time. An empty ledger is never replaced.
    """
    if entry_count == 0:
        return False
    if size_bytes >= limits.ledger_size_max or age_s >= limits.ledger_age_max_s:
        return True
    return entry_count >= limits.entries_per_ledger_max and age_s >= limits.ledger_age_min_s


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


def to_offload(
    sealed: Sequence[SealedLedger],
    *,
    threshold_bytes: int,
    threshold_s: int,
    now_ms: int,
) -> list[int]:
    """Return the ids of sealed ledgers that are to be offloaded, the oldest first.

    Of the newest ledgers, ``threshold_bytes`` stay here; a ledger that was sealed ``threshold_s``
    ago goes whatever its size. Below 0 a threshold is none.
    """
    found: list[int] = []
    size_bytes = 0
    for ledger in reversed(sealed):
        size_bytes += ledger.size_bytes
        too_much = 0 <= threshold_bytes < size_bytes
        old = 0 <= threshold_s * 1000 <= now_ms - ledger.sealed_ms
        if (too_much or old) and not copied(ledger):
            found.append(ledger.ledger_id)
    return found[::-1]


def to_offload_before(sealed: Sequence[SealedLedger], ledger_id: int) -> list[int]:
    """Return the ids of the ledgers before one that are not offloaded, the oldest first."""
    return [each.ledger_id for each in sealed if each.ledger_id < ledger_id and not copied(each)]


def to_drop(sealed: Sequence[SealedLedger], *, lag_ms: int, now_ms: int) -> list[int]:
    """Return the ids of the ledgers that were offloaded ``lag_ms`` ago, and are still here."""
    return [
        each.ledger_id
        for each in sealed
        if each.offload is not None
        and each.offload.complete
        and is_local(each)
        and now_ms - each.offload.timestamp_ms >= lag_ms
    ]


def copied(ledger: SealedLedger) -> bool:
    """Whether there is a complete copy."""
    return ledger.offload is not None and ledger.offload.complete
