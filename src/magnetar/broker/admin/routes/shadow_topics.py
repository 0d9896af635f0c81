"""The shadows of a topic: there are none, since no two topics of this broker share a log."""

from functools import partial
from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.routes.policy_scope import TOPICS, TopicScope
from magnetar.broker.admin.services import AdminServices
from magnetar.errors import InvalidName, NotAllowed
from magnetar.model.names import TopicName
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done
from magnetar.rest.router import Route


async def get(scope: TopicScope, admin: AdminServices, request: Request) -> Reply:
    await scope.topic(admin, request)
    return Reply(200)


async def change(scope: TopicScope, admin: AdminServices, request: Request) -> Reply:
    names = arguments.string_list(arguments.body(request), "shadow topics") or []
    topic = await scope.topic(admin, request)
    for name in names:
        try:
            shadow = TopicName.parse(name)
        except InvalidName as error:
            raise Rejection(412, f"Invalid shadow topic name: {error}") from error
        if not await admin.resources.partitions(shadow) and not await admin.access.exists(shadow):
            raise Rejection(412, f"Shadow topic [{name}] not exists.")
    if names:
        raise NotAllowed(f"This broker does not make shadow topics: leave {topic} without them")
    return done()


async def remove(scope: TopicScope, admin: AdminServices, request: Request) -> Reply:
    await scope.topic(admin, request)
    return done()


_SCOPE: Final = TOPICS[0]  # Those that keep messages.
_PATH: Final = f"{_SCOPE.path}/shadowTopics"
ROUTES: Final = (
    Route("GET", _PATH, partial(get, _SCOPE), access=Access.TENANT_ADMIN),
    Route("PUT", _PATH, partial(change, _SCOPE), takes=(JSON,), access=Access.TENANT_ADMIN),
    Route("DELETE", _PATH, partial(remove, _SCOPE), access=Access.TENANT_ADMIN),
)
