"""What looking costs: latency of publishing with the console open and metrics scraped each second.

    python -m bench.operating [--topics 1] [--rate 1000] [--pairs 10] [--durability fsync]

One broker and one producer, which sends at a steady rate from the first slice to the last, however
long answers take; sizes and keys vary. In slices nobody looks, or somebody does, in turn: listens
to the events of the topic, and scrapes the metrics of all open topics each second. Latencies are
pooled by side, and the ratio of their quantiles has an interval by bootstrap (``alternating.py``).
With ``--nobody`` nobody looks in either side: so far the ratio is from 1 by chance.
"""

import asyncio
import os
import select
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from magnetar import Client

from .alternating import Slice, order, quantile_s, ratio
from .broker import Magnetar
from .cases import KIB, Case
from .open_loop import OpenLoop
from .table import table

WARM_UP_S = 2.0
STEP_S = 0.02
"""So often it is looked whether the next slice may begin."""
SETTLE_S = 0.1
"""What is sent so soon after a change counts for neither side."""
MOST = 1.10
SHARES = (0.5, 0.9, 0.99)
SIDES = ("nobody looks", "events, and a scrape each second")


@dataclass(slots=True)
class Turn:
    """One slice: the sends from ``first`` to ``stop`` - 1, and what the broker used of a core."""

    side: int
    first: int
    stop: int
    cpu_share: float


class Turns(OpenLoop):
    """An open loop that goes on while somebody looks and nobody does, in turn."""

    def take(
        self, sides: list[int], seconds: float, looking: "subprocess.Popen[str]"
    ) -> list[Turn]:
        """Send without a pause; ``looking`` is told when to look, for sides that are not 0."""
        self.begin()
        self._go_on(WARM_UP_S)
        turns = []
        for side in sides:
            self._tell(looking, "on" if side else "off")
            self._go_on(SETTLE_S)
            first, began, cpu_s = self._count, time.perf_counter(), self._broker.cpu_s()
            self._go_on(seconds)
            cpu_s, took_s = self._broker.cpu_s() - cpu_s, time.perf_counter() - began
            turns.append(Turn(side, first, self._count, cpu_s / took_s))
        self._tell(looking, "off")
        self._wait_for(self._count)
        return turns

    def _tell(self, looking: "subprocess.Popen[str]", what: str) -> None:
        """Send on until the looker does what it is told."""
        assert looking.stdin is not None
        assert looking.stdout is not None
        looking.stdin.write(f"{what}\n")
        looking.stdin.flush()
        while not select.select([looking.stdout], [], [], 0)[0]:
            self._go_on(STEP_S)
        if not looking.stdout.readline():
            raise click.ClickException("who looks at the broker has ended")

    def latencies(self, turn: Turn) -> Iterator[float]:
        """From when each send of a turn was meant to go, to its receipt."""
        number = turn.first
        at = bisect_left(self._receipts, turn.first + 1, key=lambda pair: pair[1])
        for when, by_then in self._receipts[at:]:
            while number < min(by_then, turn.stop):
                yield when - self._started - number / self._case.rate
                number += 1
            if number == turn.stop:
                return


async def open_topics(url: str, count: int) -> None:
    """Topics with a subscription each, which stay open."""
    async with Client(url) as client:
        for number in range(count):
            await (await client.subscribe(f"looked-at-{number}", "s")).close()


@click.command()
@click.option("--topics", default=1, show_default=True, help="Open topics.")
@click.option("--rate", default=1000, show_default=True, help="Messages in a second.")
@click.option("--size", default=KIB, show_default=True, help="Of a message, 30 % more or less.")
@click.option("--pairs", default=10, show_default=True, help="Slices of each side.")
@click.option("--seconds", default=2.0, show_default=True, help="Of a slice.")
@click.option("--durability", default="fsync", show_default=True)
@click.option("--nobody", is_flag=True, help="Nobody looks in either side.")
@click.option("--first", is_flag=True, help="Go before what else runs here; it needs to be root.")
@click.option("--folder", help="Where the broker's data is, such as /dev/shm for no disk's noise.")
def main(
    *,
    topics: int,
    rate: int,
    size: int,
    pairs: int,
    seconds: float,
    durability: str,
    nobody: bool,
    first: bool,
    folder: str | None,
) -> None:
    """Measure and compare."""
    if first:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))  # All that it starts has it, too.
    case = Case("looked at", size=size, keys=1000, rate=rate)
    sides = order(pairs)
    with (
        tempfile.TemporaryDirectory(dir=folder) as data,
        Magnetar(Path(data), durability) as broker,
    ):
        asyncio.run(open_topics(broker.url, topics - 1))
        loop = Turns(broker, case)
        look = [sys.executable, "-m", "bench.looker", broker.web_url, loop.topics[0]]
        if nobody:
            look.append("nobody")
        with subprocess.Popen(
            look, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as looking:
            try:
                turns = loop.take(sides, seconds, looking)
                scrapes, _ = looking.communicate()
            finally:
                looking.kill()
        slices = [Slice(loop.latencies(turn)) for turn in turns]
        loop.close()
    click.echo(
        f"{topics} topics, {rate} messages/s of {size} B, durability {durability}, "
        f"{pairs} pairs of slices of {seconds:g} s; {scrapes.strip() or 'no scrapes'}"
    )
    click.echo(report(turns, slices))


def report(turns: list[Turn], slices: list[Slice]) -> str:
    """Quantiles of both sides, their ratios, and whether the last one is small enough."""
    rows = []
    for side, name in enumerate(SIDES):
        mine = [index for index, turn in enumerate(turns) if turn.side == side]
        its = [slices[index] for index in mine]
        times = [f"{quantile_s(its, share) * 1000:.2f} ms" for share in SHARES]
        cpu = sum(turns[index].cpu_share for index in mine) / len(mine)
        rows.append([name, *times, f"{cpu:.0%}"])
    pairs = []
    for one, other in zip(range(0, len(turns), 2), range(1, len(turns), 2), strict=True):
        first, second = (one, other) if turns[one].side == 0 else (other, one)
        pairs.append((slices[first], slices[second]))
    found = [ratio(pairs, share) for share in SHARES]
    rows.append(["the second, of the first", *(f"{each.value:.2f}" for each in found), ""])
    rows.append(["95 % of draws", *(f"{each.low:.2f} to {each.high:.2f}" for each in found), ""])
    heads = ["", *(f"p{share * 100:g}" for share in SHARES), "broker's CPU"]
    return f"{table(heads, rows)}\np99: {found[-1].verdict(MOST)}"


if __name__ == "__main__":
    main()
