"""Writes what the brokers of a new cluster find in ZooKeeper."""

from contextlib import suppress
from uuid import uuid4

from magnetar.broker.config import Config
from magnetar.broker.resources import Resources
from magnetar.errors import AlreadyExists, VersionMismatch
from magnetar.model.system_topics import COORDINATORS
from magnetar.storage.codec.pulsar_codec import PulsarCodec
from magnetar.storage.ledger.bookkeeper.ledger_paths import new_cluster
from magnetar.storage.metadata.store import ABSENT

from .cluster_stores import open_zookeeper


async def initialize_cluster(config: Config, *urls: str, bundles: int, coordinators: int) -> None:
    """Write it, and let be what is there. ``urls``: ``ClusterData.of``. Raises StorageError."""
    metadata = await open_zookeeper(config)
    try:
        if not config.bookkeeper.service_uri:
            root = config.bookkeeper.ledgers_root
            for path, value in new_cluster(str(uuid4())).items():
                with suppress(VersionMismatch):
                    await metadata.put(root + path, value, expected_version=ABSENT)
        resources = Resources(metadata, config.server.cluster, codec=PulsarCodec())
        try:
            await resources.ensure_defaults(
                config.server.cluster, *urls, alone=False, bundles=bundles
            )
            with suppress(AlreadyExists):
                await resources.create_partitioned_topic(COORDINATORS, coordinators)
        finally:
            resources.close()
    finally:
        await metadata.close()
