"""Checks the stores of a cluster: ZooKeeper answers, and there are enough bookies."""

import asyncio

from magnetar.broker.assemble.cluster_stores import open_zookeeper
from magnetar.broker.config import Config
from magnetar.errors import InvalidValue, MagnetarError
from magnetar.storage.ledger.bookkeeper.ledger_paths import AVAILABLE, LAYOUT, READ_ONLY

from .finding import Finding, note, ok, wrong


def cluster_stores(config: Config) -> list[Finding]:
    """What a broker with these settings would find of its cluster."""
    try:
        servers = config.bookkeeper.servers or config.metadata.servers
    except InvalidValue:
        return []  # It is among what is refused.
    return asyncio.run(_look(config, servers))


async def _look(config: Config, servers: str) -> list[Finding]:
    root = config.bookkeeper.ledgers_root
    try:
        metadata = await open_zookeeper(config, servers)
    except MagnetarError as error:
        return [wrong("ZooKeeper", str(error), "start it, or correct metadataStoreUrl")]
    try:
        names = set(await metadata.children(f"{root}/{AVAILABLE}")) - {READ_ONLY}
        read_only = await metadata.children(f"{root}/{AVAILABLE}/{READ_ONLY}")
        layout = await metadata.get(f"{root}/{LAYOUT}")
    finally:
        await metadata.close()
    found = [ok("ZooKeeper", f"{servers} answers")]
    if layout is None:
        remedy = "make them with `magnetar initialize-cluster-metadata`"
        return [*found, wrong("bookies", "there are no metadata of ledgers", remedy)]
    return [*found, *_bookies(config, names, read_only)]


def _bookies(config: Config, names: set[str], read_only: list[str]) -> list[Finding]:
    settings = config.bookkeeper
    said = f"{len(names)} take writes"
    found = [note("bookies", f"{each} is read-only", "look at its disk") for each in read_only]
    if len(names) < settings.ensemble_size:
        remedy = f"start some: ledgers need {settings.ensemble_size} "
        remedy += "(managedLedgerDefaultEnsembleSize)"
        return [wrong("bookies", said, remedy), *found]
    if len(names) == settings.ensemble_size:
        remedy = "start one more: none could take the place of one that fails"
        return [note("bookies", said, remedy), *found]
    return [ok("bookies", said), *found]
