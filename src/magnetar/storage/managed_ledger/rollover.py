"""When to start a new ledger. Pure."""

from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings


def due(entry_count: int, size_bytes: int, age_s: float, limits: ManagedLedgerSettings) -> bool:
    """Whether the current ledger has had enough.

    Too many entries only count once it is ``ledger_age_min_s`` old, as in Pulsar: small entries
    would fill the list of ledgers with little ones. Too many bytes count at once, because disk
    space comes back a ledger at a time. An empty ledger is never replaced.
    """
    if entry_count == 0:
        return False
    if size_bytes >= limits.ledger_size_max or age_s >= limits.ledger_age_max_s:
        return True
    return entry_count >= limits.entries_per_ledger_max and age_s >= limits.ledger_age_min_s
