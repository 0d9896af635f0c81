"""What a transaction costs: rates beside plain publishing, and how long one takes.

    python -m bench.transactions [--rounds 5] [--pulsar]

Our client and a standalone broker share the machine; each broker syncs before it answers
(``durability = fsync``, ``journalSyncData=true``). Each round measures plain and transactional
publishing one after the other, so that they meet the same machine; medians of the rounds are told.
Half a minute, and three with Pulsar.
"""

import asyncio
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Final

import click

from bench.pulsar_standalone import PulsarStandalone, fetch
from magnetar import Client
from magnetar.testing.processes import BrokerProcess

ROUNDS: Final = 5
IN_A_TRANSACTION: Final = 100
TRANSACTIONS: Final = 500
"""Of ``IN_A_TRANSACTION`` messages each, in one round."""
SINGLE: Final = 200
"""Transactions one after the other, in one round."""
WORKERS: Final = 50
EACH: Final = 20
"""Transactions of each worker, in one round."""


def payloads(count: int) -> list[bytes]:
    """Payloads of 700 to 1,300 bytes."""
    chance = random.Random(1)
    return [chance.randbytes(chance.randint(700, 1300)) for _ in range(count)]


async def _rate_of(send: Callable[[], Awaitable[None]], workers: int, each: int) -> float:
    """How often a second workers do something, ``each`` times one after the other."""

    async def work() -> None:
        for _ in range(each):
            await send()

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(workers)))
    return workers * each / (time.perf_counter() - began)


async def _one_by_one(send: Callable[[], Awaitable[None]]) -> list[float]:
    """How long something took each time, in seconds."""
    took = []
    for _ in range(SINGLE):
        began = time.perf_counter()
        await send()
        took.append(time.perf_counter() - began)
    return took


Figures = dict[str, list[float]]
"""What was measured in each round, by its name."""


async def one_round(service_url: str, found: Figures) -> None:
    """Measure all once, and add it to ``found``."""
    data = payloads(IN_A_TRANSACTION)
    async with Client(service_url) as client:
        producer = await client.create_producer("transactions")

        async def plain() -> None:
            await producer.send_many(data)

        async def within() -> None:
            async with client.transaction() as txn:
                await producer.send_many(data, txn=txn)

        async def of_one() -> None:
            async with client.transaction() as txn:
                await producer.send(data[0], txn=txn)

        async def empty() -> None:
            async with client.transaction():
                pass

        await within()  # The first makes logs and caches.
        for workers in (1, WORKERS):
            rates = [
                len(data) * await _rate_of(what, workers, TRANSACTIONS // workers)
                for what in (plain, within)
            ]
            found[f"plain messages a second, {workers} at once"].append(rates[0])
            found[f"in transactions of {len(data)}, {workers} at once"].append(rates[1])
            found[f"of plain, {workers} at once"].append(rates[1] / rates[0])
        took = await _one_by_one(of_one)
        found["one message, begin to commit, p50 ms"].append(1e3 * median(took))
        found["empty transactions a second"].append(await _rate_of(empty, WORKERS, EACH))
        found["of one message a second"].append(await _rate_of(of_one, WORKERS, EACH))


@contextmanager
def _brokers(folder: Path, *, pulsar: bool) -> Iterator[dict[str, str]]:
    """Run the brokers to be measured; their service URLs, by what each is called."""
    enabled = {"transactionCoordinatorEnabled": True}
    with ExitStack() as stack:
        ours = stack.enter_context(BrokerProcess(folder / "data", settings=enabled))
        urls = {"Magnetar": ours.service_url}
        if pulsar:
            settings = "transactionCoordinatorEnabled=true\n"
            broker = PulsarStandalone(fetch(), folder / "pulsar", fsync=True, settings=settings)
            urls["Pulsar"] = stack.enter_context(broker).url
        yield urls


@click.command(help=__doc__)
@click.option("--rounds", default=ROUNDS, show_default=True, help="Rounds, each broker in turn.")
@click.option("--pulsar", is_flag=True, help="Beside Apache Pulsar, syncing too (Maven fetches it)")
def main(*, rounds: int, pulsar: bool) -> None:
    """Measure, and print a line for each figure."""
    with tempfile.TemporaryDirectory() as folder, _brokers(Path(folder), pulsar=pulsar) as urls:
        found: dict[str, Figures] = {name: defaultdict(list) for name in urls}
        if pulsar:  # A JVM that has just begun is slower.
            for url in urls.values():
                asyncio.run(one_round(url, defaultdict(list)))
        for _ in range(rounds):
            for name, url in urls.items():
                asyncio.run(one_round(url, found[name]))
    click.echo(" " * 42 + "".join(f"{name:>14}" for name in found))
    for figure in found["Magnetar"]:
        columns = "".join(f"{median(each[figure]):>14,.2f}" for each in found.values())
        click.echo(f"{figure:42}{columns}")


if __name__ == "__main__":
    main()
