"""Clients of two brokers notice nothing while bundles are unloaded, handed over and lost.

``SEEDS=200`` tries so many; a seed that fails is in the name of its test.
"""

import asyncio
import os
from contextlib import suppress
from functools import partial
from random import Random

import aiohttp
import pytest
from cluster.conftest import handed_over_to_and_fro, two_brokers
from support.loop import until, until_idle
from unit.broker.peer import Peer

from magnetar import Client, InitialPosition, SubscriptionType
from magnetar.model.names import TopicName

SEEDS = int(os.environ.get("SEEDS", "4"))
TOPIC = "persistent://public/default/x"
TOPICS = 4
COUNT = 150
EARLIEST = InitialPosition.EARLIEST


async def test_a_lookup_names_the_owner_by_its_own_address_whichever_is_asked():
    """Go's client goes on with any address of its service URL where it is told to keep one."""
    async with two_brokers(loadBalancerEnabled=False) as pair:
        for each in pair.brokers:
            peer = await Peer.open(each.port)
            answer = await peer.ask("lookupTopic", topic=TOPIC, request_id=1)
            found = answer.lookupTopicResponse
            assert found.brokerServiceUrl.endswith(f":{pair.brokers[0].port}")
            assert not found.proxy_through_service_url
            peer.wire.close()
        await until_idle()


class Told:
    """What one consumer was given, and whether each producer's order held."""

    def __init__(self):
        self.numbers = []

    @property
    def first_times(self):
        return list(dict.fromkeys(self.numbers))


async def publish(client, topic, random):
    """Send numbers, alone or many at once, and return when all are answered."""
    producer = await client.create_producer(topic, batch_messages_max=random.choice([1, 10]))
    sent = 0
    while sent < COUNT:
        many = min(random.choice([1, 7, 30]), COUNT - sent)
        await producer.send_many([b"%d" % number for number in range(sent, sent + many)])
        sent += many
        await asyncio.sleep(random.random() * 0.01)
    await producer.close()


async def consume(client, topic, kind, told):
    consumer = await client.subscribe(topic, "s", type=kind, initial_position=EARLIEST)
    while len(set(told.numbers)) < COUNT:
        message = await consumer.receive()
        told.numbers.append(int(message.data))
        consumer.acknowledge(message)
    await consumer.close()


async def keep_disturbing(pair, random, told, disturb):
    """Disturb once for every few messages that somebody was given, so that there is progress."""

    def given(count):
        return sum(len(set(each.numbers)) for each in told.values()) >= count

    total = 0
    while True:
        total += random.randint(5, 40)
        await until(partial(given, total))
        await disturb(pair, random)
        assert not pair.served_twice()


async def move(pair, random):
    await pair.move_one(random)


async def lose(pair, random):
    random.choice(pair.sessions).expire()


async def run_beside(disturb, pair, random):
    """Publish and consume through either broker, while ownership changes."""
    topics = [f"persistent://public/default/t{number}" for number in range(TOPICS)]
    told = {topic: Told() for topic in topics}
    kinds = [SubscriptionType.EXCLUSIVE, SubscriptionType.FAILOVER, SubscriptionType.SHARED]
    ordered = {}
    disturbing = asyncio.ensure_future(keep_disturbing(pair, random, told, disturb))
    async with asyncio.timeout(100), asyncio.TaskGroup() as clients:
        opened = [Client(each.service_url, backoff_max_s=0.2) for each in pair.brokers]
        try:
            async with asyncio.TaskGroup() as work:
                for topic in topics:
                    kind = random.choice(kinds)
                    ordered[topic] = kind is not SubscriptionType.SHARED
                    work.create_task(publish(random.choice(opened), topic, Random(random.random())))
                    work.create_task(consume(random.choice(opened), topic, kind, told[topic]))
        finally:
            disturbing.cancel()
            for client in opened:
                clients.create_task(client.close())
    with suppress(asyncio.CancelledError):
        await disturbing
    for topic in topics:
        assert sorted(set(told[topic].numbers)) == list(range(COUNT))
        if ordered[topic]:
            assert told[topic].first_times == list(range(COUNT))


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_bundles_that_move_at_random_lose_nothing_and_keep_the_order(seed):
    random = Random(seed)
    async with two_brokers() as pair:
        await run_beside(move, pair, random)
        assert pair.moves


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_sessions_that_are_lost_at_random_lose_nothing_and_keep_the_order(seed):
    random = Random(seed)
    async with two_brokers() as pair:
        await run_beside(lose, pair, random)


async def test_the_official_client_is_sent_to_the_owner_and_follows_its_bundle():
    async with two_brokers() as pair:
        received, owners = await handed_over_to_and_fro(pair)
        assert received == list(range(60))
        assert owners == pair.brokers * 3


async def test_a_request_of_an_administrator_is_sent_to_the_owner():
    path = "/admin/v2/persistent/public/default/asked/stats"
    async with two_brokers() as pair, aiohttp.ClientSession() as http:
        here, there = pair.brokers
        await here.broker.registry.create(TopicName.parse("asked"))
        async with http.get(there.web_url + path, allow_redirects=False) as answer:
            location = f"{here.web_url}{path}?authoritative=false"
            assert (answer.status, answer.headers["Location"]) == (307, location)
        async with http.get(f"{there.web_url}{path}?getPreciseBacklog=true") as answer:
            assert (answer.status, str(answer.url)) == (
                200,
                f"{here.web_url}{path}?getPreciseBacklog=true&authoritative=false",
            )
        lookup = f"{there.web_url}/lookup/v2/topic/persistent/public/default/asked"
        async with http.get(lookup) as answer:
            assert (await answer.json())["brokerUrl"] == here.service_url


async def test_a_setting_that_is_changed_at_one_broker_holds_at_both():
    async with two_brokers() as pair:
        name = TopicName.parse("persistent://public/default/t")
        there = pair.registries[1]
        await there.serve(name)
        topic = await there.get(name, create=True)
        web = f"{pair.brokers[0].web_url}/admin/v2/brokers/configuration/maxProducersPerTopic"
        async with aiohttp.ClientSession() as session:
            async with session.post(f"{web}/3") as answer:
                assert answer.status == 200
            await until(lambda: topic.policies.producers_per_topic_max == 3)
            async with session.delete(web) as answer:
                assert answer.status == 200
            await until(lambda: topic.policies.producers_per_topic_max == 0)


async def test_a_broker_that_stops_hands_over_what_it_serves():
    """Its clients go on with the other one, and no bundle is without an owner."""
    async with two_brokers() as pair, Client(pair.brokers[0].service_url) as client:
        here, there = pair.registries
        producers = [await client.create_producer(f"t{number}") for number in range(8)]
        await asyncio.gather(*(each.send(b"before") for each in producers))
        served = len(here.ownership.bundles)
        assert served
        await pair.brokers[0].broker.leave()
        assert here.ownership.bundles == []
        await asyncio.gather(*(each.send(b"after") for each in producers))
        assert here.ownership.bundles == []
        assert len(there.ownership.bundles) == served
        for number in range(8):
            async with client.create_reader(f"t{number}") as reader:
                assert [(await reader.receive()).data for _ in range(2)] == [b"before", b"after"]


async def test_brokers_know_each_other_by_a_connection():
    async with two_brokers() as pair:
        here, there = (each.broker for each in pair.brokers)
        await until(lambda: here.connection_count and there.connection_count)


async def test_a_non_persistent_topic_comes_back_at_another_broker():
    name = TopicName.parse("non-persistent://public/default/n")
    async with two_brokers() as pair, Client(pair.brokers[0].service_url) as client:
        consumer = await client.subscribe(str(name), "s")
        producer = await client.create_producer(str(name))
        await producer.send(b"before")
        assert (await consumer.receive()).data == b"before"
        here, there = sorted(pair.registries, key=lambda each: name not in each.loaded)
        bundle = await here._resources.bundle(name)
        pair.sessions[pair.registries.index(here)].expire()
        await there.serve(name)
        receiving = asyncio.ensure_future(consumer.receive())
        async with asyncio.timeout(20):
            while not receiving.done():  # What nobody consumes yet is dropped.
                await producer.send(b"after")
        assert (await receiving).data == b"after"
        assert there.ownership.owns(bundle)
        assert name in there.loaded
        assert name not in here.loaded
