"""Tenants: who administers one, and in which clusters it may live."""

from magnetar.broker.admin import arguments
from magnetar.broker.admin.errors import Rejection
from magnetar.broker.admin.exchange import JSON, Reply, Request, done, shown
from magnetar.broker.admin.router import Route
from magnetar.broker.resources import Resources
from magnetar.errors import TenantNotFound
from magnetar.model.records import TenantInfo


class Tenants:
    """``/tenants``."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    def routes(self) -> list[Route]:
        one = "/admin/v2/tenants/{tenant}"
        return [
            Route("GET", "/admin/v2/tenants", self.names),
            Route("GET", one, self.get),
            Route("PUT", one, self.create, takes=(JSON,)),
            Route("POST", one, self.update, takes=(JSON,)),
            Route("DELETE", one, self.delete),
        ]

    async def names(self, request: Request) -> Reply:
        return shown(await self._resources.tenants())

    async def get(self, request: Request) -> Reply:
        info = await self._resources.tenant(_name(request))
        if info is None:
            raise TenantNotFound("Tenant does not exist")
        return shown(info.shown())

    async def create(self, request: Request) -> Reply:
        name = _name(request)
        await self._resources.create_tenant(name, await self._info(request))
        return done()

    async def update(self, request: Request) -> Reply:
        name = _name(request)
        await self._resources.update_tenant(name, await self._info(request))
        return done()

    async def delete(self, request: Request) -> Reply:
        if request.flag("force"):
            raise Rejection(405, "Broker doesn't allow forced deletion of tenants")
        await self._resources.delete_tenant(_name(request))
        return done()

    async def _info(self, request: Request) -> TenantInfo:
        sent = arguments.json_object(request)
        if sent is None:
            raise Rejection(412, "TenantInfo is null")
        roles = arguments.string_list(sent.get("adminRoles"), "adminRoles") or []
        clusters = arguments.string_list(sent.get("allowedClusters"), "allowedClusters")
        if clusters is None:
            raise Rejection(412, "Clusters cannot be null")
        if not clusters or not all(name.strip() for name in clusters):
            raise Rejection(412, "Clusters cannot be empty or blank")
        if not set(clusters) <= set(await self._resources.clusters()):
            raise Rejection(412, "Clusters do not exist")
        if any(role != role.strip() for role in roles):
            raise Rejection(412, "AdminRoles contains whitespace in the beginning or end.")
        return TenantInfo(sorted(set(roles)), sorted(set(clusters)))


def _name(request: Request) -> str:
    return arguments.entity(request, "tenant", "Tenant")
