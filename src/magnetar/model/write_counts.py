"""What was stored of a topic, counted by how long that took and how large entries are. Pure.

It is noted once for all entries that were stored together.
"""

from bisect import bisect_left
from typing import Final, NamedTuple

LATENCIES_MS: Final = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
SIZES: Final = (128, 512, 1024, 2048, 4096, 16 * 1024, 100 * 1024, 1024 * 1024)


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
        """What was counted since ``before`` was copied; all of it where that counted more."""
        grown = WriteCounts()
        grown.add(self)
        if before is not None and before.entries <= self.entries:
            grown.add(before, -1)
        return grown
