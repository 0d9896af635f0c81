"""Ours and Apache Pulsar's broker on the same bookies, in one run, interleaved.

    python -m bench.cluster_compare [--rounds 3] [--seconds 2] [--case TEXT]...

Both write two copies of each entry to three bookies on this machine, which sync before they answer.
Each broker has a path of its own in the one ZooKeeper. Figures are medians; the CPU is that of the
broker's process alone.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from magnetar.testing.processes import BrokerProcess

from . import cases, machine
from .bookkeeper_cluster import BookKeeperCluster
from .broker import Broker
from .compare import Comparison, warm_up
from .maven import Missing
from .pulsar_on_cluster import PulsarBroker, set_up
from .pulsar_standalone import JVM_OPTIONS

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
    with BookKeeperCluster(folder / "cluster") as cluster:
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
            yield [
                Broker("Magnetar", ours.service_url, ours.web_url, ours.pid),
                Broker("Pulsar 4.0.7", theirs.service_url, theirs.web_url, theirs.pid),
            ]


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
                click.echo(machine.describe(Path(folder)))
                click.echo(comparison.table(*both))
                click.echo(comparison.cost_table())
        except Missing as missing:
            click.echo(f"no comparison on bookies: {missing}")


if __name__ == "__main__":
    main()
