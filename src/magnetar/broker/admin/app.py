"""Starts the admin REST API and HTTP lookup.

The HTTP library takes longer to import than the rest of a broker, so nothing imports it before the
API is started.
"""

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final

from magnetar.broker.admin.exchange import BODY_BYTES_MAX
from magnetar.broker.admin.rates import keep_rates
from magnetar.broker.admin.router import Route, Router
from magnetar.broker.admin.routes import (
    attention,
    bookies,
    broker_configuration,
    broker_stats,
    brokers,
    bundles,
    clusters,
    compaction,
    console,
    diagnosis,
    expiry,
    failure_domains,
    functions,
    isolation_policies,
    lifecycle,
    local_policies,
    lookup,
    messages,
    metrics,
    namespace_backlog,
    namespace_properties,
    namespaces,
    non_persistent,
    offload,
    overview,
    peer_clusters,
    permissions,
    policies,
    publishing,
    redrive,
    replay,
    replication,
    resource_groups,
    resource_quotas,
    rights,
    roots,
    schemas,
    shadow_topics,
    single_messages,
    subscriptions,
    tenants,
    topic_internals,
    topic_properties,
    topic_stats,
    topics,
    transactions,
)
from magnetar.broker.admin.routes.api_document import with_document
from magnetar.broker.admin.routes.functions import FORM_BYTES_MAX
from magnetar.broker.admin.services import AdminServices
from magnetar.broker.listeners import Listener
from magnetar.tasks import Tasks

if TYPE_CHECKING:
    from magnetar.broker.admin.server import AdminServer
    from magnetar.broker.auth.http import HttpSignIn

_ROUTES: Final = (
    *clusters.ROUTES,
    *tenants.ROUTES,
    *namespaces.ROUTES,
    *permissions.ROUTES,
    *namespace_backlog.ROUTES,
    *policies.ROUTES,
    *replication.ROUTES,
    *resource_groups.ROUTES,
    *topics.ROUTES,
    *topic_properties.ROUTES,
    *lifecycle.ROUTES,
    *expiry.ROUTES,
    *compaction.ROUTES,
    *offload.ROUTES,
    *topic_stats.ROUTES,
    *messages.ROUTES,
    *publishing.ROUTES,
    *topic_internals.ROUTES,
    *redrive.ROUTES,
    *replay.ROUTES,
    *schemas.ROUTES,
    *subscriptions.ROUTES,
    *single_messages.ROUTES,
    *non_persistent.ROUTES,
    *lookup.ROUTES,
    *brokers.ROUTES,
    *broker_configuration.ROUTES,
    *broker_stats.ROUTES,
    *diagnosis.ROUTES,
    *overview.ROUTES,
    *metrics.ROUTES,
    *functions.ROUTES,
    *rights.ROUTES,
    *attention.ROUTES,
    *console.ROUTES,
    *bookies.ROUTES,
    *bundles.ROUTES,
    *failure_domains.ROUTES,
    *isolation_policies.ROUTES,
    *local_policies.ROUTES,
    *namespace_properties.ROUTES,
    *peer_clusters.ROUTES,
    *resource_quotas.ROUTES,
    *roots.ROUTES,
    *shadow_topics.ROUTES,
    *transactions.ROUTES,
)
ROUTES: Final = with_document(_ROUTES)
"""Every route there is; what is not here does not exist."""


async def start_admin(
    services: AdminServices,
    listeners: Sequence[Listener],
    *,
    connections_max: int = 0,
    sign_in: "HttpSignIn | None" = None,
    routes: Iterable[Route] = ROUTES,
) -> "AdminServer":
    """Serve on ``listeners`` until the answer is closed."""
    server: type[AdminServer] = import_module("magnetar.broker.admin.server").AdminServer
    tasks = Tasks("admin")
    rates = keep_rates(
        services.rates,
        services.topics,
        services.clock,
        cache=services.vitals.cache,
        interval_s=services.metrics.interval_s,
    )
    tasks.spawn("rates", rates)
    tasks.spawn("loop lag", services.vitals.watch_loop())
    tasks.spawn("overview", services.overview.keep())
    tasks.spawn("events", services.events.run())
    tasks.spawn("messages", services.messages.run())
    authorize = None if services.authorization is None else services.authorization.check
    router = Router(routes, services, authorize=authorize)
    return await server.start(
        router,
        listeners,
        tasks,
        connections_max=connections_max,
        sign_in=sign_in,
        body_bytes_max=BODY_BYTES_MAX if services.functions is None else FORM_BYTES_MAX,
        advertised=services.address.host,
    )
