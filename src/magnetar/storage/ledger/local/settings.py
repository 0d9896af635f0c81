"""The settings of a ledger store in local files."""

from enum import Enum
from typing import Final

from magnetar.errors import InvalidValue
from magnetar.late_dataclass import dataclass

from .segment_format import PAGE

SEGMENTS_SPARE_MAX: Final = 8


class Durability(Enum):
    """When an append is answered."""

    FSYNC = "fsync"
    """After it was synced: it survives a loss of power."""
    INTERVAL = "interval"
    """After it was written; syncs follow every ``interval_s``: a process may die at any time."""
    NONE = "none"
    """After it was written; the operating system syncs when it likes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalLedgerSettings:
    """How a store treats its disk."""

    durability: Durability = Durability.FSYNC
    interval_s: float = 1.0  # Between syncs, when durability is INTERVAL.
    segment_size: int = 64 * 1024 * 1024
    segments_spare_max: int = SEGMENTS_SPARE_MAX  # Files kept on disk to be overwritten.
    compaction_share: float = 0.5  # Segments with less than this alive are compacted.
    compaction_retry_s: float = 10.0  # How long to wait after the disk refused a move.
    pending_bytes_max: int = 64 * 1024 * 1024  # Appended and not yet answered; then appends wait.
    timed: bool = False  # Whether somebody wants to know when it wrote and synced.

    def __post_init__(self) -> None:
        if self.segment_size < 4 * PAGE or self.segment_size >= 2**36:
            raise InvalidValue(f"segment_size must be 16 KiB to 64 GiB, not {self.segment_size}")
        if self.interval_s <= 0:
            raise InvalidValue(f"interval_s must be positive, not {self.interval_s}")
        if not 0 <= self.compaction_share <= 1:
            raise InvalidValue(f"compaction_share must be 0 to 1, not {self.compaction_share}")
        if self.compaction_retry_s <= 0:
            raise InvalidValue(
                f"compaction_retry_s must be positive, not {self.compaction_retry_s}"
            )
        if self.segments_spare_max < 0 or self.pending_bytes_max < 1:
            raise InvalidValue("segments_spare_max and pending_bytes_max must not be negative or 0")
