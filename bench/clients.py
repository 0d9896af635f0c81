"""Our client beside the official one: throughput and CPU per message, on one broker, in one run.

    python -m bench.clients [--rounds 2] [--seconds 0.5] [--only NAME] [--save NAME]

Five minutes. Every case runs in a process of its own (``bench/client_ways.py``), ours and the
official client's in turn, round by round; shown are medians over the rounds, and the medians of the
ratios within each round. Sizes vary by 30 % around the one that is named. The broker is this
checkout's, on the same processors, and answers before anything is synced to disk. What is received
was sent beforehand by our client, in batches. CPU is that of the client's process, all threads:
on a busy machine it says more than what was reached, and ``broker`` says how much of one processor
the broker took meanwhile: near 100 % it is the broker that was measured.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import click

from magnetar import inner

from . import machine
from .broker import Broker, Magnetar
from .table import amount, percent, table

RESULTS: Final = Path(__file__).parent / "results"
TIMEOUT_S: Final = 60
BACKLOG: Final = {100: 800_000, 1024: 300_000}  # Messages that each consumer finds.
FILL_S: Final = 0.5

LABELS: Final = {
    "send_many": "asyncio: send_many, 1,000 a call",
    "enqueue": "asyncio: enqueue, 1,000 a call",
    "send_nowait": "asyncio: send_nowait, one a call",
    "submit": "asyncio: submit, one a call",
    "send_each": "asyncio: await send, 1,000 at once",
    "blocking_send_many": "blocking: send_many, 5,000 a call",
    "blocking_send_nowait": "blocking: send_nowait, one a call",
    "blocking_submit": "blocking: submit, one a call",
    "official_send_async": "official: send_async with a callback",
    "official_asyncio_send": "official: asyncio, await send, 1,000 at once",
    "receive_each": "asyncio: receive",
    "receive_acknowledge_each": "asyncio: receive, acknowledge",
    "iterate_acknowledge_each": "asyncio: async for, acknowledge",
    "receive_many": "asyncio: receive_many, 1,000 a call",
    "receive_many_acknowledge": "asyncio: receive_many, acknowledge the list",
    "blocking_receive_each": "blocking: receive",
    "blocking_receive_acknowledge_each": "blocking: receive, acknowledge",
    "blocking_iterate_acknowledge_each": "blocking: for, acknowledge",
    "blocking_receive_many_acknowledge": "blocking: receive_many, acknowledge the list",
    "official_receive_each": "official: receive",
    "official_receive_acknowledge_each": "official: receive, acknowledge",
    "official_batch_receive": "official: batch_receive, 1,000 a call",
    "official_batch_receive_acknowledge": "official: batch_receive, acknowledge each",
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Ways of ours, each beside one of the official client's, the last of the row."""

    name: str
    sizes: tuple[int, ...]
    rows: tuple[tuple[tuple[str, ...], str], ...]
    sends: bool
    keyed: bool = False
    build: str = ""  # The inner loops; "" for those that the checkout has.
    domain: str = "persistent"


SIZES: Final = (100, 1024)
ONE: Final = "official_receive_acknowledge_each"
LISTS: Final = "official_batch_receive_acknowledge"
FEW_SENDS: Final = ((("send_many", "send_nowait", "blocking_send_nowait"), "official_send_async"),)
FEW_RECEIVES: Final = (
    (("receive_acknowledge_each", "blocking_receive_acknowledge_each"), ONE),
    (("receive_many_acknowledge", "blocking_receive_many_acknowledge"), LISTS),
)
COMPARISONS: Final = (
    Comparison(
        "send",
        SIZES,
        (
            (
                (
                    "send_many",
                    "enqueue",
                    "blocking_send_many",
                    "send_nowait",
                    "blocking_send_nowait",
                    "submit",
                    "blocking_submit",
                ),
                "official_send_async",
            ),
            (("send_each",), "official_asyncio_send"),
        ),
        sends=True,
    ),
    Comparison(
        "receive",
        SIZES,
        (
            (("receive_each", "blocking_receive_each"), "official_receive_each"),
            (
                (
                    "receive_acknowledge_each",
                    "iterate_acknowledge_each",
                    "blocking_receive_acknowledge_each",
                    "blocking_iterate_acknowledge_each",
                ),
                ONE,
            ),
            (("receive_many",), "official_batch_receive"),
            (("receive_many_acknowledge", "blocking_receive_many_acknowledge"), LISTS),
        ),
        sends=False,
    ),
    Comparison(
        "send to a non-persistent topic", SIZES, FEW_SENDS, sends=True, domain="non-persistent"
    ),
    Comparison("send with a key and two properties", SIZES, FEW_SENDS, sends=True, keyed=True),
    Comparison("send with the plain loops", SIZES, FEW_SENDS, sends=True, build="plain"),
    Comparison(
        "receive with a key and two properties", SIZES, FEW_RECEIVES, sends=False, keyed=True
    ),
    Comparison("receive with the plain loops", SIZES, FEW_RECEIVES, sends=False, build="plain"),
)


@dataclass(frozen=True, slots=True)
class Look:
    """What one process reached."""

    messages_per_s: float
    cpu_us: float
    broker_share: float


def look(
    broker: Broker, way: str, topic: str, case: Comparison, *, size: int, seconds: float
) -> Look:
    """Run one way in a process of its own. Raises when it fails."""
    command = [sys.executable, "-m", "bench.client_ways", way, broker.url, topic, str(size)]
    command += [str(case.keyed), str(seconds), str(BACKLOG[size])]
    environment = dict(os.environ)
    if case.build:
        environment["MAGNETAR_INNER"] = case.build
    busy, began = broker.cpu_s(), time.perf_counter()
    ended = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    share = (broker.cpu_s() - busy) / (time.perf_counter() - began)
    if ended.returncode:
        raise SystemExit(f"{way} failed:\n{ended.stderr[-4000:]}")
    found = json.loads(ended.stdout)
    count = max(found["messages"], 1)
    return Look(count / found["seconds"], found["cpu_s"] / count * 1e6, share)


def compare(
    broker: Broker, case: Comparison, size: int, rounds: int, seconds: float
) -> dict[str, list[Look]]:
    """Every way of a comparison in every round, by way."""
    ways = [way for ours, theirs in case.rows for way in (*ours, theirs)]
    found: dict[str, list[Look]] = {way: [] for way in ways}
    name = f"{case.domain}://public/default/clients-{time.time_ns()}"
    topics = []
    if not case.sends:
        topics.append(f"{name}-backlog")
        look(broker, "fill", topics[0], case, size=size, seconds=FILL_S)
    for _ in range(rounds):
        for way in ways:
            if case.sends:
                topics.append(f"{name}-{len(topics)}")
            found[way].append(look(broker, way, topics[-1], case, size=size, seconds=seconds))
            if case.sends:
                broker.delete_topics([topics.pop()])
    broker.delete_topics(topics)
    return found


def rows(case: Comparison, found: dict[str, list[Look]]) -> Iterator[list[str]]:
    for ours, theirs in case.rows:
        for way in (*ours, theirs):
            looks, others = found[way], found[theirs]
            pairs = list(zip(looks, others, strict=True))
            faster = median(one.messages_per_s / other.messages_per_s for one, other in pairs)
            lighter = median(other.cpu_us / one.cpu_us for one, other in pairs)
            yield [
                LABELS[way],
                amount(median(one.messages_per_s for one in looks)),
                "" if way == theirs else f"{faster:.2f}",
                f"{median(one.cpu_us for one in looks):.2f}",
                "" if way == theirs else f"{lighter:.2f}",
                percent(median(one.broker_share for one in looks)),
            ]


@click.command()
@click.option("--rounds", default=2, show_default=True)
@click.option("--seconds", default=0.5, show_default=True, help="Each case is measured so long.")
@click.option("--only", "names", multiple=True, help="Only this comparison.")
@click.option("--durability", default="none", show_default=True)
@click.option("--save", help="Keep the report in bench/results under this name.")
def main(
    *, rounds: int, seconds: float, names: tuple[str, ...], durability: str, save: str | None
) -> None:
    """Measure, print, and keep the report where --save says."""
    texts: list[str] = []

    def say(text: str) -> None:
        texts.append(text)
        click.echo(text + "\n")
        if save:  # As far as it has come.
            (RESULTS / f"{save}.txt").write_text("\n\n".join(texts) + "\n", encoding="utf-8")

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        say("\n".join([*machine.describe(folder), f"durability   {durability}"]))
        broker = stack.enter_context(Magnetar(folder, durability))
        for case in COMPARISONS:
            if names and case.name not in names:
                continue
            for size in case.sizes:
                found = compare(broker, case, size, rounds, seconds)
                head = f"{case.name}, {size} B; inner loops {case.build or inner.BUILD}"
                heads = [head, "messages/s", "ratio", "CPU us", "ratio", "broker"]
                say(table(heads, list(rows(case, found))))


if __name__ == "__main__":
    main()
