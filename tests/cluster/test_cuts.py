"""A broker on a cluster under load, while the network between any two of its processes is cut.

``CUTS=20 ON_CLUSTER=1 pytest -s tests/cluster/test_cuts.py`` does each 20 times, and prints how
long publishing stood still. Relays stand between the processes: in front of ZooKeeper one for the
broker and one for each bookie, and in front of each bookie one for the broker, whose port is
written into the bookie's record.
"""

import os
import time
from contextlib import ExitStack, contextmanager
from random import Random

import pytest
from cluster.test_kills import Load
from kazoo.client import KazooClient
from support.clusters import cluster_in, only_on_request
from support.relays import Relays, reset, silent

from magnetar.proto.BookKeeper_pb2 import BookieServiceInfoFormat
from magnetar.testing.processes import BrokerProcess

CUTS = int(os.environ.get("CUTS", "1"))
SEED = int(os.environ.get("SEED", "1"))
SESSION_MS = 4000
SHORT_S = 1.0
LONG_S = 7.0
"""Longer than the session of the broker, and than those of bookies (6 s)."""

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(180 + 120 * CUTS)]


class Network:
    """A cluster whose processes see each other by relays."""

    def __init__(self, cluster, relays):
        self.cluster = cluster
        self.relays = relays
        zookeeper = cluster.zookeeper
        self.broker_to_zookeeper = relays.to(zookeeper.port)
        self.bookies_to_zookeeper = [relays.to(zookeeper.port) for _ in cluster.bookies]
        self.broker_to_bookies = [relays.to(each.port) for each in cluster.bookies]
        for bookie, relay in zip(cluster.bookies, self.bookies_to_zookeeper, strict=True):
            conf = bookie.conf.read_text()
            bookie.conf.write_text(conf.replace(zookeeper.address, f"127.0.0.1:{relay.port}"))

    def divert(self):
        """Have brokers reach bookies by the relays: those say otherwise when they register."""
        client = KazooClient(self.cluster.zookeeper.address)
        client.start(20)
        for bookie, relay in zip(self.cluster.bookies, self.broker_to_bookies, strict=True):
            path = f"/ledgers/available/{bookie.bookie_id}"
            deadline = time.monotonic() + 30
            while client.exists(path) is None:
                assert time.monotonic() < deadline, f"{bookie.bookie_id} did not register again"
                time.sleep(0.1)  # The bookie comes back when it likes, and tells nobody else.
            info = BookieServiceInfoFormat.FromString(client.get(path)[0])
            info.endpoints[0].port = relay.port
            client.set(path, info.SerializeToString())
        client.stop()
        client.close()


@pytest.fixture
def network(tmp_path):
    only_on_request()
    cluster = cluster_in(tmp_path / "cluster")
    with ExitStack() as stack:
        relays = Relays()
        stack.callback(relays.close)
        network = Network(cluster, relays)
        stack.enter_context(cluster)
        network.divert()
        yield network


@pytest.fixture
def broker(network, tmp_path):
    settings = {
        "metadataStoreUrl": f"zk:127.0.0.1:{network.broker_to_zookeeper.port}",
        "metadataStoreSessionTimeoutMillis": SESSION_MS,
        "defaultRetentionTimeInMinutes": -1,
        "defaultRetentionSizeInMB": -1,
    }
    with BrokerProcess(tmp_path / "none", settings=settings, startup_timeout_s=60) as started:
        yield started


@contextmanager
def for_a_while(cut, seconds):
    """End the cut before answers are waited for: there are none while it lasts."""
    with cut:
        time.sleep(seconds)  # It is the fault itself.
    yield


@contextmanager
def also(cut, seconds):
    """Let the cut last so long; answers come meanwhile."""
    with cut:
        yield
        time.sleep(seconds)  # It is the fault itself.


def test_nothing_answered_is_lost_and_order_is_kept(network, broker, capsys):
    random = Random(SEED)
    load = Load(broker.service_url)
    load.await_more()

    def bookie():
        return [random.choice(network.broker_to_bookies)]

    def its_zookeeper():
        return [random.choice(network.bookies_to_zookeeper)]

    zookeeper, bookies = [network.broker_to_zookeeper], network.broker_to_bookies
    faults = {
        "bookie, reset": lambda: reset(network.relays, bookie()),
        "bookie, silent": lambda: silent(network.relays, bookie()),
        "all bookies, silent": lambda: for_a_while(silent(network.relays, bookies), SHORT_S),
        "all bookies, reset": lambda: for_a_while(reset(network.relays, bookies), SHORT_S),
        "ZooKeeper, reset": lambda: for_a_while(reset(network.relays, zookeeper), SHORT_S),
        "ZooKeeper, silent": lambda: for_a_while(silent(network.relays, zookeeper), SHORT_S),
        "ZooKeeper, silent, long": lambda: for_a_while(silent(network.relays, zookeeper), LONG_S),
        "bookie's ZooKeeper, long": lambda: also(silent(network.relays, its_zookeeper()), LONG_S),
    }
    turns = [name for name in faults for _ in range(CUTS)]
    random.shuffle(turns)
    pauses = {name: [] for name in faults}
    try:
        for name in turns:
            pauses[name].append(load.pause_with(faults[name]()))
            network.divert()
            load.await_more()
    finally:
        load.end()
    found = load.read_all()
    once = list(dict.fromkeys(found))
    answered = {number for number, _ in load.answered}
    with capsys.disabled():
        print(f"\n{len(answered)} answered, {len(found)} read, seed {SEED}")
        for name, each in pauses.items():
            print(f"  {name:24} {len(each):3} times, pause of publishing up to {max(each):.2f} s")
    assert load.refused == []
    assert answered <= set(once), f"lost: {sorted(answered - set(once))[:20]}"
    assert once == sorted(once), "not in the order of their producer"
