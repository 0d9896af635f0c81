import pytest
from unit.broker.peer import Peer, send

from magnetar.testing.local_broker import LocalBroker

QUIET = {"webServicePort": -1}


async def test_connections_are_counted_and_closed_with_the_broker():
    async with LocalBroker(settings=QUIET) as local:
        peers = [await Peer.open(local.port) for _ in range(3)]
        assert local.broker.connection_count == 3
        peers[0].wire.close()
        await peers[0].wire.receive_end()
        await peers[1].nothing_more()
        assert local.broker.connection_count == 2
        broker = local.broker
    assert broker.connection_count == 0
    assert await peers[1].hung_up_on()
    assert await peers[2].hung_up_on()


async def test_a_stopped_broker_can_be_connected_to_no_more():
    async with LocalBroker(settings=QUIET) as local:
        port = local.port
    with pytest.raises(ConnectionRefusedError):
        await Peer.open(port)


async def test_a_client_that_does_not_read_does_not_hold_up_the_end():
    async with LocalBroker(settings=QUIET) as local:
        deaf, peer = await Peer.open(local.port), await Peer.open(local.port)
        await deaf.consume(1, permits=10_000)
        deaf.wire.pause_reading()
        await peer.produce(1)
        for number in range(200):  # More than the sockets between them hold.
            peer.wire.send(send(1, number, b"x" * 100_000))
            await peer.hear()
    assert local.broker.connection_count == 0
    deaf.wire.abort()
