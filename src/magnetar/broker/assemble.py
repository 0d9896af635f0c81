"""Builds a broker: the only file that names implementations.

What is opened first is closed last. A broker that cannot be opened leaves nothing open.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from magnetar import __version__
from magnetar.clock import Clock, SystemClock
from magnetar.errors import InvalidValue
from magnetar.loop_iteration import LoopIteration
from magnetar.model.names import TopicName
from magnetar.model.policies import Policies
from magnetar.model.policy_values import RetentionPolicies
from magnetar.model.schemas import SchemaCompatibilityStrategy
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
from magnetar.storage.managed_ledger.cursor_saver import CursorSaver
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger, ManagedLedgerSettings
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.memory import MemoryMetadataStore
from magnetar.storage.metadata.sqlite import SqliteMetadataStore
from magnetar.storage.metadata.store import MetadataStore
from magnetar.tasks import Tasks

from .addresses import address_of, warn_if_open
from .admin.app import start_admin
from .admin.route_authorization import RouteAuthorization
from .admin.services import AdminServices
from .admin.vitals import Vitals
from .auth.authentication import Authentication
from .auth.authorization import AuthorizationRules
from .auth.authorization_service import AuthorizationService
from .auth.http import HttpSignIn
from .auth.permissions import Permissions
from .auth.providers import authentication_of
from .auth.proxies import ProxyRules
from .auth.revocation import Revocation
from .broker import Broker
from .cluster.lookup import BrokerAddress, Lookup
from .cluster.ownership import Ownership
from .config import Config
from .creation import Creation
from .data_folder import check_log_is_there, holds_log
from .dynamic_configuration import DynamicConfiguration, broker_policies
from .handlers.client_authorization import ClientAuthorization
from .handlers.connect import ConnectHandler
from .handlers.consume import ConsumeHandler
from .handlers.lookup import LookupHandler
from .handlers.produce import ProduceHandler
from .handlers.schema import SchemaHandler
from .handlers.sign_in import SignIn
from .handlers.table import CommandTable
from .handlers.topic_watch import TopicWatchHandler
from .listeners import open_listeners, port_of
from .offload.history_offloader import HistoryOffloader
from .policies import PolicyService
from .resource_groups import ResourceGroups
from .resources import Resources
from .schema.registry import SchemaRegistry
from .schema.topic_schemas import TopicSchemas
from .server_tls import ServerTls
from .settings.setting import MIB
from .settings.storage import StorageSettings
from .topic_watches import TopicWatches
from .topics.deletions import Deletions
from .topics.registry import TopicRegistry
from .topics.shared_rates import SharedRates

if TYPE_CHECKING:  # It imports an HTTP client.
    from .admin.functions_worker import FunctionsWorkerProcess

_SYSTEM_CLOCK: Final = SystemClock()
FUNCTIONS_METADATA: Final = TopicName("persistent", "public", "functions", "metadata")
"""The topic in which the functions worker keeps its functions."""


@asynccontextmanager
async def running_broker(
    config: Config, *, clock: Clock = _SYSTEM_CLOCK, files: Files | None = None
) -> AsyncIterator[Broker]:
    """A broker that serves until the block ends. ``files``: the disk of its log, if not a real one.

    Raises InvalidValue, StoreLocked and other things that a user can mend, before it serves.
    """
    server = config.server
    async with AsyncExitStack() as stack:
        if server.functions_worker and min(server.web_port, server.broker_port) < 0:
            raise InvalidValue(
                "functionsWorkerEnabled=true needs the ports without TLS, and brokerServicePort=-1 "
                "or webServicePort=-1 switches one off: choose ports for them (bindAddress keeps "
                "others away), or take functionsWorkerEnabled out"
            )
        tls = ServerTls(config.tls) if config.tls.on else None
        listeners = open_listeners(server, config.tls, None if tls is None else tls.context, stack)
        address = address_of(
            server,
            port_of(listeners.binary, tls=False),
            port_of(listeners.web, tls=False),
            port_tls=port_of(listeners.binary, tls=True),
            web_port_tls=port_of(listeners.web, tls=True),
        )
        authentication = authentication_of(config.auth, clock)
        if authentication is not None:
            stack.push_async_callback(authentication.close)
        tasks = Tasks("broker")
        stack.push_async_callback(tasks.close)
        shared = _Shared(config, clock, LoopIteration(asyncio.get_running_loop()), tasks, stack)
        services = await _open_services(shared, address, files)
        authorization = _authorization(config, services.resources)
        if authorization is not None:
            services.authorization = RouteAuthorization(authorization)
        broker = Broker(
            config,
            listeners=listeners,
            address=address,
            registry=services.topics,
            table=_command_table(
                shared, services, authentication, ClientAuthorization(authorization)
            ),
            clock=clock,
            iteration=shared.iteration,
            tasks=tasks,
        )
        stack.push_async_callback(broker.stop)
        services.vitals.connections = broker.connections
        services.vitals.throttled_connections = lambda: broker.throttled_count
        services.vitals.unwritten_bytes = lambda: broker.outbox_budget.unwritten_bytes
        services.vitals.backlog_checks = broker.backlog_checks
        services.vitals.authentication = authentication
        if listeners.web:
            if server.functions_worker:
                if authentication is None:
                    warn_if_open(server.bind_address, "bindAddress")
                services.functions = await _functions_worker(shared, services)
            admin = await start_admin(
                services,
                listeners.web,
                connections_max=config.connections.admin_connections_max,
                sign_in=None if authentication is None else _http_sign_in(shared, authentication),
            )
            stack.push_async_callback(admin.close)
        await broker.start()
        if tls is not None:
            tasks.spawn("certificates", tls.keep_current(clock))
        if authorization is not None:
            revocation = Revocation(
                authorization,
                services.resources,
                topics=services.topics.loaded,
                sessions=broker.sessions,
                clock=clock,
                tasks=tasks,
                interval_s=config.auth.refresh_check_s,
            )
            stack.callback(revocation.close)
            tasks.spawn("revocation", revocation.run())
        yield broker


@dataclass(frozen=True, slots=True)
class _Shared:
    """The things that every part of one broker shares."""

    config: Config
    clock: Clock
    iteration: LoopIteration
    tasks: Tasks
    stack: AsyncExitStack  # It closes what the parts open.


async def _functions_worker(shared: _Shared, services: AdminServices) -> "FunctionsWorkerProcess":
    """What starts a functions worker when it is asked for; at once where there are functions."""
    storage = shared.config.storage
    if storage.in_memory:
        folder = Path(shared.stack.enter_context(TemporaryDirectory(prefix="magnetar-")))
    else:
        folder = storage.data_directory
    kind = import_module("magnetar.broker.admin.functions_worker").FunctionsWorkerProcess
    worker: FunctionsWorkerProcess = kind(
        services.address,
        folder / "functions",
        shared.clock,
        client=shared.config.auth.client_settings,
    )
    shared.stack.push_async_callback(worker.close)
    if await services.resources.topic_exists(FUNCTIONS_METADATA):
        worker.start()
    return worker


async def _open_services(
    shared: _Shared, address: BrokerAddress, files: Files | None
) -> AdminServices:
    """Open the stores and what stands on them, up to the topics."""
    config = shared.config
    cluster = config.server.cluster
    metadata, ledgers = await _open_storage(shared, files)
    vitals = _vitals(shared, metadata, ledgers)
    resources = Resources(metadata, cluster)
    shared.stack.callback(resources.close)
    await resources.ensure_defaults(
        cluster,
        *(address.web_url, address.service_url, address.web_url_tls, address.service_url_tls),
    )
    policies = PolicyService(
        resources,
        metadata,
        broker=broker_policies(config.policies, config.rates, config.offload),
        tasks=shared.tasks,
        topic_level=config.policies.topic_level,
    )
    shared.stack.callback(policies.close)
    resource_groups = ResourceGroups(metadata, resources, shared.tasks)
    shared.stack.callback(resource_groups.close)
    schemas = SchemaRegistry(metadata, shared.clock)
    shared.stack.callback(schemas.close)
    creation = Creation(resources, policies, partitions_max=config.policies.partitions_max)
    configuration = DynamicConfiguration(config, resources.objects, policies, creation)
    await configuration.load()
    ownership = Ownership(resources, address=address.name)
    # Producers keep the names they were given over a restart: new ones must differ from them.
    starts, numbers = await metadata.put(paths.STARTS, b""), count()
    topics = TopicRegistry(
        open_ledger=_ledger_opener(shared, metadata, ledgers, vitals.cache),
        creation=creation,
        policies=policies,
        deletions=Deletions(metadata),
        settings=config.topics,
        clock=shared.clock,
        iteration=shared.iteration,
        producer_name=lambda: f"{cluster}-{starts}-{next(numbers)}",
        shared_rates=SharedRates(
            resource_groups,
            shared.clock,
            publish=config.rates.shared_publish,
            dispatch=config.rates.shared_dispatch,
        ),
        deleted=(
            schemas.topic_deleted,
            policies.topic_deleted,
            Permissions(resources).topic_deleted,
        ),
    )
    await topics.finish_deletions()
    return AdminServices(
        resources=resources,
        policies=policies,
        resource_groups=resource_groups,
        creation=creation,
        topics=topics,
        schema_registry=schemas,
        schemas=TopicSchemas(
            schemas,
            policies,
            system=SchemaCompatibilityStrategy(config.policies.system_schema_compatibility),
        ),
        lookup=Lookup(resources, ownership, address),
        ownership=ownership,
        address=address,
        cluster=cluster,
        message_size_max=config.connections.message_size_max,
        version=__version__,
        clock=shared.clock,
        configuration=configuration,
        data_directory=None if config.storage.in_memory else config.storage.data_directory,
        vitals=vitals,
        metrics=config.metrics,
    )


def _vitals(shared: _Shared, metadata: MetadataStore, ledgers: LedgerStore) -> Vitals:
    cache_size_max = shared.config.storage.cache_mb * MIB
    cache = EntryCache(cache_size_max)
    vitals = Vitals(shared.clock, cache=cache)
    if isinstance(metadata, SqliteMetadataStore):
        vitals.metadata = metadata.counts
        vitals.metadata_put_bytes = lambda: metadata.put_bytes
    if isinstance(ledgers, LocalLedgerStore):
        vitals.check_log = ledgers.check
        vitals.write_error = lambda: ledgers.write_error
        vitals.sync_latency = ledgers.sync_latency
        vitals.data_directory = shared.config.storage.data_directory
    return vitals


def _proxy_rules(config: Config) -> ProxyRules:
    return ProxyRules(frozenset(config.auth.proxy_roles), strict=config.auth.authorization)


def _http_sign_in(shared: _Shared, authentication: Authentication) -> HttpSignIn:
    return HttpSignIn(
        authentication,
        shared.clock,
        _proxy_rules(shared.config),
        metrics=shared.config.auth.metrics,
    )


def _sign_in(shared: _Shared, authentication: Authentication) -> SignIn:
    settings = shared.config.auth
    sign_in = SignIn(
        authentication,
        shared.clock,
        proxies=_proxy_rules(shared.config),
        original_credentials=settings.original_credentials,
    )
    shared.tasks.spawn("credentials", sign_in.keep_fresh(settings.refresh_check_s))
    return sign_in


def _authorization(config: Config, resources: Resources) -> AuthorizationService | None:
    """What says which role may do what; None where everybody may do everything."""
    auth = config.auth
    if not auth.authorization:
        return None
    rules = AuthorizationRules(frozenset(auth.superusers), wildcards=auth.wildcards)
    return AuthorizationService(rules, resources)


def _command_table(
    shared: _Shared,
    services: AdminServices,
    authentication: Authentication | None,
    authorization: ClientAuthorization,
) -> CommandTable:
    settings, topics, ownership = shared.config.connections, services.topics, services.ownership
    schemas = services.schemas
    watches = TopicWatches(services.resources, clock=shared.clock, tasks=shared.tasks)
    return CommandTable(
        connect=ConnectHandler(
            message_size_max=settings.message_size_max,
            topic_watchers=settings.topic_watchers,
            sign_in=None if authentication is None else _sign_in(shared, authentication),
        ),
        produce=ProduceHandler(
            topics,
            ownership,
            schemas,
            tasks=shared.tasks,
            producers_max=settings.producers_max,
            authorization=authorization,
        ),
        consume=ConsumeHandler(
            topics,
            ownership,
            schemas,
            shared.config.topics,
            consumers_max=settings.consumers_max,
            message_ids_at_once_max=settings.message_ids_at_once_max,
            authorization=authorization,
        ),
        lookup=LookupHandler(services.resources, services.lookup, services.creation, authorization),
        schema=SchemaHandler(
            topics, ownership, services.schema_registry, schemas, authorization=authorization
        ),
        topic_watch=TopicWatchHandler(
            watches, enabled=settings.topic_watchers, authorization=authorization
        ),
        tasks=shared.tasks,
        requests_running_max=settings.requests_running_max,
    )


async def _open_storage(shared: _Shared, files: Files | None) -> tuple[MetadataStore, LedgerStore]:
    """The ledgers first: they lock the folder, which keeps a second broker off the metadata too."""
    settings = shared.config.storage
    if settings.in_memory:
        return MemoryMetadataStore(), MemoryLedgerStore()
    folder = settings.data_directory
    ledgers = await LocalLedgerStore.start(
        folder / "ledgers",
        settings=ledger_settings(settings),
        clock=shared.clock,
        iteration=shared.iteration,
        files=files,
    )
    shared.stack.push_async_callback(ledgers.close)
    has_log = holds_log(folder / "ledgers")
    metadata = await SqliteMetadataStore.open(
        folder / "metadata.sqlite", clock=shared.clock, must_exist=has_log
    )
    shared.stack.push_async_callback(metadata.close)
    if not has_log:
        await check_log_is_there(metadata, folder / "ledgers")
    return metadata, ledgers


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


def _ledger_opener(
    shared: _Shared, metadata: MetadataStore, ledgers: LedgerStore, cache: EntryCache
) -> Callable[[TopicName, Policies], Awaitable[ManagedLedger]]:
    """Make the function that opens the log of a topic."""
    settings = _managed_ledger_settings(shared.config.storage)
    offloader = HistoryOffloader(shared.clock)
    shared.stack.push_async_callback(offloader.close)
    saver = CursorSaver(shared.tasks, shared.clock, interval_s=settings.cursor_save_interval_s)

    @lru_cache  # Logs of one retention share their settings.
    def settings_with(retention: RetentionPolicies | None) -> ManagedLedgerSettings:
        kept = retention or RetentionPolicies()
        return replace(settings, retention_time_s=kept.time_s, retention_size_bytes=kept.size_bytes)

    async def open_ledger(topic: TopicName, policies: Policies) -> ManagedLedger:
        return await ManagedLedger.open(
            paths.managed_ledger_name(topic),
            metadata=metadata,
            ledgers=ledgers,
            cache=cache,
            clock=shared.clock,
            tasks=shared.tasks,
            settings=settings_with(policies.retention),
            saver=saver,
            offloader=offloader,
        )

    return open_ledger


def _managed_ledger_settings(storage: StorageSettings) -> ManagedLedgerSettings:
    return ManagedLedgerSettings(
        entries_per_ledger_max=storage.entries_per_ledger_max,
        ledger_size_max=storage.ledger_size_mb_max * MIB,
        ledger_age_min_s=storage.ledger_age_min_minutes * 60,
        ledger_age_max_s=storage.ledger_age_max_minutes * 60,
        cache_size_max=storage.cache_mb * MIB,
        cursor_save_interval_s=1 / storage.cursor_saves_per_s,
        cursor_ranges_max=storage.cursor_ranges_max,
    )
