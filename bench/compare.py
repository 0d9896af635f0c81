"""``make bench-pulsar``: ours and Apache Pulsar's in one run, interleaved, with a table of ratios.

    python -m bench.compare [--rounds 3] [--seconds 2] [--case TEXT]... [--save NAME]

Ours syncs before it answers, unless told otherwise; Pulsar's standalone does not, as it ships. So
there are two tables: each as it ships (and ours without syncing beside it), and both with fsync.
Rounds are interleaved case by case, each broker comes first as often as the others, ``sync`` comes
before each measurement, figures are medians. Where Maven or Java cannot be had, it says so and ends
well.
"""

import os
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import click

from . import cases, limits, machine, ratios
from .broker import Broker, Magnetar
from .cases import Case
from .closed_loop import Throughput
from .maven import Missing
from .measure import Result, figures, measure, medians
from .open_loop import Latency
from .peer import BrokerRefused
from .pulsar_standalone import PulsarStandalone, fetch
from .run import RESULTS, SYNC_S, lasting
from .table import amount, ratio, table
from .targets import targets_table

WARM_UP_S = 20.0
WARM_UP = [
    Case("warm-up 1 KiB", size=1024, consumers=1, seconds=WARM_UP_S * 0.4, warm_up_s=0),
    Case("warm-up 100 B", seconds=WARM_UP_S * 0.2, warm_up_s=0),
    Case("warm-up topics", connections=20, topics=20, in_flight=20, seconds=4, warm_up_s=0),
    Case("warm-up batches", batch=1000, in_flight=50, seconds=2, warm_up_s=0),
    Case("warm-up 64 KiB", size=65536, in_flight=100, seconds=2, warm_up_s=0),
]

Figures = dict[str, float]

# What is looked at unless --case says otherwise: more would take more than 20 minutes.
LEFT_OUT = {
    "publish 1 KiB, all of one size",
    "publish 100 B, 10,000 in flight",
    "publish 1 KiB, 10,000 in flight",
    "1000 topics x 1 on 10 connections, 1 KiB",
    "1000 topics x 10 on 10 connections, 1 KiB",
    "recorded from Python's client, batches",
    "recorded from Go's client, 1 KiB",
    "recorded from Go's client, batches",
    "recorded from Java's client, batches",
    "recorded from Java's client, 1 KiB",
    "100 topics, 1000 in flight",
    "1000 topics, 1000 in flight",
    "end to end, batches 1000 x 100 B",
    "fan-out 100, 1 KiB",
    "Shared 10, each acknowledged, 1 KiB",
    "batches 120 x 1 KiB",
    "10 topics, 1000 in flight",
    "end to end 100 B",
    "Exclusive, each acknowledged, 1 KiB",
    "Exclusive, cumulative, 1 KiB",
    "Shared 10, acknowledged in lists, 1 KiB",
    # Theirs came to a few hundred a second here, which nobody would believe without knowing why.
    "Key_Shared 10, each acknowledged, 1 KiB",
    "Key_Shared 10, acknowledged in lists, 1 KiB",
}

# Beside each latency: what it was measured under.
LATE = "generator late p99"
RAW = "raw 4 KiB + fdatasync"


class Comparison:
    """Some brokers, and what each case came to on each of them, round by round."""

    def __init__(self, brokers: list[Broker], folder: Path) -> None:
        self.brokers = brokers
        self._folder = folder
        self.rounds: dict[str, dict[str, list[Figures]]] = {}  # by case, then by broker
        self.results: dict[str, dict[str, list[Result]]] = {}

    def run(self, chosen: list[Case], rounds: int) -> None:
        for number in range(rounds):
            for place, case in enumerate(chosen):
                for broker in in_turn(self.brokers, number + place):
                    self._once(case, broker, f"round {number + 1} of {rounds}")

    def _once(self, case: Case, broker: Broker, where: str) -> None:
        click.echo(f"{where}: {case.name}, {broker.name}", err=True)
        try:
            sync = limits.synced_writes(self._folder, SYNC_S) if case.rate else None
            result = measure(broker, case)
        except (BrokerRefused, OSError) as error:
            click.echo(f"{case.name}, {broker.name}: FAILED in {where}: {error}")
            return
        found = figures(case, result)
        if sync is not None and isinstance(result, Latency):
            found[f"{case.name}: {LATE}"] = result.late.p99
            found[f"{case.name}: {RAW} p50"] = sync.p50_ms
            found[f"{case.name}: {RAW} p99"] = sync.p99_ms
        click.echo("    " + ", ".join(f"{value:,.2f}" for value in found.values()), err=True)
        self.rounds.setdefault(case.name, {}).setdefault(broker.name, []).append(found)
        self.results.setdefault(case.name, {}).setdefault(broker.name, []).append(result)

    def medians(self) -> dict[str, dict[str, float]]:
        """By figure, then by broker."""
        found: dict[str, dict[str, float]] = {}
        for by_broker in self.rounds.values():
            for broker, rounds in by_broker.items():
                for name, value in medians(rounds).items():
                    found.setdefault(name, {})[broker] = value
        return found

    def table(self, ours: Broker, theirs: Broker, beside: Broker | None = None) -> str:
        """Ours against theirs; ``beside``: another of ours, with its ratio."""
        heads = ["medians; > 1 is better for us", ours.name, theirs.name, "ratio"]
        heads += [beside.name, "ratio"] if beside else []
        rows = []
        for name, found in self.medians().items():
            if ours.name not in found or theirs.name not in found:
                continue
            value, other = found[ours.name], found[theirs.name]
            row = [name, _shown(name, value), _shown(name, other), _ratio(name, value, other)]
            if beside and beside.name in found:
                third = found[beside.name]
                row += [_shown(name, third), _ratio(name, third, other)]
            rows.append(row + [""] * (len(heads) - len(row)))
        return table(heads, rows)

    def cost_table(self) -> str:
        """CPU of the broker's process for each entry published, in microseconds: medians."""
        names = [broker.name for broker in self.brokers]
        rows = [
            [case, *(_broker_cpu(results.get(name, [])) for name in names)]
            for case, results in self.results.items()
        ]
        return table(["broker CPU, us per entry published", *names], rows)

    def range_table(self, chosen: list[Case]) -> str:
        """From the slowest to the fastest round; and the cores of broker and generator: medians."""
        names = [broker.name for broker in self.brokers]
        rows = [
            [case.name, *(_range(case, self.results[case.name].get(name, [])) for name in names)]
            for case in chosen
            if not case.rate and case.name in self.results
        ]
        return table(["range of the rounds; cores: broker + generator", *names], rows)


def _broker_cpu(results: list[Result]) -> str:
    return f"{median(each.broker_cpu_us for each in results):.2f}" if results else ""


def _range(case: Case, results: list[Result]) -> str:
    found = [each for each in results if isinstance(each, Throughput)]
    if not found:
        return ""
    reached = [each.figure(case) for each in found]
    broker = median(each.broker_cpu_share for each in found)
    generator = median(each.generator_cpu_share for each in found)
    return f"{amount(min(reached))} to {amount(max(reached))}; {broker:.2f} + {generator:.2f}"


def in_turn(brokers: list[Broker], turn: int) -> list[Broker]:
    """All of them, another one first in each turn."""
    first = turn % len(brokers)
    return brokers[first:] + brokers[:first]


def is_condition(name: str) -> bool:
    """It says under what conditions a latency was measured, and is nobody's merit."""
    return LATE in name or RAW in name


def is_latency(name: str) -> bool:
    return ": publish p" in name or ": end-to-end p" in name or is_condition(name)


def _shown(name: str, value: float) -> str:
    return f"{value:.2f} ms" if is_latency(name) else f"{amount(value)}/s"


def _ratio(name: str, ours: float, theirs: float) -> str:
    """How many times better ours is: a latency of half is 2."""
    if is_condition(name):
        return ""
    return ratio(theirs, ours) if is_latency(name) else ratio(ours, theirs)


def warm_up(broker: Broker) -> None:
    for case in WARM_UP:
        measure(broker, case)


@click.command()
@click.option("--rounds", default=3, show_default=True)
@click.option("--seconds", default=2.0, show_default=True, help="Each case is measured so long.")
@click.option("--case", "names", multiple=True, help="Only cases with this in their names.")
@click.option("--shipped", is_flag=True, help="Only as each ships: two brokers, one table.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where data goes. [a temporary]")
@click.option("--save", help="Keep the report in bench/results under this name.")
def main(
    *,
    rounds: int,
    seconds: float,
    names: tuple[str, ...],
    shipped: bool,
    data_dir: Path | None,
    save: str | None,
) -> None:
    """Fetch Pulsar, run both, print ratios."""
    try:
        jars = fetch()
    except Missing as missing:
        click.echo(f"no comparison with Apache Pulsar: {missing}")
        return
    chosen = lasting(cases.named(list(names)), seconds)
    if not names:
        chosen = [case for case in chosen if case.name not in LEFT_OUT]
    with tempfile.TemporaryDirectory(dir=data_dir) as folder:
        text = compare(Path(folder), jars, chosen, rounds, whole=not names, more=not shipped)
    click.echo(text)
    if save:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{save}.txt").write_text(text + "\n", encoding="utf-8")


def compare(
    folder: Path, jars: Path, chosen: list[Case], rounds: int, *, whole: bool, more: bool
) -> str:
    """Run everything; the report. ``whole``: what was not measured is missing.

    ``more``: ours without syncing beside it, and both with fsync.
    """
    head = machine.describe(folder)
    raw = limits.measure(folder)
    started = time.perf_counter()
    with ExitStack() as stack:
        ours = stack.enter_context(Magnetar(folder / "fsync", "fsync"))
        unsynced = stack.enter_context(Magnetar(folder / "none", "none")) if more else None
        memory = _Memory(ours)
        with PulsarStandalone(jars, folder / "pulsar", fsync=False) as theirs:
            memory.of(theirs)
            brokers = [ours, theirs, *([unsynced] if unsynced else [])]
            for broker in brokers:
                warm_up(broker)
            shipped = Comparison(brokers, folder)
            shipped.run(chosen, rounds)
            memory.of(theirs, ours)
        with_fsync = _with_fsync(folder, jars, ours, chosen, rounds) if more else []
    lengths = " or ".join(f"{each:g}" for each in sorted({case.seconds for case in chosen}))
    minutes = (time.perf_counter() - started) / 60
    head += [
        *(f"limit        {line}" for line in raw.lines()),
        (
            f"rounds       {rounds} interleaved, each broker first in turn, {lengths} s each, sync "
            f"before each, medians; ended {datetime.now(UTC):%H:%M} UTC, {minutes:.0f} minutes, "
            f"load average then {os.getloadavg()[0]:.1f}"
        ),
        (
            f"start-up     ours {ours.startup_s:.2f} s, theirs {theirs.startup_s:.1f} s, "
            f"1/{theirs.startup_s / ours.startup_s:.0f}"
        ),
        f"memory       {memory}",
    ]
    first = "Each as it ships: ours answers after fsync, theirs before anything is on disk.\n\n"
    first += shipped.table(ours, theirs, beside=unsynced)
    reached = ratios.targets(
        shipped.medians(),
        (ours.name, theirs.name),
        startup_ratio=theirs.startup_s / ours.startup_s,
        memory_ratios=memory.ratios,
    )
    reached = [target for target in reached if target.reached is not None or whole]
    parts = [first, *with_fsync, shipped.cost_table(), shipped.range_table(chosen)]
    parts.append(targets_table(reached))
    return "\n\n".join(["\n".join(head), *parts])


def _with_fsync(
    folder: Path, jars: Path, ours: Broker, chosen: list[Case], rounds: int
) -> list[str]:
    """The cases in which syncing matters, both syncing; nothing when none is chosen."""
    names = {case.name for case in cases.SYNCED}
    synced = [case for case in chosen if case.name in names]
    if not synced:
        return []
    with PulsarStandalone(jars, folder / "pulsar-fsync", fsync=True) as theirs:
        for broker in (theirs, ours):
            warm_up(broker)
        both = Comparison([ours, theirs], folder)
        both.run(synced, rounds)
    return ["Both with fsync.\n\n" + both.table(ours, theirs)]


class _Memory:
    """What processes held, idle and after the load."""

    def __init__(self, ours: Broker) -> None:
        self._idle_mb = ours.memory_mb()
        self._seen: list[float] = []

    def of(self, *brokers: Broker) -> None:
        self._seen += [broker.memory_mb() for broker in brokers]

    @property
    def ratios(self) -> tuple[float, float]:
        """Theirs over ours: idle, and after the load."""
        theirs_idle, theirs_loaded, ours_loaded = self._seen
        return theirs_idle / self._idle_mb, theirs_loaded / ours_loaded

    def __str__(self) -> str:
        theirs_idle, theirs_loaded, ours_loaded = self._seen
        return (
            f"idle: ours {self._idle_mb:.0f} MB, theirs {theirs_idle:.0f} MB, "
            f"1/{theirs_idle / self._idle_mb:.0f}; after the load: ours {ours_loaded:.0f} MB, "
            f"theirs {theirs_loaded:.0f} MB, 1/{theirs_loaded / ours_loaded:.0f}"
        )


if __name__ == "__main__":
    main()
