import pytest

from magnetar.client.client import Client
from magnetar.client.producers.routing import RoutingMode


@pytest.mark.parametrize(("chance", "partition"), [(0.0, 0), (0.5, 1), (0.25, 2)])
async def test_chance_chooses_the_one_partition_of_a_single_producer(peer, chance, partition):
    peer.partitions = 3
    async with Client(peer.url, chance=lambda: chance) as client:
        producer = await client.create_producer("t", batching=False, routing=RoutingMode.SINGLE)
        sent = await producer.send(b"x")
    assert sent.partition == partition
