"""The settings of the broker: shown, and changed where that is possible while it runs."""

from typing import Final
from urllib.parse import unquote

from magnetar.auth.access import Access
from magnetar.broker.admin.services import AdminServices
from magnetar.rest.exchange import Reply, Request, done, shown
from magnetar.rest.router import Route


async def names(admin: AdminServices, _: Request) -> Reply:
    return shown(admin.configuration.names)


async def values(admin: AdminServices, _: Request) -> Reply:
    return shown(await admin.configuration.values())


async def runtime(admin: AdminServices, _: Request) -> Reply:
    return shown(await admin.configuration.runtime())


async def change(admin: AdminServices, request: Request) -> Reply:
    name, value = (unquote(request.segments[each]) for each in ("name", "value"))
    effective = await admin.configuration.change(name, value)
    return done(() if effective else (name,), status=200)


async def delete(admin: AdminServices, request: Request) -> Reply:
    await admin.configuration.delete(unquote(request.segments["name"]))
    return Reply(200)


_ALL = "/admin/v2/brokers/configuration"
ROUTES: Final = (
    Route("GET", _ALL, names, access=Access.SUPERUSER),
    Route("GET", f"{_ALL}/values", values, access=Access.SUPERUSER),
    Route("GET", f"{_ALL}/runtime", runtime, access=Access.SUPERUSER),
    Route("POST", f"{_ALL}/{{name}}/{{value}}", change, access=Access.SUPERUSER),
    Route("DELETE", f"{_ALL}/{{name}}", delete, access=Access.SUPERUSER),
)
