"""Clients reach brokers by a proxy: the official one and ours, messages and HTTP."""

import asyncio
import json
from urllib.request import urlopen

import aiohttp
import pulsar
from cluster.conftest import handed_over_to_and_fro, two_brokers
from proxy.conftest import proxy_before
from unit.broker.peer import Peer

from magnetar import Client, InitialPosition
from magnetar.testing.local_broker import LocalBroker


def _to_and_fro(url, topics):
    """The official client sends to topics and receives from them."""
    client = pulsar.Client(url)
    try:
        received = []
        for topic in topics:
            consumer = client.subscribe(topic, "s")
            producer = client.create_producer(topic)
            for number in range(20):
                producer.send(b"%d" % number)
            for _ in range(20):
                message = consumer.receive(10_000)
                consumer.acknowledge(message)
                received.append(int(message.data()))
        return received
    finally:
        client.close()


async def test_the_official_client_talks_by_a_proxy():
    async with LocalBroker() as broker, proxy_before(broker) as proxy:
        received = await asyncio.to_thread(_to_and_fro, proxy.service_url, ["a", "b"])
        assert received == 2 * list(range(20))
        assert proxy.counts.bytes > 1000


async def test_a_proxy_says_nothing_of_how_large_messages_may_be():
    """The official client would take that for all of its brokers, and refuse its messages."""
    async with LocalBroker() as broker, proxy_before(broker) as proxy:
        peer = await Peer.open(proxy.port, protocol_version=None)
        answer = await peer.ask("connect", client_version="test", protocol_version=21)
        assert answer.HasField("connected")
        assert not answer.connected.HasField("max_message_size")
        peer.wire.close()


async def test_a_topic_that_moves_between_two_brokers_is_followed():
    async with two_brokers() as pair, proxy_before(*pair.brokers) as proxy:
        received, owners = await handed_over_to_and_fro(pair, proxy.service_url)
        assert received == list(range(60))
        assert set(owners) == set(pair.brokers)


async def test_our_client_talks_by_a_proxy(topic):
    async with LocalBroker() as broker, proxy_before(broker) as proxy:
        async with Client(proxy.service_url) as client:
            producer = await client.create_producer(topic)
            consumer = await client.subscribe(topic, "s", initial_position=InitialPosition.EARLIEST)
            for number in range(10):
                await producer.send(b"%d" % number)
            assert [int((await consumer.receive()).data) for _ in range(10)] == list(range(10))
        async with asyncio.timeout(10):
            while proxy.counts.open:  # The client has closed; the proxy hears of it. # noqa: ASYNC110
                await asyncio.sleep(0)


async def test_http_is_passed_on():
    async with LocalBroker() as broker, proxy_before(broker) as proxy:

        def ask(path):
            with urlopen(proxy.web_url + path) as answer:
                return answer.read()

        clusters = json.loads(await asyncio.to_thread(ask, "/admin/v2/clusters"))
        assert clusters == ["standalone"]
        metrics = (await asyncio.to_thread(ask, "/metrics")).decode()
        assert "pulsar_proxy_active_connections 0\n" in metrics


async def test_a_request_without_a_body_has_none_of_a_type_that_no_broker_reads(topic):
    """The library would say that it has one of application/octet-stream."""
    path = f"/admin/v2/{topic.replace('://', '/')}"
    async with (
        two_brokers() as pair,
        proxy_before(*pair.brokers) as proxy,
        aiohttp.ClientSession() as http,
    ):
        for number in range(2):  # Of either broker, one of which asks the other.
            url = f"{proxy.web_url}{path}-{number}"
            async with http.put(url, skip_auto_headers=("Content-Type",)) as answer:
                assert (answer.status, await answer.text()) == (204, "")


async def test_what_has_no_body_keeps_its_type():
    async with (
        LocalBroker() as broker,
        proxy_before(broker) as proxy,
        aiohttp.ClientSession() as http,
    ):
        types = []
        for url in (broker.web_url, proxy.web_url):
            async with http.head(f"{url}/admin/v2/clusters") as answer:
                types.append(answer.headers["Content-Type"])
    assert types == ["application/json"] * 2
