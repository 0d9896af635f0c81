"""Namespaces: creation, deletion, bundles, and the topics in one."""

from dataclasses import replace
from typing import Any, Final

from magnetar.broker.admin import arguments
from magnetar.broker.admin.errors import Rejection
from magnetar.broker.admin.exchange import JSON, Reply, Request, done, shown
from magnetar.broker.admin.router import Route
from magnetar.broker.policies import IN_FORCE
from magnetar.broker.resources import Resources
from magnetar.errors import (
    AlreadyExists,
    InvalidValue,
    NamespaceNotFound,
    NotAllowed,
    TenantNotFound,
)
from magnetar.model.names import NamespaceName
from magnetar.model.policies import NamespacePolicies, json_name, policies_in, unread_parts
from magnetar.model.policy_values import AuthPolicies
from magnetar.model.records import Bundles

# As good as not set, for policies that are not in force. FULL is what a broker has.
_OFF: Final[tuple[object, ...]] = (False, 0, -1, "", "FULL", AuthPolicies())
_MODES: Final = ("PERSISTENT", "NON_PERSISTENT", "ALL")


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
        try:
            asked = policies_in(sent, self._cluster)
        except InvalidValue as error:
            raise Rejection(400, str(error)) from None
        strange = {key: value for key, value in asked.given().items() if key not in IN_FORCE}
        unapplied = [json_name(key) for key, value in strange.items() if value not in _OFF]
        unapplied += unread_parts(sent, self._cluster)
        unapplied += ["deleted"] if sent.get("deleted") is True else []
        if unapplied:
            raise NotAllowed(
                f"This broker does not apply the policies [{', '.join(unapplied)}]: create the "
                f"namespace {name} without them"
            )
        asked = replace(asked, **dict.fromkeys(strange))
        asked.check()
        bundles = sent.get("bundles")
        return NamespacePolicies(
            Bundles.from_json(bundles if isinstance(bundles, dict) else {}),
            replace(asked, replication_clusters=tuple(sorted(set(clusters or [self._cluster])))),
            cluster=self._cluster,
        )

    def _check_alone(self, name: NamespaceName, clusters: list[str] | None) -> None:
        if not {self._cluster}.issuperset(clusters or []):
            raise NotAllowed(
                f"This broker does not replicate between clusters: create the namespace {name} in "
                f"{self._cluster} alone"
            )
