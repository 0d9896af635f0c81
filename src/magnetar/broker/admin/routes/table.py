"""Every route of the admin API: those of each file of this folder, and the document of them all."""

from importlib import import_module
from itertools import chain
from pkgutil import iter_modules
from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin import routes
from magnetar.broker.admin.services import AdminServices
from magnetar.rest.exchange import Reply, Request, shown
from magnetar.rest.openapi import growing
from magnetar.rest.router import Route

_made: Final[dict[str, Reply]] = {}  # By the broker's version: the table never changes.


async def document(admin: AdminServices, _request: Request) -> Reply:
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
ROUTES: Final[tuple[Route, ...]] = (
    *chain.from_iterable(getattr(each, "ROUTES", ()) for each in _FILES),
    Route("GET", "/admin/v2/openapi.json", document, access=Access.PUBLIC),
)
"""Every route there is; what is not here does not exist."""
