"""Tenants: who administers one, and in which clusters it may live."""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.routes.namespaces import delete_by_force
from magnetar.broker.admin.services import RecordServices
from magnetar.errors import TenantNotFound
from magnetar.model.records import TenantInfo
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import FORCE, Route, reads


async def names(admin: RecordServices, _: Request) -> Reply:
    return shown(await admin.resources.tenants())


async def get(admin: RecordServices, request: Request) -> Reply:
    info = await admin.resources.tenant(_name(request))
    if info is None:
        raise TenantNotFound("Tenant does not exist")
    return shown(info.shown())


async def create(admin: RecordServices, request: Request) -> Reply:
    name = _name(request)
    await admin.resources.create_tenant(name, await _info(admin, request))
    return done()


async def update(admin: RecordServices, request: Request) -> Reply:
    name = _name(request)
    await admin.resources.update_tenant(name, await _info(admin, request))
    return done()


@reads(FORCE)
async def delete(admin: RecordServices, request: Request) -> Reply:
    name, force = _name(request), request.flag("force")
    if force and not admin.configuration.policies.force_delete_tenants:
        reason = (
            "Broker doesn't allow forced deletion of tenants: its forceDeleteTenantAllowed is false"
        )
        raise Rejection(405, reason)
    if force:
        for namespace in await admin.resources.namespaces(name):
            await delete_by_force(admin, namespace)
    await admin.resources.delete_tenant(name)
    return done()


async def _info(admin: RecordServices, request: Request) -> TenantInfo:
    sent = arguments.json_object(request)
    if sent is None:
        raise Rejection(412, "TenantInfo is null")
    roles = arguments.string_list(sent.get("adminRoles"), "adminRoles") or []
    clusters = arguments.string_list(sent.get("allowedClusters"), "allowedClusters")
    if clusters is None:
        raise Rejection(412, "Clusters cannot be null")
    if not clusters or not all(name.strip() for name in clusters):
        raise Rejection(412, "Clusters cannot be empty or blank")
    if not set(clusters) <= set(await admin.resources.clusters()):
        raise Rejection(412, "Clusters do not exist")
    if any(role != role.strip() for role in roles):
        raise Rejection(412, "AdminRoles contains whitespace in the beginning or end.")
    return TenantInfo(sorted(set(roles)), sorted(set(clusters)))


def _name(request: Request) -> str:
    return arguments.entity(request, "tenant", "Tenant")


_ONE = "/admin/v2/tenants/{tenant}"
SERVICES: Final = RecordServices
ROUTES: Final = (
    Route("GET", "/admin/v2/tenants", names),
    Route("GET", _ONE, get, Access.TENANT_ADMIN),
    Route("PUT", _ONE, create, takes=(JSON,)),
    Route("POST", _ONE, update, Access.TENANT_ADMIN, takes=(JSON,)),
    Route("DELETE", _ONE, delete, Access.TENANT_ADMIN),
)
