"""Ledger stores on real bookies, and the end of a session with a real ZooKeeper server."""

import asyncio
from contextlib import asynccontextmanager

from kazoo.client import KazooClient

from magnetar.loop_iteration import LoopIteration
from magnetar.storage.ledger.bookkeeper.settings import BookKeeperSettings
from magnetar.storage.ledger.bookkeeper.store import BookKeeperLedgerStore
from magnetar.storage.metadata.zookeeper import ZooKeeperMetadataStore, ZooKeeperSettings


@asynccontextmanager
async def session(cluster):
    """A session of a metadata store."""
    there = ZooKeeperSettings(servers=cluster.zookeeper.address)
    metadata = await ZooKeeperMetadataStore.open(there)
    try:
        yield metadata
    finally:
        await metadata.close()


@asynccontextmanager
async def bookkeeper_store(cluster, **settings):
    """A ledger store with a session of its own."""
    async with session(cluster) as metadata:
        store = await BookKeeperLedgerStore.start(
            metadata,
            settings=BookKeeperSettings(**settings),
            iteration=LoopIteration(asyncio.get_running_loop()),
        )
        yield store
        await store.close()


def expire(session, server):
    """End the session of a metadata store as a server does: who has its number and password may."""
    twin = KazooClient(server.address, client_id=session._client.client_id)
    twin.start()
    twin.stop()
    twin.close()
