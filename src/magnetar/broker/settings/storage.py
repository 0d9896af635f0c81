"""Where a broker keeps messages, how safely and how long."""

from pathlib import Path
from typing import Literal

from magnetar.late_dataclass import dataclass

from .setting import MIB, setting

Durability = Literal["fsync", "interval", "none"]


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """Where messages are kept, how safely and how long."""

    data_directory: Path = setting(
        "dataDirectory", Path("data"), "folder of everything stored; made when absent"
    )
    in_memory: bool = setting("storageInMemory", False, "keep everything in memory, for tests")
    durability: Durability = setting(
        "durability",
        "fsync",
        "fsync: a receipt means it is on disk; interval: synced every so often; none: the "
        "operating system decides",
    )
    sync_interval_ms: int = setting(
        "durabilityIntervalMillis", 1000, "how often with durability=interval", minimum=1
    )
    segment_size: int = setting(
        "logSizeLimit",
        64 * MIB,
        "bytes of one file of the log that holds all entries",
        minimum=64 * 1024,
        maximum=1024 * MIB,
    )
    spare_mb_max: int = setting(
        "logSpareSizeMB",
        512,
        "files of deleted entries kept to be overwritten, in MiB; at most eight files",
    )
    cache_mb: int = setting(
        "managedLedgerCacheSizeMB", 64, "memory for recent entries, for all topics together, in MiB"
    )
    entries_per_ledger_max: int = setting(
        "managedLedgerMaxEntriesPerLedger", 50_000, "then a new ledger starts", minimum=1
    )
    ledger_size_mb_max: int = setting(
        "managedLedgerMaxSizePerLedgerMbytes", 2048, "then a new ledger starts", minimum=1
    )
    ledger_age_min_minutes: int = setting(
        "managedLedgerMinLedgerRolloverTimeMinutes", 10, "no new ledger before this age"
    )
    ledger_age_max_minutes: int = setting(
        "managedLedgerMaxLedgerRolloverTimeMinutes", 240, "a new ledger after this age", minimum=1
    )
    cursor_saves_per_s: float = setting(
        "managedLedgerDefaultMarkDeleteRateLimit",
        1.0,
        "how often a second a cursor's acknowledgements are written",
        minimum=0.001,
    )
    cursor_ranges_max: int = setting(
        "managedLedgerMaxUnackedRangesToPersist",
        10_000,
        "ranges of acknowledgements kept for a cursor",
        minimum=1,
    )
    retention_check_s: int = setting(
        "retentionCheckIntervalInSeconds", 120, "how often old ledgers are looked for", minimum=1
    )
