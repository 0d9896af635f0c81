"""Two clusters replicate to each other while their brokers are killed and stopped.

``KILLS=40 COUNT=100000 pytest -s tests/replication/test_kills.py`` publishes so many messages on
each side, and does that often something to one of them; ``DEDUPLICATE=0`` without deduplication.
With ``ON_CLUSTER=1`` the one in the east is Apache Pulsar 4.0.7.
"""

import asyncio
import os
import signal
import time
from random import Random

import pytest
from support.apache_pulsar import apache_pulsar
from support.regions import Region, introduce

from magnetar import Client, InitialPosition
from magnetar.testing.processes import BrokerProcess

KILLS = int(os.environ.get("KILLS", "2"))
COUNT = int(os.environ.get("COUNT", "2000"))
SEED = int(os.environ.get("SEED", "1"))
ON_CLUSTER = bool(os.environ.get("ON_CLUSTER"))
DEDUPLICATES = os.environ.get("DEDUPLICATE", "1") == "1"
TOPIC = "persistent://geo/ns/t"
TOGETHER = 100
PAUSE_S = 1.5
"""The longest time between two faults."""
STOPPED_S = 1.0

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(300 + 30 * KILLS)]


async def publish(client, name, told):
    """Send numbers, and go on when they are answered, whatever happens to brokers."""
    async with await client.create_producer(TOPIC, name=name, send_timeout_s=0) as producer:
        for first in range(0, COUNT, TOGETHER):
            await producer.send_many([b"%d" % number for number in range(first, first + TOGETHER)])
            told[name] = first + TOGETHER


async def trouble(processes, told, random):
    """Kill or stop a broker, again and again, spread over all that is published."""
    for number in range(KILLS):
        process = random.choice(processes)
        if random.random() < 0.3:
            print(f"{told}: stop {process.service_url}")
            os.kill(process.pid, signal.SIGSTOP)
            await asyncio.sleep(random.random() * STOPPED_S)
            os.kill(process.pid, signal.SIGCONT)
        else:
            print(f"{told}: kill {process.service_url}")
            await asyncio.to_thread(process.kill)
            await asyncio.sleep(random.random() * STOPPED_S)
            await asyncio.to_thread(process.start)
        wanted = COUNT * (number + 1) / (KILLS + 1)
        while min(told.values()) < wanted:  # noqa: ASYNC110 - chance is wanted
            await asyncio.sleep(random.random() * PAUSE_S)


async def received(client, count):
    """By producer, the numbers that come until there are so many different ones."""
    got, different = {}, set()
    async with await client.subscribe(TOPIC, "all") as consumer:
        while len(different) < count:
            message = await consumer.receive(60)
            number = int(message.data)
            got.setdefault(message.producer_name, []).append(number)
            different.add((message.producer_name, number))
            consumer.acknowledge_cumulative(message)
    return got


async def backlog(region, other):
    return (await region.replication(TOPIC)).get(other.name, {}).get("replicationBacklog")


def ours(name, folder):
    settings = {"brokerDeduplicationEnabled": DEDUPLICATES, "clusterName": name}
    return BrokerProcess(folder / name, settings=settings)


@pytest.fixture
def west(tmp_path):
    with ours("west", tmp_path) as running:
        yield running


@pytest.fixture
def east(tmp_path, request):
    if not ON_CLUSTER:
        with ours("east", tmp_path) as running:
            yield running
        return
    settings = f"clusterName=east\nbrokerDeduplicationEnabled={str(DEDUPLICATES).lower()}\n"
    with apache_pulsar(request, tmp_path / "east", settings) as pulsar:
        yield pulsar


async def test_every_message_is_on_both_sides_once(west, east):
    processes, names = (west, east), ("west", "east")
    regions = [
        Region(name, each.service_url, each.web_url)
        for name, each in zip(names, processes, strict=True)
    ]
    await introduce(regions)
    async with Client(west.service_url) as here, Client(east.service_url) as there:
        for client in (here, there):
            await (
                await client.subscribe(TOPIC, "all", initial_position=InitialPosition.EARLIEST)
            ).close()
        told, began = {"of west": 0, "of east": 0}, time.monotonic()
        await asyncio.gather(
            publish(here, "of west", told),
            publish(there, "of east", told),
            trouble(processes, told, Random(SEED)),
        )
        published_s = time.monotonic() - began
        # Processes tell it when they are asked, and not before.
        while any([await backlog(*regions) != 0, await backlog(*regions[::-1]) != 0]):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        print(f"published in {published_s:.0f} s, sent {time.monotonic() - began:.0f} s")
        for name, client in zip(names, (here, there), strict=True):
            got = await received(client, 2 * COUNT)
            for producer, numbers in got.items():
                first_times = list(dict.fromkeys(numbers))
                repeated = len(numbers) - len(first_times)
                print(f"{name}: {len(numbers)} {producer}, {repeated} repeated")
                assert first_times == list(range(COUNT))
                assert not (DEDUPLICATES and repeated)
            assert got.keys() == {"of west", "of east"}
