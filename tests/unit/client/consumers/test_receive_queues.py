"""What waits on several topics, taken by a receiver of a real broker in this process."""

import asyncio
from itertools import groupby

import pytest
from support.draining import data
from support.loop import until
from unit.client.local import put, subscribe

from magnetar.errors import TimedOut


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


async def test_what_was_collected_in_vain_is_received_next(local_client):
    consumer = await subscribe(local_client, "a", "b")
    await put(local_client, "a", b"a0")
    waiting = asyncio.ensure_future(consumer.receive_many(10, count_min=2))
    await until(lambda: consumer.stats.messages_received)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await put(local_client, "b", b"b0", b"b1")
    assert data(await consumer.receive_many(10, 5, count_min=2, bytes_max=3)) == [b"a0"]
    assert data(await consumer.receive_many(10, 5, count_min=2)) == [b"b0", b"b1"]
