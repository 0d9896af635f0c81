"""What replication takes: lag from cluster to cluster, and what publishing costs meanwhile.

    python -m bench.replication               # Two brokers of ours, two of Apache Pulsar's.
    python -m bench.replication --only ours   # Without Pulsar.

Lag is from when a message is sent in the one cluster to when a consumer in the other has it, at a
rate that both sides carry with ease; the pairs take turns, a slice each. Throughput is that of a
topic that is replicated, beside one in the same broker that is not, in turns, too. All of it runs
on one machine: the other cluster's broker and the load take what the broker could have had, so
that the CPU of the broker for an entry says more than the ratio.
"""

import argparse
import asyncio
import json
import os
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from urllib.parse import quote

from magnetar import Client, InitialPosition

from .broker import Broker, Magnetar
from .cases import Case
from .closed_loop import ClosedLoop, Throughput
from .pulsar_standalone import PulsarStandalone, fetch

NAMES = ("west", "east")
PLAIN, REPLICATED = "bench/plain", "bench/replicated"
CASES = (
    Case("publish 1 KiB", size=1024),
    Case("batches of 100 x 100 B", batch=100, in_flight=200),
)
DRAIN_S_MAX = 30.0


@dataclass(slots=True)
class Pair:
    """Two clusters that replicate a namespace to each other."""

    name: str
    west: Broker
    east: Broker
    lags_s: list[float] = field(default_factory=list)

    def introduce(self) -> None:
        brokers = self.west, self.east
        for number, here in enumerate(brokers):
            there = brokers[1 - number]
            urls = {"serviceUrl": there.web_url, "brokerServiceUrl": there.url}
            ask(here, "PUT", f"clusters/{NAMES[1 - number]}", urls)
            ask(here, "PUT", "tenants/bench", {"allowedClusters": NAMES})
            for namespace, clusters in ((PLAIN, NAMES[number : number + 1]), (REPLICATED, NAMES)):
                ask(here, "PUT", f"namespaces/{namespace}", {"replication_clusters": clusters})

    async def lag(self, rate: float, seconds: float) -> None:
        """Send at a rate, and note when each arrives."""
        topic = f"persistent://{REPLICATED}/lag-{self.name.replace(' ', '-')}"
        async with (
            Client(self.west.url) as here,
            Client(self.east.url) as there,
            await here.create_producer(topic, batching=False) as producer,
            await there.subscribe(
                topic, f"s-{time.time_ns()}", initial_position=InitialPosition.LATEST
            ) as consumer,
        ):
            await producer.send(b"0")  # It is attached when this one is there.
            await consumer.receive(60)
            count, sending = int(rate * seconds), []
            receiving = asyncio.create_task(self._receive(consumer, count))
            began = time.perf_counter()
            for number in range(count):
                await asyncio.sleep(began + number / rate - time.perf_counter())
                body = b"%r" % time.perf_counter()
                sending.append(asyncio.create_task(producer.send(body)))
            await asyncio.gather(*sending, receiving)

    async def _receive(self, consumer, count: int) -> None:  # type: ignore[no-untyped-def]
        for _ in range(count):
            message = await consumer.receive(60)
            self.lags_s.append(time.perf_counter() - float(message.data))
            await consumer.acknowledge(message)

    def throughput(self, case: Case, namespace: str) -> tuple[Throughput, int, float]:
        """One run; the entries that were still to be sent when it ended, and how long that took."""
        os.sync()
        loop = ClosedLoop(self.west, case, namespace)
        try:
            found, backlog, ended = loop.run(), 0, time.perf_counter()
            if namespace == REPLICATED:
                backlog = self.backlog(loop.topics[0])
                while self.backlog(loop.topics[0]) and time.perf_counter() < ended + DRAIN_S_MAX:
                    time.sleep(0.05)
            return found, backlog, time.perf_counter() - ended
        finally:
            loop.close()
            if namespace == REPLICATED:
                self.east.delete_topics(loop.topics)

    def backlog(self, topic: str) -> int:
        path = f"{topic.replace('://', '/')}/stats"
        found = json.loads(ask(self.west, "GET", path))["replication"]
        return int(found[NAMES[1]]["replicationBacklog"]) if found else 0


def ask(broker: Broker, method: str, path: str, body: object = None) -> bytes:
    """What its admin API answers."""
    request = urllib.request.Request(
        f"{broker.web_url}/admin/v2/{quote(path)}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return bytes(answer.read())


@contextmanager
def pairs(folder: Path, *, durability: str, only: str) -> Iterator[list[Pair]]:
    with ExitStack() as stack:
        found = []
        if only != "pulsar":
            west, east = (stack.enter_context(_ours(folder, durability, name)) for name in NAMES)
            found.append(Pair("ours", west, east))
        if only != "ours":
            jars = fetch()
            fsync = durability == "fsync"
            first, second = (
                stack.enter_context(
                    PulsarStandalone(
                        jars,
                        folder / f"pulsar-{name}",
                        fsync=fsync,
                        settings=f"clusterName={name}\n",
                    )
                )
                for name in NAMES
            )
            found.append(Pair("Pulsar's", first, second))
        for pair in found:
            pair.introduce()
        yield found


def _ours(folder: Path, durability: str, name: str) -> Magnetar:
    settings: Mapping[str, object] = {"clusterName": name}
    return Magnetar(folder / name, durability, settings=settings)


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def tell_lag(pair: Pair) -> None:
    ms = [each * 1000 for each in pair.lags_s]
    print(
        f"lag, {pair.name}: p50 {median(ms):.1f} ms, p99 {percentile(ms, 0.99):.1f} ms, "
        f"worst {max(ms):.1f} ms, of {len(ms)} messages"
    )


def tell_throughput(pair: Pair, case: Case, rounds: int) -> None:
    """Runs of both in turns, in an order that favours neither."""
    runs: dict[str, list[Throughput]] = {PLAIN: [], REPLICATED: []}
    left, drained = [], []
    for number in range(rounds):
        for namespace in (PLAIN, REPLICATED) if number % 2 else (REPLICATED, PLAIN):
            found, backlog, drain_s = pair.throughput(case, namespace)
            runs[namespace].append(found)
            if namespace == REPLICATED:
                left.append(backlog)
                drained.append(drain_s)
    plain, replicated = (
        (
            median(each.messages_per_s for each in found),
            median(each.broker_cpu_us for each in found),
            median(each.broker_cpu_share for each in found),
        )
        for found in runs.values()
    )
    print(
        f"{case.name}, {pair.name}: {plain[0]:,.0f}/s plain, {replicated[0]:,.0f}/s replicated: "
        f"{replicated[0] / plain[0]:.2f}; {plain[1]:.1f} and {replicated[1]:.1f} us of the "
        f"broker's CPU for an entry: {plain[1] / replicated[1]:.2f}; {plain[2]:.2f} and "
        f"{replicated[2]:.2f} of a core; {median(left):,.0f} entries to be sent at the end, "
        f"{median(drained):.1f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="What replication between two clusters takes.")
    parser.add_argument("--only", choices=("ours", "pulsar"), default="")
    parser.add_argument("--durability", choices=("fsync", "none"), default="none")
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--slices", type=int, default=4)
    parser.add_argument("--slice-s", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0)
    asked = parser.parse_args()
    print(f"load at the start: {os.getloadavg()[0]:.2f}")
    with (
        tempfile.TemporaryDirectory() as folder,
        pairs(Path(folder), durability=asked.durability, only=asked.only) as found,
    ):
        for _ in range(asked.slices):
            for pair in found:
                asyncio.run(pair.lag(asked.rate, asked.slice_s))
        for pair in found if asked.slices else ():
            tell_lag(pair)
        for case in CASES if asked.rounds else ():
            for pair in found:
                tell_throughput(pair, replace(case, seconds=asked.seconds), asked.rounds)
    print(f"load at the end: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
