"""How often something was done, how long that took, and how often it failed. Pure.

What is stored is noted once for all entries that were stored together.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, field
from operator import sub
from typing import Final, NamedTuple

from magnetar.late_dataclass import dataclass
from magnetar.model.histogram import Histogram

LATENCIES_MS: Final = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
SIZES: Final = (128, 512, 1024, 2048, 4096, 16 * 1024, 100 * 1024, 1024 * 1024)


@dataclass(slots=True)
class OperationCounts:
    """One kind of operation, of a whole broker."""

    latency: Histogram = field(default_factory=Histogram)  # Of those that succeeded.
    failed: int = 0
    running: int = 0

    @contextmanager
    def counted(self, now: Callable[[], float]) -> Iterator[None]:
        """Count what the block does; ``now`` tells the time in seconds."""
        began = now()
        self.running += 1
        try:
            yield
        except BaseException:
            self.failed += 1
            raise
        else:
            self.latency.note(now() - began)
        finally:
            self.running -= 1


@dataclass(slots=True)
class ConnectionCounts:
    """The connections of a broker since it started."""

    opened: int = 0
    closed: int = 0
    refused: int = 0  # There were too many; they count as opened, too.

    @property
    def open(self) -> int:
        return self.opened - self.closed


@dataclass(slots=True)
class TraceCounts:
    """Kept by who makes spans, told with the metrics."""

    exported: int = 0
    """Spans that the collector took."""
    failed: int = 0
    """Spans that it did not take."""
    dropped: int = 0
    """Spans for which there was no room while it was slow."""
    skipped: int = 0
    """Publishes, deliveries and requests that were not traced: there were too many."""


@dataclass(slots=True)
class SnapshotCounts:
    """The snapshots of replicated subscriptions that all topics of a broker took."""

    taken: Histogram = field(default_factory=Histogram)  # By how long they took.
    timed_out: int = 0
    pending: int = 0


@dataclass(slots=True)
class LogCounts:
    """What the logs of a namespace did, and how often that failed."""

    hit_entries: int = 0  # Read from memory, each time for each reader.
    hit_bytes: int = 0
    missed_entries: int = 0  # Read from disk, not having been in memory.
    missed_bytes: int = 0
    reads_failed: int = 0
    appends_failed: int = 0  # Entries.
    cursors_saved: int = 0
    switches: list[int] = field(default_factory=lambda: [0] * (len(LATENCIES_MS) + 1))
    """Ledgers that were begun, by how long that took; the last is above all bounds."""

    def note_switch(self, latency_s: float) -> None:
        """A ledger was begun, and the one before it ended."""
        self.switches[bisect_left(LATENCIES_MS, latency_s * 1000)] += 1

    def since(self, before: "LogCounts | None") -> "LogCounts":
        """Counts since ``before`` was copied; a copy where that is None."""
        *mine, switches = astuple(self)
        *then, switches_then = astuple(before or LogCounts())
        grown = LogCounts(*map(sub, mine, then))
        grown.switches = list(map(sub, switches, switches_then))
        return grown


class GroupTimes(NamedTuple):
    """When the log wrote what it wrote together, by ``Clock.now``, and how many bytes it was.

    Where nothing was synced, ``synced`` is a moment behind ``written``.
    """

    began: float
    written: float
    synced: float
    size_bytes: int


class WriteCounts:
    """Entries by latency and by size; the last bucket of each is for what is above all bounds."""

    __slots__ = ("by_latency", "by_size", "latency_ms", "size_bytes")

    def __init__(self) -> None:
        self.by_latency = [0] * (len(LATENCIES_MS) + 1)
        self.latency_ms = 0.0
        self.by_size = [0] * (len(SIZES) + 1)
        self.size_bytes = 0

    @property
    def entries(self) -> int:
        return sum(self.by_size)

    def note(self, entries: int, size_bytes: int, latency_s: float) -> None:
        """So many entries of so many bytes together were stored, the first of them after so long.

        They count with their average size.
        """
        latency_ms = latency_s * 1000
        self.latency_ms += latency_ms * entries
        self.size_bytes += size_bytes
        self.by_latency[bisect_left(LATENCIES_MS, latency_ms)] += entries
        self.by_size[bisect_left(SIZES, size_bytes / entries)] += entries

    def add(self, other: "WriteCounts", sign: int = 1) -> None:
        """Add what another counted, or take it away."""
        self.latency_ms += sign * other.latency_ms
        self.size_bytes += sign * other.size_bytes
        for mine, its in ((self.by_latency, other.by_latency), (self.by_size, other.by_size)):
            mine[:] = [each + sign * more for each, more in zip(mine, its, strict=True)]

    def since(self, before: "WriteCounts | None") -> "WriteCounts":
        """Counts since ``before`` was copied; all of them where that counted more."""
        grown = WriteCounts()
        grown.add(self)
        if before is not None and before.entries <= self.entries:
            grown.add(before, -1)
        return grown
