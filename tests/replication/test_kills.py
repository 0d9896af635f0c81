"""Clusters replicate to each other while their brokers are killed and stopped.

``KILLS=40 COUNT=100000 pytest -s tests/replication/test_kills.py`` publishes so many messages in
each, and does that often something to one of them; ``DEDUPLICATE=0`` without deduplication. With
``ON_CLUSTER=1`` the one in the east is Apache Pulsar 4.0.7.
"""

import os
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from random import Random

import pytest
from support.apache_pulsar import apache_pulsar
from support.region_faults import Traffic, killed, stopped
from support.regions import Region, introduce

from magnetar import Client
from magnetar.testing.processes import BrokerProcess

KILLS = int(os.environ.get("KILLS", "2"))
COUNT = int(os.environ.get("COUNT", "2000"))
SEED = int(os.environ.get("SEED", "1"))
ON_CLUSTER = bool(os.environ.get("ON_CLUSTER"))
DEDUPLICATES = os.environ.get("DEDUPLICATE", "1") == "1"
TOPIC = "persistent://geo/ns/t"
AWAY_S = 1.0
"""The longest time that a broker is away."""

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(300 + 30 * KILLS)]


def ours(name, folder):
    settings = {"brokerDeduplicationEnabled": DEDUPLICATES, "clusterName": name}
    return BrokerProcess(folder / name, settings=settings)


@pytest.fixture
def processes(tmp_path):
    """Starts brokers of ours for clusters with these names; they are ended at last."""
    with ExitStack() as stack:
        yield lambda *names: {name: stack.enter_context(ours(name, tmp_path)) for name in names}


@pytest.fixture
def pair(processes, tmp_path, request):
    found = processes("west")
    if not ON_CLUSTER:
        yield found | processes("east")
        return
    settings = f"clusterName=east\nbrokerDeduplicationEnabled={str(DEDUPLICATES).lower()}\n"
    with apache_pulsar(request, tmp_path / "east", settings) as pulsar:
        yield found | {"east": pulsar}


async def survived(processes):
    """All that was answered is in each of the clusters, which are processes by their names."""
    regions = [Region(name, one.service_url, one.web_url) for name, one in processes.items()]
    await introduce(regions)
    random = Random(SEED)
    faults = []
    for _ in range(KILLS):
        name, fault = random.choice(list(processes)), random.choice([killed, killed, stopped])
        does = partial(fault, processes[name], random.random() * AWAY_S)
        faults.append((f"{name} {fault.__name__}", does))
    async with AsyncExitStack() as stack:
        for region in regions:
            region.client = await stack.enter_async_context(Client(region.service_url))
        traffic = Traffic(regions, [TOPIC], COUNT, faults)
        await traffic.run(random)
        await traffic.check(once=DEDUPLICATES)


async def test_every_message_is_on_both_sides_once(pair):
    await survived(pair)


@pytest.mark.skipif(ON_CLUSTER, reason="of three clusters of ours")
async def test_every_message_is_once_in_each_of_a_ring(processes):
    await survived(processes("west", "east", "north"))
