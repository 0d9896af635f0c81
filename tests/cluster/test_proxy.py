"""A proxy that finds brokers, ours or Apache Pulsar's, in a real ZooKeeper."""

import asyncio

import pulsar
import pytest

from bench.pulsar_on_cluster import PulsarBroker
from magnetar.proxy.config import ProxyConfig
from magnetar.proxy.proxy import running_proxy
from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.slow


def _proxy(store):
    settings = {"metadataStoreUrl": store, "servicePort": 0, "webServicePort": -1}
    return running_proxy(ProxyConfig.read(flags=settings))


async def _knows(proxy, count):
    async with asyncio.timeout(60):
        while len(proxy.brokers.binary) != count:  # noqa: ASYNC110 - it tells nobody.
            await asyncio.sleep(0.05)


def _talk(port, topic):
    """The official client sends to a topic and receives from it."""
    client = pulsar.Client(f"pulsar://127.0.0.1:{port}", operation_timeout_seconds=60)
    try:
        consumer = client.subscribe(topic, "s")
        producer = client.create_producer(topic)
        for number in range(20):
            producer.send(b"%d" % number)
        received = []
        for _ in range(20):
            message = consumer.receive(20_000)
            received.append(int(message.data()))
            consumer.acknowledge(message)
        return received
    finally:
        client.close()


async def test_brokers_come_and_die_behind_a_proxy(cluster, tmp_path):
    store = f"zk:{cluster.zookeeper.address}/{tmp_path.name}"
    settings = {
        "metadataStoreUrl": store,
        "bookkeeperMetadataServiceUri": cluster.metadata_service_uri,
        "metadataStoreSessionTimeoutMillis": 4000,
    }
    with (
        BrokerProcess(tmp_path / "one", settings=settings) as one,
        BrokerProcess(tmp_path / "two", settings=settings),
    ):
        async with _proxy(store) as proxy:
            await _knows(proxy, 2)
            for topic in ("a", "b"):
                assert await asyncio.to_thread(_talk, proxy.port, topic) == list(range(20))
            one.kill()
            await _knows(proxy, 1)
            for topic in ("a", "b"):
                assert await asyncio.to_thread(_talk, proxy.port, topic) == list(range(20))
            one.start()
            await _knows(proxy, 2)


async def test_a_broker_of_apache_pulsar_is_found_and_reached(pulsar_cluster, tmp_path):
    with PulsarBroker(tmp_path / "theirs", pulsar_cluster) as broker:
        async with _proxy(f"zk:{pulsar_cluster.zookeeper.address}") as proxy:
            assert proxy.brokers.binary == (broker.service_url.partition("://")[2],)
            assert await asyncio.to_thread(_talk, proxy.port, "theirs") == list(range(20))
