"""What the logs of a namespace did, and how often that failed. Pure."""

from bisect import bisect_left
from operator import sub
from typing import Final

from magnetar.model.write_counts import LATENCIES_MS

_NUMBERS: Final = (
    "appends_failed",
    "cursors_saved",
    "hit_bytes",
    "hit_entries",
    "missed_bytes",
    "missed_entries",
    "reads_failed",
)


class LogCounts:
    """What is counted for all logs together that share it."""

    __slots__ = (*_NUMBERS, "switches")

    def __init__(self) -> None:
        self.hit_entries = 0  # Read from memory, each time for each reader.
        self.hit_bytes = 0
        self.missed_entries = 0  # Read from disk, not having been in memory.
        self.missed_bytes = 0
        self.reads_failed = 0
        self.appends_failed = 0  # Entries.
        self.cursors_saved = 0
        self.switches = [0] * (len(LATENCIES_MS) + 1)
        """Ledgers that were begun, by how long that took; the last is above all bounds."""

    def note_switch(self, latency_s: float) -> None:
        """A ledger was begun, and the one before it ended."""
        self.switches[bisect_left(LATENCIES_MS, latency_s * 1000)] += 1

    def since(self, before: "LogCounts | None") -> "LogCounts":
        """What was counted since ``before`` was copied; a copy where that is None."""
        grown, then = LogCounts(), before or LogCounts()
        for name in _NUMBERS:
            setattr(grown, name, getattr(self, name) - getattr(then, name))
        grown.switches = list(map(sub, self.switches, then.switches))
        return grown
