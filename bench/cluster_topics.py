"""How soon many topics on bookies are open, with ours and with Apache Pulsar's broker.

    python -m bench.cluster_topics [--topics 1000] [--rounds 2]

Our client makes topics with a subscription and a message each. Then the broker is killed, its
ledgers are left open; it is started again, its former session has ended, and the client attaches a
producer and a consumer to every topic at once, and receives what is there. Both write two copies of
each entry to the same three bookies, in turn.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from statistics import median
from typing import Final

import click
from rich.console import Console
from rich.table import Table

from magnetar import Client, Consumer, InitialPosition, Producer
from magnetar.testing.processes import BrokerProcess

from . import machine
from .bookkeeper_cluster import BookKeeperCluster
from .maven import Missing
from .pulsar_on_cluster import PulsarBroker, set_up
from .pulsar_standalone import JVM_OPTIONS

SESSION_MS: Final = 4000
TIMEOUT_S: Final = 300.0
EARLIEST: Final = InitialPosition.EARLIEST


class Attached:
    """A client with a producer and a consumer for each topic."""

    def __init__(self, broker: BrokerProcess | PulsarBroker) -> None:
        self._client = Client(broker.service_url, operation_timeout_s=TIMEOUT_S)
        self._consumers: list[Consumer] = []
        self._producers: list[Producer] = []

    async def attach(self, names: list[str]) -> None:
        """Attach to all at once."""
        client = self._client
        self._producers, self._consumers = await asyncio.gather(
            asyncio.gather(*map(client.create_producer, names)),
            asyncio.gather(
                *(client.subscribe(name, "s", initial_position=EARLIEST) for name in names)
            ),
        )

    async def publish(self) -> None:
        """Publish a message to each topic."""
        await asyncio.gather(*(each.send(b"x") for each in self._producers))

    async def receive(self) -> None:
        """Receive a message of each topic."""
        await asyncio.gather(*(each.receive() for each in self._consumers))

    async def close(self) -> None:
        """Let go of all of them."""
        await self._client.close()


async def seconds(work: Awaitable[None]) -> float:
    """How long something takes."""
    began = time.monotonic()
    await work
    return time.monotonic() - began


async def measure(broker: BrokerProcess | PulsarBroker, names: list[str]) -> dict[str, float]:
    """Make topics, kill the broker, and open them all. Seconds of each step."""
    found: dict[str, float] = {}
    before = Attached(broker)
    found["made"] = await seconds(before.attach(names))
    await before.publish()
    broker.kill()
    await before.close()
    await asyncio.sleep(2 * SESSION_MS / 1000)  # Nobody tells when its session has ended.
    broker.start()
    after = Attached(broker)
    found["opened"] = await seconds(after.attach(names))
    found["received"] = await seconds(after.receive())
    await after.close()
    return found


@click.command()
@click.option("--topics", default=1000, show_default=True)
@click.option("--rounds", default=2, show_default=True)
def main(*, topics: int, rounds: int) -> None:
    """Measure both, in turn."""
    console = Console()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            with BookKeeperCluster(folder / "cluster") as cluster:
                set_up(cluster)
                found = _compare(folder, cluster, topics, rounds, console)
        except Missing as missing:
            console.print(f"no comparison on bookies: {missing}")
            return
        console.print(machine.describe(folder))
    table = Table("seconds", *found, title=f"{topics} topics, medians of {rounds}")
    for step in ("made", "opened", "received"):
        table.add_row(
            step, *(f"{median(each[step] for each in figures):.2f}" for figures in found.values())
        )
    console.print(table)


def _compare(
    folder: Path, cluster: BookKeeperCluster, topics: int, rounds: int, console: Console
) -> dict[str, list[dict[str, float]]]:
    settings = {
        "metadataStoreUrl": f"zk:{cluster.zookeeper.address}/ours",
        "bookkeeperMetadataServiceUri": cluster.metadata_service_uri,
        "metadataStoreSessionTimeoutMillis": SESSION_MS,
    }
    theirs = PulsarBroker(folder / "theirs", cluster, {"numIOThreads": ""}, options=JVM_OPTIONS)
    found: dict[str, list[dict[str, float]]] = {"Magnetar": [], "Pulsar 4.0.7": []}
    with BrokerProcess(folder / "ours", settings=settings) as ours, theirs:
        for turn in range(rounds):
            names = [f"persistent://public/default/r{turn}-{number}" for number in range(topics)]
            for who, broker in zip(found, (ours, theirs), strict=True):
                with console.status(f"round {turn + 1} of {rounds}: {who}"):
                    found[who].append(asyncio.run(measure(broker, names)))
    return found


if __name__ == "__main__":
    main()
