"""What more processes on one data folder bring: ``magnetar standalone --processes N``.

    python -m bench.processes [--count 1 --count 2] [--rounds 3] [--seconds 2] [--case TEXT]...

A closed loop on a hundred topics against each number of processes, in turn, with fsync; a
connection for each topic, to the process that serves it. Brokers and generator share the machine,
so the table says what each of them takes.

The last table computes what more cores would give, from what was measured: a process has a core, an
entry costs it what it cost here with two processes; topics are where their names' hashes put them,
and the process that has most of them is the first that is full; the disk syncs so many bytes a
second. Nothing of it was run.
"""

import json
import tempfile
import urllib.request
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from statistics import mean, median
from typing import Final

import click
import psutil

from magnetar.broker.siblings import BUNDLES
from magnetar.model.bundles import Bundles
from magnetar.model.names import TopicName

from . import cases, limits, machine
from .broker import Magnetar
from .closed_loop import Throughput
from .compare import Comparison, warm_up
from .measure import Result
from .table import amount, percent, ratio, table

CASES: Final = ("100 topics x 20 in flight, 100 B", "100 topics x 20 in flight, 1 KiB")
COMPUTED: Final = (1, 2, 4, 8, 16, 32)
DRAWN: Final = 20
"""So many sets of topic names are looked at for how evenly hashes share them out."""


class Processes(Magnetar):
    """Several brokers, looked at as one."""

    def __init__(self, folder: Path, count: int) -> None:
        super().__init__(folder, "fsync", settings={"processes": count})
        self.name = f"{count} processes" if count > 1 else "1 process"
        self.count = count

    def address_of(self, topic: str) -> tuple[str, int]:
        url = f"{self.web_url}/lookup/v2/topic/{topic.replace('://', '/')}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            host, _, port = json.load(answer)["brokerUrl"].rpartition("/")[2].rpartition(":")
        return host, int(port)

    def cpu_times_s(self) -> tuple[float, float]:
        assert self.pid is not None
        first = psutil.Process(self.pid)
        times = [each.cpu_times() for each in (first, *first.children())]
        return sum(each.user for each in times), sum(each.system for each in times)


def evenness(topics: int, processes: int) -> float:
    """How much of the load of the busiest process the mean one has, over sets of names."""
    found = []
    for number in range(DRAWN):
        names = [f"persistent://public/default/load-{number}-{each}" for each in range(topics)]
        bundles = Bundles.even(BUNDLES * processes)
        owners = dict(zip(bundles.boundaries, cycle(range(processes))))
        counts = Counter(owners[bundles.bundle_of(TopicName.parse(each)).low] for each in names)
        found.append(topics / processes / max(counts.values()))
    return mean(found)


def computed(size: int, cpu_us: float, disk_mb_per_s: float) -> list[list[str]]:
    """A row for each number of processes: entries a second, and what ends it."""
    disk = disk_mb_per_s * 1e6 / size
    rows = []
    for count in COMPUTED:
        row = [str(count)]
        for topics in (100, 1000):
            even = evenness(topics, count)
            busiest = count * 1e6 / cpu_us * even
            ends = "cores" if even > 0.9 else "the busiest process"
            row += [
                percent(even),
                amount(min(busiest, disk)),
                ends if busiest < disk else "the disk",
            ]
        rows.append(row)
    return rows


def _medians(results: Sequence[Result]) -> tuple[float, float, float]:
    """Entries a second, CPU of the broker and of the generator for one."""
    found = [each for each in results if isinstance(each, Throughput)]
    return (
        median(each.entries_per_s for each in found),
        median(each.broker_cpu_us for each in found),
        median(each.generator_cpu_us for each in found),
    )


@click.command()
@click.option("--count", "counts", multiple=True, type=int, default=[1, 2], show_default=True)
@click.option("--rounds", default=3, show_default=True)
@click.option("--seconds", default=2.0, show_default=True, help="Each case is measured so long.")
@click.option("--case", "names", multiple=True, help="Only cases with this in their names.")
def main(*, counts: tuple[int, ...], rounds: int, seconds: float, names: tuple[str, ...]) -> None:
    """Measure, compute, print."""
    among = [each for each in cases.ALL if each.name in CASES]
    chosen = [replace(each, seconds=seconds) for each in cases.named(list(names), among)]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        lines = machine.describe(folder)
        raw = limits.measure(folder)
        brokers = [stack.enter_context(Processes(folder / f"{each}", each)) for each in counts]
        for broker in brokers:
            warm_up(broker)
        comparison = Comparison([*brokers], folder)
        comparison.run(chosen, rounds)
    click.echo("\n".join([*lines, *(f"limit        {line}" for line in raw.lines())]))
    rows, last = [], {}
    for case in chosen:
        first = 0.0
        for broker in brokers:
            rate, cpu_us, generator_us = _medians(comparison.results[case.name][broker.name])
            first, last[case] = first or rate, cpu_us
            cores = rate * (cpu_us + generator_us) / 1e6
            numbers = [amount(rate), ratio(rate, first), f"{cpu_us:.2f}", f"{generator_us:.2f}"]
            rows.append([case.name, broker.name, *numbers, f"{cores:.2f}"])
    heads = ["medians", "", "entries/s", "to the first", "CPU us: brokers", "generator", "cores"]
    click.echo(table(heads, rows, (0, 1)))
    heads = ["processes", "100 topics: even", "entries/s", "ends with"]
    heads += ["1000 topics: even", "entries/s", "ends with"]
    for case, cpu_us in last.items():
        click.echo(f"\ncomputed: {case.name}, {cpu_us:.2f} us an entry")
        click.echo(table(heads, computed(case.size, cpu_us, raw.big_sync_mb_per_s)))


if __name__ == "__main__":
    main()
