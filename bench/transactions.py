"""What a transaction costs: rates beside plain publishing, and how long one takes.

    python -m bench.transactions [ROUNDS]

The client and a standalone broker share the machine; the broker syncs before it answers
(``durability = fsync``). Each round measures plain and transactional publishing one after the
other, so that they meet the same machine; medians of the rounds are told. Half a minute.
"""

import asyncio
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Final

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


async def measure(service_url: str, rounds: int = ROUNDS) -> dict[str, float]:
    """Measure all, and return the medians of the rounds."""
    data = payloads(IN_A_TRANSACTION)
    found: dict[str, list[float]] = defaultdict(list)
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
        for _ in range(rounds):
            for workers in (1, WORKERS):
                rates = [
                    len(data) * await _rate_of(what, workers, TRANSACTIONS // workers)
                    for what in (plain, within)
                ]
                found[f"plain messages a second, {workers} at once"].append(rates[0])
                found[f"in transactions of {len(data)}, {workers} at once"].append(rates[1])
                found[f"of plain, {workers} at once"].append(rates[1] / rates[0])
            found["one message, begin to commit, p50 ms"].append(
                1e3 * median(await _one_by_one(of_one))
            )
            found["empty transactions a second"].append(await _rate_of(empty, WORKERS, EACH))
            found["of one message a second"].append(await _rate_of(of_one, WORKERS, EACH))
    return {name: median(figures) for name, figures in found.items()}


def main() -> None:
    """Measure, and print a line for each figure."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        enabled = {"transactionCoordinatorEnabled": True}
        with BrokerProcess(Path(folder) / "data", settings=enabled) as broker:
            found = asyncio.run(measure(broker.service_url, rounds))
    for name, figure in found.items():
        print(f"{name:42} {figure:>12,.2f}")


if __name__ == "__main__":
    main()
