"""Starts the admin REST API and HTTP lookup.

The HTTP library takes a quarter of a broker's start to import, so nothing imports it before the
first connection.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from magnetar.broker.admin.rates import keep_rates
from magnetar.broker.admin.routes.functions import FORM_BYTES_MAX
from magnetar.broker.admin.services import AdminServices
from magnetar.broker.threads import imported
from magnetar.rest.exchange import BODY_BYTES_MAX
from magnetar.rest.first_connection import FirstConnection, Server
from magnetar.rest.listener import Listener
from magnetar.rest.router import Router, Routes
from magnetar.tasks import Tasks

if TYPE_CHECKING:
    from magnetar.auth.audit import AuditLog
    from magnetar.auth.http import HttpSignIn
    from magnetar.broker.tracing.request_traces import RequestTraces

_SERVER: Final = "magnetar.rest.server"
_TABLE: Final = "magnetar.broker.admin.routes.table"


async def load_routes(*, open_probes: bool) -> Routes:
    """Every route there is, imported at the first request: a broker nobody asks goes without."""
    table = await imported(_TABLE)
    routes: Routes = table.every_route(open_probes=open_probes)
    return routes


async def start_admin(
    admin: AdminServices,
    listeners: Sequence[Listener],
    *,
    connections_max: int = 0,
    connections_per_ip_max: int = 0,
    sign_in: "HttpSignIn | None" = None,
    open_probes: bool = False,
    traces: "RequestTraces | None" = None,
    audit: "AuditLog | None" = None,
) -> FirstConnection:
    """Serve on ``listeners`` until the answer is closed."""
    tasks = Tasks("admin")
    broker, owners, authorization = admin.broker, admin.broker.owners, admin.broker.authorization
    rates = keep_rates(
        admin.metrics.rates,
        broker.topics,
        broker.clock,
        logs=broker.health.logs,
        interval_s=broker.metrics.interval_s,
    )
    tasks.spawn("rates", rates)
    tasks.spawn("loop lag", broker.health.watch_loop())
    tasks.spawn("overview", broker.overview.keep())
    tasks.spawn("events", broker.events.run())
    tasks.spawn("messages", admin.messages.messages.run())
    tasks.spawn("scrapes", admin.metrics.scrapes.run())
    authorize = None if authorization is None else authorization.check
    routes = partial(load_routes, open_probes=open_probes)
    owners.router = Router(routes, admin, authorize=authorize, ask=owners.answer)
    body_bytes_max = BODY_BYTES_MAX if admin.functions.functions is None else FORM_BYTES_MAX

    async def start() -> Server:
        module = await imported(_SERVER)
        server: Server = await module.AdminServer.start(
            owners.router,
            listeners,
            tasks,
            connections_max=connections_max,
            connections_per_ip_max=connections_per_ip_max,
            sign_in=sign_in,
            body_bytes_max=body_bytes_max,
            advertised=broker.address.host,
            traces=traces,
            audit=audit,
        )
        return server

    return FirstConnection(listeners, start, tasks)
