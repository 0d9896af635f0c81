"""What looking costs: latency of publishing with the console's events open and metrics scraped.

    python -m bench.operating [--topics 1] [--rate 500] [--rounds 7] [--seconds 1]

One broker and one producer; rounds with nobody looking and rounds with a listener to the events of
the topic and a scrape each second take turns; the figures are medians of rounds. Another process
does the looking.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from magnetar import Client
from magnetar.testing.processes import BrokerProcess

LOOK = """
import sys, threading, time, urllib.request
url, on = sys.argv[1], threading.Event()
def listen():
    while True:
        on.wait()
        with urllib.request.urlopen(
            f"{url}/admin/v2/magnetar/events?topic=persistent://public/default/t0"
        ) as told:
            while on.is_set() and told.readline():
                pass
def scrape():
    while True:
        on.wait()
        began = time.monotonic()
        urllib.request.urlopen(f"{url}/metrics/").read()
        time.sleep(max(1 - (time.monotonic() - began), 0))
for work in (listen, scrape):
    threading.Thread(target=work, daemon=True).start()
for line in sys.stdin:
    on.set() if line == "on\\n" else on.clear()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", type=int, default=1, help="open topics with a subscription")
    parser.add_argument("--rate", type=int, default=500, help="messages in a second")
    parser.add_argument("--rounds", type=int, default=7, help="of each kind")
    parser.add_argument("--seconds", type=float, default=1.0, help="of a round")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, BrokerProcess(Path(folder)) as broker:
        look = [sys.executable, "-c", LOOK, broker.web_url]
        with subprocess.Popen(look, stdin=subprocess.PIPE, text=True) as looking:
            try:
                asyncio.run(measure(broker.service_url, looking, options))
            finally:
                looking.kill()


async def measure(url: str, looking: "subprocess.Popen[str]", options: argparse.Namespace) -> None:
    found: dict[str, list[list[float]]] = {"off": [], "on": []}
    assert looking.stdin is not None
    async with Client(url) as client:
        producer = await client.create_producer("t0", batching=False)
        for number in range(options.topics):
            await (await client.subscribe(f"t{number}", "s")).close()
        await round_of(producer, options)  # To warm up.
        for _ in range(options.rounds):
            for kind in ("off", "on"):
                looking.stdin.write(f"{kind}\n")
                looking.stdin.flush()
                await asyncio.sleep(0.2)
                found[kind].append(await round_of(producer, options))
    print(f"{options.topics} topics, {options.rate} messages/s, {options.rounds} rounds of each")
    p99_ms = {}
    for kind, what in (("off", "nobody looks"), ("on", "events and a scrape each second")):
        p50, p90, p99_ms[kind] = (
            median(quantile(times, share) * 1000 for times in found[kind])
            for share in (0.5, 0.9, 0.99)
        )
        print(f"{what:32} p50 {p50:.2f} ms  p90 {p90:.2f} ms  p99 {p99_ms[kind]:.2f} ms")
    print(f"p99 with, of p99 without: {p99_ms['on'] / p99_ms['off']:.2f} (medians of rounds)")


async def round_of(producer: object, options: argparse.Namespace) -> list[float]:
    """The latencies of sends at a steady rate."""
    times: list[float] = []

    async def send() -> None:
        began = perf_counter()
        await producer.send(b"x" * 100)  # type: ignore[attr-defined]
        times.append(perf_counter() - began)

    began, sends = perf_counter(), []
    for number in range(int(options.rate * options.seconds)):
        delay_s = began + number / options.rate - perf_counter()
        if delay_s > 0:
            await asyncio.sleep(delay_s)
        sends.append(asyncio.create_task(send()))
    await asyncio.gather(*sends)
    return times


def quantile(times: list[float], share: float) -> float:
    return sorted(times)[min(int(len(times) * share), len(times) - 1)]


if __name__ == "__main__":
    main()
