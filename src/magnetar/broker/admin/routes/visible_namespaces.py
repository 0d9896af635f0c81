"""The tenants and namespaces that a role may see, in one answer. Not in Pulsar.

Pulsar lets only superusers list the tenants, and only a tenant's administrators its namespaces.
"""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.services import AdminServices
from magnetar.model.names import NamespaceName
from magnetar.rest.exchange import Reply, Request, shown
from magnetar.rest.router import Route

TENANTS_PER_TURN: Final = 20  # Then the loop serves others.


async def get(admin: AdminServices, request: Request) -> Reply:
    """``all`` says whether nothing is left out; ``tenants`` are those that the role administers."""
    everything = await may_see_all(admin, request)
    tenants: list[str] = []
    namespaces: list[str] = []
    for count, tenant in enumerate(await admin.resources.tenants(), start=1):
        if count % TENANTS_PER_TURN == 0:
            await admin.clock.sleep(0)
        own = everything or await _may(admin, request, Access.TENANT_ADMIN, tenant)
        if own:
            tenants.append(tenant)
        namespaces += [
            str(name)
            for name in await admin.resources.namespaces(tenant)
            if own or await may_see(admin, request, name)
        ]
    return shown({"all": everything, "tenants": sorted(tenants), "namespaces": sorted(namespaces)})


async def may_see(admin: AdminServices, request: Request, namespace: NamespaceName) -> bool:
    """Whether who asks may see the topics of a namespace."""
    return await _may(
        admin, request, Access.NAMESPACE_TOPICS, namespace.tenant, namespace=namespace
    )


async def may_see_all(admin: AdminServices, request: Request) -> bool:
    """Whether who asks may see everything, the machine included."""
    return await _may(admin, request, Access.SUPERUSER)


async def _may(
    admin: AdminServices,
    request: Request,
    access: Access,
    tenant: str = "",
    *,
    namespace: NamespaceName | None = None,
) -> bool:
    return admin.authorization is None or await admin.authorization.may(
        request, access, tenant=tenant, namespace=namespace
    )


ROUTES: Final = (Route("GET", "/admin/v2/magnetar/namespaces", get, access=Access.AUTHENTICATED),)
