"""Going to a place in a topic, and asking again from there."""

import asyncio
import time

import pytest
from support.admin import ask
from support.draining import data, drained

from magnetar import EARLIEST_MESSAGE, LATEST_MESSAGE, InitialPosition, SubscriptionType

EARLIEST = InitialPosition.EARLIEST


def numbered(count):
    return [b"%d" % number for number in range(count)]


async def test_readers_go_anywhere(client, topic):
    producer = await client.create_producer(topic, batch_messages_max=100)
    ids = await producer.send_many(numbered(1000))
    reader = await client.create_reader(topic)
    assert data(await drained(reader, 1000)) == numbered(1000)
    assert not await reader.has_message_available()
    for start, inclusive, expected in (
        (ids[123], True, 123),
        (ids[123], False, 124),
        (ids[199], False, 200),
        (EARLIEST_MESSAGE, False, 0),
        (LATEST_MESSAGE, True, 999),
    ):
        begun = await client.create_reader(topic, start, inclusive=inclusive)
        assert (await begun.receive(20)).data == b"%d" % expected
        if start not in (EARLIEST_MESSAGE, LATEST_MESSAGE):
            await reader.seek(start, inclusive=inclusive)
            assert (await reader.receive(20)).data == b"%d" % expected
    await reader.seek(LATEST_MESSAGE)
    assert not await reader.has_message_available()
    await producer.send(b"later")
    assert (await reader.receive(20)).data == b"later"


async def test_a_reader_of_the_end_gets_what_comes_later(client, topic):
    producer = await client.create_producer(topic)
    await producer.send_many(numbered(10))
    reader = await client.create_reader(topic, LATEST_MESSAGE)
    assert not await reader.has_message_available()
    await producer.send(b"later")
    assert (await reader.receive(20)).data == b"later"


@pytest.mark.unmoved  # What is not acknowledged comes again from where a topic is moved to.
async def test_seek_by_id_and_by_time(client, topic):
    producer = await client.create_producer(topic, batch_messages_max=10)
    first = await producer.send_many(numbered(100))
    await asyncio.sleep(0.02)  # So that there is a time between the two.
    between_ms = time.time_ns() // 1_000_000
    await asyncio.sleep(0.02)
    await producer.send_many([b"later"] * 50)
    consumer = await client.subscribe(topic, "s", initial_position=EARLIEST)
    consumer.acknowledge(await drained(consumer, 150))
    await consumer.seek(first[55])
    assert data(await drained(consumer, 95)) == [*numbered(100)[55:], *[b"later"] * 50]
    await consumer.seek_time(between_ms)
    assert data(await drained(consumer, 50)) == [b"later"] * 50
    assert await consumer.receive_many(1, 0.2) == []
    await consumer.seek(EARLIEST_MESSAGE)
    assert (await consumer.receive(20)).data == b"0"
    await consumer.unsubscribe()


async def test_a_reader_that_sought_a_time_begins_there_again_on_a_new_connection(
    broker, client, topic
):
    producer = await client.create_producer(topic, batching=False)
    await producer.send_many(numbered(10))
    reader = await client.create_reader(topic)
    await asyncio.sleep(0.02)
    between_ms = time.time_ns() // 1_000_000
    await asyncio.sleep(0.02)
    await producer.send_many([b"later"] * 5)
    await reader.seek_time(between_ms)
    ask(broker, "PUT", topic.replace("://", "/") + "/unload")
    assert data(await drained(reader, 5)) == [b"later"] * 5
    assert not await reader.has_message_available()


async def test_what_is_not_acknowledged_comes_again_when_asked_for(client, topic):
    producer = await client.create_producer(topic, batching=False)
    await producer.send_many(numbered(10))
    alone = await client.subscribe(topic, "alone", initial_position=EARLIEST)
    alone.acknowledge_cumulative((await drained(alone, 10))[3])
    await alone.redeliver_unacknowledged()
    again = await drained(alone, 6)
    assert data(again) == numbered(10)[4:]
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
