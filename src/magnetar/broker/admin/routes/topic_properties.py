"""What users note about a topic: names and values that the broker keeps and shows."""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.services import AdminServices
from magnetar.model.names import TopicName
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import Query, Route, reads


async def get(admin: AdminServices, request: Request) -> Reply:
    """All of them."""
    topic = arguments.topic(request)
    await admin.resources.require_namespace(topic.namespace)
    partitioned = await admin.resources.partitioned_topic(topic)
    if partitioned is not None:
        return shown(partitioned.properties or {})
    return shown(dict((await admin.access.open_stored(topic)).log.properties))


async def change(admin: AdminServices, request: Request) -> Reply:
    """Set those that the body names; others stay."""
    sent = arguments.string_map(arguments.json_object(request), "properties") or {}
    await _change(admin, arguments.topic(request), sent)
    return done()


@reads(Query("key", required=True))
async def remove(admin: AdminServices, request: Request) -> Reply:
    """Remove one, if it is there."""
    key = request.query.get("key")
    if not key:
        raise Rejection(412, "Say which property is to be removed: ?key=...")
    await _change(admin, arguments.topic(request), {}, (key,))
    return done()


async def _change(
    admin: AdminServices, topic: TopicName, changed: dict[str, str], removed: tuple[str, ...] = ()
) -> None:
    await admin.resources.require_namespace(topic.namespace)
    if await admin.resources.partitions(topic):
        await admin.resources.change_partitioned_properties(topic, changed, removed)
        return
    stored = await admin.access.open_stored(topic)
    if changed or removed:
        await stored.log.change_properties(changed, removed)


_PATH: Final = "/admin/v2/persistent/{tenant}/{namespace}/{topic}/properties"
ROUTES: Final = (
    Route("GET", _PATH, get, access=Access.LOOKUP),
    Route("PUT", _PATH, change, takes=(JSON,), access=Access.TENANT_ADMIN),
    Route("DELETE", _PATH, remove, access=Access.TENANT_ADMIN),
)
