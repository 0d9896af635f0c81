import asyncio
from unittest.mock import patch

import pytest

from magnetar.errors import StorageError
from magnetar.storage.metadata.zookeeper import ZooKeeperMetadataStore, ZooKeeperSettings
from magnetar.testing.simulation.messages import Messages
from magnetar.testing.simulation.zookeeper_client import SimulatedKazoo


async def test_a_session_that_is_answered_nothing_is_ended():
    ended = asyncio.Event()

    def taken(connection, message):
        if message[0] == "connect":
            connection.send("connected", 1)
        elif message[0] == "close":
            ended.set()
            connection.close()

    server = await asyncio.get_running_loop().create_server(
        lambda: Messages(taken, lambda _: None), "127.0.0.1", 0
    )
    host, port = server.sockets[0].getsockname()
    settings = ZooKeeperSettings(
        servers=f"{host}:{port}", session_timeout_s=5.0, operation_timeout_s=0.2
    )
    with (
        patch("magnetar.storage.metadata.zookeeper.KazooClient", SimulatedKazoo),
        pytest.raises(StorageError, match="does not answer"),
    ):
        await ZooKeeperMetadataStore.open(settings)
    async with asyncio.timeout(5):
        await ended.wait()
    server.close()
