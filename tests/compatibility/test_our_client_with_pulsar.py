"""Our client against Apache Pulsar itself, where one can run: set MAGNETAR_WITH_PULSAR=1.

``bench/pulsar_standalone.py`` fetches it (235 MB, Java and Maven) and starts it; 20 s.
"""

import asyncio
import os
import random
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from support.draining import data, drained

from magnetar import (
    EARLIEST_MESSAGE,
    LATEST_MESSAGE,
    Client,
    CompressionType,
    InitialPosition,
    OutgoingMessage,
    SubscriptionType,
)
from magnetar.errors import ConsumerBusy, ProducerBusy, TopicNotFound

pytestmark = [
    pytest.mark.compatibility,
    pytest.mark.skipif(
        not os.environ.get("MAGNETAR_WITH_PULSAR"), reason="set MAGNETAR_WITH_PULSAR=1"
    ),
]

COUNT = 2_000
MIB = 1 << 20
EARLIEST = InitialPosition.EARLIEST


@pytest.fixture(scope="module")
def pulsar(tmp_path_factory):
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from bench.pulsar_standalone import PulsarStandalone, fetch  # noqa: PLC0415 - not a package

    with PulsarStandalone(fetch(), tmp_path_factory.mktemp("pulsar"), fsync=False) as broker:
        yield broker


@pytest.fixture
async def client(pulsar):
    async with Client(pulsar.url) as client:
        yield client


def admin(pulsar, method, path, body=None):
    request = urllib.request.Request(
        f"{pulsar.web_url}/admin/v2/{path}",
        method=method,
        data=body,
        headers={"Content-Type": "application/json"},
    )
    urllib.request.urlopen(request, timeout=30).close()


@pytest.mark.parametrize("compression", CompressionType)
@pytest.mark.parametrize("batching", [True, False])
async def test_messages_arrive_once_and_in_order(client, topic, batching, compression):
    consumer = await client.subscribe(topic, "s")
    producer = await client.create_producer(topic, batching=batching, compression=compression)
    payloads = [b"%d" % n + b"x" * 50 for n in range(COUNT)]
    ids = await producer.send_many(payloads)
    messages = await drained(consumer, COUNT)
    assert data(messages) == payloads
    assert [message.message_id for message in messages] == list(ids)
    consumer.acknowledge(messages)
    await consumer.close()
    again = await client.subscribe(topic, "s")
    assert await again.receive_many(1, 0.3) == []


@pytest.mark.parametrize("kind", SubscriptionType)
async def test_every_type_of_subscription_delivers_everything(client, topic, kind):
    alone = kind is SubscriptionType.EXCLUSIVE
    consumers = [
        await client.subscribe(topic, "s", type=kind, receiver_queue_size=50)
        for _ in range(1 if alone else 2)
    ]
    producer = await client.create_producer(topic, batch_by_key=True, batch_messages_max=20)
    await producer.send_many([OutgoingMessage(b"%d" % n, key=f"k{n % 10}") for n in range(COUNT)])
    seen = []

    async def work(consumer):
        while len(seen) < COUNT:
            messages = await consumer.receive_many(100, 3)
            consumer.acknowledge(messages)
            seen.extend(int(message.data) for message in messages)

    await asyncio.gather(*map(work, consumers))
    assert sorted(seen) == list(range(COUNT))


async def test_what_is_taken_is_told_as_busy(client, topic):
    await client.subscribe(topic, "s")
    await client.create_producer(topic, name="p")
    with pytest.raises(ConsumerBusy, match="already connected"):
        await client.subscribe(topic, "s")
    with pytest.raises(ProducerBusy, match="already connected"):
        await client.create_producer(topic, name="p")


async def test_what_is_missing_is_told_as_not_found(client):
    with pytest.raises(TopicNotFound):
        await client.partitions("nothing-of-this-name")
    with pytest.raises(TopicNotFound, match="Namespace not found"):
        await client.create_producer("persistent://nobody/nowhere/t")


async def test_readers_and_seeks_go_anywhere(client, topic):
    producer = await client.create_producer(topic, batch_messages_max=100)
    ids = await producer.send_many([b"%d" % n for n in range(1000)])
    reader = await client.create_reader(topic)
    assert len(await drained(reader, 1000)) == 1000
    assert not await reader.has_message_available()
    for start, inclusive, expected in (
        (ids[123], True, 123),
        (ids[123], False, 124),
        (ids[199], False, 200),
    ):
        begun = await client.create_reader(topic, start, inclusive=inclusive)
        assert (await begun.receive(20)).data == b"%d" % expected
        await reader.seek(start, inclusive=inclusive)
        assert (await reader.receive(20)).data == b"%d" % expected
    last = await client.create_reader(topic, LATEST_MESSAGE, inclusive=True)
    assert (await last.receive(20)).data == b"999"
    await reader.seek(LATEST_MESSAGE)
    assert not await reader.has_message_available()
    await asyncio.sleep(0.02)
    between_ms = time.time_ns() // 1_000_000
    await producer.send(b"later")
    assert (await reader.receive(20)).data == b"later"
    consumer = await client.subscribe(topic, "s", initial_position=EARLIEST)
    consumer.acknowledge(await drained(consumer, 1001))
    await consumer.seek_time(between_ms)
    assert data(await drained(consumer, 1)) == [b"later"]
    await consumer.seek(EARLIEST_MESSAGE)
    assert (await consumer.receive(20)).data == b"0"
    await consumer.unsubscribe()


async def test_what_is_not_acknowledged_comes_again(client, topic):
    producer = await client.create_producer(topic, batching=False)
    await producer.send_many([b"%d" % n for n in range(10)])
    alone = await client.subscribe(topic, "alone", initial_position=EARLIEST)
    alone.acknowledge_cumulative((await drained(alone, 10))[3])
    await alone.redeliver_unacknowledged()
    again = await drained(alone, 6)
    assert data(again) == [b"%d" % n for n in range(4, 10)]
    assert all(message.redelivered for message in again)
    shared = await client.subscribe(
        topic, "shared", type=SubscriptionType.SHARED, initial_position=EARLIEST
    )
    messages = await drained(shared, 10)
    shared.acknowledge(messages[::2])
    await shared.redeliver_unacknowledged([messages[1], messages[3]])
    again = await drained(shared, 2)
    assert [(message.data, message.redelivery_count) for message in again] == [
        (b"1", 1),
        (b"3", 1),
    ]


async def test_large_messages_and_chunks(client, topic):
    consumer = await client.subscribe(topic, "s")
    producer = await client.create_producer(topic, chunking=True)
    chance = random.Random(1)
    bodies = [chance.randbytes(5 * MIB - 1024), chance.randbytes(20 * MIB)]
    ids = [await producer.send(body) for body in bodies]
    messages = [await consumer.receive(30) for _ in bodies]
    assert [message.data == body for message, body in zip(messages, bodies, strict=True)] == [
        True,
        True,
    ]
    assert [message.message_id for message in messages] == ids
    await consumer.seek(ids[1])
    assert (await consumer.receive(30)).data == bodies[1]


async def test_an_unloaded_topic_is_found_again(pulsar, client, topic):
    producer = await client.create_producer(topic)
    consumer = await client.subscribe(topic, "s")
    await producer.send(b"0")
    consumer.acknowledge(await consumer.receive(20))
    await consumer.flush()
    await consumer.last_message_id()  # Behind the acknowledgement on the same connection.
    await asyncio.to_thread(admin, pulsar, "PUT", topic.replace("://", "/") + "/unload")
    await producer.send(b"1")
    assert (await consumer.receive(20)).data == b"1"


async def test_partitions(pulsar, client, topic):
    path = topic.replace("://", "/") + "/partitions"
    await asyncio.to_thread(admin, pulsar, "PUT", path, b"4")
    assert await client.partitions(topic) == 4
    producer = await client.create_producer(topic)
    consumer = await client.subscribe(topic, "s")
    await producer.send_many([OutgoingMessage(b"%d" % n, key=f"k{n % 13}") for n in range(COUNT)])
    messages = await drained(consumer, COUNT)
    assert sorted(int(message.data) for message in messages) == list(range(COUNT))
    last = await client.create_reader(topic, LATEST_MESSAGE, inclusive=True)
    assert {message.partition for message in await drained(last, 4)} == {0, 1, 2, 3}
    names = await client.topics("public/default")
    assert [f"{topic}-partition-{index}" for index in range(4)] == [
        name for name in names if name.startswith(f"{topic}-partition-")
    ]
