"""Our client against our broker, and beside the official client on the same topics."""

import asyncio
import random

import pulsar
import pytest
from compatibility.conftest import receive_all
from support.draining import data, drained

from magnetar import (
    Client,
    CompressionType,
    InitialPosition,
    OutgoingMessage,
    SubscriptionType,
)
from magnetar.testing.local_broker import BrokerThread
from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.compatibility

COUNT = 10_000
MIB = 1 << 20
EARLIEST = InitialPosition.EARLIEST


@pytest.fixture
async def ours(magnetar_broker):
    """Our client, connected to a broker of ours in another thread."""
    async with Client(magnetar_broker.service_url) as client:
        yield client


def numbered(count, size=0):
    return [b"%d" % number + b"x" * size for number in range(count)]


async def test_half_a_batch_acknowledged_is_redelivered_as_half_with_batch_index_acks(topic):
    with BrokerThread(settings={"acknowledgmentAtBatchIndexLevelEnabled": True}) as broker:
        async with Client(broker.service_url) as ours:
            options = {"type": SubscriptionType.SHARED, "batch_index_ack": True}
            consumer = await ours.subscribe(topic, "s", **options)
            await (await ours.create_producer(topic)).send_many(numbered(10))
            messages = await drained(consumer, 10)
            consumer.acknowledge(messages[::2])
            await consumer.close()
            consumer = await ours.subscribe(topic, "s", **options)
            assert data(await drained(consumer, 5)) == data(messages[1::2])
            assert await consumer.receive_many(1, 0.2) == []


@pytest.mark.parametrize("kind", [SubscriptionType.EXCLUSIVE, SubscriptionType.SHARED])
async def test_a_broker_that_restarts_keeps_messages_and_places(tmp_path, kind):
    topic = "persistent://public/default/restarted"
    with BrokerProcess(tmp_path / "data") as broker:
        async with Client(broker.service_url, backoff_max_s=0.5) as ours:
            producer = await ours.create_producer(topic, batch_messages_max=100)
            consumer = await ours.subscribe(topic, "s", type=kind, initial_position=EARLIEST)
            reader = await ours.create_reader(topic)
            await producer.send_many(numbered(1000))
            consumer.acknowledge(await drained(consumer, 400))
            await drained(reader, 150)
            await consumer.flush()
            broker.terminate()
            waiting = [producer.submit(b"%d" % n) for n in range(1000, 1100)]
            broker.start()
            await asyncio.gather(*waiting)
            rest = await drained(consumer, 700)
            assert sorted(int(message.data) for message in rest) == list(range(400, 1100))
            assert data(await drained(reader, 950)) == [b"%d" % n for n in range(150, 1100)]


async def test_nothing_receipted_is_lost_when_the_broker_is_killed(tmp_path):
    # Takes seconds: processes are killed and start again, and the client waits before it retries.
    topic = "persistent://public/default/killed"
    with BrokerProcess(tmp_path / "data") as broker:
        async with Client(broker.service_url, backoff_max_s=0.5) as ours:
            producer = await ours.create_producer(topic, batching=False)
            sent = []

            async def send():
                for number in range(2000):
                    await producer.send(b"%d" % number)
                    sent.append(number)
                    if number == 700:
                        half.set()

            half = asyncio.Event()
            sending = asyncio.ensure_future(send())
            await asyncio.wait_for(half.wait(), 30)
            broker.kill()
            broker.start()
            await sending
            reader = await ours.create_reader(topic)
            found = []
            while await reader.has_message_available():
                found += [int(message.data) for message in await reader.receive_many(1000, 20)]
            assert set(found) == set(sent) == set(range(2000))
            unique = list(dict.fromkeys(found))
            assert unique == sorted(unique)


COMPRESSIONS = [
    (CompressionType.NONE, pulsar.CompressionType.NONE),
    (CompressionType.LZ4, pulsar.CompressionType.LZ4),
    (CompressionType.ZLIB, pulsar.CompressionType.ZLib),
    (CompressionType.ZSTD, pulsar.CompressionType.ZSTD),
    (CompressionType.SNAPPY, pulsar.CompressionType.SNAPPY),
]


@pytest.mark.parametrize("batching", [True, False])
@pytest.mark.parametrize("kinds", COMPRESSIONS)
async def test_the_official_client_reads_what_ours_wrote(ours, official, topic, batching, kinds):
    consumer = official.subscribe(topic, "s")
    producer = await ours.create_producer(topic, batching=batching, compression=kinds[0])
    await producer.send_many(
        [
            OutgoingMessage(
                b"%d" % n * 50, key=f"k{n}", properties={"n": str(n)}, event_time_ms=n + 1
            )
            for n in range(200)
        ]
    )
    messages = await asyncio.to_thread(receive_all, consumer, 200)
    assert [message.data() for message in messages] == [b"%d" % n * 50 for n in range(200)]
    assert [message.partition_key() for message in messages] == [f"k{n}" for n in range(200)]
    assert [message.properties() for message in messages] == [{"n": str(n)} for n in range(200)]
    assert [message.event_timestamp() for message in messages] == list(range(1, 201))


@pytest.mark.parametrize("batching", [True, False])
@pytest.mark.parametrize("kinds", COMPRESSIONS)
async def test_ours_reads_what_the_official_client_wrote(ours, official, topic, batching, kinds):
    consumer = await ours.subscribe(topic, "s")
    producer = official.create_producer(topic, batching_enabled=batching, compression_type=kinds[1])

    def send():
        for n in range(200):
            producer.send_async(
                b"%d" % n * 50,
                None,
                partition_key=f"k{n}",
                ordering_key=f"o{n}",
                properties={"n": str(n)},
                event_timestamp=n + 1,
            )
        producer.flush()

    await asyncio.to_thread(send)
    messages = await drained(consumer, 200)
    assert data(messages) == [b"%d" % n * 50 for n in range(200)]
    assert [message.key for message in messages] == [f"k{n}" for n in range(200)]
    assert [message.ordering_key for message in messages] == [b"o%d" % n for n in range(200)]
    assert [message.properties for message in messages] == [{"n": str(n)} for n in range(200)]
    assert [message.event_time_ms for message in messages] == list(range(1, 201))
    assert messages[0].delivery.metadata.compression == kinds[0]


async def test_chunked_messages_cross_in_both_directions(ours, official, topic):
    body = random.Random(2).randbytes(12 * MIB)
    theirs = official.subscribe(topic, "theirs")
    mine = await ours.subscribe(topic, "mine")
    await (await ours.create_producer(topic, chunking=True)).send(body)
    sender = official.create_producer(topic, chunking_enabled=True, batching_enabled=False)
    await asyncio.to_thread(sender.send, body)
    for message in await asyncio.to_thread(receive_all, theirs, 2):
        assert message.data() == body
    for _ in range(2):
        assert (await mine.receive(30)).data == body
