"""One receiver of several topics and partitions, of a real broker in this process."""

import asyncio

import pytest
from unit.client.local import put, subscribe

from magnetar.errors import AlreadyClosed


async def test_it_says_what_it_is(local_client):
    consumer = await subscribe(local_client, "a", "b", name="me")
    assert consumer.topic == "persistent://public/default/a,persistent://public/default/b"
    assert consumer.topics == consumer.topic.split(",")
    assert (consumer.subscription, consumer.name) == ("s", "me")
    assert consumer.connected
    assert consumer.active
    assert not consumer.reached_end


async def test_iterating_ends_with_the_consumer(local_client):
    await put(local_client, "a", b"a0", b"a1")
    consumer = await subscribe(local_client, "a")
    found = []
    async for message in consumer:
        found.append(message.data)
        if len(found) == 2:
            await consumer.close()
    assert found == [b"a0", b"a1"]


async def test_closing_wakes_who_waits(local_client):
    consumer = await subscribe(local_client, "a", "b")
    waiting = asyncio.ensure_future(consumer.receive())
    await asyncio.sleep(0)
    async with consumer:
        pass
    with pytest.raises(AlreadyClosed, match="closed"):
        await waiting


async def test_closing_drops_what_is_left(client):
    async with await client.create_producer("a") as producer:
        await producer.send(b"x")
    consumer = await client.subscribe("a", "s")
    await consumer.last_message_id()
    await consumer.close()
    with pytest.raises(AlreadyClosed, match="closed"):
        await consumer.receive_many()
    assert not consumer.connected
