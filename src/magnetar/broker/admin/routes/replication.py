"""To which clusters a namespace or a topic is replicated.

A topic has no shadows: no two topics of this broker share a log.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.routes.namespaces import check_here
from magnetar.broker.admin.routes.policy_scope import (
    APPLIED,
    NAMESPACE,
    TOPICS,
    TopicScope,
    routes_at,
    set_own,
)
from magnetar.broker.admin.services import RecordServices
from magnetar.errors import InvalidName, NotAllowed
from magnetar.model.names import TopicName
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import Route, reads


async def of_namespace(name: str, admin: RecordServices, request: Request) -> Reply:
    return shown(list(getattr(await NAMESPACE.own(admin, request), name) or ()))


async def replicate_namespace(admin: RecordServices, request: Request) -> Reply:
    clusters = _clusters(request)
    policies, where = await NAMESPACE.own(admin, request), arguments.namespace(request)
    if "global" in clusters:
        raise Rejection(412, "Cannot specify global in the list of replication clusters")
    for each in clusters:
        if each not in await admin.resources.clusters():
            raise Rejection(403, f"Invalid cluster id: {each}")
    await check_tenant(admin, where.tenant, clusters)
    allowed = policies.allowed_clusters
    if allowed and (outside := [each for each in clusters if each not in allowed]):
        raise Rejection(
            400,
            f"Replication clusters {outside} are not in the list of allowed clusters of the "
            f"namespace [{where}]",
        )
    check_here(admin.cluster, clusters)
    await NAMESPACE.change(admin, request, replication_clusters=tuple(clusters))
    return Reply(200)


async def allow_namespace(admin: RecordServices, request: Request) -> Reply:
    clusters = arguments.string_list(arguments.body(request), "allowed clusters") or []
    policies, where = await NAMESPACE.own(admin, request), arguments.namespace(request)
    await check_tenant(admin, where.tenant, clusters)
    for each in policies.replication_clusters or ():
        if each not in clusters:
            raise Rejection(
                400,
                f"Allowed clusters do not contain the replication cluster {each}. Please remove "
                "the replication cluster if the cluster is not allowed for this namespace",
            )
    check_here(admin.cluster, clusters)
    await NAMESPACE.change(admin, request, allowed_clusters=tuple(clusters))
    return Reply(200)


@reads(APPLIED)
async def of_topic(scope: TopicScope, admin: RecordServices, request: Request) -> Reply:
    policies = await scope.own(admin, request)
    if request.flag("applied"):
        policies = (await scope.combined(admin, request)).policies
    clusters = policies.replication_clusters
    return Reply(200) if clusters is None else shown(list(clusters))


async def replicate_topic(scope: TopicScope, admin: RecordServices, request: Request) -> Reply:
    clusters = _clusters(request)
    await scope.own(admin, request)
    if admin.cluster not in clusters:
        raise Rejection(
            412,
            "Can not remove local cluster from the local topic-level replication clusters policy",
        )
    await scope.change(admin, request, replication_clusters=tuple(clusters))
    return done()


async def remove_topic(scope: TopicScope, admin: RecordServices, request: Request) -> Reply:
    return await set_own(scope, admin, request, replication_clusters=None)


def _clusters(request: Request) -> list[str]:
    clusters = arguments.string_list(arguments.body(request), "clusters")
    if not clusters:
        raise Rejection(412, "ClusterIds should not be null or empty")
    return sorted(set(clusters))


async def check_tenant(admin: RecordServices, tenant: str, clusters: Iterable[str]) -> None:
    """Refuse clusters that a tenant may not be in. Raises Rejection."""
    info = await admin.resources.tenant(tenant)
    for each in clusters:
        if info is None or each not in info.allowed_clusters:
            raise Rejection(
                403,
                f"Cluster [{each}] is not in the list of allowed clusters list for tenant "
                f"[{tenant}]",
            )


async def shadows(scope: TopicScope, admin: RecordServices, request: Request) -> Reply:
    await scope.topic(admin, request)
    return Reply(200)


async def set_shadows(scope: TopicScope, admin: RecordServices, request: Request) -> Reply:
    names = arguments.string_list(arguments.body(request), "shadow topics") or []
    topic = await scope.topic(admin, request)
    for name in names:
        try:
            shadow = TopicName.parse(name)
        except InvalidName as error:
            raise Rejection(412, f"Invalid shadow topic name: {error}") from error
        if not await admin.resources.partitions(shadow) and not await admin.owners.access.exists(
            shadow
        ):
            raise Rejection(412, f"Shadow topic [{name}] not exists.")
    if names:
        raise NotAllowed(f"This broker does not make shadow topics: leave {topic} without them")
    return done()


async def remove_shadows(scope: TopicScope, admin: RecordServices, request: Request) -> Reply:
    await scope.topic(admin, request)
    return done()


def _routes() -> Iterator[Route]:
    replication, allowed = f"{NAMESPACE.path}/replication", f"{NAMESPACE.path}/allowedClusters"
    yield Route(
        "GET", replication, partial(of_namespace, "replication_clusters"), Access.TENANT_ADMIN
    )
    yield Route("POST", replication, replicate_namespace, Access.TENANT_ADMIN, takes=(JSON,))
    yield Route("GET", allowed, partial(of_namespace, "allowed_clusters"), Access.TENANT_ADMIN)
    yield Route("POST", allowed, allow_namespace, Access.TENANT_ADMIN, takes=(JSON,))
    for scope in TOPICS:
        yield from routes_at(scope, "replication", of_topic, replicate_topic, remove_topic)
    kept = TOPICS[0]  # Those that keep messages.
    path = f"{kept.path}/shadowTopics"
    yield Route("GET", path, partial(shadows, kept), Access.TENANT_ADMIN)
    yield Route("PUT", path, partial(set_shadows, kept), Access.TENANT_ADMIN, takes=(JSON,))
    yield Route("DELETE", path, partial(remove_shadows, kept), Access.TENANT_ADMIN)


SERVICES: Final = RecordServices
ROUTES: Final = tuple(_routes())
