"""What users note about a topic: names and values that the broker keeps and shows."""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.owners import OfTopicOrRecord
from magnetar.broker.admin.services import TopicServices
from magnetar.broker.topics.topic import StoredTopic
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import Query, Route, reads


async def get(admin: TopicServices, request: Request, topic: StoredTopic | None) -> Reply:
    """All of them."""
    if topic is not None:
        return shown(dict(topic.log.properties))
    partitioned = await admin.resources.partitioned_topic(arguments.topic(request))
    return shown((partitioned.properties if partitioned else None) or {})


async def change(admin: TopicServices, request: Request, topic: StoredTopic | None) -> Reply:
    """Set those that the body names; others stay."""
    sent = arguments.string_map(arguments.json_object(request), "properties") or {}
    await _change(admin, request, topic, sent)
    return done()


@reads(Query("key", required=True))
async def remove(admin: TopicServices, request: Request, topic: StoredTopic | None) -> Reply:
    """Remove one, if it is there."""
    key = request.query.get("key")
    if not key:
        raise Rejection(412, "Say which property is to be removed: ?key=...")
    await _change(admin, request, topic, {}, (key,))
    return done()


async def _change(
    admin: TopicServices,
    request: Request,
    topic: StoredTopic | None,
    changed: dict[str, str],
    removed: tuple[str, ...] = (),
) -> None:
    if topic is None:
        name = arguments.topic(request)
        await admin.resources.change_partitioned_properties(name, changed, removed)
    elif changed or removed:
        await topic.log.change_properties(changed, removed)


_PATH: Final = "/admin/v2/persistent/{tenant}/{namespace}/{topic}/properties"
_EITHER: Final = OfTopicOrRecord()
SERVICES: Final = TopicServices
ROUTES: Final = (
    Route("GET", _PATH, get, Access.LOOKUP, _EITHER),
    Route("PUT", _PATH, change, Access.TENANT_ADMIN, _EITHER, takes=(JSON,)),
    Route("DELETE", _PATH, remove, Access.TENANT_ADMIN, _EITHER),
)
