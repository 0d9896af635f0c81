"""Settings of managed ledgers. Defaults are Pulsar's where it has the setting."""

from collections.abc import Mapping

from magnetar.late_dataclass import dataclass
from magnetar.model.policy_values import PersistencePolicies
from magnetar.storage.ledger.store import AS_THE_STORE_IS_SET, LedgerOptions, made_for
from magnetar.storage.managed_ledger.cache import CACHE_SIZE_MAX


@dataclass(slots=True, frozen=True)
class ManagedLedgerSettings:
    """Limits of ledgers, cursors and retention."""

    entries_per_ledger_max: int = 50_000
    ledger_size_max: int = 2 * 1024 * 1024 * 1024
    ledger_age_min_s: float = 600.0
    """A ledger with too many entries is not replaced before this age; see ``ledger_rules.py``."""
    ledger_age_max_s: float = 14_400.0
    cache_size_max: int = CACHE_SIZE_MAX
    """The bytes of the ``EntryCache`` that all managed ledgers of a broker share."""
    cursor_save_interval_s: float = 1.0
    """How long an acknowledgement may stay unwritten; a crash before that delivers it again."""
    cursor_ranges_max: int = 10_000
    """How many ranges beyond the mark are saved, the oldest first."""
    retention_time_s: int = 0
    """How long entries are kept that every cursor has acknowledged; -1 means for ever."""
    retention_size_bytes: int = 0
    """How large the log may be with what every cursor has acknowledged; -1 means no limit."""
    ledger_options: LedgerOptions = AS_THE_STORE_IS_SET
    """What its next ledger is created with, beside what ``ledger_metadata`` says of the log."""


def ledger_options(persistence: PersistencePolicies | None) -> LedgerOptions:
    """Return what a policy asks of ledgers; without one it is as the store is set."""
    if persistence is None:
        return AS_THE_STORE_IS_SET
    return LedgerOptions(persistence.ensemble, persistence.write_quorum, persistence.ack_quorum)


def ledger_metadata(log: str, cursor: str = "") -> Mapping[str, bytes]:
    """Return what is kept with a ledger of a log, or of one of its cursors."""
    whose = {"pulsar/managed-ledger": log} | ({"pulsar/cursor": cursor} if cursor else {})
    return made_for("managed-ledger", whose)
