import asyncio
import logging

import pytest
from support.loop import until
from unit.client.peer import hang_up, silence

from magnetar.client.connections.endpoint import Endpoint
from magnetar.client.connections.pool import LOST_MAX
from magnetar.errors import AlreadyClosed, ConnectionLost
from magnetar.wire.commands import BaseCommand


@pytest.fixture
def endpoint(peer):
    return Endpoint(peer.address, peer.address)


async def test_one_connection_serves_all(peer, pool, endpoint):
    first, second = await asyncio.gather(pool.connect(endpoint), pool.connect(endpoint))
    assert first is second
    assert await pool.connect(endpoint) is first
    assert len(peer.connections) == 1


async def test_another_address_behind_a_proxy_is_another_connection(peer, pool, endpoint):
    direct = await pool.connect(endpoint)
    assert await pool.connect(Endpoint("broker-7:6650", peer.address)) is not direct


async def test_more_connections_take_turns(open_pool, endpoint):
    pool = open_pool(connections_per_broker=2)
    first, second, third = [await pool.connect(endpoint) for _ in range(3)]
    assert first is not second
    assert third is first
    await pool.close()


async def test_a_lost_connection_is_replaced(pool, endpoint):
    first = await pool.connect(endpoint)
    first.abort(ConnectionLost("test"))
    second = await pool.connect(endpoint)
    assert second is not first
    assert not second.closed


async def test_a_failure_is_everyones_and_the_next_try_is_a_new_one(peer, pool, endpoint):
    peer.script(BaseCommand.CONNECT, hang_up)
    outcomes = await asyncio.gather(
        pool.connect(endpoint), pool.connect(endpoint), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [ConnectionLost] * 2
    assert not (await pool.connect(endpoint)).closed


async def test_one_callers_cancellation_is_not_the_others(peer, pool, endpoint):
    peer.script(BaseCommand.CONNECT, silence)
    first = asyncio.ensure_future(pool.connect(endpoint))
    second = asyncio.ensure_future(pool.connect(endpoint))
    await peer.saw(BaseCommand.CONNECT)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    peer.connections[0].write(peer.hello())
    assert not (await second).closed


async def test_closing_ends_attempts_and_refuses_new_ones(peer, pool, endpoint):
    peer.script(BaseCommand.CONNECT, silence)
    opening = asyncio.ensure_future(pool.connect(endpoint))
    await peer.saw(BaseCommand.CONNECT)
    await pool.close()
    with pytest.raises(AlreadyClosed, match="closed while it connected"):
        await opening
    with pytest.raises(AlreadyClosed, match="the client is closed"):
        await pool.connect(endpoint)
    await until(lambda: not peer.connections)


async def test_a_broker_that_is_lost_is_told_once_and_once_when_it_is_back(
    peer, open_pool, endpoint, caplog
):
    pool = open_pool(connections_per_broker=2)
    both = [await pool.connect(endpoint) for _ in range(2)]
    with caplog.at_level(logging.WARNING):
        await peer.stop()
        await until(lambda: all(one.closed for one in both))
        for _ in range(3):
            with pytest.raises(ConnectionLost):
                await pool.connect(endpoint)
        await peer.start()
        for _ in range(4):
            await pool.connect(endpoint)
        await pool.close()
    assert [record.message.partition(" error=")[0] for record in caplog.records] == [
        f"connection.lost broker={peer.address}",
        f"connection.back broker={peer.address} after_s=0.0",
    ]


async def test_of_many_lost_brokers_the_first_are_forgotten(pool):
    for number in range(LOST_MAX + 10):
        pool._gone(f"h{number}:1", ConnectionLost("x"))
    assert len(pool._lost) == LOST_MAX
