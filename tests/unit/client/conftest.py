"""A scripted broker, and a client of it."""

import pytest
from unit.client.peer import Peer

from magnetar.client.client import Client


@pytest.fixture
async def peer():
    peer = Peer()
    await peer.start()
    yield peer
    await peer.stop()


@pytest.fixture
async def client(peer):
    async with Client(peer.url, operation_timeout_s=5, backoff_first_s=0.01) as client:
        yield client
