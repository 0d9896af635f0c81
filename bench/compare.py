"""``make bench-pulsar``: ours and Apache Pulsar's in one run, interleaved, with a table of ratios.

    python -m bench.compare [--rounds 3] [--seconds 3] [--case TEXT]... [--save NAME]

Ours syncs before it answers, unless told otherwise; Pulsar's standalone does not, as it ships. So
there are two tables: each as it ships (and ours without syncing beside it), and both with fsync.
Rounds are interleaved case by case, ``sync`` comes before each measurement, figures are medians.
Where Maven or Java cannot be had, it says so and ends well.
"""

import os
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import click

from . import cases, limits, machine
from .broker import Broker, Magnetar
from .cases import Case
from .measure import figures, measure, medians
from .peer import BrokerRefused
from .pulsar_standalone import Missing, PulsarStandalone, fetch
from .run import RESULTS
from .table import amount, ratio, table

WARM_UP_S = 20.0
WARM_UP = [
    Case("warm-up 1 KiB", size=1024, consumers=1, seconds=WARM_UP_S * 0.4, warm_up_s=0),
    Case("warm-up 100 B", seconds=WARM_UP_S * 0.2, warm_up_s=0),
    Case("warm-up topics", connections=20, topics=20, in_flight=20, seconds=4, warm_up_s=0),
    Case("warm-up batches", batch=1000, in_flight=50, seconds=2, warm_up_s=0),
    Case("warm-up 64 KiB", size=65536, in_flight=100, seconds=2, warm_up_s=0),
]

Figures = dict[str, float]


class Comparison:
    """Some brokers, and what each case came to on each of them, round by round."""

    def __init__(self, brokers: list[Broker]) -> None:
        self.brokers = brokers
        self.rounds: dict[str, dict[str, list[Figures]]] = {}  # by case, then by broker
        self.cpu_us: dict[str, dict[str, list[float]]] = {}

    def run(self, chosen: list[Case], rounds: int) -> None:
        for number in range(rounds):
            for case in chosen:
                for broker in self.brokers:
                    self._once(case, broker, f"round {number + 1} of {rounds}")

    def _once(self, case: Case, broker: Broker, where: str) -> None:
        click.echo(f"{where}: {case.name}, {broker.name}", err=True)
        try:
            result = measure(broker, case)
        except (BrokerRefused, OSError) as error:
            click.echo(f"{case.name}, {broker.name}: FAILED in {where}: {error}")
            return
        found = figures(case, result)
        click.echo("    " + ", ".join(f"{value:,.2f}" for value in found.values()), err=True)
        self.rounds.setdefault(case.name, {}).setdefault(broker.name, []).append(found)
        costs = self.cpu_us.setdefault(case.name, {}).setdefault(broker.name, [])
        costs.append(result.broker_cpu_us)

    def table(self, ours: Broker, theirs: Broker, beside: Broker | None = None) -> str:
        """Ours against theirs; ``beside``: another of ours, with its ratio."""
        heads = ["medians; > 1 is better for us", ours.name, theirs.name, "ratio"]
        heads += [beside.name, "ratio"] if beside else []
        rows = []
        for by_broker in self.rounds.values():
            found = {name: medians(rounds) for name, rounds in by_broker.items()}
            if ours.name not in found or theirs.name not in found:
                continue
            for name, value in found[ours.name].items():
                other = found[theirs.name][name]
                row = [name, _shown(name, value), _shown(name, other), _ratio(name, value, other)]
                third = found.get(beside.name, {}).get(name) if beside else None
                if third is not None:
                    row += [_shown(name, third), _ratio(name, third, other)]
                rows.append(row + [""] * (len(heads) - len(row)))
        return table(heads, rows)

    def cost_table(self) -> str:
        """CPU of the broker's process for each entry published, in microseconds: medians."""
        names = [broker.name for broker in self.brokers]
        rows = [
            [case, *(f"{median(costs[name]):.2f}" if name in costs else "" for name in names)]
            for case, costs in self.cpu_us.items()
        ]
        return table(["broker CPU, us per entry published", *names], rows)


def is_latency(name: str) -> bool:
    return ": publish p" in name or ": end-to-end p" in name


def _shown(name: str, value: float) -> str:
    return f"{value:.2f} ms" if is_latency(name) else f"{amount(value)}/s"


def _ratio(name: str, ours: float, theirs: float) -> str:
    """How many times better ours is: a latency of half is 2."""
    return ratio(theirs, ours) if is_latency(name) else ratio(ours, theirs)


def warm_up(broker: Broker) -> None:
    for case in WARM_UP:
        measure(broker, case)


@click.command()
@click.option("--rounds", default=3, show_default=True)
@click.option("--seconds", default=3.0, show_default=True, help="Each case is measured so long.")
@click.option("--case", "names", multiple=True, help="Only cases with this in their names.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where data goes. [a temporary]")
@click.option("--save", help="Keep the report in bench/results under this name.")
def main(
    *, rounds: int, seconds: float, names: tuple[str, ...], data_dir: Path | None, save: str | None
) -> None:
    """Fetch Pulsar, run both, print ratios."""
    try:
        jars = fetch()
    except Missing as missing:
        click.echo(f"no comparison with Apache Pulsar: {missing}")
        return
    chosen = [case.lasting(seconds) for case in cases.named(list(names))]
    with tempfile.TemporaryDirectory(dir=data_dir) as folder:
        text = compare(Path(folder), jars, chosen, rounds)
    click.echo(text)
    if save:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{save}.txt").write_text(text + "\n", encoding="utf-8")


def compare(folder: Path, jars: Path, chosen: list[Case], rounds: int) -> str:
    """Run everything; the report."""
    head = machine.describe(folder)
    raw = limits.measure(folder)
    started = time.perf_counter()
    with ExitStack() as stack:
        ours = stack.enter_context(Magnetar(folder / "fsync", "fsync"))
        unsynced = stack.enter_context(Magnetar(folder / "none", "none"))
        memory = _Memory(ours)
        with PulsarStandalone(jars, folder / "pulsar", fsync=False) as theirs:
            memory.of(theirs)
            for broker in (theirs, ours, unsynced):
                warm_up(broker)
            shipped = Comparison([ours, theirs, unsynced])
            shipped.run(chosen, rounds)
            memory.of(theirs, ours)
        with_fsync = _with_fsync(folder, jars, ours, chosen, rounds)
    minutes = (time.perf_counter() - started) / 60
    head += [
        *(f"limit        {line}" for line in raw.lines()),
        (
            f"rounds       {rounds} interleaved, {chosen[0].seconds:g} s each, sync before each, "
            f"medians; ended {datetime.now(UTC):%H:%M} UTC after {minutes:.0f} minutes, "
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
    return "\n\n".join(["\n".join(head), first, *with_fsync, shipped.cost_table()])


def _with_fsync(
    folder: Path, jars: Path, ours: Broker, chosen: list[Case], rounds: int
) -> list[str]:
    """The cases in which syncing matters, both syncing; nothing when none is chosen."""
    names = {case.name for case in cases.SYNCED}
    synced = [case for case in chosen if case.name in names]
    if not synced:
        return []
    with PulsarStandalone(jars, folder / "pulsar-fsync", fsync=True) as theirs:
        warm_up(theirs)
        both = Comparison([ours, theirs])
        both.run(synced, rounds)
    return ["Both with fsync.\n\n" + both.table(ours, theirs)]


class _Memory:
    """What processes held, idle and after the load."""

    def __init__(self, ours: Broker) -> None:
        self._idle_mb = ours.memory_mb()
        self._seen: list[float] = []

    def of(self, *brokers: Broker) -> None:
        self._seen += [broker.memory_mb() for broker in brokers]

    def __str__(self) -> str:
        theirs_idle, theirs_loaded, ours_loaded = self._seen
        return (
            f"idle: ours {self._idle_mb:.0f} MB, theirs {theirs_idle:.0f} MB, "
            f"1/{theirs_idle / self._idle_mb:.0f}; after the load: ours {ours_loaded:.0f} MB, "
            f"theirs {theirs_loaded:.0f} MB, 1/{theirs_loaded / ours_loaded:.0f}"
        )


if __name__ == "__main__":
    main()
