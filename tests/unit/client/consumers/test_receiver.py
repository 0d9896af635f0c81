"""One receiver of several topics and partitions, of a real broker in this process."""

import asyncio
from itertools import groupby

import pytest
from support.draining import data, drained
from unit.client.local import PARTITIONS, put, subscribe

from magnetar.client.message import TopicMessageId
from magnetar.errors import AlreadyClosed, InvalidValue, TimedOut
from magnetar.model.position import EARLIEST_MESSAGE, LATEST_MESSAGE


async def test_it_says_what_it_is(local_client):
    consumer = await subscribe(local_client, "a", "b", name="me")
    assert consumer.topic == "persistent://public/default/a,persistent://public/default/b"
    assert consumer.topics == consumer.topic.split(",")
    assert (consumer.subscription, consumer.name) == ("s", "me")
    assert consumer.connected
    assert consumer.active
    assert not consumer.reached_end


async def test_every_topic_has_its_turn(client):
    async with await client.create_producer("a", batching=False) as producer:
        await producer.send_many([b"x"] * 250)
    consumer = await client.subscribe(["a", "b"], "s")  # The peer has the same in both.
    await consumer.last_message_id()  # Its answer comes behind all messages.
    messages = await consumer.receive_many(1000)
    turns = [(topic, len(list(run))) for topic, run in groupby(m.topic[-1] for m in messages)]
    first, second = ("a", "b") if turns[0][0] == "a" else ("b", "a")
    assert turns == [(topic, count) for count in (100, 100, 50) for topic in (first, second)]


async def test_single_messages_take_turns_too(client):
    async with await client.create_producer("a", batching=False) as producer:
        await producer.send_many([b"0", b"1"])
    consumer = await client.subscribe(["a", "b"], "s")
    await consumer.last_message_id()
    found = [await consumer.receive(5) for _ in range(4)]
    assert [message.data for message in found] == [b"0", b"0", b"1", b"1"]
    assert len({message.topic for message in found[:2]}) == 2


async def test_several_who_wait_get_one_each(local_client):
    consumer = await subscribe(local_client, "a", "b")
    waiting = [asyncio.ensure_future(consumer.receive(5)) for _ in range(3)]
    await put(local_client, "a", b"a0", b"a1")
    await put(local_client, "b", b"b0")
    assert sorted(data(await asyncio.gather(*waiting))) == [b"a0", b"a1", b"b0"]


async def test_time_runs_out(local_client):
    consumer = await subscribe(local_client, "a")
    with pytest.raises(TimedOut, match=r"no message from .*/a within 0\.01 s"):
        await consumer.receive(0.01)
    assert await consumer.receive_many(5, 0.01) == []


async def test_a_cancelled_receive_loses_nothing(local_client):
    consumer = await subscribe(local_client, "a")
    waiting = asyncio.ensure_future(consumer.receive())
    await asyncio.sleep(0)
    await put(local_client, "a", b"a0")
    waiting.cancel()
    if not waiting.done():
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert data(await consumer.receive_many(5, 5)) == [b"a0"]


async def test_iterating_ends_with_the_consumer(local_client):
    await put(local_client, "a", b"a0", b"a1")
    consumer = await subscribe(local_client, "a")
    found = []
    async for message in consumer:
        found.append(message.data)
        if len(found) == 2:
            await consumer.close()
    assert found == [b"a0", b"a1"]


async def test_the_ends_move_every_partition_and_an_id_its_own(partitioned_client):
    ids = await put(partitioned_client, "p", *[b"%d" % n for n in range(10)])
    consumer = await subscribe(partitioned_client, "p")
    first = {message.data for message in await drained(consumer, 10)}
    await consumer.seek(EARLIEST_MESSAGE)
    assert {message.data for message in await drained(consumer, 10)} == first
    last_of_one = max(found for found in ids if found.partition == 1)
    await consumer.seek(last_of_one)
    assert (await consumer.receive(5)).message_id == last_of_one
    assert await consumer.receive_many(5, 0.05) == []
    await consumer.seek_time(0)
    assert {message.data for message in await drained(consumer, 10)} == first
    await consumer.seek(LATEST_MESSAGE)
    assert await consumer.receive_many(5, 0.05) == []
    await consumer.seek_last()
    assert {message.partition for message in await drained(consumer, PARTITIONS)} == set(
        range(PARTITIONS)
    )


async def test_the_last_message_is_the_greatest(partitioned_client):
    consumer = await subscribe(partitioned_client, "p")
    assert await consumer.last_message_id() is None
    assert not await consumer.has_message_available()
    ids = await put(partitioned_client, "p", *[b"%d" % n for n in range(5)])
    assert await consumer.last_message_id() == max(ids)
    assert await consumer.has_message_available()
    await drained(consumer, 5)
    assert not await consumer.has_message_available()


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


async def test_an_id_may_say_which_topic_it_is_of(local_client):
    consumer = await subscribe(local_client, "a", "b")
    await put(local_client, "a", b"a0")
    message = await consumer.receive(5)
    with pytest.raises(InvalidValue, match="TopicMessageId"):
        consumer.acknowledge(message.message_id)
    named = TopicMessageId.of(message.message_id, message.topic)
    assert (named, str(named)) == (message.message_id, str(message.message_id))
    consumer.acknowledge(named)
    await consumer.seek(named)
    assert (await consumer.receive(5)).data == b"a0"
    with pytest.raises(InvalidValue, match="does not come from"):
        consumer.acknowledge(TopicMessageId.of(message.message_id, "persistent://p/d/other"))
