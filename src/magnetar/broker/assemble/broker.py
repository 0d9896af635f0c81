"""A broker of all its parts, from its settings until it is closed.

What is opened first is closed last. A broker that cannot be opened leaves nothing open.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final

from magnetar.auth.audit import AuditLog
from magnetar.auth.authentication import Authentication
from magnetar.broker.addresses import Listeners, address_at, open_listeners, warn_if_open
from magnetar.broker.admin.app import start_admin
from magnetar.broker.admin.route_authorization import RouteAuthorization
from magnetar.broker.authorization.providers import authentication_of
from magnetar.broker.broker import Broker
from magnetar.broker.config import Config
from magnetar.broker.handlers.client_authorization import ClientAuthorization
from magnetar.broker.replicated_topics import ReplicatedTopics
from magnetar.broker.server_tls import ServerTls
from magnetar.broker.siblings import Sibling
from magnetar.clock import Clock, SystemClock
from magnetar.errors import MagnetarError
from magnetar.extras import check_broker
from magnetar.loop_iteration import LoopIteration
from magnetar.storage.ledger.local.disk import Files
from magnetar.storage.workers import InThread, StartWorker
from magnetar.tasks import Tasks

from .access import authorization_service, http_sign_in, revoke
from .admin import admin_services
from .build_context import BuildContext
from .commands import command_table
from .functions_worker import check_client, functions_worker
from .services import Services, open_services
from .stores import Stores, open_stores
from .traces import TraceParts, trace_parts

log = logging.getLogger(__name__)

_SYSTEM_CLOCK: Final = SystemClock()


@asynccontextmanager
async def running_broker(
    config: Config,
    *,
    clock: Clock = _SYSTEM_CLOCK,
    files: Files | None = None,
    start: StartWorker = InThread,
    stores: Stores | None = None,
    sibling: Sibling | None = None,
) -> AsyncIterator[Broker]:
    """A broker that serves until the block ends.

    ``files``: the disk of its log, if not a real one; ``start`` begins what writes that and the
    metadata, in a thread but for tests; ``stores``: those that it shares with others,
    which the caller closes, instead of its own; ``sibling``: what it shares with other processes.

    Raises InvalidValue, StoreLocked and other things that a user can mend, before it serves.
    """
    check_broker()
    async with AsyncExitStack() as stack:
        check_client(config)
        tls = ServerTls(config.tls, clock) if config.tls.on else None
        tls_context = None if tls is None else tls.context
        if sibling is None:
            listeners = open_listeners(config.server, config.tls, tls_context, stack)
        else:
            listeners = sibling.listeners(tls_context)
        authentication = authentication_of(config.auth, clock)
        if authentication is not None:
            stack.push_async_callback(authentication.close)
        audit = _audit(config, clock, stack)
        if authentication is not None:
            authentication.audit = audit
        tasks = Tasks("broker")
        stack.push_async_callback(tasks.close)
        context = BuildContext(
            config, clock, LoopIteration(asyncio.get_running_loop()), tasks, stack, sibling
        )
        stores = stores or await open_stores(context, files, start)
        services = await open_services(context, address_at(config.server, listeners), stores)
        traces = await trace_parts(context, services)
        authorization = authorization_service(config, services.resources, authentication)
        broker = Broker(
            config,
            listeners=listeners,
            address=services.address,
            registry=services.topics,
            table=command_table(
                context,
                services,
                authentication,
                ClientAuthorization(authorization),
                traces.consume,
            ),
            clock=clock,
            iteration=context.iteration,
            tasks=tasks,
            new_session=traces.new_session,
        )
        if sibling is None:  # Siblings end together, or are replaced at once.
            broker.leave = partial(_leave, services)
        stack.push_async_callback(broker.stop)
        services.health.connections = broker.connections
        services.health.throttled_connections = lambda: broker.throttled_count
        services.health.unwritten_bytes = lambda: broker.outbox_budget.unwritten_bytes
        services.health.backlog_checks = broker.backlog_checks
        services.health.authentication = authentication
        if tls is not None:
            services.health.certificates = lambda: tls.expiries
        if listeners.web:
            await _serve_admin(
                context,
                services,
                listeners,
                authentication=authentication,
                authorization=None if authorization is None else RouteAuthorization(authorization),
                traces=traces,
                audit=audit,
                alone=not stores.load_balanced,
            )
        await broker.start()
        _keep_replicating(context, services)
        if config.load.enabled and stores.load_balanced:
            _balance_load(config, services, 1 if sibling is None else sibling.count)
        if tls is not None:
            tasks.spawn("certificates", tls.keep_current())
        broker.reload = partial(_reload, services, tls)
        if authorization is not None:
            revoke(authorization, context, broker, services.resources)
        yield broker


def _audit(config: Config, clock: Clock, stack: AsyncExitStack) -> AuditLog | None:
    if config.log.audit_file is None:
        return None
    audit = AuditLog(config.log.audit_file, clock)
    stack.callback(audit.close)
    return audit


async def _leave(services: Services) -> None:
    """Hand what a broker serves to the others, of which it is none any more."""
    await services.brokers.unregister()
    try:
        others = [each for each in await services.brokers.all() if each != services.address]
        if others:
            await services.topics.leave_to(others)
    except MagnetarError as error:
        log.warning("broker.bundles_kept error=%s: they are released when they are closed", error)


def _keep_replicating(context: BuildContext, services: Services) -> None:
    replicated = ReplicatedTopics(
        services.topics,
        services.resources,
        services.policies,
        clusters=services.remote.topics,
        clock=context.clock,
    )
    context.tasks.spawn("replicated topics", replicated.run())


def _heartbeat(services: Services, clock: Clock) -> Callable[[], Awaitable[None]]:
    """What sends a message through the topic that a broker of a cluster has for itself."""
    from magnetar.broker.admin.heartbeat import Heartbeat  # noqa: PLC0415 - who is alone has none

    return Heartbeat(services.address.name, services.topics, clock).beat


def _balance_load(config: Config, services: Services, brokers: int) -> None:
    """Share the load with the other brokers."""
    from magnetar.broker.cluster.load import report_json  # noqa: PLC0415 - who is alone
    from magnetar.broker.load_manager import LoadManager  # noqa: PLC0415 - does not pay for it

    manager = LoadManager(
        services.member,
        services.brokers,
        services.topics,
        resources=services.resources,
        peers=services.peers,
        settings=config.load,
        cluster=config.server.cluster,
        brokers_to_come=brokers,
    )
    manager.start()
    services.health.load_report = lambda: report_json.shown(manager.report)


async def _reload(services: Services, tls: ServerTls | None, config: Config) -> None:
    if tls is not None:
        tls.renew()
    await services.configuration.set_log(config.log)


async def _serve_admin(
    context: BuildContext,
    services: Services,
    listeners: Listeners,
    *,
    authentication: Authentication | None,
    authorization: RouteAuthorization | None,
    traces: TraceParts,
    audit: AuditLog | None,
    alone: bool,
) -> None:
    """Serve the admin REST API, and functions where there are any, until the stack is closed."""
    server, functions = context.config.server, None
    if server.functions_worker:
        if authentication is None:
            warn_if_open(server.bind_address, "bindAddress")
        functions = await functions_worker(context, services)
    admin = await start_admin(
        admin_services(
            services,
            context.config,
            context.clock,
            authorization,
            functions,
            beat=None if alone else _heartbeat(services, context.clock),
            leave=partial(_leave, services),
            sibling=context.sibling,
        ),
        listeners.web,
        connections_max=context.config.connections.admin_connections_max,
        connections_per_ip_max=context.config.connections.admin_connections_per_ip_max,
        sign_in=None if authentication is None else http_sign_in(context, authentication),
        traces=traces.requests,
        open_probes=not context.config.auth.probes,
        audit=audit,
    )
    context.stack.push_async_callback(admin.close)
