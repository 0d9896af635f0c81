"""How long a topic takes to open that has many old transactions, and its coordinator.

    python -m bench.old_transactions [--transactions 1000000] [--aborted 0.1]

Each transaction has one message. They are made by our client, 200 at once, which takes four
minutes for a million. Then the topic is unloaded and a producer connects; then the broker is
killed, and as soon as it is ready a producer connects and a transaction begins.
"""

import asyncio
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Final

import click
from rich.progress import Progress

from bench.memory import used
from magnetar import Client
from magnetar.testing.processes import BrokerProcess

WORKERS: Final = 200
TOPIC: Final = "persistent://public/default/old-transactions"
UNLOADS: Final = 5


async def make(service_url: str, count: int, aborted: float) -> None:
    """Begin and end transactions of one message each, of which a share is aborted."""
    numbers = iter(range(count))
    with Progress() as progress:
        task = progress.add_task("transactions", total=count)
        async with Client(service_url) as client:
            producer = await client.create_producer(TOPIC, batching=False)

            async def work() -> None:
                for number in numbers:
                    txn = await client.transaction()
                    await producer.send(b"%d" % number, txn=txn)
                    if int((number + 1) * aborted) > int(number * aborted):
                        await txn.abort()
                    else:
                        await txn.commit()
                    progress.advance(task)

            await asyncio.gather(*(work() for _ in range(WORKERS)))


async def time_to_connect(service_url: str) -> float:
    """How long a producer takes to connect, in seconds."""
    async with Client(service_url) as client:
        began = time.perf_counter()
        await client.create_producer(TOPIC)
        return time.perf_counter() - began


async def time_to_begin(service_url: str) -> float:
    """How long the first transaction takes to begin, in seconds."""
    async with Client(service_url) as client:
        began = time.perf_counter()
        txn = await client.transaction()
        took = time.perf_counter() - began
        await txn.abort()
        return took


def unload(web_url: str) -> None:
    """Unload the topic."""
    path = "/admin/v2/" + TOPIC.replace("://", "/") + "/unload"
    urllib.request.urlopen(urllib.request.Request(web_url + path, method="PUT")).close()


@click.command(help=__doc__)
@click.option("--transactions", default=1_000_000, show_default=True)
@click.option("--aborted", default=0.1, show_default=True, help="The share that is aborted.")
def main(*, transactions: int, aborted: float) -> None:
    """Measure, and print a line for each figure."""
    enabled = {"transactionCoordinatorEnabled": True}
    with (
        tempfile.TemporaryDirectory() as folder,
        BrokerProcess(Path(folder) / "data", settings=enabled) as broker,
    ):
        asyncio.run(make(broker.service_url, transactions, aborted))
        for _ in range(UNLOADS):
            unload(broker.web_url)
            click.echo(f"opened after {asyncio.run(time_to_connect(broker.service_url)):.3f} s")
        click.echo(f"memory {used(broker.pid) / 2**20:.0f} MiB")
        broker.kill()
        began = time.perf_counter()
        broker.start()
        click.echo(f"ready after a kill in {time.perf_counter() - began:.3f} s")
        click.echo(f"opened after {asyncio.run(time_to_connect(broker.service_url)):.3f} s")
        click.echo(f"first begin {asyncio.run(time_to_begin(broker.service_url)):.3f} s")


if __name__ == "__main__":
    main()
