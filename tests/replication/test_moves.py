"""A consumer moves between two clusters, to and fro, while messages are published in both.

``MOVES=10 pytest -s tests/replication/test_moves.py`` runs brokers as processes, with snapshots
once a second, and says how much came twice; with ``ON_CLUSTER=1`` one of them is Apache Pulsar
4.0.7, in either role.
"""

import asyncio
import os
import time

import pytest
from support.apache_pulsar import apache_pulsar
from support.regions import Region, introduce

from magnetar import Client, InitialPosition
from magnetar.testing.processes import BrokerProcess

MOVES = int(os.environ.get("MOVES", "0"))
RATE = int(os.environ.get("RATE", "200"))
EARLIEST = InitialPosition.EARLIEST
STAYS_S = 2.0
"""How long it consumes in one cluster."""
REPEATED_S = 2.5
"""The age of what may come again: a second to the next snapshot, and its way to and fro."""
TOPIC = "persistent://geo/ns/t"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300 + 30 * MOVES),
    pytest.mark.skipif(not MOVES, reason="MOVES=10 moves a consumer ten times"),
]


class Traffic:
    """Publishes numbers in one cluster, at a rate, until it is stopped."""

    def __init__(self, region, client):
        self.name = region.name
        self._client = client
        self._stopped = asyncio.Event()
        self.count = 0

    async def run(self):
        async with await self._client.create_producer(TOPIC, name=f"of {self.name}") as producer:
            began = time.monotonic()
            while not self._stopped.is_set():
                wanted = int((time.monotonic() - began) * RATE)
                numbers = range(self.count, wanted)
                if numbers:
                    await producer.send_many(
                        [f"{self.name} {number} {time.time()}".encode() for number in numbers]
                    )
                    self.count = wanted
                await asyncio.sleep(0.01)

    def stop(self):
        self._stopped.set()


async def stay(client, until, seen, repeats):
    """Consume in a cluster; note what came before, and how old that is."""
    count = 0
    async with await client.subscribe(
        TOPIC,
        "moving",
        replicate_subscription_state=True,
        initial_position=EARLIEST,
    ) as consumer:
        while not until(count):
            try:
                message = await consumer.receive(0.2)
            except TimeoutError:
                continue
            if message.data == b"warm-up":
                await consumer.acknowledge(message)
                continue
            name, number, at = message.data.decode().split()
            if (name, number) in seen:
                repeats.append(time.time() - float(at))
            seen.add((name, number))
            await consumer.acknowledge(message)
            count += 1
    return count


async def warmed_up(clients):
    """Return when each cluster has the topic, and a message of the other one."""
    for here, there in (clients, clients[::-1]):
        async with (
            await here.create_producer(TOPIC) as producer,
            await there.subscribe(TOPIC, "warm-up", initial_position=EARLIEST) as consumer,
        ):
            await producer.send(b"warm-up")
            for _ in range(1 if here is clients[0] else 2):
                await consumer.receive(60)


async def moved(regions):
    """Move ``MOVES`` times; return all that came, and the ages of what came again, by move."""
    async with Client(regions[0].service_url) as here, Client(regions[1].service_url) as there:
        clients = [here, there]
        await warmed_up(clients)
        traffic = [Traffic(*each) for each in zip(regions, clients, strict=True)]
        running = [asyncio.create_task(each.run()) for each in traffic]
        seen, by_move = set(), []
        for move in range(MOVES + 1):
            last = move == MOVES
            if last:
                for each in traffic:
                    each.stop()
                await asyncio.gather(*running)
            repeats, ends = [], time.monotonic() + STAYS_S
            total = sum(each.count for each in traffic)

            def over(_count, ends=ends, last=last, total=total):
                return len(seen) == total if last else time.monotonic() > ends

            async with asyncio.timeout(60):
                got = await stay(clients[move % 2], over, seen, repeats)
            by_move.append(repeats)
            print(
                f"move {move} to {regions[move % 2].name}: {got} received, {len(repeats)} again, "
                f"the oldest of these {max(repeats, default=0):.2f} s old"
            )
        for each in traffic:
            assert {number for name, number in seen if name == each.name} == set(
                map(str, range(each.count))
            )
        print(f"{len(seen)} messages, none lost; {sum(map(len, by_move))} came again")
        return by_move


async def test_between_two_of_ours(tmp_path):
    processes = [
        BrokerProcess(tmp_path / name, settings={"clusterName": name}) for name in ("west", "east")
    ]
    with processes[0], processes[1]:
        regions = [
            Region(name, each.service_url, each.web_url)
            for name, each in zip(("west", "east"), processes, strict=True)
        ]
        await introduce(regions)
        await check(regions)


@pytest.mark.skipif(not os.environ.get("ON_CLUSTER"), reason="ON_CLUSTER=1 starts a Pulsar")
@pytest.mark.parametrize("first", ["ours", "Pulsar's"])
async def test_between_one_of_ours_and_one_of_pulsar(tmp_path, request, first):
    settings = "clusterName=east\n"
    process = BrokerProcess(tmp_path / "west", settings={"clusterName": "west"})
    with process, apache_pulsar(request, tmp_path / "pulsar", settings) as pulsar:
        regions = [
            Region("west", process.service_url, process.web_url),
            Region("east", pulsar.url, pulsar.web_url),
        ]
        await introduce(regions)
        await check(regions if first == "ours" else regions[::-1])


async def check(regions):
    for repeats in await moved(regions):
        assert max(repeats, default=0) < REPEATED_S
