"""Whether opening and closing again and again leaves something behind in the process.

    python -m bench.open_close [CYCLES]    10,000 of each kind; exit with 1 when memory is not flat

The broker is a process of its own. The first tenth of the cycles fills what is filled once; over
the rest the objects that the garbage collector tracks may grow by a fraction of one a cycle. The
resident memory goes up and down by some MB, since the allocator keeps what it frees (each client
has a buffer of 256 KB): it may not grow by more than 10 MB.
"""

import asyncio
import gc
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from magnetar import Client
from magnetar.client import blocking

from .broker import Magnetar

CYCLES = 10_000
OBJECTS_MAX = 0.05
MEMORY_MAX = 10_000_000
TOPIC = "open-close"


async def whole_client(_: Client, url: str) -> None:
    async with Client(url) as another:
        await another.partitions(TOPIC)


async def producer(client: Client, _: str) -> None:
    async with client.create_producer(TOPIC):
        pass


async def consumer(client: Client, _: str) -> None:
    async with client.subscribe(TOPIC, "s"):
        pass


async def reader(client: Client, _: str) -> None:
    async with client.create_reader(TOPIC):
        pass


class Growth:
    """What a kind of cycle leaves behind, from the end of the first tenth on."""

    def __init__(self, kind: str, cycles: int) -> None:
        self._kind = kind
        self._cycles = cycles
        self._begun = time.perf_counter()
        self._before = (0, 0)

    def after(self, cycle: int) -> None:
        if cycle == self._cycles // 10:
            self._before = _kept()

    def flat(self) -> bool:
        objects, size = _kept()
        counted = self._cycles - self._cycles // 10
        objects_each = (objects - self._before[0]) / counted
        bytes_each = (size - self._before[1]) / counted
        seconds = time.perf_counter() - self._begun
        print(
            f"{self._kind:<23} {self._cycles} cycles in {seconds:5.1f} s: {objects_each:+.4f} "
            f"objects and {bytes_each:+.1f} bytes a cycle, {size / 1e6:.1f} MB",
            flush=True,
        )
        return objects_each <= OBJECTS_MAX and size - self._before[1] <= MEMORY_MAX


def _kept() -> tuple[int, int]:
    gc.collect()
    return len(gc.get_objects()), psutil.Process().memory_info().rss


async def _asynchronous(url: str, cycles: int) -> bool:
    flat = True
    async with Client(url) as client:
        for cycle in (whole_client, producer, consumer, reader):
            growth = Growth(f"asyncio {cycle.__name__}", cycles)
            for number in range(cycles):
                await cycle(client, url)
                growth.after(number)
            flat &= growth.flat()
    return flat


def _blocking(url: str, cycles: int) -> bool:
    def whole_client() -> None:
        with blocking.Client(url) as another:
            another.partitions(TOPIC)

    flat = True
    with blocking.Client(url) as client:
        kinds: dict[str, Callable[[], object]] = {
            "client": whole_client,
            "producer": lambda: client.create_producer(TOPIC).close(),
            "consumer": lambda: client.subscribe(TOPIC, "s").close(),
            "dropped reader": lambda: client.create_reader(TOPIC),
        }
        for kind, cycle in kinds.items():
            growth = Growth(f"blocking {kind}", cycles)
            for number in range(cycles):
                cycle()
                growth.after(number)
            flat &= growth.flat()
    return flat


def main() -> int:
    cycles = int(sys.argv[1]) if len(sys.argv) > 1 else CYCLES
    with tempfile.TemporaryDirectory() as folder, Magnetar(Path(folder), "none") as broker:
        with blocking.Client(broker.url) as client:
            client.create_producer(TOPIC).close()
        flat = asyncio.run(_asynchronous(broker.url, cycles))
        return 0 if _blocking(broker.url, cycles) and flat else 1


if __name__ == "__main__":
    sys.exit(main())
