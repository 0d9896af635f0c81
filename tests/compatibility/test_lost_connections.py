"""Our client while its connections are cut again and again: what it promises holds all the same.

Nothing is lost, order holds, what was acknowledged does not come back, a reader skips nothing.
"""

import asyncio
import itertools
import random

import pytest
from support.network import Proxy

from magnetar import Client, InitialPosition, SubscriptionType
from magnetar.testing.local_broker import LocalBroker

pytestmark = pytest.mark.compatibility

COUNT = 4_000


@pytest.fixture
async def proxy():
    """The network. The broker listens on another address, where its client does not look."""
    settings = {"webServicePort": -1, "bindAddress": "127.0.0.2"}
    async with (
        LocalBroker(settings=settings) as broker,
        Proxy("127.0.0.2", broker.port, listen_port=broker.port) as proxy,
    ):
        yield proxy


@pytest.fixture
async def client(proxy):
    url = f"pulsar://127.0.0.1:{proxy.port}"
    async with Client(url, backoff_first_s=0.005, backoff_max_s=0.05) as client:
        yield client


async def cut_now_and_then(proxy, chance, times):
    for _ in range(times):
        await asyncio.sleep(chance.random() * 0.08)
        proxy.cut()


async def produce(client, topic, **options):
    producer = await client.create_producer(topic, **options)
    sent = []
    for number in range(COUNT):
        await producer.ready()
        sent.append(producer.send(b"%d" % number))
        if number % 200 == 0:
            await asyncio.sleep(0.01)
    await asyncio.gather(*sent)


async def consume(consumer, chance):
    """Until every message has been acknowledged; some only when others came in between.

    An entry that was taken apart before a message in it was acknowledged still brings that one.
    """
    acknowledged, opened, kept, seen = {}, {}, [], []
    for turn in itertools.count():
        if len({number for number, _ in acknowledged}) == COUNT:
            return list(dict.fromkeys(seen))
        if kept and (chance.random() < 0.3 or len(seen) >= COUNT):
            done, kept = kept, []
        else:
            done = await consumer.receive_many(chance.randint(1, 200), 10)
            assert done, f"{len(acknowledged)} acknowledged, and nothing more comes"
            for message in done:
                since = opened.setdefault(message.delivery, turn)
                told = acknowledged.get((int(message.data), message.message_id), turn)
                assert told >= since, f"{message} was acknowledged, and came again"
            seen += [int(message.data) for message in done]
            if chance.random() < 0.2:
                kept += done
                continue
        consumer.acknowledge(done)
        for message in done:
            acknowledged.setdefault((int(message.data), message.message_id), turn)
    return seen


async def read(reader):
    found = {}
    while len(set(found.values())) < COUNT:
        messages = await reader.receive_many(200, 10)
        assert messages, f"{len(found)} read, and nothing more comes"
        for message in messages:
            assert message.message_id not in found, "read twice"
            found[message.message_id] = int(message.data)
    return found


@pytest.mark.parametrize("options", [{"batching": False}, {}, {"batch_by_key": True}])
async def test_every_message_is_stored_once_where_the_broker_deduplicates(options):
    settings = {
        "webServicePort": -1,
        "bindAddress": "127.0.0.2",
        "brokerDeduplicationEnabled": True,
    }
    chance = random.Random(1)
    async with (
        LocalBroker(settings=settings) as broker,
        Proxy("127.0.0.2", broker.port, listen_port=broker.port) as proxy,
        Client(
            f"pulsar://127.0.0.1:{proxy.port}", backoff_first_s=0.005, backoff_max_s=0.05
        ) as client,
    ):
        reader = await client.create_reader("t")
        producer = await client.create_producer(
            "t", name="p", initial_sequence_id=100, batch_messages_max=20, **options
        )
        cuts = asyncio.create_task(cut_now_and_then(proxy, chance, 8))
        for number in range(COUNT):
            await producer.ready()
            producer.send_nowait(b"%d" % number, key=f"k{chance.randrange(5)}")
            if number % 200 == 0:
                await asyncio.sleep(0.01)
        await producer.flush()
        await cuts
        assert producer.last_sequence_id == 100 + COUNT - 1
        found = await read(reader)
        assert sorted(found.values()) == list(range(COUNT))
        assert not await reader.has_message_available()
        await producer.close()
        again = await client.create_producer("t", name="p")
        assert again.last_sequence_id == 100 + COUNT - 1


@pytest.mark.parametrize("batching", [True, False])
@pytest.mark.parametrize("kind", SubscriptionType)
async def test_every_promise_holds(client, proxy, kind, batching):
    chance = random.Random(int(kind) * 2 + batching)
    consumer = await client.subscribe(
        "t",
        "s",
        type=kind,
        initial_position=InitialPosition.EARLIEST,
        receiver_queue_size=100,
        ack_group_time_s=0.01,
    )
    reader = await client.create_reader("t", receiver_queue_size=100)
    seen, found, _, _ = await asyncio.gather(
        consume(consumer, chance),
        read(reader),
        produce(client, "t", batching=batching, batch_messages_max=20),
        cut_now_and_then(proxy, chance, 12),
    )
    assert set(seen) == set(range(COUNT))
    if kind in (SubscriptionType.EXCLUSIVE, SubscriptionType.FAILOVER):
        assert seen == sorted(seen)
    assert list(found) == sorted(found)
    stored = list(dict.fromkeys(found.values()))
    assert stored == list(range(COUNT))
