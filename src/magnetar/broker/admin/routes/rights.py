"""What who asks may do at a place, for programs that offer only that. Not in Pulsar."""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.services import AdminServices
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


@reads(*map(Query, ("tenant", "namespace", "topic", "subscription")))
async def get(admin: AdminServices, request: Request) -> Reply:
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


ROUTES: Final = (Route("GET", "/admin/v2/magnetar/rights", get, access=Access.AUTHENTICATED),)
