"""Whose policies a request is about: a namespace's, or a topic's."""

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, Final, Protocol

from magnetar.auth.access import Access
from magnetar.broker.admin.owners import AtOwner
from magnetar.broker.admin.routes.namespaces import existing
from magnetar.broker.admin.services import RecordServices
from magnetar.errors import TopicNotFound
from magnetar.model.names import NON_PERSISTENT, PERSISTENT, TopicName
from magnetar.model.policies import Combined, Policies
from magnetar.model.policy_rows import Level
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done
from magnetar.rest.router import Query, Route


class PolicyScope(Protocol):
    """One level of policies; ``path`` is what the paths of its routes begin with."""

    level: Level
    path: str
    query: tuple[Query, ...]
    """What all of these read from the query."""
    about: AtOwner | None
    """Non-persistent topics are known to their owners alone."""

    async def own(self, admin: RecordServices, request: Request) -> Policies:
        """What is set here. Raises NamespaceNotFound, TopicNotFound."""

    async def combined(self, admin: RecordServices, request: Request) -> Combined:
        """What holds here, whoever set it."""

    async def change(self, admin: RecordServices, request: Request, **changed: Any) -> None:
        """Set policies, None to unset one. Raises InvalidValue, with Pulsar's words."""


APPLIED: Final = Query("applied", "boolean")
_Handler = Callable[..., Awaitable[Reply]]


class NamespaceScope:
    level = Level.NAMESPACE
    path = "/admin/v2/namespaces/{tenant}/{namespace}"
    query: tuple[Query, ...] = ()
    about: AtOwner | None = None

    async def own(self, admin: RecordServices, request: Request) -> Policies:
        return (await existing(admin.resources, request)).policies

    async def combined(self, admin: RecordServices, request: Request) -> Combined:
        return await admin.policies.combined(arguments.namespace(request))

    async def change(self, admin: RecordServices, request: Request, **changed: Any) -> None:
        await admin.policies.change(arguments.namespace(request), **changed)


class TopicScope:
    level = Level.TOPIC
    query: tuple[Query, ...] = (Query("isGlobal", "boolean"),)

    def __init__(self, domain: str) -> None:
        self.path = f"/admin/v2/{domain}/{{tenant}}/{{namespace}}/{{topic}}"
        self.about = None if domain == PERSISTENT else AtOwner()

    async def own(self, admin: RecordServices, request: Request) -> Policies:
        topic = await self.topic(admin, request)
        return await admin.policies.own(topic, is_global=request.flag("isGlobal"))

    async def combined(self, admin: RecordServices, request: Request) -> Combined:
        return await admin.policies.combined_of(arguments.topic(request))

    async def change(self, admin: RecordServices, request: Request, **changed: Any) -> None:
        topic = arguments.topic(request)
        is_global = request.flag("isGlobal")
        await admin.policies.change_topic(topic, is_global=is_global, **changed)

    async def topic(self, admin: RecordServices, request: Request) -> TopicName:
        """The topic of a request, which must exist and may be partitioned."""
        topic = arguments.topic(request)
        if not admin.policies.topic_level:
            raise Rejection(
                405,
                "Topic level policies is disabled, to disable the topic level policy and retry.",
            )
        if topic.partition_index >= 0:
            raise Rejection(412, "Not allowed to set/get topic policy for a partition")
        await admin.resources.require_namespace(topic.namespace)
        if not await admin.resources.partitions(topic) and not await admin.owners.access.exists(
            topic
        ):
            raise TopicNotFound(f"Topic {topic} not found")
        return topic


async def set_own(
    scope: PolicyScope, admin: RecordServices, request: Request, **changed: Any
) -> Reply:
    """Set policies of what must be there, None to unset one. Raises as the scope does."""
    await scope.own(admin, request)
    await scope.change(admin, request, **changed)
    return done()


def routes_at(
    scope: Any, path: str, get: _Handler, change: _Handler, remove: _Handler, **others: str
) -> Iterator[Route]:
    """Routes that show, set and remove a policy; ``others``: paths of GET or DELETE, if others."""
    for method, handler in (("GET", get), ("POST", change), ("DELETE", remove)):
        yield Route(
            method,
            f"{scope.path}/{others.get(method, path)}",
            partial(handler, scope),
            Access.TENANT_ADMIN,
            scope.about,
            takes=(JSON,) if method == "POST" else (),
        )


NAMESPACE: Final = NamespaceScope()
TOPICS: Final = (TopicScope(PERSISTENT), TopicScope(NON_PERSISTENT))
