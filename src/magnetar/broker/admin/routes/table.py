"""Every route of the admin API: those of each file of this folder, and the document of them all."""

import sys
from dataclasses import fields, replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin import routes
from magnetar.broker.admin.services import AdminServices, BrokerServices
from magnetar.rest.exchange import Reply, Request, shown
from magnetar.rest.openapi import growing
from magnetar.rest.router import Route, Routes

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
_FAMILIES: Final = {each.type: each.name for each in fields(AdminServices)}


def _with_family(route: Route, file: ModuleType) -> Route:
    """With the services that its handler takes, which may stand in another file."""
    services = getattr(sys.modules[route.function.__module__], "SERVICES", None)
    return replace(route, family=_FAMILIES[services or file.SERVICES])


_DOCUMENT: Final = Route("GET", "/admin/v2/openapi.json", document, Access.PUBLIC)
ROUTES: Final = (
    *(_with_family(route, each) for each in _FILES for route in getattr(each, "ROUTES", ())),
    replace(_DOCUMENT, family=_FAMILIES[BrokerServices]),
)
"""Every route there is; what is not here does not exist."""

_PROBES: Final = ("/admin/v2/brokers/health", "/admin/v2/brokers/ready")


@cache
def every_route(*, open_probes: bool) -> Routes:
    """Every route as a tree.

    With ``open_probes`` nobody is asked who it is that looks after the broker's health.
    """
    return Routes(
        replace(route, access=Access.PUBLIC) if open_probes and route.path in _PROBES else route
        for route in ROUTES
    )
