"""Chunked messages that other messages, crashes and missing chunks come between."""

import asyncio
from contextlib import suppress

import pytest
from compatibility.conftest import open_client
from pulsar import ConsumerType, Timeout
from pulsar import InitialPosition as Position
from support.chunks import Publisher
from support.draining import drained
from support.elsewhere import until_elsewhere

from magnetar import Client, InitialPosition, SubscriptionType
from magnetar.testing.local_broker import LocalBroker

pytestmark = pytest.mark.compatibility

TOPIC = "persistent://public/default/in-chunks"
EARLIEST = InitialPosition.EARLIEST


@pytest.fixture
async def broker(tmp_path):
    async with LocalBroker(tmp_path / "data") as broker:
        yield broker


@pytest.fixture
async def publisher(broker):
    return await Publisher.open(broker.service_url, TOPIC)


def subscribe(client, kind=SubscriptionType.EXCLUSIVE, **options):
    return client.subscribe(TOPIC, "s", type=kind, initial_position=EARLIEST, **options)


def backlog(broker):
    [topic] = broker.broker.registry.loaded.values()
    return topic.subscriptions["s"].backlog


async def test_a_cumulative_acknowledgement_cuts_no_message_that_comes_later(broker, publisher):
    await publisher.publish("m0/3", "x", "m1/3", "y", "m2/3")
    for _ in range(2):
        async with Client(broker.service_url) as client, await subscribe(client) as consumer:
            messages = await drained(consumer, 3)
            assert [message.data for message in messages] == [b"x", b"y", b"m0m1m2"]
            consumer.acknowledge_cumulative(messages[1])
    async with Client(broker.service_url) as client:
        consumer = await subscribe(client)
        messages = await drained(consumer, 3)
        consumer.acknowledge_cumulative(messages[2])
        await consumer.close()
        consumer = await subscribe(client)
        await publisher.publish("z")
        assert (await consumer.receive(5)).data == b"z"


@pytest.mark.parametrize("kind", [SubscriptionType.EXCLUSIVE, SubscriptionType.SHARED])
async def test_a_message_whose_rest_never_comes_leaves_no_backlog(broker, publisher, kind):
    await publisher.publish("m0/3", "x", "m1/3")
    async with (
        Client(broker.service_url) as client,
        await subscribe(client, kind, chunk_age_max_s=0.1) as consumer,
    ):
        consumer.acknowledge(await consumer.receive(5))
        receiving = asyncio.create_task(consumer.receive())
        await until_elsewhere(lambda: backlog(broker) == 0, "the consumer gives up by itself")
        receiving.cancel()


@pytest.mark.parametrize("kind", [SubscriptionType.EXCLUSIVE, SubscriptionType.SHARED])
async def test_a_message_whose_rest_comes_late_may_be_asked_for_again(broker, publisher, kind):
    await publisher.publish("m0/3", "x", "m1/3")
    options = {"chunk_age_max_s": 0.1, "redeliver_incomplete": True}
    async with (
        Client(broker.service_url) as client,
        await subscribe(client, kind, **options) as consumer,
    ):
        while True:  # Each time its chunks come again, so does what was not acknowledged.
            message = await consumer.receive(5)
            if kind is SubscriptionType.SHARED:
                consumer.acknowledge(message)
            if kind is SubscriptionType.SHARED or message.redelivered:
                break
        await publisher.publish("m2/3")
        while message.data == b"x":
            message = await consumer.receive(5)
        assert message.data == b"m0m1m2"


async def test_messages_in_chunks_reach_one_official_consumer_each(broker, publisher):
    """Two consumers, messages that are mixed, and one of which the rest never comes."""

    def consume():
        clients = [open_client(broker.service_url) for _ in range(2)]
        consumers = [
            client.subscribe(
                TOPIC, "s", consumer_type=ConsumerType.Shared, initial_position=Position.Earliest
            )
            for client in clients
        ]
        found = []
        while len(found) < 4:
            for consumer in consumers:
                with suppress(Timeout):
                    message = consumer.receive(100)
                    consumer.acknowledge(message)
                    found.append(message.data())
        for client in clients:
            client.close()
        return sorted(found)

    await publisher.publish("o0/2")
    await publisher.publish("m0/3", "n0/2", "x", "m1/3", "n1/2", "y", "m2/3")
    assert await asyncio.to_thread(consume) == [b"m0m1m2", b"n0n1", b"x", b"y"]
    assert backlog(broker) == 1, "the orphan waits for its rest"
