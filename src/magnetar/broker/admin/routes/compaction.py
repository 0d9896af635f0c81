"""Compaction: begun by hand, and how it stands."""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.services import AdminServices
from magnetar.errors import AlreadyExists
from magnetar.model.process_status import ProcessStatus
from magnetar.rest import arguments
from magnetar.rest.exchange import Reply, Request, done, shown
from magnetar.rest.router import Route


async def start(admin: AdminServices, request: Request) -> Reply:
    """Compact a topic, or all partitions of one, though some may be at it already."""
    topic = arguments.topic(request)
    await admin.resources.require_namespace(topic.namespace)
    if not await admin.resources.partitions(topic):
        (await admin.access.open_stored(topic)).compact()
        return done()
    busy: AlreadyExists | None = None
    for name in await admin.access.created_partitions(topic):
        try:
            (await admin.access.open_stored(name)).compact()
        except AlreadyExists as error:
            busy = error
    if busy is not None:
        raise busy
    return done()


async def status(admin: AdminServices, request: Request) -> Reply:
    """How the last compaction went, since the topic was opened."""
    compaction = (await admin.access.open_stored(arguments.topic(request))).compaction
    if compaction is None:
        return shown({"status": ProcessStatus.NOT_RUN.value, "lastError": ""})
    return shown({"status": compaction.status.value, "lastError": compaction.last_error})


_PATH: Final = "/admin/v2/persistent/{tenant}/{namespace}/{topic}/compaction"
ROUTES: Final = (
    Route("PUT", _PATH, start, access=Access.TENANT_ADMIN),
    Route("GET", _PATH, status, access=Access.TENANT_ADMIN),
)
