"""What ``make bench`` prints, from what was measured. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from .cases import Case
from .closed_loop import Throughput
from .limits import Limits, Sync
from .measure import Result
from .open_loop import Latency, Spread
from .table import amount, percent, table


@dataclass(frozen=True, slots=True)
class Row:
    """One case, measured."""

    case: Case
    durability: str
    result: Result
    alone: Throughput | None = None  # What the generator reached with nothing behind the socket.
    sync: Sync | None = None  # What a bare synced write took just before.


_THROUGHPUT_HEADS = (
    "closed loop",
    "durability",
    "entries/s",
    "messages/s",
    "deliveries/s",
    "MB/s",
    "CPU us/entry",
    "of it kernel",
    "broker",
    "generator",
    "of the raw limit",
)
_LATENCY_HEADS = (
    "open loop, ms",
    "durability",
    "publish p50",
    "p99",
    "p99.9",
    "end to end p50",
    "p99",
    "p99.9",
    "sent late p99",
    "CPU us/entry",
    "raw limit p50 / p99",
)


def tables(measured: Sequence[Row], limits: Limits) -> list[str]:
    """One for what was measured in a closed loop, one for the open loop; those that have rows."""
    closed = [
        _throughput_row(row, row.result, limits)
        for row in measured
        if isinstance(row.result, Throughput)
    ]
    opened = [
        _latency_row(row, row.result, limits) for row in measured if isinstance(row.result, Latency)
    ]
    found = [table(_THROUGHPUT_HEADS, closed)] if closed else []
    return [*found, table(_LATENCY_HEADS, opened)] if opened else found


def _throughput_row(row: Row, result: Throughput, limits: Limits) -> list[str]:
    return [
        row.case.name,
        row.durability,
        amount(result.entries_per_s),
        amount(result.messages_per_s),
        amount(result.deliveries_per_s) if row.case.consumers else "",
        amount(result.mb_per_s),
        f"{result.broker_cpu_us:.2f}",
        f"{result.kernel_us:.2f}",
        percent(result.broker_cpu_share),
        percent(result.generator_cpu_share),
        limit_of(row.case, row.durability, result, row.alone, limits),
    ]


def limit_of(
    case: Case, durability: str, result: Throughput, alone: Throughput | None, limits: Limits
) -> str:
    """The nearest raw limit, and how much of it was reached.

    Entries cannot be answered faster than by a program that does nothing else; bytes cannot be
    delivered faster than loopback takes them, nor stored faster than the file does.
    """
    if case.consumers:
        share = result.deliveries_per_s * result.mb_per_s / max(result.entries_per_s, 1)
        return f"{percent(share / limits.loopback_mb_per_s)} of loopback"
    near = []
    if alone is not None:
        near.append(
            (
                result.entries_per_s / alone.entries_per_s,
                f"{amount(alone.entries_per_s)}/s receipts alone",
            )
        )
    stored = limits.big_sync_mb_per_s if durability == "fsync" else limits.append_mb_per_s
    kind = "1 MiB + fdatasync" if durability == "fsync" else "file append"
    near.append((result.mb_per_s / stored, f"{amount(stored)} MB/s {kind}"))
    near.append((result.mb_per_s / limits.loopback_mb_per_s, "loopback"))
    share, name = max(near)
    return f"{percent(share)} of {name}"


def _latency_row(row: Row, result: Latency, limits: Limits) -> list[str]:
    sync = row.sync or limits.sync
    raw = f"fdatasync {sync.p50_ms:.2f} / {sync.p99_ms:.2f}"
    if row.durability == "none":
        raw = f"echo {limits.echo_p50_us / 1000:.3f}"
    return [
        row.case.name,
        row.durability,
        *_spread(result.publish),
        *_spread(result.end_to_end),
        f"{result.late.p99:.2f}",
        f"{result.broker_cpu_us:.1f}",
        raw,
    ]


def _spread(spread: Spread | None) -> list[str]:
    if spread is None:
        return ["", "", ""]
    return [f"{value:.2f}" for value in (spread.p50, spread.p99, spread.p999)]
