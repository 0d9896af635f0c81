"""The stores of a broker: the only file that names implementations of them."""

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from magnetar.broker.admin.broker_health import BrokerHealth
from magnetar.broker.config import Config
from magnetar.broker.data_folder import check_log_is_there, holds_log
from magnetar.broker.settings.bookkeeper import servers_and_root
from magnetar.broker.settings.setting import MIB
from magnetar.broker.settings.storage import StorageSettings
from magnetar.extras import check_cluster
from magnetar.storage.codec.codec import Codec
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.ledger.local.disk import Files
from magnetar.storage.ledger.local.settings import (
    SEGMENTS_SPARE_MAX,
    Durability,
    LocalLedgerSettings,
)
from magnetar.storage.ledger.local.store import LocalLedgerStore
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.ledger.store import LedgerStore
from magnetar.storage.managed_ledger.cache import EntryCache
from magnetar.storage.metadata.memory import MemoryMetadataStore
from magnetar.storage.metadata.sqlite import SqliteMetadataStore
from magnetar.storage.metadata.store import MetadataStore

from .build_context import BuildContext

if TYPE_CHECKING:  # They are of clusters, and cost every other start their imports.
    from magnetar.storage.ledger.bookkeeper.settings import BookKeeperSettings
    from magnetar.storage.metadata.zookeeper import ZooKeeperMetadataStore


class Stores(NamedTuple):
    """What a broker keeps everything in. Whoever opened them closes them."""

    metadata: MetadataStore
    ledgers: LedgerStore
    codec: Codec = JsonCodec()  # How the records of the metadata store look.


async def open_stores(context: BuildContext, files: Files | None) -> Stores:
    """The ledgers first: they lock the folder, which keeps a second broker off the metadata too."""
    settings = context.config.storage
    if context.config.metadata.in_cluster:
        return await _stores_of_cluster(context)
    if settings.in_memory:
        return Stores(MemoryMetadataStore(), MemoryLedgerStore())
    folder = settings.data_directory
    ledgers = await LocalLedgerStore.start(
        folder / "ledgers",
        settings=replace(ledger_settings(settings), timed=not context.config.traces.disabled),
        clock=context.clock,
        iteration=context.iteration,
        files=files,
    )
    context.stack.push_async_callback(ledgers.close)
    has_log = holds_log(folder / "ledgers")
    metadata = await SqliteMetadataStore.open(
        folder / "metadata.sqlite", clock=context.clock, must_exist=has_log
    )
    context.stack.push_async_callback(metadata.close)
    ledgers.when_lost(metadata.refuse)
    stores = Stores(metadata, ledgers)
    if not has_log:
        await check_log_is_there(stores.metadata, stores.codec, folder / "ledgers")
    return stores


async def _stores_of_cluster(context: BuildContext) -> Stores:
    """Those that all brokers of a cluster share."""
    from magnetar.storage.ledger.bookkeeper.store import BookKeeperLedgerStore  # noqa: PLC0415

    config, stack = context.config, context.stack
    metadata = await open_zookeeper(config)
    stack.push_async_callback(metadata.close)
    beside, settings = metadata, bookkeeper_settings(config)
    uri = config.bookkeeper.service_uri
    if uri:
        servers, _ = servers_and_root(uri)
        beside = await open_zookeeper(config, servers)
        stack.push_async_callback(beside.close)
    ledgers = await BookKeeperLedgerStore.start(
        beside, settings=settings, clock=context.clock, iteration=context.iteration
    )
    stack.push_async_callback(ledgers.close)
    return Stores(metadata, ledgers, codec_of(config))


async def open_zookeeper(config: Config, servers: str = "") -> "ZooKeeperMetadataStore":
    """A session on the metadata store of a cluster, or on other servers. Raises StorageError."""
    check_cluster()
    from magnetar.storage.metadata.zookeeper import (  # noqa: PLC0415
        ZooKeeperMetadataStore,
        ZooKeeperSettings,
    )

    settings = config.metadata
    files = settings.tls_trust_certs, settings.tls_certificate, settings.tls_key
    trusted, certificate, key = (None if file is None else str(file) for file in files)
    return await ZooKeeperMetadataStore.open(
        ZooKeeperSettings(
            servers=servers or settings.servers,
            session_timeout_s=settings.session_timeout_s,
            operation_timeout_s=settings.operation_timeout_s,
            digest=settings.credentials,
            use_tls=settings.tls,
            ca_file=trusted,
            certificate_file=certificate,
            key_file=key,
        )
    )


def bookkeeper_settings(config: Config) -> "BookKeeperSettings":
    """The settings of the ledger store of a cluster."""
    from magnetar.storage.ledger.bookkeeper.ledger_metadata import DigestType  # noqa: PLC0415
    from magnetar.storage.ledger.bookkeeper.settings import BookKeeperSettings  # noqa: PLC0415

    given = config.bookkeeper
    default = BookKeeperSettings()
    digest = "HMAC" if given.digest == "MAC" else given.digest
    return BookKeeperSettings(
        ledgers_root=servers_and_root(given.service_uri)[1]
        if given.service_uri
        else default.ledgers_root,
        ensemble_size=given.ensemble_size,
        write_quorum=given.write_quorum,
        ack_quorum=given.ack_quorum,
        digest_type=DigestType[digest],
        password=given.password.encode(),
        add_timeout_s=given.timeout_s,
        read_timeout_s=given.timeout_s,
        speculative_read_s=given.speculative_read_ms / 1000 or default.speculative_read_s,
    )


def codec_of(config: Config) -> Codec:
    """How records look: in a cluster as Pulsar's brokers write them."""
    if not config.metadata.in_cluster:
        return JsonCodec()
    from magnetar.storage.codec.pulsar_codec import PulsarCodec  # noqa: PLC0415

    return PulsarCodec()


def names_of_stores(config: Config) -> tuple[str, str]:
    """Where metadata and ledgers are, as operators are told."""
    folder = config.storage.data_directory
    if config.metadata.in_cluster:
        root = bookkeeper_settings(config).ledgers_root
        return f"zk:{config.metadata.servers}", root
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


def broker_health_of(
    context: BuildContext, metadata: MetadataStore, ledgers: LedgerStore
) -> BrokerHealth:
    """What an operator may see of how the stores are."""
    cache_size_max = context.config.storage.cache_mb * MIB
    cache = EntryCache(cache_size_max)
    health = BrokerHealth(context.clock, cache=cache)
    if isinstance(metadata, SqliteMetadataStore):
        health.metadata = metadata.counts
        health.metadata_put_bytes = lambda: metadata.put_bytes
    if isinstance(ledgers, LocalLedgerStore):
        health.check_log = ledgers.check
        health.write_error = lambda: ledgers.write_error
        health.write_failure = lambda: ledgers.write_failure
        health.folder_lost = lambda: ledgers.folder_lost
        health.damage = ledgers.damage
        health.sync_latency = ledgers.sync_latency
        health.log_times = lambda: ledgers.times
        health.data_directory = context.config.storage.data_directory
    if context.config.metadata.in_cluster:
        from magnetar.storage.ledger.bookkeeper.store import BookKeeperLedgerStore  # noqa: PLC0415

        assert isinstance(ledgers, BookKeeperLedgerStore), "as open_stores opened it"
        health.check_log = ledgers.check
    return health
