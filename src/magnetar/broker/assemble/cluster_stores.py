"""The stores of a cluster: metadata in ZooKeeper, ledgers at bookies, records in Pulsar's formats.

Only brokers of a cluster import it, with what the extra ``cluster`` brings.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from magnetar.broker.config import Config
from magnetar.broker.settings.bookie_tls import BookieTlsSettings
from magnetar.loop_iteration import LoopIteration
from magnetar.model.cluster_stores import ClusterStores, Presence
from magnetar.storage.codec.pulsar_codec import PulsarCodec
from magnetar.storage.ledger.bookkeeper.client_tls import TlsSettings
from magnetar.storage.ledger.bookkeeper.inspection import frames_are_taken, spaces_of_bookies
from magnetar.storage.ledger.bookkeeper.janitor import Janitor
from magnetar.storage.ledger.bookkeeper.ledger_metadata import DigestType
from magnetar.storage.ledger.bookkeeper.placement import PlacementRule
from magnetar.storage.ledger.bookkeeper.racks import IsolationGroups
from magnetar.storage.ledger.bookkeeper.settings import BookKeeperSettings
from magnetar.storage.ledger.bookkeeper.store import BookKeeperLedgerStore
from magnetar.storage.metadata.zookeeper import ZooKeeperMetadataStore, ZooKeeperSettings

from .build_context import BuildContext

log = logging.getLogger(__name__)


async def open_cluster_stores(
    context: BuildContext,
) -> tuple[ZooKeeperMetadataStore, BookKeeperLedgerStore, PulsarCodec, ClusterStores]:
    """Open what all brokers of a cluster share: the fields of ``Stores``. Raises StorageError."""
    config, stack = context.config, context.stack
    metadata, beside = await _sessions(config, stack)
    settings = bookkeeper_settings(config)
    ledgers = await BookKeeperLedgerStore.start(
        beside,
        settings=settings,
        namespaces_in=metadata,
        clock=context.clock,
        iteration=context.iteration,
    )
    stack.push_async_callback(ledgers.close)
    context.tasks.spawn("frame limits", _look_at_frame_limits(config, beside))
    cluster = ClusterStores(
        bookies=ledgers.bookies,
        ledgers=ledgers.counts,
        sessions=[metadata.counts] if beside is metadata else [metadata.counts, beside.counts],
        ensemble_size=settings.ensemble_size,
        disks=partial(spaces_of_bookies, beside, settings),
    )
    _look_at_number(cluster)
    return metadata, ledgers, PulsarCodec(), cluster


def _look_at_number(cluster: ClusterStores) -> None:
    """Warn where a broker that starts could not begin a ledger."""
    writable = sum(each.presence is Presence.WRITABLE for each in cluster.bookies())
    if writable < cluster.ensemble_size:
        log.warning(
            "bookies.too_few writable=%d needed=%d: nothing can be published until more are "
            "started, or ledgers need fewer (managedLedgerDefaultEnsembleSize)",
            *(writable, cluster.ensemble_size),
        )


async def _look_at_frame_limits(config: Config, metadata: ZooKeeperMetadataStore) -> None:
    """Warn of bookies that hang up on a broker that stores its largest entry."""
    size = config.bookkeeper.frame_size_max
    taken = await frames_are_taken(metadata, bookkeeper_settings(config), size)
    for bookie_id in [each for each, answer in taken.items() if answer is False]:
        log.warning(
            "bookie.frame_limit bookie=%s: it does not take %d bytes at once, and a ledger ends "
            "where it gets a larger entry than it takes: set nettyMaxFrameSizeBytes=%d there, or "
            "lower maxMessageSize and bookkeeper_nettyMaxFrameSizeBytes here",
            *(bookie_id, size, size),
        )


@asynccontextmanager
async def open_janitor(config: Config, iteration: LoopIteration) -> AsyncIterator[Janitor]:
    """Looks after the ledgers of a cluster, without a broker. Raises StorageError."""
    async with AsyncExitStack() as stack:
        metadata, beside = await _sessions(config, stack)
        ledgers = await BookKeeperLedgerStore.start(
            beside,
            settings=bookkeeper_settings(config),
            namespaces_in=metadata,
            iteration=iteration,
        )
        stack.push_async_callback(ledgers.close)
        yield Janitor(ledgers, beside, metadata, config.bookkeeper.ledgers_root)


async def _sessions(
    config: Config, stack: AsyncExitStack
) -> tuple[ZooKeeperMetadataStore, ZooKeeperMetadataStore]:
    """The session of the broker's records, and of those of bookies, which may be the same one."""
    metadata = await open_zookeeper(config)
    stack.push_async_callback(metadata.close)
    if not config.bookkeeper.servers:
        return metadata, metadata
    beside = await open_zookeeper(config, config.bookkeeper.servers, "bookkeeper")
    stack.push_async_callback(beside.close)
    return metadata, beside


async def open_zookeeper(
    config: Config, servers: str = "", name: str = "metadata-store"
) -> ZooKeeperMetadataStore:
    """A session on the metadata store of a cluster, or on other servers. Raises StorageError."""
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
            name=name,
        )
    )


def bookkeeper_settings(config: Config) -> BookKeeperSettings:
    """The settings of the ledger store of a cluster."""
    given = config.bookkeeper
    digest = "HMAC" if given.digest == "MAC" else given.digest
    default = BookKeeperSettings()
    return BookKeeperSettings(
        ledgers_root=given.ledgers_root,
        ensemble_size=given.ensemble_size,
        write_quorum=given.write_quorum,
        ack_quorum=given.ack_quorum,
        digest_type=DigestType[digest],
        password=given.password.encode(),
        add_timeout_s=given.timeout_s,
        read_timeout_s=given.timeout_s,
        speculative_read_s=given.speculative_read_ms / 1000 or default.speculative_read_s,
        tls=_bookie_tls(config.bookie_tls),
        placement=PlacementRule(
            given.racks_min if given.rack_aware else 1,
            given.racks_enforced,
            IsolationGroups(given.isolation_groups, given.secondary_groups),
        ),
    )


def _bookie_tls(given: BookieTlsSettings) -> TlsSettings | None:
    if not given.on:
        return None
    assert given.trust is not None  # Else it was refused.
    return TlsSettings(
        trust=given.trust,
        certificate=given.certificate,
        key=given.key,
        key_password=given.key_password,
        verify_hostname=given.verify_hostname,
    )
