"""Namespaces: creation, deletion, bundles, and the topics in one."""

from typing import Any, Final

from magnetar.broker.admin import arguments
from magnetar.broker.admin.errors import Rejection
from magnetar.broker.admin.exchange import JSON, Reply, Request, done, shown
from magnetar.broker.admin.router import Route
from magnetar.broker.resources import Resources
from magnetar.errors import AlreadyExists, NamespaceNotFound, NotAllowed, TenantNotFound
from magnetar.model.names import NamespaceName
from magnetar.model.records import Bundles, NamespacePolicies

_MODES: Final = ("PERSISTENT", "NON_PERSISTENT", "ALL")

# Policies that promise something about messages or clients. This broker applies none of them, so
# that whoever asks for one is told, and does not find out later.
_NOT_APPLIED: Final = (
    "allowed_topic_properties_for_metrics",
    "auth_policies",
    "autoSubscriptionCreationOverride",
    "autoTopicCreationOverride",
    "backlog_quota_map",
    "clusterDispatchRate",
    "clusterSubscribeRate",
    "compaction_threshold",
    "deduplicationEnabled",
    "deduplicationSnapshotIntervalSeconds",
    "delayed_delivery_policies",
    "deleted",
    "dispatcherPauseOnAckStatePersistentEnabled",
    "encryption_required",
    "entryFilters",
    "inactive_topic_policies",
    "max_consumers_per_subscription",
    "max_consumers_per_topic",
    "max_producers_per_topic",
    "max_subscriptions_per_topic",
    "max_topics_per_namespace",
    "max_unacked_messages_per_consumer",
    "max_unacked_messages_per_subscription",
    "message_ttl_in_seconds",
    "migrated",
    "offload_deletion_lag_ms",
    "offload_policies",
    "offload_threshold",
    "offload_threshold_in_seconds",
    "persistence",
    "properties",
    "publishMaxMessageRate",
    "replicatorDispatchRate",
    "resource_group_name",
    "retention_policies",
    "schema_validation_enforced",
    "subscriptionDispatchRate",
    "subscription_auth_mode",
    "subscription_expiration_time_minutes",
    "subscription_types_enabled",
    "topicDispatchRate",
)
_UNSET: Final[tuple[object, ...]] = (None, False, 0, -1, "", "None", [])


class Namespaces:
    """``/namespaces``."""

    def __init__(self, resources: Resources, cluster: str) -> None:
        self._resources = resources
        self._cluster = cluster

    def routes(self) -> list[Route]:
        one = "/admin/v2/namespaces/{tenant}/{namespace}"
        return [
            Route("GET", "/admin/v2/namespaces/{tenant}", self.names),
            Route("GET", one, self.get),
            Route("PUT", one, self.create, takes=(JSON,)),
            Route("DELETE", one, self.delete),
            Route("GET", f"{one}/bundles", self.bundles),
            Route("GET", f"{one}/topics", self.topics),
        ]

    async def names(self, request: Request) -> Reply:
        tenant = arguments.entity(request, "tenant", "Tenant")
        if await self._resources.tenant(tenant) is None:
            raise TenantNotFound("Tenant not found")
        return shown([str(name) for name in await self._resources.namespaces(tenant)])

    async def get(self, request: Request) -> Reply:
        return shown((await self._existing(request)).shown())

    async def bundles(self, request: Request) -> Reply:
        return shown((await self._existing(request)).bundles.to_json())

    async def topics(self, request: Request) -> Reply:
        mode = request.query.get("mode", "ALL")
        if mode not in _MODES:
            raise Rejection(404, f"mode is one of {', '.join(_MODES)}, not {mode}")
        await self._existing(request)
        if mode == "NON_PERSISTENT":
            return shown([])
        names = await self._resources.topics(arguments.namespace(request))
        return shown([str(name) for name in names])

    async def create(self, request: Request) -> Reply:
        name = arguments.namespace(request)
        policies = await self._policies(name, arguments.json_object(request) or {})
        await self._resources.create_namespace(name, policies)
        return done()

    async def delete(self, request: Request) -> Reply:
        if request.flag("force"):
            raise Rejection(405, "Broker doesn't allow forced deletion of namespaces")
        await self._resources.delete_namespace(arguments.namespace(request))
        return done()

    async def _existing(self, request: Request) -> NamespacePolicies:
        policies = await self._resources.namespace(arguments.namespace(request))
        if policies is None:
            raise NamespaceNotFound("Namespace does not exist")
        return policies

    async def _policies(self, name: NamespaceName, sent: dict[str, Any]) -> NamespacePolicies:
        """What a new namespace starts with: the defaults, and what was sent along."""
        tenant = await self._resources.tenant(name.tenant)
        if tenant is None:
            raise TenantNotFound("Tenant does not exist")
        if await self._resources.namespace(name) is not None:
            raise AlreadyExists("Namespace already exists")
        clusters = arguments.string_list(sent.get("replication_clusters"), "replication_clusters")
        for cluster in clusters or []:
            if cluster not in tenant.allowed_clusters:
                raise Rejection(
                    403,
                    f"Cluster [{cluster}] is not in the list of allowed clusters list for tenant "
                    f"[{name.tenant}]",
                )
        self._check_alone(name, clusters)
        self._check_alone(name, arguments.string_list(sent.get("allowed_clusters"), "clusters"))
        unapplied = [policy for policy in _NOT_APPLIED if _asks(sent.get(policy))]
        if unapplied:
            raise NotAllowed(
                f"This broker does not apply the policies [{', '.join(unapplied)}]: create the "
                f"namespace {name} without them"
            )
        bundles = sent.get("bundles")
        return NamespacePolicies(
            Bundles.from_json(bundles if isinstance(bundles, dict) else {}),
            sorted(set(clusters or [self._cluster])),
        )

    def _check_alone(self, name: NamespaceName, clusters: list[str] | None) -> None:
        if not {self._cluster}.issuperset(clusters or []):
            raise NotAllowed(
                f"This broker does not replicate between clusters: create the namespace {name} in "
                f"{self._cluster} alone"
            )


def _asks(policy: Any) -> bool:
    """Whether a policy says anything. Clients send many that do not."""
    if isinstance(policy, dict):
        return any(not isinstance(part, dict | list) or _asks(part) for part in policy.values())
    return policy not in _UNSET
