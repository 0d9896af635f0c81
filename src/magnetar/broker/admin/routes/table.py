"""Every route of the admin API: those of each file of this folder, and the document of them all."""

from dataclasses import fields, replace
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin import routes
from magnetar.broker.admin.services import AdminServices, BrokerServices
from magnetar.rest.exchange import Reply, Request, shown
from magnetar.rest.openapi import growing
from magnetar.rest.router import Route

_made: Final[dict[str, Reply]] = {}  # By the broker's version: the table never changes.


async def document(admin: BrokerServices, _request: Request) -> Reply:
    """Show this document."""
    if admin.version not in _made:
        steps = growing(ROUTES, version=admin.version)
        whole = next(steps)
        for _ in steps:
            await admin.clock.sleep(0)
        _made[admin.version] = shown(whole)
    return _made[admin.version]


_NAMES: Final = [each.name for each in iter_modules(routes.__path__, f"{routes.__name__}.")]
_FILES: Final = [import_module(name) for name in _NAMES if name != __name__]
_BY_SERVICES: Final[list[tuple[type, Route]]] = [
    *((each.SERVICES, route) for each in _FILES for route in getattr(each, "ROUTES", ())),
    (BrokerServices, Route("GET", "/admin/v2/openapi.json", document, Access.PUBLIC)),
]
ROUTES: Final = tuple(route for _, route in _BY_SERVICES)
"""Every route there is; what is not here does not exist."""


def routes_with(admin: AdminServices) -> list[Route]:
    """Every route, its handler with the services of its family."""
    families = [getattr(admin, each.name) for each in fields(admin)]
    given = {type(each): each for each in families}
    return [
        replace(route, handler=partial(route.handler, given[kind])) for kind, route in _BY_SERVICES
    ]
