"""What producers and consumers count, and what they show of it. Pure.

Counters only grow, and are added to once for each batch or entry. Rates and latencies are those of
the last whole ``stats_interval_s``; before there is one, rates are those of all the time so far.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from math import isnan
from typing import Final

# Milliseconds, each a fifth more than the one before: from 0.1 ms to some 100 s.
_BOUNDS_MS: Final = [0.1 * 1.2**step for step in range(76)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """From the begin of a batch to its receipt, in milliseconds, a fifth too high at most."""

    p50_ms: float
    p95_ms: float
    p99_ms: float
    largest_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerStats:
    """Statistics of a producer since it was made."""

    messages_sent: int  # Each once, however often it was sent again.
    bytes_sent: int  # Of payloads, keys and properties.
    messages_stored: int  # Receipts.
    messages_failed: int
    messages_pending: int  # Without a receipt now, those in an open batch too.
    messages_per_s: float
    bytes_per_s: float
    latency: Latency | None  # None without ``stats_interval_s``, and in the first one.


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerStats:
    """Statistics of a consumer or reader since it was made."""

    messages_received: int  # Opened for the application, redelivered ones too.
    bytes_received: int  # Of entries as they arrive, compressed and with their metadata.
    acks_sent: int  # Entries, and parts of entries; a cumulative one counts once.
    messages_queued: int  # In the receive queue now.
    messages_per_s: float
    bytes_per_s: float


@dataclass(slots=True)
class Counts:
    """Messages and bytes that went through."""

    messages: int
    size_bytes: int


class Latencies:
    """The latencies of one interval, as a histogram."""

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS_MS) + 1)
        self._largest_ms = 0.0

    def add(self, seconds: float) -> None:
        """Count one. What is no number is of a producer without send timeout, and left out."""
        milliseconds = seconds * 1000
        if not isnan(milliseconds):
            self._counts[bisect_left(_BOUNDS_MS, milliseconds)] += 1
            self._largest_ms = max(self._largest_ms, milliseconds)

    def take(self) -> Latency | None:
        """Return what was counted, and begin anew; None for nothing."""
        counts, largest = self._counts, self._largest_ms
        self._counts, self._largest_ms = [0] * len(counts), 0.0
        ends = list(accumulate(counts))
        if not ends[-1]:
            return None

        def percentile(percent: int) -> float:
            place = bisect_left(ends, ends[-1] * percent / 100)
            return min(_BOUNDS_MS[place], largest) if place < len(_BOUNDS_MS) else largest

        return Latency(
            p50_ms=percentile(50), p95_ms=percentile(95), p99_ms=percentile(99), largest_ms=largest
        )


class Rates:
    """Rates per second, of the last interval that has ended."""

    def __init__(self, now: float) -> None:
        self._since = now
        self._before = Counts(0, 0)
        self._last: tuple[float, float] | None = None

    def end_interval(self, now: float, counts: Counts) -> None:
        self._last = self._of(now, counts)
        self._since, self._before = now, counts

    def now(self, now: float, counts: Counts) -> tuple[float, float]:
        """Messages and bytes per second."""
        return self._last or self._of(now, counts)

    def _of(self, now: float, counts: Counts) -> tuple[float, float]:
        elapsed_s = max(now - self._since, 1e-9)
        return (
            (counts.messages - self._before.messages) / elapsed_s,
            (counts.size_bytes - self._before.size_bytes) / elapsed_s,
        )


def line(stats: ProducerStats | ConsumerStats | Latency) -> str:
    """As a line of the log shows it."""
    return " ".join(_shown(stats))


def _shown(stats: ProducerStats | ConsumerStats | Latency) -> Sequence[str]:
    found = []
    for field in fields(stats):
        value = getattr(stats, field.name)
        if isinstance(value, Latency):
            found += [f"latency_{each}" for each in _shown(value)]
        elif value is not None:
            found.append(f"{field.name}={round(value, 1) if isinstance(value, float) else value}")
    return found
