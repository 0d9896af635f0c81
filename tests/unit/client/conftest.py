"""A scripted broker, brokers of this process, and their clients."""

import itertools

import pytest
from unit.client.local import PARTITIONS
from unit.client.peer import Peer

from magnetar.client import blocking
from magnetar.client.client import Client
from magnetar.client.config import ClientConfig
from magnetar.client.connections.backoff import Backoff
from magnetar.client.connections.cluster import Cluster
from magnetar.client.connections.lookup import Lookup
from magnetar.client.connections.pool import ConnectionPool
from magnetar.client.context import ClientContext
from magnetar.clock import SystemClock
from magnetar.testing.local_broker import BrokerThread, LocalBroker


@pytest.fixture
async def peer():
    peer = Peer()
    await peer.start()
    yield peer
    await peer.stop()


@pytest.fixture
async def client(peer):
    async with Client(peer.url, operation_timeout_s=5, backoff_first_s=0.01) as client:
        yield client


def quick_backoff():
    return Backoff(lambda: 0.0, first_s=0.001, max_s=1.0)


@pytest.fixture
def open_pool(peer):
    """Makes a pool of connections to the peer; the keyword arguments are settings."""

    def make(**settings):
        config = ClientConfig(**{"service_url": peer.url, **settings})
        return ConnectionPool(config, Cluster(config, quick_backoff, lambda: 0.0), SystemClock())

    return make


@pytest.fixture
async def pool(open_pool):
    pool = open_pool()
    yield pool
    await pool.close()


@pytest.fixture
def lookup(peer, pool):
    config = ClientConfig(service_url=peer.url, lookup_redirects_max=3)
    return Lookup(config, pool, SystemClock(), quick_backoff)


@pytest.fixture
def context(peer, lookup):
    config = ClientConfig(service_url=peer.url, operation_timeout_s=5.0)
    clock = SystemClock()
    return ClientContext(config, lookup, clock, lambda: 0.0, itertools.count(), quick_backoff)


@pytest.fixture
async def local_client():
    async with LocalBroker() as broker, Client(broker.service_url) as client:
        yield client


@pytest.fixture
async def partitioned_client():
    settings = {"allowAutoTopicCreationType": "partitioned", "defaultNumPartitions": PARTITIONS}
    async with LocalBroker(settings=settings) as broker, Client(broker.service_url) as client:
        yield client


@pytest.fixture(scope="module")
def broker():
    with BrokerThread() as broker:
        yield broker


@pytest.fixture
def blocking_client(broker):
    with blocking.Client(broker.service_url) as client:
        yield client


@pytest.fixture
def topic(request):
    return request.node.name
