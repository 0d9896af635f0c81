"""Producers that send faster than the broker stores: how much waits, and who is told."""

import asyncio

import pytest
from support.admin import ask

from magnetar import Client
from magnetar.errors import MemoryFull, QueueFull


def stalled(client, topic, **options):
    """A producer whose batches do not leave, and so have no receipts."""
    return client.create_producer(topic, batch_delay_s=60, batch_messages_max=10_000, **options)


async def test_who_shall_not_wait_is_told_that_the_queue_is_full(client, topic):
    producer = await stalled(client, topic, max_pending_messages=3, block_if_queue_full=False)
    for _ in range(3):
        producer.send_nowait(b"x")
    with pytest.raises(QueueFull, match=r"full \(3 messages, 3 bytes\)"):
        await producer.send(b"y")
    with pytest.raises(QueueFull):
        await producer.enqueue([b"y"])
    await producer.flush()
    await producer.send_many([b"y"] * 3)


async def test_a_list_that_does_not_fit_is_stored_as_far_as_it_does(client, topic):
    producer = await stalled(client, topic, max_pending_messages=3, block_if_queue_full=False)
    with pytest.raises(QueueFull):
        await producer.send_many([b"0", b"1", b"2", b"3", b"4"])
    reader = await client.create_reader(topic)
    assert [(await reader.receive(20)).data for _ in range(3)] == [b"0", b"1", b"2"]
    assert not await reader.has_message_available()


async def test_all_partitions_together_have_a_bound(broker, client, topic):
    ask(broker, "PUT", topic.replace("://", "/") + "/partitions", 4)
    producer = await stalled(
        client, topic, max_pending_messages_across_partitions=8, routing=lambda *_: 1
    )
    for _ in range(2):
        producer.send_nowait(b"x")
    with pytest.raises(QueueFull):
        producer.send_nowait(b"x")


async def test_the_producers_of_a_client_share_its_memory(broker, topic):
    async with Client(broker.service_url, memory_limit_bytes=100_000) as client:
        one = await stalled(client, topic)
        other = await stalled(client, topic, batch_bytes_max=1 << 20)
        other.send_nowait(bytes(99_999))
        one.send_nowait(bytes(50_000))
        with pytest.raises(MemoryFull, match=r"hold 149999 bytes.*may hold 100000"):
            one.send_nowait(b"x")
        with pytest.raises(MemoryFull):
            other.send_nowait(b"x")
        waiting = asyncio.ensure_future(one.send_many([bytes(40_000)] * 20))
        await asyncio.sleep(0)
        assert not waiting.done()
        await other.flush()
        assert len(await waiting) == 20
        await one.flush()
        await other.send_many([bytes(200_000)])


async def test_nothing_is_lost_where_memory_is_scarce(broker, topic):
    async with Client(broker.service_url, memory_limit_bytes=10_000) as client:
        producers = [await client.create_producer(topic) for _ in range(5)]
        payloads = [b"%d" % number * 500 for number in range(200)]
        await asyncio.gather(*(producer.send_many(payloads) for producer in producers))
        reader = await client.create_reader(topic)
        found = [(await reader.receive(20)).data for _ in range(1000)]
        assert sorted(found) == sorted(payloads * 5)


async def test_who_waits_for_room_may_give_up(broker, topic):
    async with Client(broker.service_url, memory_limit_bytes=1) as client:
        full, other = await stalled(client, topic), await stalled(client, topic)
        full.send_nowait(b"first")
        waiting = [asyncio.ensure_future(each.send(b"given up")) for each in (full, other)]
        await asyncio.sleep(0)
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await full.flush()
        await other.send_many([b"second"])
        reader = await client.create_reader(topic)
        assert [(await reader.receive(20)).data for _ in range(2)] == [b"first", b"second"]
        assert not await reader.has_message_available()
