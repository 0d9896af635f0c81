"""What every program does: sends, in all the ways there are, and receives once and in order."""

import random

import pytest
from support.admin import ask
from support.draining import data, drained

from magnetar import LATEST_MESSAGE, CompressionType, InitialPosition, OutgoingMessage
from magnetar.errors import TopicNotFound

COUNT = 3_000
MIB = 1 << 20
EARLIEST = InitialPosition.EARLIEST


def numbered(count, size=0):
    return [b"%d" % number + b"x" * size for number in range(count)]


@pytest.mark.parametrize("compression", CompressionType)
@pytest.mark.parametrize("batching", [True, False])
@pytest.mark.unmoved
async def test_thousands_of_messages_arrive_once_and_in_order(client, topic, batching, compression):
    consumer = await client.subscribe(topic, "s")
    producer = await client.create_producer(topic, batching=batching, compression=compression)
    payloads = numbered(COUNT, 100)
    ids = await producer.send_many(payloads)
    messages = await drained(consumer, COUNT, acknowledge=consumer.acknowledge)
    assert data(messages) == payloads
    assert [message.message_id for message in messages] == list(ids)
    assert ids[0].batch_size == (1000 if batching else 0)
    await consumer.close()
    again = await client.subscribe(topic, "s")
    assert await again.receive_many(1, 0.2) == []


@pytest.mark.parametrize("batching", [True, False])
@pytest.mark.unmoved
async def test_one_by_one_too(client, topic, batching):
    consumer = await client.subscribe(topic, "s")
    producer = await client.create_producer(topic, batching=batching)
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
@pytest.mark.unmoved
async def test_partitions_keep_the_order_of_each_key(broker, client, topic, batching):
    ask(broker, "PUT", topic.replace("://", "/") + "/partitions", 4)
    assert await client.partitions(topic) == 4
    producer = await client.create_producer(topic, batching=batching)
    consumer = await client.subscribe(topic, "s", initial_position=EARLIEST)
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
    last = await client.create_reader(topic, LATEST_MESSAGE, inclusive=True)
    assert {message.partition for message in await drained(last, 4)} == {0, 1, 2, 3}
    names = await client.topics("public/default")
    assert {f"{topic}-partition-{index}" for index in range(4)} <= set(names)


async def test_the_largest_message_and_larger_ones_in_chunks(client, topic):
    consumer = await client.subscribe(topic, "s")
    producer = await client.create_producer(topic, chunking=True)
    chance = random.Random(1)
    bodies = [chance.randbytes(5 * MIB - 1024), chance.randbytes(20 * MIB), b"small"]
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
    again = await client.subscribe(topic, "s")
    assert await again.receive_many(1, 0.2) == []


async def test_what_is_missing_is_told_as_not_found(client):
    with pytest.raises(TopicNotFound):
        await client.partitions("nothing-of-this-name")
    with pytest.raises(TopicNotFound, match="Namespace not found"):
        await client.create_producer("persistent://nobody/nowhere/t")


async def test_an_unloaded_topic_is_found_again(broker, client, topic):
    producer = await client.create_producer(topic)
    consumer = await client.subscribe(topic, "s")
    await producer.send(b"0")
    consumer.acknowledge(await consumer.receive(20))
    await consumer.flush()
    await consumer.last_message_id()  # Behind the acknowledgement on the same connection.
    ask(broker, "PUT", topic.replace("://", "/") + "/unload")
    await producer.send(b"1")
    assert (await consumer.receive(20)).data == b"1"


async def test_a_message_may_have_no_value(client, topic):
    consumer = await client.subscribe(topic, "s")
    for batching in (True, False):
        producer = await client.create_producer(topic, batching=batching)
        await producer.send(b"", key="k", null_value=True, properties={"a": "b"})
        await producer.send(b"", key="k", replication_clusters=())
        removing, empty = [await consumer.receive(timeout_s=20) for _ in range(2)]
        assert (removing.null_value, removing.value, removing.data) == (True, None, b"")
        assert (removing.key, removing.properties) == ("k", {"a": "b"})
        assert (empty.null_value, empty.value, empty.key) == (False, b"", "k")
