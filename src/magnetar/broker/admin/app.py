"""Starts the admin REST API and HTTP lookup.

The HTTP library takes longer to import than the rest of a broker, so nothing imports it before the
API is started.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.rates import keep_rates
from magnetar.broker.admin.routes.functions import FORM_BYTES_MAX
from magnetar.broker.admin.services import AdminServices
from magnetar.rest.exchange import BODY_BYTES_MAX
from magnetar.rest.listener import Listener
from magnetar.rest.router import LoadRoutes, Route, Router
from magnetar.tasks import Tasks

if TYPE_CHECKING:
    from magnetar.auth.http import HttpSignIn
    from magnetar.broker.tracing.request_traces import RequestTraces
    from magnetar.rest.server import AdminServer

PROBES: Final = ("/admin/v2/brokers/health", "/admin/v2/brokers/ready")
_TABLE: Final = "magnetar.broker.admin.routes.table"


async def every_route() -> Iterable[Route]:
    """Every route there is, imported at the first request: a broker nobody asks goes without."""
    loop = asyncio.get_running_loop()
    table = await loop.run_in_executor(None, import_module, _TABLE)  # It takes a while.
    routes: tuple[Route, ...] = table.ROUTES
    return routes


async def routes_with_open_probes() -> Iterable[Route]:
    """The same, where nobody is asked who it is that looks after the broker's health."""
    return [
        replace(route, access=Access.PUBLIC) if route.path in PROBES else route
        for route in await every_route()
    ]


async def start_admin(
    services: AdminServices,
    listeners: Sequence[Listener],
    *,
    connections_max: int = 0,
    connections_per_ip_max: int = 0,
    sign_in: "HttpSignIn | None" = None,
    routes: Iterable[Route] | LoadRoutes = every_route,
    traces: "RequestTraces | None" = None,
) -> "AdminServer":
    """Serve on ``listeners`` until the answer is closed."""
    server: type[AdminServer] = import_module("magnetar.rest.server").AdminServer
    tasks = Tasks("admin")
    rates = keep_rates(
        services.rates,
        services.topics,
        services.clock,
        logs=services.health.logs,
        interval_s=services.metrics.interval_s,
    )
    tasks.spawn("rates", rates)
    tasks.spawn("loop lag", services.health.watch_loop())
    tasks.spawn("overview", services.overview.keep())
    tasks.spawn("events", services.events.run())
    tasks.spawn("messages", services.messages.run())
    tasks.spawn("scrapes", services.scrapes.run())
    authorize = None if services.authorization is None else services.authorization.check
    router = Router(routes, services, authorize=authorize, ask=services.owners.answer)
    services.owners.router = router
    return await server.start(
        router,
        listeners,
        tasks,
        connections_max=connections_max,
        connections_per_ip_max=connections_per_ip_max,
        sign_in=sign_in,
        body_bytes_max=BODY_BYTES_MAX if services.functions is None else FORM_BYTES_MAX,
        advertised=services.address.host,
        traces=traces,
        audit=services.audit,
    )
