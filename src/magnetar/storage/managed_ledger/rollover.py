"""Decides when to start a new ledger. Pure."""

from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings


def due(entry_count: int, size_bytes: int, age_s: float, limits: ManagedLedgerSettings) -> bool:
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
