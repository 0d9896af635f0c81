"""Decides which ledgers are to be offloaded, and which are no longer needed here. Pure."""

from collections.abc import Sequence

from magnetar.storage.codec.ledger_list import SealedLedger
from magnetar.storage.managed_ledger.layout import is_local


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


def before(sealed: Sequence[SealedLedger], ledger_id: int) -> list[int]:
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
