"""Statistics of a load, and pulsar-perf's lines about it. Pure: time is an argument."""

from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, Protocol

from magnetar.errors import NotReady

LATENCY_US_MAX: Final = 60_000_000
PERCENTILES: Final = ((50.0, "med"), (95.0, "95pct"), (99.0, "99pct"), (99.9, "99.9pct"))


class Histogram(Protocol):
    """HdrHistogram's, as far as it is used."""

    def record_value(self, value: int, count: int = 1) -> bool: ...
    def get_value_at_percentile(self, percentile: float) -> int: ...
    def get_mean_value(self) -> float: ...
    def get_max_value(self) -> int: ...
    def get_total_count(self) -> int: ...
    def add(self, other: Any) -> None: ...


def check_histograms() -> None:
    """Raise NotReady where the library is not installed."""
    if find_spec("hdrh") is None:
        raise NotReady("perf needs hdrhistogram: pip install 'magnetar[bench]'")


def new_histogram() -> Histogram:
    """Make a histogram of microseconds, to three digits."""
    found: Histogram = import_module("hdrh.histogram").HdrHistogram(1, LATENCY_US_MAX, 3)
    return found


@dataclass(slots=True)
class Interval:
    """What happened between two lines, or since the beginning."""

    since: float
    messages: int = 0
    bytes: int = 0
    failures: int = 0
    latency: Histogram = field(default_factory=new_histogram)

    def rates(self, now: float) -> tuple[float, float, float]:
        """Messages, Mbit and failures in a second."""
        elapsed = max(now - self.since, 1e-9)
        mbit = self.bytes * 8 / 1024 / 1024
        return self.messages / elapsed, mbit / elapsed, self.failures / elapsed


class LoadStatistics:
    """Counts, and keeps latencies; what came before ``warm_at`` has none in the end."""

    def __init__(self, now: float, *, warm_at: float = 0.0) -> None:
        self.total = Interval(now)
        self.interval = Interval(now)
        self._warm_at = warm_at
        self._latencies: dict[int, int] = {}  # How often each came since the last line.

    def passed(self, messages: int, size: int) -> None:
        """So many messages were received, or stored."""
        self.interval.messages += messages
        self.interval.bytes += size

    def latency(self, seconds: float) -> None:
        """Count it, to eleven bits: more the histogram does not keep."""
        found = min(max(round(seconds * 1e6), 1), LATENCY_US_MAX)
        if found > 2047:
            less = found.bit_length() - 11
            found = found >> less << less
        self._latencies[found] = self._latencies.get(found, 0) + 1

    def failed(self) -> None:
        self.interval.failures += 1

    def next_interval(self, now: float) -> Interval:
        """What happened since the last line; another begins."""
        done, self.interval = self.interval, Interval(now)
        counts, self._latencies = self._latencies, {}
        for latency_us, count in counts.items():
            done.latency.record_value(latency_us, count)
        total = self.total
        total.messages += done.messages
        total.bytes += done.bytes
        total.failures += done.failures
        if now >= self._warm_at:
            total.latency.add(done.latency)
        return done


def produced(interval: Interval, total: int, now: float) -> str:
    rate, mbit, failures = interval.rates(now)
    return (
        f"Throughput produced: {total:7d} msg --- {rate:8.1f} msg/s --- {mbit:8.1f} Mbit/s  --- "
        f"failure {failures:8.1f} msg/s --- {latencies(interval.latency)}"
    )


def received(interval: Interval, total: int, now: float) -> str:
    rate, mbit, _ = interval.rates(now)
    return (
        f"Throughput received: {total:7d} msg --- {rate:7.3f}  msg/s --- {mbit:7.3f} Mbit/s  --- "
        f"{latencies(interval.latency)}"
    )


def read(interval: Interval, _: int, now: float) -> str:
    rate, mbit, _failures = interval.rates(now)
    return (
        f"Read throughput: {rate:7.3f}  msg/s --- {mbit:7.3f} Mbit/s  --- "
        f"{latencies(interval.latency)}"
    )


def summary(total: Interval, done: str, now: float) -> list[str]:
    """The lines at the end; ``done`` is what became of messages."""
    rate, mbit, _ = total.rates(now)
    stored = f"{total.messages} records {done} --- {rate:.3f} msg/s --- {mbit:.3f} Mbit/s"
    return [
        f"Aggregated throughput stats --- {stored}",
        f"Aggregated latency stats --- {latencies(total.latency, (99.99, 99.999))}",
    ]


def latencies(found: Histogram, more: tuple[float, ...] = (99.99,)) -> str:
    """In milliseconds."""
    marks = [(each, f"{each:g}pct") for each in more]
    parts = " - ".join(
        f"{name}: {found.get_value_at_percentile(each) / 1000:7.3f}"
        for each, name in (*PERCENTILES, *marks)
    )
    mean = found.get_mean_value() / 1000 if found.get_total_count() else 0.0
    most = found.get_max_value() / 1000
    return f"Latency: mean: {mean:7.3f} ms - {parts} - Max: {most:7.3f}"
