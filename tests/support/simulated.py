"""The models that simulations have of ZooKeeper and of bookies, over real sockets."""

import asyncio
from random import Random
from unittest.mock import patch

from magnetar.loop_iteration import LoopIteration
from magnetar.storage.ledger.bookkeeper.ledger_paths import new_cluster
from magnetar.storage.ledger.bookkeeper.store import BookKeeperLedgerStore
from magnetar.storage.metadata.zookeeper import ZooKeeperMetadataStore, ZooKeeperSettings
from magnetar.testing.simulation.bookie import Bookie, Disk
from magnetar.testing.simulation.servers import AVAILABLE
from magnetar.testing.simulation.zookeeper import Ensemble
from magnetar.testing.simulation.zookeeper_client import SimulatedKazoo


class SimulatedZooKeeper:
    """A server, for sessions of the metadata store."""

    def __init__(self):
        self._ensemble = Ensemble(Random(1))
        self._server = None

    async def open(self, chroot=""):
        if self._server is None:
            self._server = await self._ensemble.serve("127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        settings = ZooKeeperSettings(servers=f"{host}:{port}{chroot}", session_timeout_s=5.0)
        with patch("magnetar.storage.metadata.zookeeper.KazooClient", SimulatedKazoo):
            return await ZooKeeperMetadataStore.open(settings)

    async def close(self):
        if self._server is not None:
            self._server.close()


class SimulatedBookies:
    """Three bookies, for ledger stores."""

    def __init__(self):
        self._zookeeper = SimulatedZooKeeper()
        self.bookies = {}  # By bookie id.
        self._servers = []
        self._opened = []

    async def _start(self):
        metadata = await self._zookeeper.open()
        self._opened.append(metadata)
        for path, value in new_cluster("simulated").items():
            await metadata.put(f"/ledgers{path}", value)
        for number in range(3):
            bookie = Bookie(Disk(Random(number)))
            server = await bookie.serve("127.0.0.1", 0)
            self._servers.append(server)
            host, port = server.sockets[0].getsockname()
            self.bookies[f"{host}:{port}"] = bookie
            await metadata.put(f"{AVAILABLE}/{host}:{port}", b"", ephemeral=True)

    async def open(self, **given):
        if not self._servers:
            await self._start()
        metadata = await self._zookeeper.open()
        iteration = LoopIteration(asyncio.get_running_loop())
        store = await BookKeeperLedgerStore.start(metadata, iteration=iteration, **given)
        self._opened += [metadata, store]
        return store

    async def open_after_crash(self):
        return await self.open()

    async def close(self):
        for each in reversed(self._opened):
            await each.close()
        for server in self._servers:
            server.close()
        await self._zookeeper.close()
