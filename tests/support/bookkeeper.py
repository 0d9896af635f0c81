"""Ledger stores on real bookies, and the end of a session with a real ZooKeeper server."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

from kazoo.client import KazooClient

from magnetar.loop_iteration import LoopIteration
from magnetar.storage.ledger.bookkeeper.settings import BookKeeperSettings
from magnetar.storage.ledger.bookkeeper.store import BookKeeperLedgerStore
from magnetar.storage.metadata.zookeeper import ZooKeeperMetadataStore, ZooKeeperSettings

OTHER_CLIENT = Path(__file__).parents[1] / "contract" / "OtherClient.java"


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
        try:
            yield store
        finally:
            await store.close()


async def others_say(cluster, *asked):
    """What BookKeeper's own client prints of what it is asked for, in one process."""
    command = (OTHER_CLIENT, cluster.metadata_service_uri, *asked)
    said = await asyncio.to_thread(cluster.run_java, *command)
    return [line.removeprefix("> ") for line in said.splitlines() if line.startswith("> ")]


def expire(session, server):
    """End the session of a metadata store as a server does: who has its number and password may."""
    twin = KazooClient(server.address, client_id=session._client.client_id)
    twin.start()
    twin.stop()
    twin.close()
