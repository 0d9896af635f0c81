"""Who gets what: alone, one after the other, together, by key."""

import asyncio
from collections import Counter

import pytest
from support.draining import data, drained

from magnetar import InitialPosition, OutgoingMessage, SubscriptionType
from magnetar.errors import ConsumerBusy, ProducerBusy

COUNT = 10_000
EARLIEST = InitialPosition.EARLIEST


def numbered(count):
    return [b"%d" % number for number in range(count)]


@pytest.mark.parametrize("kind", [SubscriptionType.EXCLUSIVE, SubscriptionType.FAILOVER])
@pytest.mark.unmoved
async def test_one_consumer_gets_everything_in_order(client, topic, kind):
    consumers = [await client.subscribe(topic, "s", type=kind, name="a")]
    if kind is SubscriptionType.FAILOVER:
        consumers.append(await client.subscribe(topic, "s", type=kind, name="b"))
    producer = await client.create_producer(topic)
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
    others = [c for c in consumers if c is not active] or [await client.subscribe(topic, "s")]
    rest = await drained(others[0], COUNT - COUNT // 2)
    assert data(rest) == numbered(COUNT)[COUNT // 2 :]


@pytest.mark.parametrize("kind", [SubscriptionType.SHARED, SubscriptionType.KEY_SHARED])
@pytest.mark.unmoved
async def test_several_consumers_share_everything(client, topic, kind):
    consumers = [
        await client.subscribe(topic, "s", type=kind, receiver_queue_size=100) for _ in range(3)
    ]
    producer = await client.create_producer(topic, batch_by_key=True, batch_messages_max=100)
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


@pytest.mark.unmoved
async def test_what_is_taken_is_told_as_busy(client, topic):
    await client.subscribe(topic, "s")
    await client.create_producer(topic, name="p")
    with pytest.raises(ConsumerBusy, match="already connected"):
        await client.subscribe(topic, "s")
    with pytest.raises(ProducerBusy, match="already connected"):
        await client.create_producer(topic, name="p")
