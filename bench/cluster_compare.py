"""Ours and Apache Pulsar's broker on the same bookies, in one run, interleaved.

    python -m bench.cluster_compare [--rounds 3] [--seconds 2] [--case TEXT]...

Both write two copies of each entry to three bookies on this machine, which sync before they answer
and are set as Apache Pulsar ships them (``bookkeeper_cluster.SHIPPED``). Each broker has a path of
its own in the one ZooKeeper. Figures are medians.

Brokers, bookies and generator share the machine, so a second table tells what each of them takes.
Where all of its processors are in use, none of the figures can be better than that of all together;
where they are not, the bookies' disk is waited for, or others use the machine.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Final

import click

from magnetar.testing.processes import BrokerProcess

from . import cases, machine
from .bookkeeper_cluster import SHIPPED, SHIPPED_JVM, BookKeeperCluster
from .broker import Broker
from .closed_loop import Throughput
from .compare import Comparison, warm_up
from .maven import Missing
from .measure import Result
from .pulsar_on_cluster import PulsarBroker, set_up
from .pulsar_standalone import JVM_OPTIONS
from .table import ratio, table

CASES: Final = (
    "publish 100 B",
    "publish 1 KiB",
    "publish 64 KiB",
    "batches 1000 x 100 B",
    "100 topics x 20 in flight, 1 KiB",
    "end to end 1 KiB",
    "fan-out 10, 1 KiB",
)


@contextmanager
def brokers(folder: Path) -> Iterator[list[Broker]]:
    """Both, ready. Raises Missing."""
    with BookKeeperCluster(folder / "cluster", settings=SHIPPED, options=SHIPPED_JVM) as cluster:
        set_up(cluster)
        settings = {
            "metadataStoreUrl": f"zk:{cluster.zookeeper.address}/ours",
            "bookkeeperMetadataServiceUri": cluster.metadata_service_uri,
        }
        more = {
            "numIOThreads": "",
            "bookkeeperNumberOfChannelsPerBookie": 16,
            "managedLedgerCacheSizeMB": "",
        }
        theirs = PulsarBroker(folder / "theirs", cluster, more, options=JVM_OPTIONS)
        with BrokerProcess(folder / "ours", settings=settings) as ours, theirs:
            both = [
                Broker("Magnetar", ours.service_url, ours.web_url, ours.pid),
                Broker("Pulsar 4.0.7", theirs.service_url, theirs.web_url, theirs.pid),
            ]
            for broker in both:
                broker.bookies = [bookie.pid for bookie in cluster.bookies]
            yield both


def cpu_table(comparison: Comparison, ours: Broker, theirs: Broker) -> str:
    """What an entry takes of whose CPU: medians, in microseconds, and ours for one of theirs."""
    heads = ["CPU, us per entry published"]
    for part in ("broker", "bookies", "generator"):
        heads += [f"{part}: ours", "theirs"]
    heads += ["all: theirs / ours", "cores: ours", "theirs"]
    rows = []
    for case, results in comparison.results.items():
        if not {ours.name, theirs.name} <= results.keys():
            continue
        parts = [_cpu(results[broker.name]) for broker in (ours, theirs)]
        row = [f"{part:.2f}" for pair in zip(*parts, strict=True) for part in pair]
        rows.append([case, *row[:6], ratio(parts[1][3], parts[0][3]), *row[8:]])
    return table(heads, rows)


def _cpu(results: Sequence[Result]) -> tuple[float, ...]:
    """Of the broker, of bookies, of the generator, of all; and how many cores that was."""
    found = [each for each in results if isinstance(each, Throughput)]
    return (
        median(each.broker_cpu_us for each in found),
        median(each.bookies_cpu_us for each in found),
        median(each.generator_cpu_us for each in found),
        median(each.all_cpu_us for each in found),
        median(each.all_cpu_us * each.entries_per_s / 1e6 for each in found),
    )


@click.command()
@click.option("--rounds", default=3, show_default=True)
@click.option("--seconds", default=2.0, show_default=True, help="Each case is measured so long.")
@click.option("--case", "names", multiple=True, help="Only cases with this in their names.")
def main(*, rounds: int, seconds: float, names: tuple[str, ...]) -> None:
    """Run both, print ratios."""
    among = [each for each in cases.ALL if each.name in CASES]
    chosen = [replace(each, seconds=seconds) for each in cases.named(list(names), among)]
    with tempfile.TemporaryDirectory() as folder:
        try:
            with brokers(Path(folder)) as both:
                for broker in both:
                    warm_up(broker)
                comparison = Comparison(both, Path(folder))
                comparison.run(chosen, rounds)
                click.echo("\n".join(machine.describe(Path(folder))))
                click.echo(comparison.table(*both))
                click.echo(cpu_table(comparison, *both))
        except Missing as missing:
            click.echo(f"no comparison on bookies: {missing}")


if __name__ == "__main__":
    main()
