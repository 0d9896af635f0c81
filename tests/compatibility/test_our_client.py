"""Our client against our broker, and beside the official client on the same topics."""

import asyncio
import random
import time
from collections import Counter

import pulsar
import pytest
from compatibility.conftest import receive_all
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
from magnetar.errors import TopicNotFound
from magnetar.testing.local_broker import BrokerThread
from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.compatibility

COUNT = 10_000
MIB = 1 << 20
EARLIEST = InitialPosition.EARLIEST
PARTITIONED = {"allowAutoTopicCreationType": "partitioned", "defaultNumPartitions": 4}


@pytest.fixture
async def ours(magnetar_broker):
    """Our client, connected to a broker of ours in another thread."""
    async with Client(magnetar_broker.service_url) as client:
        yield client


@pytest.fixture(scope="module")
def partitioned_broker():
    """Topics made on demand have four partitions."""
    with BrokerThread(settings=PARTITIONED) as broker:
        yield broker


def numbered(count, size=0):
    return [b"%d" % number + b"x" * size for number in range(count)]


@pytest.mark.parametrize("compression", CompressionType)
@pytest.mark.parametrize("batching", [True, False])
async def test_ten_thousand_messages_arrive_once_and_in_order(ours, topic, batching, compression):
    consumer = await ours.subscribe(topic, "s")
    producer = await ours.create_producer(topic, batching=batching, compression=compression)
    payloads = numbered(COUNT, 100)
    ids = await producer.send_many(payloads)
    messages = await drained(consumer, COUNT, acknowledge=consumer.acknowledge)
    assert data(messages) == payloads
    assert [message.message_id for message in messages] == list(ids)
    assert ids[0].batch_size == (1000 if batching else 0)
    await consumer.close()
    again = await ours.subscribe(topic, "s")
    assert await again.receive_many(1, 0.2) == []


@pytest.mark.parametrize("batching", [True, False])
async def test_one_by_one_too(ours, topic, batching):
    consumer = await ours.subscribe(topic, "s")
    producer = await ours.create_producer(topic, batching=batching)
    for number in range(COUNT):
        producer.send_nowait(b"%d" % number, key=f"k{number % 7}", properties={"n": str(number)})
    await producer.flush()
    for number in range(COUNT):
        message = await consumer.receive(20)
        assert (message.data, message.key) == (b"%d" % number, f"k{number % 7}")
        assert message.properties == {"n": str(number)}
        assert message.sequence_id == number
        consumer.acknowledge(message)


@pytest.mark.parametrize("batching", [True, False])
async def test_partitions_keep_the_order_of_each_key(partitioned_broker, topic, batching):
    async with Client(partitioned_broker.service_url) as ours:
        with pytest.raises(TopicNotFound):
            await ours.partitions(topic)
        producer = await ours.create_producer(topic, batching=batching)
        assert await ours.partitions(topic) == 4
        consumer = await ours.subscribe(topic, "s", initial_position=EARLIEST)
        messages = [OutgoingMessage(b"%d" % n, key=f"k{n % 13}") for n in range(COUNT)]
        ids = await producer.send_many(messages)
        received = await drained(consumer, COUNT, acknowledge=consumer.acknowledge)
        assert len({message.message_id for message in received}) == COUNT
        assert {message.partition for message in received} == {0, 1, 2, 3}
        by_key = {}
        for message in received:
            by_key.setdefault(message.key, []).append(int(message.data))
        assert all(numbers == sorted(numbers) for numbers in by_key.values())
        assert dict(zip(ids, range(COUNT), strict=True)) == {
            message.message_id: int(message.data) for message in received
        }


@pytest.mark.parametrize("kind", [SubscriptionType.EXCLUSIVE, SubscriptionType.FAILOVER])
async def test_one_consumer_gets_everything_in_order(ours, topic, kind):
    consumers = [await ours.subscribe(topic, "s", type=kind, name="a")]
    if kind is SubscriptionType.FAILOVER:
        consumers.append(await ours.subscribe(topic, "s", type=kind, name="b"))
    producer = await ours.create_producer(topic)
    await producer.send_many(numbered(COUNT))
    receiving = [asyncio.ensure_future(consumer.receive(20)) for consumer in consumers]
    done, waiting = await asyncio.wait(receiving, return_when=asyncio.FIRST_COMPLETED)
    [first] = done
    [active] = [c for c, r in zip(consumers, receiving, strict=True) if r is first]
    for task in waiting:
        task.cancel()
    messages = [first.result(), *await drained(active, COUNT - 1)]
    assert data(messages) == numbered(COUNT)
    assert active.active
    active.acknowledge_cumulative(messages[COUNT // 2 - 1])  # The last of its batch.
    await active.close()
    others = [c for c in consumers if c is not active] or [await ours.subscribe(topic, "s")]
    rest = await drained(others[0], COUNT - COUNT // 2)
    assert data(rest) == numbered(COUNT)[COUNT // 2 :]


@pytest.mark.parametrize("kind", [SubscriptionType.SHARED, SubscriptionType.KEY_SHARED])
async def test_several_consumers_share_everything(ours, topic, kind):
    consumers = [
        await ours.subscribe(topic, "s", type=kind, receiver_queue_size=100) for _ in range(3)
    ]
    producer = await ours.create_producer(topic, batch_by_key=True, batch_messages_max=100)
    seen = [[] for _ in consumers]
    left = asyncio.Semaphore(0)

    async def work(consumer, mine):
        while True:
            messages = await consumer.receive_many(50, 20)
            consumer.acknowledge(messages)
            mine += messages
            for _ in messages:
                left.release()

    tasks = [asyncio.ensure_future(work(*pair)) for pair in zip(consumers, seen, strict=True)]
    await producer.send_many([OutgoingMessage(b"%d" % n, key=f"k{n % 20}") for n in range(COUNT)])
    async with asyncio.timeout(60):
        for _ in range(COUNT):
            await left.acquire()
    for task in tasks:
        task.cancel()
    everything = [int(message.data) for mine in seen for message in mine]
    assert sorted(everything) == list(range(COUNT))
    assert all(seen)
    if kind is SubscriptionType.KEY_SHARED:
        owners = Counter(key for mine in seen for key in {message.key for message in mine})
        assert set(owners.values()) == {1}
        for mine in seen:
            for key in {message.key for message in mine}:
                numbers = [int(message.data) for message in mine if message.key == key]
                assert numbers == sorted(numbers)


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


async def test_readers_go_anywhere(ours, topic):
    producer = await ours.create_producer(topic, batch_messages_max=100)
    ids = await producer.send_many(numbered(1000))
    reader = await ours.create_reader(topic)
    assert data(await drained(reader, 1000)) == numbered(1000)
    assert not await reader.has_message_available()
    for start, inclusive, expected in (
        (ids[123], True, 123),
        (ids[123], False, 124),
        (ids[199], False, 200),
        (EARLIEST_MESSAGE, False, 0),
        (LATEST_MESSAGE, True, 999),
    ):
        begun = await ours.create_reader(topic, start, inclusive=inclusive)
        assert (await begun.receive(20)).data == b"%d" % expected
        if start not in (EARLIEST_MESSAGE, LATEST_MESSAGE):
            await reader.seek(start, inclusive=inclusive)
            assert (await reader.receive(20)).data == b"%d" % expected
    await reader.seek(LATEST_MESSAGE)
    assert not await reader.has_message_available()


async def test_seek_by_id_and_by_time(ours, topic):
    producer = await ours.create_producer(topic, batch_messages_max=10)
    first = await producer.send_many(numbered(100))
    await asyncio.sleep(0.02)
    between_ms = time.time_ns() // 1_000_000
    await asyncio.sleep(0.02)
    await producer.send_many([b"later"] * 50)
    consumer = await ours.subscribe(topic, "s", initial_position=EARLIEST)
    consumer.acknowledge(await drained(consumer, 150))
    await consumer.seek(first[55])
    assert data(await drained(consumer, 95)) == [*numbered(100)[55:], *[b"later"] * 50]
    await consumer.seek_time(between_ms)
    assert data(await drained(consumer, 50)) == [b"later"] * 50
    assert await consumer.receive_many(1, 0.2) == []


async def test_the_largest_message_and_larger_ones_in_chunks(ours, topic):
    consumer = await ours.subscribe(topic, "s")
    producer = await ours.create_producer(topic, chunking=True)
    chance = random.Random(1)
    bodies = [chance.randbytes(5 * MIB), chance.randbytes(20 * MIB), b"small"]
    ids = [await producer.send(body, key="k") for body in bodies]
    messages = [await consumer.receive(30) for _ in bodies]
    assert [message.data == body for message, body in zip(messages, bodies, strict=True)] == [
        True
    ] * 3
    assert [message.message_id for message in messages] == ids
    assert {message.key for message in messages} == {"k"}
    await consumer.seek(ids[1])
    assert (await consumer.receive(30)).data == bodies[1]
    consumer.acknowledge(messages)
    await consumer.close()
    again = await ours.subscribe(topic, "s")
    assert await again.receive_many(1, 0.2) == []


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
