"""Checks the stores of a cluster: ZooKeeper answers, and there are enough bookies, with room."""

import asyncio

from magnetar.broker.config import Config
from magnetar.errors import InvalidValue, MagnetarError
from magnetar.extras import check_cluster
from magnetar.storage.ledger.bookkeeper.inspection import frames_are_taken, spaces_of_bookies
from magnetar.storage.ledger.bookkeeper.ledger_paths import AVAILABLE, LAYOUT, READ_ONLY
from magnetar.storage.metadata.store import MetadataStore

from .finding import Finding, note, ok, size_text, wrong

FREE_MIN = 0.05
"""A bookie with less room than this takes no writes soon (``diskUsageThreshold``, 95 %)."""


def cluster_stores(config: Config) -> list[Finding]:
    """What a broker with these settings would find of its cluster."""
    try:
        ensembles = [
            (config.metadata.servers, "metadataStoreUrl"),
            (config.bookkeeper.servers, "bookkeeperMetadataServiceUri"),
        ]
        check_cluster()
    except InvalidValue:
        return []  # It is among what is refused.
    except MagnetarError as error:
        return [wrong("ZooKeeper", str(error), "pip install 'magnetar[cluster]'")]
    return asyncio.run(_look(config, [each for each in ensembles if each[0]]))


async def _look(config: Config, ensembles: list[tuple[str, str]]) -> list[Finding]:
    """Look at each ensemble; the last one lists the bookies."""
    from magnetar.broker.assemble.cluster_stores import open_zookeeper  # noqa: PLC0415 - kazoo

    found: list[Finding] = []
    for servers, setting in ensembles:
        try:
            metadata = await open_zookeeper(config, servers)
        except MagnetarError as error:
            return [*found, wrong("ZooKeeper", str(error), f"start it, or correct {setting}")]
        try:
            found.append(ok("ZooKeeper", f"{servers} answers"))
            if setting == ensembles[-1][1]:
                found += await _bookies(config, metadata)
        finally:
            await metadata.close()
    return found


async def _bookies(config: Config, metadata: MetadataStore) -> list[Finding]:
    from magnetar.broker.assemble.cluster_stores import bookkeeper_settings  # noqa: PLC0415 - kazoo

    root = config.bookkeeper.ledgers_root
    if await metadata.get(f"{root}/{LAYOUT}") is None:
        remedy = "make them with `magnetar initialize-cluster-metadata`"
        return [wrong("bookies", "there are no metadata of ledgers", remedy)]
    names = set(await metadata.children(f"{root}/{AVAILABLE}")) - {READ_ONLY}
    read_only = await metadata.children(f"{root}/{AVAILABLE}/{READ_ONLY}")
    found = _number(config, names, read_only)
    settings = bookkeeper_settings(config)
    for bookie_id, space in (await spaces_of_bookies(metadata, settings)).items():
        if isinstance(space, MagnetarError):
            found.append(wrong("bookies", str(space), "look at its log, and whether it is reached"))
        elif space.free < FREE_MIN * space.total:
            said = f"{bookie_id} has {size_text(space.free)} of {size_text(space.total)} left"
            found.append(note("bookies", said, "make room: it takes no writes soon, or already"))
    size = config.bookkeeper.frame_size_max
    for bookie_id, taken in (await frames_are_taken(metadata, settings, size)).items():
        if taken is False:
            remedy = f"set nettyMaxFrameSizeBytes={size} there: a ledger ends where it gets an "
            remedy += "entry that is larger than it takes"
            found.append(note("bookies", f"{bookie_id} does not take {size} bytes at once", remedy))
    return found


def _number(config: Config, names: set[str], read_only: list[str]) -> list[Finding]:
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
