"""Two brokers over a real ZooKeeper server and real bookies: they keep nothing of their own."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from cluster.conftest import Pair, handed_over_to_and_fro
from support.bookkeeper import bookkeeper_store, expire

from magnetar import Client, InitialPosition
from magnetar.broker.assemble.stores import Stores
from magnetar.storage.metadata.zookeeper import ZooKeeperMetadataStore, ZooKeeperSettings
from magnetar.testing.local_broker import LocalBroker

TOPIC = "persistent://public/default/t"
COUNT = 300

pytestmark = pytest.mark.slow


@asynccontextmanager
async def brokers_on(cluster, name, count=2, **settings):
    """Brokers whose metadata are below a path, each with sessions of its own."""
    async with AsyncExitStack() as stack:
        brokers, sessions = [], []
        for _ in range(count):
            own = ZooKeeperSettings(
                servers=f"{cluster.zookeeper.address}/{name}", session_timeout_s=5
            )
            sessions.append(await ZooKeeperMetadataStore.open(own))
            stack.push_async_callback(sessions[-1].close)
            ledgers = await stack.enter_async_context(bookkeeper_store(cluster))
            broker = LocalBroker(settings=settings, stores=Stores(sessions[-1], ledgers))
            brokers.append(await stack.enter_async_context(broker))
        yield Pair(brokers, sessions)


def urls(pair):
    return "pulsar://" + ",".join(
        each.service_url.removeprefix("pulsar://") for each in pair.brokers
    )


async def read_some(client, count):
    """Read and acknowledge so many messages of one subscription."""
    found = []
    async with client.subscribe(TOPIC, "s", initial_position=InitialPosition.EARLIEST) as consumer:
        while len(found) < count:
            messages = await consumer.receive_many(count - len(found), 20)
            await consumer.acknowledge(messages)
            found += [int(message.data) for message in messages]
    return found


async def test_another_broker_has_all_that_one_has_answered(cluster, tmp_path):
    async with (
        brokers_on(cluster, tmp_path.name, count=1) as only,
        Client(only.brokers[0].service_url) as client,
    ):
        producer = await client.create_producer(TOPIC, batching=False)
        await producer.send_many([b"%d" % number for number in range(COUNT)])
        assert await read_some(client, COUNT // 2) == list(range(COUNT // 2))
    async with (
        brokers_on(cluster, tmp_path.name, count=1) as later,
        Client(later.brokers[0].service_url) as client,
    ):
        assert await read_some(client, COUNT // 2) == list(range(COUNT // 2, COUNT))


async def test_the_official_client_follows_a_topic_that_moves(cluster, tmp_path):
    async with brokers_on(cluster, tmp_path.name) as pair:
        received, _ = await handed_over_to_and_fro(pair)
        assert received == list(range(60))


async def test_a_broker_whose_session_expires_answers_nothing_more(cluster, tmp_path):
    async with (
        brokers_on(cluster, tmp_path.name, brokerDeduplicationEnabled=True) as pair,
        Client(urls(pair), operation_timeout_s=30) as client,
    ):
        producer = await client.create_producer(TOPIC, batching=False)
        answered = 0
        for number in range(COUNT):
            if number in {COUNT // 3, 2 * COUNT // 3}:
                owner = next(
                    i for i, each in enumerate(pair.brokers) if each.broker.registry.loaded
                )
                await asyncio.to_thread(expire, pair.sessions[owner], cluster.zookeeper)
            await producer.send(b"%d" % number)
            answered += 1
            assert not pair.served_twice()
        found = await read_some(client, COUNT)
        assert found == list(range(answered))
