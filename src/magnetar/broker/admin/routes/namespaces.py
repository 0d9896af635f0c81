"""Namespaces: creation, deletion, bundles, and the topics in one."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.owners import Owners, granted
from magnetar.broker.admin.services import RecordServices
from magnetar.broker.authorization import permissions
from magnetar.broker.resources import NAMES_PER_TURN, Resources
from magnetar.errors import (
    AlreadyExists,
    Conflict,
    InvalidValue,
    NamespaceNotFound,
    NotAllowed,
    TenantNotFound,
)
from magnetar.model import jackson
from magnetar.model.bundles import Bundles
from magnetar.model.names import DOMAINS, NON_PERSISTENT, PERSISTENT, NamespaceName, TopicName
from magnetar.model.offload_policies import OffloadPolicies
from magnetar.model.policies import ROWS, Policies
from magnetar.model.policy_records import NamespacePolicies, policies_in, unread_parts
from magnetar.model.policy_values import AuthPolicies
from magnetar.model.system_topics import is_change_events, is_hidden
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.long_answers import shown_in_turns
from magnetar.rest.router import FORCE, Query, Route, reads
from magnetar.turns import in_turns

# For policies that are not in force, these values are as good as none.
_OFF: Final[tuple[object, ...]] = (False, 0, -1, "None", AuthPolicies())
SYSTEM_TOPICS: Final = Query("includeSystemTopic", "boolean")
_MODES: Final = {
    "PERSISTENT": (PERSISTENT,),
    "NON_PERSISTENT": (NON_PERSISTENT,),
    "ALL": (NON_PERSISTENT, PERSISTENT),
}


async def existing(resources: Resources, request: Request) -> NamespacePolicies:
    """The record of the namespace in a request. Raises NamespaceNotFound."""
    policies = await resources.namespace(arguments.namespace(request))
    if policies is None:
        raise NamespaceNotFound("Namespace does not exist")
    return policies


async def topics_of(owners: Owners, namespace: NamespaceName, domain: str) -> list[TopicName]:
    """The topics of a namespace, wherever they are served. Raises Rejection."""
    if domain == PERSISTENT:
        return await owners.resources.topics(namespace, domain)
    return await owners.non_persistent_topics(namespace)


async def shown_names(topics: list[TopicName], request: Request) -> Reply:
    """Those that the request asks for: with system topics, or without."""
    hidden = request.flag("includeSystemTopic")
    each = in_turns(topics, NAMES_PER_TURN)
    return await shown_in_turns([str(name) async for name in each if hidden or not is_hidden(name)])


async def names(admin: RecordServices, request: Request) -> Reply:
    tenant = arguments.entity(request, "tenant", "Tenant")
    if await admin.resources.tenant(tenant) is None:
        raise TenantNotFound("Tenant not found")
    return shown([str(name) for name in await admin.resources.namespaces(tenant)])


async def get(admin: RecordServices, request: Request) -> Reply:
    return shown((await existing(admin.resources, request)).shown())


async def bundles(admin: RecordServices, request: Request) -> Reply:
    return shown((await existing(admin.resources, request)).bundles.to_json())


@reads(Query("mode"), SYSTEM_TOPICS)
async def topics(admin: RecordServices, request: Request) -> Reply:
    mode = request.query.get("mode", "PERSISTENT")
    if mode not in _MODES:
        raise Rejection(404, f"mode is one of {', '.join(_MODES)}, not {mode}")
    await existing(admin.resources, request)
    namespace = arguments.namespace(request)
    found = [
        name for domain in _MODES[mode] for name in await topics_of(admin.owners, namespace, domain)
    ]
    return await shown_names(found, request)


async def create(admin: RecordServices, request: Request) -> Reply:
    name = arguments.namespace(request)
    policies = await _policies(admin, name, arguments.json_object(request) or {})
    await require_place(admin, request, policies.policies.offload)
    await admin.resources.create_namespace(name, policies)
    made = await admin.resources.require_namespace(name)
    idle = _without_effect(policies.policies)
    return done([*idle, "bundles"] if made.bundles != policies.bundles else idle)


@reads(FORCE)
async def delete(admin: RecordServices, request: Request) -> Reply:
    namespace, force = arguments.namespace(request), request.flag("force")
    if force and not admin.configuration.policies.force_delete_namespaces:
        raise Rejection(
            405,
            "Broker doesn't allow forced deletion of namespaces: its forceDeleteNamespaceAllowed is"
            " false",
        )
    found = await admin.resources.namespace(namespace)
    if found is not None and len(found.policies.replication_clusters or ()) > 1:
        raise Rejection(
            412,
            f"Cannot delete the global namespace {namespace}. There are still more than one "
            "replication clusters configured.",
        )
    if force:
        await delete_by_force(admin, namespace)
        return done()
    if found is not None and await topics_of(admin.owners, namespace, NON_PERSISTENT):
        raise Conflict("Cannot delete non empty namespace")
    async with admin.resources.deleting_namespace(namespace):
        await _delete_events(admin, namespace)
    return done()


async def _delete_events(admin: RecordServices, namespace: NamespaceName) -> None:
    """Delete the policies of topics with their namespace, where it has no topics any more."""
    topics = await admin.resources.topics(namespace)
    topics += await admin.resources.partitioned_topics(namespace)
    if all(map(is_change_events, topics)):
        await _delete_topics(admin, namespace)


async def _delete_topics(
    admin: RecordServices, namespace: NamespaceName, passing: Iterable[TopicName] = ()
) -> None:
    """Delete all topics of a namespace, and those that are ``passing``, whoever uses them."""
    for domain in DOMAINS:
        for topic in await admin.resources.partitioned_topics(namespace, domain):
            await admin.fanout.delete(topic, force=True)
    for topic in [*await admin.resources.topics(namespace, PERSISTENT), *passing]:
        reply = await admin.owners.ask_topic(topic, "DELETE", force="true")
        granted({topic: reply})


async def delete_by_force(admin: RecordServices, namespace: NamespaceName) -> None:
    """Delete a namespace with all its topics, whoever is connected to them.

    No client finds it from the beginning on, so that none creates its topics again. Raises
    NamespaceNotFound; after any other error the namespace is there again, with the topics left.
    """
    passing: list[TopicName] = []
    if await admin.resources.namespace(namespace):
        passing = await topics_of(admin.owners, namespace, NON_PERSISTENT)
    async with admin.resources.deleting_namespace(namespace):
        await _delete_topics(admin, namespace, passing)


async def require_place(
    admin: RecordServices,
    request: Request,
    asked: OffloadPolicies | None,
    known: OffloadPolicies | None = None,
) -> None:
    """Raise Rejection where only a superuser may say where to.

    The broker writes, reads and deletes there, as whom it runs: in any folder of its machine.
    """
    buckets = admin.configuration.offload.buckets_of_tenants
    if asked is not None and asked.leads_beyond(known, buckets=buckets):
        tenant = arguments.namespace(request).tenant
        await admin.require(request, Access.SUPERUSER, tenant=tenant)


async def _policies(
    admin: RecordServices, name: NamespaceName, sent: dict[str, Any]
) -> NamespacePolicies:
    """The policies of a new namespace: the defaults, and what the request sets."""
    tenant = await admin.resources.tenant(name.tenant)
    if tenant is None:
        raise TenantNotFound("Tenant does not exist")
    there = await admin.resources.namespace(name)
    if there is not None and admin.resources.is_taken(name, there):
        raise AlreadyExists("Namespace already exists")
    clusters = arguments.string_list(sent.get("replication_clusters"), "replication_clusters")
    for cluster in clusters or []:
        if cluster not in tenant.allowed_clusters:
            raise Rejection(
                403,
                f"Cluster [{cluster}] is not in the list of allowed clusters list for tenant "
                f"[{name.tenant}]",
            )
    check_here(admin.cluster, clusters)
    try:
        permissions.check(sent)
        asked = policies_in(sent, admin.cluster)
    except InvalidValue as error:
        raise Rejection(400, str(error)) from None
    unread = unread_parts(sent, admin.cluster)
    unread += ["deleted"] if arguments.read(jackson.truth, sent.get("deleted"), "deleted") else []
    if unread:
        raise NotAllowed(
            f"This broker does not keep the policies [{', '.join(unread)}] for other clusters or "
            f"of other kinds: create the namespace {name} without them"
        )
    asked.check()
    bundles = sent.get("bundles")
    return NamespacePolicies(
        Bundles.from_json(bundles if isinstance(bundles, dict) else {}),
        replace(asked, replication_clusters=tuple(sorted(set(clusters or [admin.cluster])))),
        cluster=admin.cluster,
    )


def _without_effect(policies: Policies) -> list[str]:
    """What is kept of a namespace's policies, and not acted on."""
    given = policies.given()
    strange = [name for name, value in given.items() if not ROWS[name].acts and value not in _OFF]
    return [ROWS[name].json_name for name in strange]


def check_here(cluster: str, clusters: list[str] | None) -> None:
    """Refuse that a namespace is in other clusters, and not in this one. Raises NotAllowed."""
    if clusters and cluster not in clusters:
        raise NotAllowed(
            f"This broker is of the cluster {cluster}, and would have to delete the topics: leave "
            f"{cluster} among the clusters, or delete the namespace here"
        )


_ONE = "/admin/v2/namespaces/{tenant}/{namespace}"
SERVICES: Final = RecordServices
ROUTES: Final = (
    Route("GET", "/admin/v2/namespaces/{tenant}", names, Access.TENANT_ADMIN),
    Route("GET", _ONE, get, Access.TENANT_ADMIN),
    Route("PUT", _ONE, create, Access.TENANT_ADMIN, takes=(JSON,)),
    Route("DELETE", _ONE, delete, Access.TENANT_ADMIN),
    Route("GET", f"{_ONE}/bundles", bundles, Access.NAMESPACE_TOPICS),
    Route("GET", f"{_ONE}/topics", topics, Access.NAMESPACE_TOPICS),
)
