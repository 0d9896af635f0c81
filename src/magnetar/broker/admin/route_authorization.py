"""Asks, before a route's handler is called, whether the role behind a request may have it."""

from typing import Final
from urllib.parse import unquote, unquote_plus

from magnetar.auth.access import Access
from magnetar.auth.authorization import Principal
from magnetar.auth.refusals import ADMIN, SUPERUSER, refusal
from magnetar.broker.authorization.authorization_service import AuthorizationService
from magnetar.errors import NotAuthorized, NotFound
from magnetar.model.names import NamespaceName, TopicName
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Request
from magnetar.rest.router import Route

_OF_WORKERS: Final = (Access.FUNCTIONS, Access.SOURCES, Access.SINKS, Access.PACKAGES)


class RouteAuthorization:
    """There is one where authorization is on."""

    def __init__(self, service: AuthorizationService) -> None:
        self._service = service

    async def check(self, route: Route, request: Request) -> None:
        """Raise Rejection, with Pulsar's status and words, for a role that may not; NotFound."""
        access = route.access
        if access in (Access.PUBLIC, Access.AUTHENTICATED):
            return
        who = principal(request)
        tenant, namespace, topic = _place(access, request)
        if not tenant:
            access = Access.SUPERUSER  # Nobody else may do what is about no tenant.
        try:
            allowed = await self._service.allows(
                who,
                access,
                tenant=tenant,
                namespace=namespace,
                topic=topic,
                subscription=_subscription(request),
            )
        except NotAuthorized as error:
            raise Rejection(401, str(error)) from None
        if not allowed:
            place = str(topic or namespace or tenant)
            status, reason = refusal(who, access, request.method, route.path, place)
            raise Rejection(status, reason)

    async def require(self, request: Request, access: Access, *, tenant: str) -> None:
        """The same for what only the handler knows of. Raises Rejection, NotFound."""
        if not await self._service.allows(principal(request), access, tenant=tenant):
            raise Rejection(401, SUPERUSER if access is Access.SUPERUSER else ADMIN)

    async def may(
        self,
        request: Request,
        access: Access,
        *,
        tenant: str = "",
        namespace: NamespaceName | None = None,
        topic: TopicName | None = None,
        subscription: str = "",
    ) -> bool:
        """Whether who asks has an access somewhere; nobody but a superuser to what is not there."""
        try:
            return await self._service.allows(
                principal(request),
                access,
                tenant=tenant,
                namespace=namespace,
                topic=topic,
                subscription=subscription,
            )
        except (NotAuthorized, NotFound):
            return False


def principal(request: Request) -> Principal:
    """Who asks. A request without a role is nobody's, and nobody is granted anything."""
    return Principal(request.role or "", request.proxy_role)


def _place(access: Access, request: Request) -> tuple[str, NamespaceName | None, TopicName | None]:
    """What a request is about, read as its handler reads it. Raises Rejection for bad names."""
    named = request.segments
    if access in _OF_WORKERS:
        return _worker_place(request)
    if "topic" in named:
        domain = unquote_plus(named["domain"]) if "domain" in named else ""
        topic = arguments.topic(request, domain)
        return topic.tenant, topic.namespace, topic
    if "namespace" in named:
        namespace = arguments.namespace(request)
        return namespace.tenant, namespace, None
    return (arguments.entity(request, "tenant", "Tenant") if "tenant" in named else ""), None, None


def _worker_place(request: Request) -> tuple[str, NamespaceName | None, TopicName | None]:
    """The namespace of functions; the worker reads it from the same path, which must be plain."""
    if not {".", ".."}.isdisjoint(map(unquote, request.path.split("/"))):
        raise Rejection(400, "The path has a segment of dots, which names nothing here")
    if "namespace" not in request.segments:
        return "", None, None
    tenant, namespace = (unquote(request.segments[part]) for part in ("tenant", "namespace"))
    return tenant, NamespaceName(tenant, namespace), None


def _subscription(request: Request) -> str:
    return arguments.subscription(request) if "subscription" in request.segments else ""
