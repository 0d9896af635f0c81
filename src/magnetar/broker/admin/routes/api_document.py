"""The OpenAPI document of this very API."""

from collections.abc import Iterable

from magnetar.auth.access import Access
from magnetar.broker.admin.services import AdminServices
from magnetar.rest.exchange import Reply, Request, shown
from magnetar.rest.openapi import growing
from magnetar.rest.router import Route

PATH = "/admin/v2/openapi.json"


def with_document(routes: Iterable[Route]) -> tuple[Route, ...]:
    """These routes, and one that answers with the document of them all."""
    made: dict[str, Reply] = {}

    async def get(admin: AdminServices, _request: Request) -> Reply:
        """Show this document."""
        if admin.version not in made:
            steps = growing(table, version=admin.version)
            whole = next(steps)
            for _ in steps:
                await admin.clock.sleep(0)
            made[admin.version] = shown(whole)  # The table never changes.
        return made[admin.version]

    table = (*routes, Route("GET", PATH, get, access=Access.PUBLIC))
    return table
