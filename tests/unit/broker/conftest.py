import pytest
from unit.broker.peer import Peer

from magnetar.testing.local_broker import LocalBroker

SETTINGS = {"webServicePort": -1, "connectionLivenessCheckTimeoutMillis": 150}


@pytest.fixture
async def broker():
    """A broker in this loop, in memory, without the admin API."""
    async with LocalBroker(settings=SETTINGS) as local:
        yield local


@pytest.fixture
async def peer(broker):
    connection = await Peer.open(broker.port)
    yield connection
    connection.wire.close()


@pytest.fixture
async def other(broker):
    connection = await Peer.open(broker.port)
    yield connection
    connection.wire.close()
