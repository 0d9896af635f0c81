"""What who asks may do at a place, and may see: for programs that offer only that. Not Pulsar's."""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.services import BrokerServices
from magnetar.errors import InvalidName
from magnetar.model.names import NamespaceName, TopicName
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Reply, Request, shown
from magnetar.rest.router import Query, Route, reads

_KINDS: Final = {
    "superuser": Access.SUPERUSER,
    "admin": Access.TENANT_ADMIN,
    "topics": Access.NAMESPACE_TOPICS,
    "produce": Access.PRODUCE,
    "consume": Access.CONSUME,
    "functions": Access.FUNCTIONS,
}
TENANTS_PER_TURN: Final = 20  # Then the loop serves others.


@reads(*map(Query, ("tenant", "namespace", "topic", "subscription")))
async def get(admin: BrokerServices, request: Request) -> Reply:
    """The role, and for each kind of access whether it has that at the place in the query.

    The place is a ``tenant``, a ``namespace`` (tenant/namespace) or a ``topic`` (its full name), or
    a ``subscription`` of that. What is not there may only be a superuser's.
    """
    tenant, subscription = request.query.get("tenant", ""), request.query.get("subscription", "")
    try:
        topic = TopicName.parse(request.query["topic"]) if "topic" in request.query else None
        named = request.query.get("namespace")
        namespace = None if named is None else NamespaceName.parse(named)
    except InvalidName as error:
        raise Rejection(412, str(error)) from error
    rights = {
        name: admin.authorization is None
        or await admin.authorization.may(
            request,
            access,
            tenant=tenant,
            namespace=namespace,
            topic=topic,
            subscription=subscription,
        )
        for name, access in _KINDS.items()
    }
    return shown({"role": request.role, **rights})


async def visible_namespaces(admin: BrokerServices, request: Request) -> Reply:
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


async def may_see(admin: BrokerServices, request: Request, namespace: NamespaceName) -> bool:
    """Whether who asks may see the topics of a namespace."""
    return await _may(
        admin, request, Access.NAMESPACE_TOPICS, namespace.tenant, namespace=namespace
    )


async def may_see_all(admin: BrokerServices, request: Request) -> bool:
    """Whether who asks may see everything, the machine included."""
    return await _may(admin, request, Access.SUPERUSER)


async def _may(
    admin: BrokerServices,
    request: Request,
    access: Access,
    tenant: str = "",
    *,
    namespace: NamespaceName | None = None,
) -> bool:
    return admin.authorization is None or await admin.authorization.may(
        request, access, tenant=tenant, namespace=namespace
    )


SERVICES: Final = BrokerServices
ROUTES: Final = (
    Route("GET", "/admin/v2/magnetar/rights", get, Access.AUTHENTICATED),
    Route("GET", "/admin/v2/magnetar/namespaces", visible_namespaces, Access.AUTHENTICATED),
)
