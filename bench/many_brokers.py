"""How soon another broker has many topics of one that died, and what two brokers do beside one.

    python -m bench.many_brokers [--topics 1000] [--seconds 5] [--rounds 2]

Brokers, ZooKeeper, three bookies and the load share the machine. For recovery two brokers share the
topics, and one of them is killed, or stopped for longer than its session; every topic is published
to at once, by the client that was attached, or by one that just came where the broker is silent: it
counts until the last topic has answered. For throughput the official client publishes messages of
1 KiB to 20 topics as fast as they are answered, to one broker and then to two on the same stores.
"""

import asyncio
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import click
import pulsar

from magnetar import Client
from magnetar.testing.processes import BrokerProcess

from . import machine
from .bookkeeper_cluster import BookKeeperCluster

SESSION_MS: Final = 6000
TIMEOUT_S: Final = 120.0
TOPICS: Final = 20
OUTSTANDING_MAX: Final = 500
PAYLOAD: Final = bytes(1024)


@contextmanager
def brokers(
    cluster: BookKeeperCluster, folder: Path, name: str, count: int
) -> Iterator[list[BrokerProcess]]:
    """So many brokers with a part of the stores for themselves."""
    settings = {
        "metadataStoreUrl": f"zk:{cluster.zookeeper.address}/{name}",
        "bookkeeperMetadataServiceUri": cluster.metadata_service_uri,
        "metadataStoreSessionTimeoutMillis": SESSION_MS,
    }
    with ExitStack() as stack:
        yield [
            stack.enter_context(BrokerProcess(folder / f"{name}{number}", settings=settings))
            for number in range(count)
        ]


def url_of(running: list[BrokerProcess]) -> str:
    """The service URL that names all of them."""
    return "pulsar://" + ",".join(each.service_url.partition("//")[2] for each in running)


async def publish(client: Client, names: list[str]) -> float:
    """Publish to every topic at once; the seconds until the last one answered."""
    began = time.monotonic()
    producers = await asyncio.gather(*(client.create_producer(each) for each in names))
    await asyncio.gather(*(each.send(b"x") for each in producers))
    return time.monotonic() - began


async def recovery(running: list[BrokerProcess], names: list[str], *, silent: bool) -> float:
    """Make topics, let the first broker die or be silent, and publish to all of them."""
    victim, *others = running
    async with Client(url_of(running), operation_timeout_s=TIMEOUT_S) as client:
        producers = await asyncio.gather(*(client.create_producer(each) for each in names))
        await asyncio.gather(*(each.send(b"x") for each in producers))
        began = time.monotonic()
        if silent:
            os.kill(victim.pid, signal.SIGSTOP)
            async with Client(
                url_of(others), operation_timeout_s=TIMEOUT_S, connection_timeout_s=0.5
            ) as fresh:
                await publish(fresh, names)
        else:
            victim.kill()
            await asyncio.gather(*(each.send(b"y") for each in producers))
        return time.monotonic() - began


def throughput(url: str, seconds: float) -> float:
    """Messages a second that were answered."""
    quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    client = pulsar.Client(url, logger=quiet)
    answered = 0
    ending = threading.Event()

    def note(result: pulsar.Result, _: pulsar.MessageId) -> None:
        nonlocal answered
        answered += result == pulsar.Result.Ok

    def send(producer: pulsar.Producer) -> None:
        while not ending.is_set():
            producer.send_async(PAYLOAD, note)

    producers = [
        client.create_producer(
            f"persistent://public/default/t{number}",
            block_if_queue_full=True,
            max_pending_messages=OUTSTANDING_MAX,
            batching_enabled=False,
        )
        for number in range(TOPICS)
    ]
    threads = [threading.Thread(target=send, args=(each,)) for each in producers]
    for thread in threads:
        thread.start()
    before, began = answered, time.monotonic()
    time.sleep(seconds)
    rate = (answered - before) / (time.monotonic() - began)
    ending.set()
    for thread in threads:
        thread.join()
    client.close()
    return rate


@click.command()
@click.option("--topics", default=1000, show_default=True, help="Of recovery; 0: none.")
@click.option("--seconds", default=5.0, show_default=True, help="Of throughput; 0: none.")
@click.option("--rounds", default=2, show_default=True)
def main(*, topics: int, seconds: float, rounds: int) -> None:
    """Measure, and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with BookKeeperCluster(folder / "cluster") as cluster:
            click.echo("\n".join(machine.describe(folder)))
            for turn in range(rounds):
                for silent in (False, True) if topics else ():
                    what = "silent" if silent else "killed"
                    names = [f"persistent://public/default/r{n}" for n in range(topics)]
                    with brokers(cluster, folder, f"{what}{turn}", 2) as running:
                        took = asyncio.run(recovery(running, names, silent=silent))
                        if silent:
                            os.kill(running[0].pid, signal.SIGCONT)
                    click.echo(f"{topics} topics, a broker {what}: all answered after {took:.2f} s")
                for count in (1, 2) if seconds else ():
                    with brokers(cluster, folder, f"of{count}-{turn}-", count) as running:
                        rate = throughput(url_of(running), seconds)
                    click.echo(f"{count} broker(s): {rate:.0f} messages/s of 1 KiB")


if __name__ == "__main__":
    main()
