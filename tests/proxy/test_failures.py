"""Brokers that die, do not answer or say nothing, behind a proxy."""

import asyncio

import pytest
from proxy.conftest import proxy_before

from magnetar import Client, InitialPosition
from magnetar.errors import MagnetarError
from magnetar.testing.local_broker import LocalBroker
from magnetar.testing.processes import BrokerProcess


class Address:
    """Where brokers are to be, and nothing is."""

    service_url = "pulsar://127.0.0.1:1"
    web_url = "http://127.0.0.1:1"


async def test_a_brokers_death_is_only_a_reconnection(tmp_path, topic):
    with BrokerProcess(tmp_path / "data") as broker:
        async with proxy_before(broker) as proxy, Client(proxy.service_url) as client:
            producer = await client.create_producer(topic)
            earliest = InitialPosition.EARLIEST
            consumer = await client.subscribe(topic, "s", initial_position=earliest)
            received = []
            for number in range(30):
                if number in (10, 20):
                    await asyncio.to_thread(broker.kill)
                    await asyncio.to_thread(broker.start)
                await producer.send(b"%d" % number)
                while number not in received:  # What was not acknowledged comes again.
                    message = await asyncio.wait_for(consumer.receive(), 30)
                    received.append(int(message.data))
                    await consumer.acknowledge(message)
            assert list(dict.fromkeys(received)) == list(range(30))


async def test_a_broker_that_does_not_answer_is_passed_over(topic):
    async with (
        LocalBroker() as broker,
        proxy_before(Address, broker) as proxy,
        Client(proxy.service_url) as client,
    ):
        for number in range(4):
            await (await client.create_producer(f"{topic}-{number}")).send(b"x")


async def test_without_a_broker_a_client_hears_that_nothing_is_ready(topic):
    async with (
        proxy_before(Address) as proxy,
        Client(proxy.service_url, operation_timeout_s=1) as client,
    ):
        with pytest.raises(MagnetarError, match="no broker answers"):
            await client.create_producer(topic)


async def test_a_silent_brokers_connections_are_closed(topic):
    async with (
        LocalBroker(settings={"keepAliveIntervalSeconds": 30}) as broker,
        proxy_before(broker, brokerProxyReadTimeoutMs=300) as proxy,
        Client(proxy.service_url) as client,
    ):
        await (await client.create_producer(topic)).send(b"x")
        assert proxy._splices
        async with asyncio.timeout(10):
            while proxy._splices:  # noqa: ASYNC110 - the proxy tells nobody.
                await asyncio.sleep(0.01)


async def test_large_messages_pass_through_full_buffers(topic):
    async with (
        LocalBroker() as broker,
        proxy_before(broker) as proxy,
        Client(proxy.service_url) as client,
    ):
        producer = await client.create_producer(topic)
        for _ in range(60):
            await producer.send(bytes(1_000_000))
        earliest = InitialPosition.EARLIEST
        consumer = await client.subscribe(
            topic, "s", initial_position=earliest, receiver_queue_size=1000
        )
        total = 0
        for _ in range(60):
            message = await asyncio.wait_for(consumer.receive(), 30)
            total += len(message.data)
            await consumer.acknowledge(message)
        assert total == 60_000_000
