"""The settings of the broker: shown, and changed where that is possible while it runs."""

from typing import Final
from urllib.parse import unquote

from magnetar.auth.access import Access
from magnetar.broker.admin.services import BrokerServices
from magnetar.rest.exchange import Reply, Request, done, shown
from magnetar.rest.router import Route


async def names(admin: BrokerServices, _: Request) -> Reply:
    return shown(admin.configuration.names)


async def values(admin: BrokerServices, _: Request) -> Reply:
    return shown(await admin.configuration.values())


async def runtime(admin: BrokerServices, _: Request) -> Reply:
    return shown(await admin.configuration.runtime())


async def change(admin: BrokerServices, request: Request) -> Reply:
    name, value = (unquote(request.segments[each]) for each in ("name", "value"))
    effective = await admin.configuration.change(name, value)
    return done(() if effective else (name,), status=200)


async def delete(admin: BrokerServices, request: Request) -> Reply:
    await admin.configuration.delete(unquote(request.segments["name"]))
    return Reply(200)


_ALL = "/admin/v2/brokers/configuration"
SERVICES: Final = BrokerServices
ROUTES: Final = (
    Route("GET", _ALL, names, Access.SUPERUSER),
    Route("GET", f"{_ALL}/values", values, Access.SUPERUSER),
    Route("GET", f"{_ALL}/runtime", runtime, Access.SUPERUSER),
    Route("POST", f"{_ALL}/{{name}}/{{value}}", change, Access.SUPERUSER),
    Route("DELETE", f"{_ALL}/{{name}}", delete, Access.SUPERUSER),
)
