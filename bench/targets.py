"""The targets that speed is held to, and which of them a run reached. Pure.

They were set for two cores of a good machine with an idle neighbourhood; each is shown beside what
was reached and, where it was not, what stands nearest in the way.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .closed_loop import Throughput
from .limits import Limits
from .open_loop import Latency
from .report import Row, limit_of
from .startup import IDLE_MB_MAX, READY_S_MAX, StartUp
from .table import amount, percent, table

LOOPBACK_SHARE_MIN = 0.5
SYNCED_SHARE_MIN = 0.8
END_TO_END_SHARE_MIN = 0.8
OVER_SYNC_P50_MS = 0.25
OVER_SYNC_P99_TIMES = 3
BUSY = 0.9
"""A process that took so much of a core had none left."""


@dataclass(frozen=True, slots=True)
class Target:
    """One of them. ``reached`` is None where it was not measured."""

    name: str
    wanted: str
    found: str
    reached: bool | None
    limit: str = ""  # What stands in the way.

    @property
    def verdict(self) -> str:
        return {True: "yes", False: "NO", None: "not measured"}[self.reached]


class Measured:
    """What one run came to, to be asked by case and durability."""

    def __init__(
        self, rows: Sequence[Row], limits: Limits, start_up: StartUp | None, more: Sequence[Target]
    ) -> None:
        self._rows = {(row.case.name, row.durability): row for row in rows}
        self.limits = limits
        self.start_up = start_up
        self.more = more

    def throughput(self, case: str, durability: str) -> tuple[Row, Throughput] | None:
        row = self._rows.get((case, durability))
        return (row, row.result) if row and isinstance(row.result, Throughput) else None

    def latency(self, case: str, durability: str) -> tuple[Row, Latency] | None:
        row = self._rows.get((case, durability))
        return (row, row.result) if row and isinstance(row.result, Latency) else None

    def why(self, row: Row) -> str:
        """What a case was held up by, as far as its own figures say."""
        result = row.result
        if isinstance(result, Latency):
            return f"the generator itself was late by {result.late.p99:.2f} ms (p99)"
        reached = limit_of(row.case, row.durability, result, row.alone, self.limits)
        if result.broker_cpu_share < BUSY:
            return f"its core was {percent(result.broker_cpu_share)} busy; {reached}"
        return (
            f"its core: {result.broker_cpu_us:.2f} us an entry, {result.kernel_us:.2f} of it in "
            f"the kernel; {reached}"
        )


def targets(measured: Measured) -> list[Target]:
    """All of them, in the order in which they were set."""
    return [
        *_start(measured.start_up),
        *_rates(measured),
        *_syncing(measured),
        *_latencies(measured),
        *_delivering(measured),
        *measured.more,
    ]


def targets_table(found: Sequence[Target]) -> str:
    heads = ["target", "wanted", "found", "reached", "what limits it"]
    rows = [
        [each.name, each.wanted, each.found, each.verdict, "" if each.reached else each.limit]
        for each in found
    ]
    if not any(row[-1] for row in rows):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return table(heads, rows, flush_left=(0, 4))


def _start(found: StartUp | None) -> Iterator[Target]:
    names = (
        ("ready to serve", f"< {READY_S_MAX:g} s"),
        ("memory while idle", f"< {IDLE_MB_MAX:g} MB"),
    )
    if found is None:
        yield from (Target(name, wanted, "", None) for name, wanted in names)
        return
    yield Target(
        *names[0],
        f"{found.ready_s:.2f} s",
        found.ready_s < READY_S_MAX,
        f"{min(found.cpu_s):.2f} s of CPU until then",
    )
    yield Target(*names[1], f"{max(found.idle_mb):.0f} MB", max(found.idle_mb) < IDLE_MB_MAX)


def _at_least(
    measured: Measured,
    case: str,
    durability: str,
    wanted: float,
    *,
    of: Callable[[Throughput], float],
    unit: str,
) -> Target:
    name, text = f"{case}, {durability}", f">= {amount(wanted)}{unit}"
    found = measured.throughput(case, durability)
    if found is None:
        return Target(name, text, "", None)
    row, result = found
    value = of(result)
    return Target(name, text, f"{amount(value)}{unit}", value >= wanted, measured.why(row))


def _rates(measured: Measured) -> Iterator[Target]:
    for case, wanted in (("publish 1 KiB", 300_000), ("publish 100 B", 450_000)):
        for durability in ("fsync", "none"):
            yield _at_least(
                measured, case, durability, wanted, of=lambda each: each.entries_per_s, unit="/s"
            )
    half = LOOPBACK_SHARE_MIN * measured.limits.loopback_mb_per_s
    yield _at_least(
        measured, "publish 64 KiB", "none", half, of=lambda each: each.mb_per_s, unit=" MB/s"
    )


def _syncing(measured: Measured) -> Iterator[Target]:
    for case in (
        "publish 100 B",
        "publish 1 KiB",
        "100 topics, 1000 in flight",
        "1000 topics, 1000 in flight",
    ):
        name, wanted = f"{case}: fsync over none", f">= {SYNCED_SHARE_MIN:g}"
        synced, free = (measured.throughput(case, kind) for kind in ("fsync", "none"))
        if synced is None or free is None:
            yield Target(name, wanted, "", None)
            continue
        share = synced[1].entries_per_s / free[1].entries_per_s
        yield Target(
            name, wanted, f"{share:.2f}", share >= SYNCED_SHARE_MIN, measured.why(synced[0])
        )


def _latencies(measured: Measured) -> Iterator[Target]:
    """Against what a bare synced write took just before."""
    case = "1,000/s, 1 KiB"
    found = measured.latency(case, "fsync")
    if found is None:
        yield Target(f"{case}: publish p50, p99", "", "", None)
        return
    row, result = found
    raw = row.sync or measured.limits.sync
    for name, value, bound, meant in (
        ("p50", result.publish.p50, raw.p50_ms + OVER_SYNC_P50_MS, "raw fdatasync + 250 us"),
        ("p99", result.publish.p99, raw.p99_ms * OVER_SYNC_P99_TIMES, "3 x raw fdatasync"),
    ):
        yield Target(
            f"{case}: publish {name}, fsync",
            f"<= {bound:.2f} ms ({meant})",
            f"{value:.2f} ms",
            value <= bound,
            measured.why(row),
        )


def _delivering(measured: Measured) -> Iterator[Target]:
    for durability in ("fsync", "none"):
        yield _at_least(
            measured,
            "fan-out 100, 1 KiB",
            durability,
            2e6,
            of=lambda each: each.deliveries_per_s,
            unit="/s",
        )
    for durability in ("fsync", "none"):
        name, wanted = f"end to end over publish, 1 KiB, {durability}", END_TO_END_SHARE_MIN
        delivered = measured.throughput("end to end 1 KiB", durability)
        published = measured.throughput("publish 1 KiB", durability)
        if delivered is None or published is None:
            yield Target(name, f">= {wanted:g}", "", None)
            continue
        share = delivered[1].deliveries_per_s / published[1].entries_per_s
        yield Target(
            name, f">= {wanted:g}", f"{share:.2f}", share >= wanted, measured.why(delivered[0])
        )
