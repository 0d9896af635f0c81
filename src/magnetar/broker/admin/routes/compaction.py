"""Compaction: begun by hand, and how it stands."""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.owners import OfPartitions, OfTopic
from magnetar.broker.admin.services import TopicServices
from magnetar.broker.topics.topic import StoredTopic
from magnetar.model.process_status import ProcessStatus
from magnetar.rest.exchange import Reply, Request, done, shown
from magnetar.rest.router import Route


async def start(_admin: TopicServices, _request: Request, topic: StoredTopic) -> Reply:
    """Compact a topic, or all partitions of one, though some may be at it already."""
    topic.compact()
    return done()


async def status(_admin: TopicServices, _request: Request, topic: StoredTopic) -> Reply:
    """How the last compaction went, since the topic was opened."""
    compaction = topic.compaction
    if compaction is None:
        return shown({"status": ProcessStatus.NOT_RUN.value, "lastError": ""})
    return shown({"status": compaction.status.value, "lastError": compaction.last_error})


_PATH: Final = "/admin/v2/persistent/{tenant}/{namespace}/{topic}/compaction"
SERVICES: Final = TopicServices
ROUTES: Final = (
    Route("PUT", _PATH, start, Access.TENANT_ADMIN, OfPartitions()),
    Route("GET", _PATH, status, Access.TENANT_ADMIN, OfTopic()),
)
