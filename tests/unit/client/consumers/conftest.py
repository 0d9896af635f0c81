"""What the scripted peer has stored for consumers."""

import pytest
from support.loop import until

from magnetar.client.client import Client


@pytest.fixture
async def stored(peer):
    """Eight messages in entries 0 to 3, two in each."""
    async with Client(peer.url) as client:
        producer = await client.create_producer("t", batch_messages_max=2)
        await producer.send_many([b"%d" % n for n in range(8)])
    await until(lambda: not peer.connections)
