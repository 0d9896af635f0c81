"""The stores of a broker: only this file and ``cluster_stores.py`` name implementations of them."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

from magnetar.broker.admin.broker_health import BrokerHealth
from magnetar.broker.config import Config
from magnetar.broker.data_folder import check_log_is_there, holds_log
from magnetar.broker.settings.setting import MIB
from magnetar.broker.settings.storage import StorageSettings
from magnetar.extras import check_cluster
from magnetar.model.cluster_stores import ClusterStores
from magnetar.storage.codec.codec import Codec
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.ledger.local.disk import Files
from magnetar.storage.ledger.local.settings import (
    SEGMENTS_SPARE_MAX,
    Durability,
    LocalLedgerSettings,
)
from magnetar.storage.ledger.local.store import LocalLedgerStore
from magnetar.storage.ledger.many_logs.store import ManyLogs
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.ledger.store import LedgerStore
from magnetar.storage.managed_ledger.cache import EntryCache
from magnetar.storage.metadata.bells import Bells
from magnetar.storage.metadata.memory import MemoryMetadataStore
from magnetar.storage.metadata.sqlite import SqliteMetadataStore
from magnetar.storage.metadata.store import MetadataStore
from magnetar.storage.schemas.in_ledgers import SchemasInLedgers
from magnetar.storage.schemas.in_records import SchemasInRecords
from magnetar.storage.schemas.store import SchemaStore
from magnetar.storage.workers import InThread, StartWorker

from .build_context import BuildContext
from .many_logs import has_many_logs, log_folder, log_numbers, open_many_logs


class Stores(NamedTuple):
    """What a broker keeps everything in. Whoever opened them closes them."""

    metadata: MetadataStore
    ledgers: LedgerStore
    codec: Codec = JsonCodec()  # How the records of the metadata store look.
    cluster: ClusterStores | None = None  # None: the broker is alone.
    change_events: bool = False  # Whether policies of topics are in topics, as in Pulsar.
    load_balanced: bool = False  # Whether those who share them share their load, too.


async def open_stores(
    context: BuildContext, files: Files | None, start: StartWorker = InThread
) -> Stores:
    """The ledgers first: they lock the folder, which keeps a second broker off the metadata too.

    ``start`` begins what writes the log and the metadata of a folder.
    """
    settings = context.config.storage
    if context.config.metadata.in_cluster:
        check_cluster()
        from .cluster_stores import open_cluster_stores  # noqa: PLC0415 - for clusters alone

        shared = await open_cluster_stores(context)
        return Stores(*shared, change_events=True, load_balanced=True)
    if settings.in_memory:
        return Stores(MemoryMetadataStore(), MemoryLedgerStore())
    folder, sibling = settings.data_directory, context.sibling
    start_log = partial(
        LocalLedgerStore.start,
        settings=replace(ledger_settings(settings), timed=not context.config.traces.disabled),
        clock=context.clock,
        iteration=context.iteration,
        files=files,
        start=start,
    )
    ledgers: LocalLedgerStore | ManyLogs
    if sibling is not None or has_many_logs(folder):
        ledgers = await open_many_logs(context, start_log, sibling)
    else:
        ledgers = await start_log(folder / "ledgers")
        context.stack.push_async_callback(ledgers.close)
    log = _own_log(ledgers)
    has_log = any(holds_log(log_folder(folder, each)) for each in log_numbers(folder))
    metadata = await SqliteMetadataStore.open(
        folder / "metadata.sqlite", clock=context.clock, must_exist=has_log, start=start
    )
    context.stack.push_async_callback(metadata.close)
    log.when_lost(metadata.refuse)
    if sibling is not None:
        others = [each for n, each in enumerate(sibling.bells) if n != sibling.number]
        metadata.share_by(Bells(sibling.bell, others))
    stores = Stores(metadata, ledgers, load_balanced=sibling is not None)
    if not has_log and (sibling is None or not sibling.number):
        await check_log_is_there(stores.metadata, stores.codec, folder / "ledgers")
    return stores


def _own_log(ledgers: LocalLedgerStore | ManyLogs) -> LocalLedgerStore:
    """The log that this process writes, where ledgers are on this machine."""
    own = ledgers.own if isinstance(ledgers, ManyLogs) else ledgers
    assert isinstance(own, LocalLedgerStore)
    return own


def schema_store(config: Config, stores: Stores) -> SchemaStore:
    """Where the schemas of topics are kept."""
    if config.metadata.in_cluster:
        return SchemasInLedgers(stores.metadata, stores.ledgers)
    return SchemasInRecords(stores.metadata)


def names_of_stores(config: Config) -> tuple[str, str]:
    """Where metadata and ledgers are, as operators are told."""
    folder = config.storage.data_directory
    if config.metadata.in_cluster:
        return f"zk:{config.metadata.servers}", config.bookkeeper.ledgers_root
    if config.storage.in_memory:
        return "memory:local", ""
    return f"sqlite://{folder / 'metadata.sqlite'}", str(folder / "ledgers")


def ledger_settings(storage: StorageSettings) -> LocalLedgerSettings:
    """The settings of the local ledger store."""
    return LocalLedgerSettings(
        durability=Durability(storage.durability),
        interval_s=storage.sync_interval_ms / 1000,
        segment_size=storage.segment_size,
        segments_spare_max=min(
            SEGMENTS_SPARE_MAX, storage.spare_mb_max * MIB // storage.segment_size
        ),
    )


def broker_health_of(context: BuildContext, stores: Stores) -> BrokerHealth:
    """What an operator may see of how the stores are."""
    metadata, ledgers, cluster = stores.metadata, stores.ledgers, stores.cluster
    cache_size_max = context.config.storage.cache_mb * MIB
    cache = EntryCache(cache_size_max)
    health = BrokerHealth(context.clock, cache=cache, check_log=ledgers.check, cluster=cluster)
    if cluster is not None:
        session = cluster.sessions[0]
        health.metadata = session.operations
        health.metadata_put_bytes = lambda: session.put_bytes
    if isinstance(metadata, SqliteMetadataStore):
        health.metadata = metadata.counts
        health.metadata_put_bytes = lambda: metadata.put_bytes
    if isinstance(ledgers, LocalLedgerStore | ManyLogs):
        log = _own_log(ledgers)
        health.write_error = lambda: log.write_error
        health.write_failure = lambda: log.write_failure
        health.folder_lost = lambda: log.folder_lost
        health.damage = log.damage
        health.sync_latency = log.sync_latency
        health.log_times = lambda: log.times
        health.data_directory = context.config.storage.data_directory
    return health
