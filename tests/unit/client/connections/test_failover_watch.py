import asyncio
import logging

import pytest
from support.loop import until
from unit.client.peer import Peer

from magnetar.client.client import Client
from magnetar.client.failover import AutoClusterFailover
from magnetar.wire.commands import BaseCommand


@pytest.fixture
async def other():
    other = Peer()
    await other.start()
    yield other
    await other.stop()


def failover(*peers, switch_back_delay_s=600):
    primary, *secondaries = [peer.url for peer in peers]
    return AutoClusterFailover(
        primary,
        secondaries,
        failover_delay_s=0,
        switch_back_delay_s=switch_back_delay_s,
        check_interval_s=0.02,
    )


async def test_who_is_attached_goes_over_and_comes_back(peer, other, caplog):
    way = failover(peer, other, switch_back_delay_s=0.05)
    with caplog.at_level(logging.WARNING):
        async with Client(way, backoff_first_s=60) as client:
            producer = await client.create_producer("t")
            await producer.send(b"at the primary")
            await peer.stop()
            await producer.send(b"at the second")
            assert len(other.entries) == 1
            await peer.start()
            await until(lambda: len(peer.of(BaseCommand.PRODUCER)) == 2)
            await producer.send(b"back")
            assert (len(peer.entries), len(other.entries)) == (2, 1)
    switched = [one.message for one in caplog.records if "switched" in one.message]
    assert switched == [
        f"client.cluster_switched from={peer.url} to={other.url}",
        f"client.cluster_switched from={other.url} to={peer.url}",
    ]


async def test_a_primary_that_never_was_there_is_waited_for(peer, other):
    await peer.stop()
    async with Client(failover(peer, other), backoff_first_s=0.01) as client:
        assert await client.partitions("t") == 0
    assert other.of(BaseCommand.PARTITIONED_METADATA)
    await peer.start()


async def test_nothing_is_tried_before_the_client_is_used(peer, other):
    before = asyncio.all_tasks()
    async with Client(failover(peer, other)):
        assert asyncio.all_tasks() == before
    assert not peer.commands
    assert not other.commands
