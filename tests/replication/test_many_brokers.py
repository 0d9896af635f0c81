"""Clusters of several brokers each replicate to each other while their brokers fail.

Each has a real ZooKeeper server and real bookies. ``KILLS=40 COUNT=100000 pytest -s
tests/replication/test_many_brokers.py`` publishes so many messages in each, over all topics, and
does that often something to a broker; ``DEDUPLICATE=0`` without deduplication, ``FAULTS`` names
some of them. A broker that is stopped or cut off for long is replaced by the others meanwhile.
"""

import asyncio
import os
from contextlib import AsyncExitStack
from functools import partial
from random import Random

import pytest
from support.clusters import cluster_in
from support.network import Proxy
from support.region_faults import Traffic, cut, killed, silent, stopped
from support.regions import Region, introduce

from magnetar import Client
from magnetar.testing.ports import free_port
from magnetar.testing.processes import BrokerProcess

KILLS = int(os.environ.get("KILLS", "3"))
COUNT = int(os.environ.get("COUNT", "2000"))
SEED = int(os.environ.get("SEED", "1"))
BROKERS = int(os.environ.get("BROKERS", "2"))
FAULTS = os.environ.get("FAULTS", "killed,stopped,cut,silent,cut off").split(",")
DEDUPLICATES = os.environ.get("DEDUPLICATE", "1") == "1"
TOPICS = [f"persistent://geo/ns/t{number}" for number in range(4)]
SESSION_S = 3.0
AWAY_S = (0.1, 2.5 * SESSION_S)
"""How long something is wrong, at least and at most: shorter than a session, and longer."""

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(300 + 30 * KILLS)]


class Cluster(Region):
    """Brokers on stores of their own. They listen at an address that only relays know."""

    def __init__(self, name, folder):
        self._stores = cluster_in(folder / name, bookies=2)
        self._ports = ports = [(free_port(), free_port()) for _ in range(BROKERS)]
        super().__init__(
            name,
            "pulsar://" + ",".join(f"127.0.0.1:{port}" for port, _ in ports),
            "http://" + ",".join(f"127.0.0.1:{port}" for _, port in ports),
        )
        self._folder = folder / name
        self.brokers, self.relays, self.to_zookeeper = [], [], []

    async def up(self, stack):
        stores = stack.enter_context(self._stores)
        for number, (port, web_port) in enumerate(self._ports):
            ways = [
                Proxy("127.0.0.1", stores.zookeeper.port),
                Proxy("127.0.0.2", port, listen_port=port),
                Proxy("127.0.0.2", web_port, listen_port=web_port),
            ]
            for each in ways:
                await stack.enter_async_context(each)
            settings = {
                "clusterName": self.name,
                "metadataStoreUrl": f"zk:127.0.0.1:{ways[0].port}",
                "bookkeeperMetadataServiceUri": stores.metadata_service_uri,
                "metadataStoreSessionTimeoutMillis": int(1000 * SESSION_S),
                "managedLedgerDefaultEnsembleSize": 2,
                "managedLedgerDefaultWriteQuorum": 2,
                "managedLedgerDefaultAckQuorum": 2,
                "bindAddress": "127.0.0.2",
                "advertisedAddress": "127.0.0.1",
                "brokerDeduplicationEnabled": DEDUPLICATES,
            }
            broker = BrokerProcess(
                self._folder / f"broker-{number}" / "none",
                settings=settings,
                startup_timeout_s=60,
                port=port,
                web_port=web_port,
            )
            await asyncio.to_thread(stack.enter_context, broker)  # Relays go on meanwhile.
            self.brokers.append(broker)
            self.to_zookeeper.append(ways[0])
            self.relays.append(ways[1])
        self.client = await stack.enter_async_context(Client(self.service_url))

    def fault(self, random):
        """Something that is to happen to one of the brokers."""
        name, number = random.choice(FAULTS), random.randrange(BROKERS)
        away_s = random.uniform(*AWAY_S)
        does = {
            "killed": partial(killed, self.brokers[number]),
            "stopped": partial(stopped, self.brokers[number]),
            "cut": partial(cut, self.relays[number]),
            "silent": partial(silent, self.relays[number]),
            "cut off": partial(silent, self.to_zookeeper[number]),
        }[name]
        return f"{self.name} {number} {name}", partial(does, away_s)


async def test_every_message_is_in_both_clusters_once(tmp_path):
    random = Random(SEED)
    async with AsyncExitStack() as stack:
        clusters = [Cluster(name, tmp_path) for name in ("west", "east")]
        for each in clusters:
            await each.up(stack)
        await introduce(clusters)
        faults = [random.choice(clusters).fault(random) for _ in range(KILLS)]
        traffic = Traffic(clusters, TOPICS, COUNT // len(TOPICS), faults)
        await traffic.run(random)
        await traffic.check(once=DEDUPLICATES)
