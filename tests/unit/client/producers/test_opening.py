import itertools

from magnetar.client.client import Client


async def test_chance_and_clock_may_be_given(peer):
    numbers = itertools.cycle([0.0, 0.5])
    peer.partitions = 2
    async with Client(peer.url, chance=lambda: next(numbers)) as client:
        producer = await client.create_producer("t", batching=False)
        await producer.send(b"x")
    assert len(peer.entries) == 1
