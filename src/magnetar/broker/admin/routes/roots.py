"""What old clients and people in a hurry ask: paths of Pulsar's first API, and a slash left out."""

from dataclasses import replace
from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.routes import brokers, clusters, namespaces, tenants
from magnetar.broker.admin.services import BrokerServices
from magnetar.errors import NamespaceNotFound
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Reply, Request
from magnetar.rest.router import ANY, ANY_METHOD, Route


async def with_slash(_admin: BrokerServices, request: Request) -> Reply:
    return Reply(302, headers={"Location": f"{request.path}/"})


async def no_namespace(_admin: BrokerServices, _request: Request) -> Reply:
    """Answer for a namespace within a cluster, which there are none of any more."""
    raise NamespaceNotFound("Namespace does not exist")


async def no_websocket(_admin: Any, request: Request) -> Reply:
    raise Rejection(
        405, f"There is no WebSocket API at {request.path}: clients use the binary protocol"
    )


_OLD: Final = {
    "/admin/clusters": clusters.names,
    "/admin/properties": tenants.names,
    "/admin/namespaces/{tenant}": namespaces.names,
    "/admin/brokers/{cluster}": brokers.names_in,
}
"""Paths of the first API, and who answers those of the second."""

SERVICES: Final = BrokerServices
ROUTES: Final = (
    *(
        replace(route, path=path)
        for path, handler in _OLD.items()
        for module in (clusters, tenants, namespaces, brokers)
        for route in module.ROUTES
        if route.handler is handler
    ),
    Route(
        "GET", "/admin/persistent/{tenant}/{cluster}/{namespace}", no_namespace, Access.TENANT_ADMIN
    ),
    Route(ANY_METHOD, "/ws/v2", no_websocket, Access.PUBLIC, gives=ANY),
    Route("GET", "/admin", with_slash, Access.PUBLIC),
    Route("GET", "/admin/v2", with_slash, Access.PUBLIC),
)
