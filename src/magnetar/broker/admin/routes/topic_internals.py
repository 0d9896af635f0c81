"""The logs behind topics: their ledgers, their cursors, and how much lies where."""

from collections.abc import AsyncIterator
from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.internal_stats import internal_info, internal_stats
from magnetar.broker.admin.services import AdminServices
from magnetar.broker.topics.subscriptions.persistent_subscription import PersistentSubscription
from magnetar.broker.topics.topic import StoredTopic
from magnetar.errors import TopicNotFound
from magnetar.model.names import TopicName
from magnetar.rest import arguments
from magnetar.rest.exchange import JSON, Reply, Request, shown
from magnetar.rest.long_answers import shown_in_turns
from magnetar.rest.router import Route


async def get(admin: AdminServices, request: Request) -> Reply:
    """The ledgers and cursors of a topic."""
    return shown(_stats(await admin.access.open_stored(arguments.topic(request))))


async def get_partitioned(admin: AdminServices, request: Request) -> Reply:
    """The same for each partition that exists."""
    topic = arguments.topic(request)
    metadata = await admin.resources.partitioned_topic(topic)
    if metadata is None:
        raise TopicNotFound(f"Partitioned Topic {topic} not found")
    parts = {str(each.name): _stats(each) async for each in _partitions(admin, topic)}
    return await shown_in_turns({"metadata": metadata.shown(), "partitions": parts})


async def get_info(admin: AdminServices, request: Request) -> Reply:
    """What is recorded of a topic's log, or of each partition's."""
    topic = arguments.topic(request)
    await admin.resources.require_namespace(topic.namespace)
    if not await admin.resources.partitions(topic):
        return shown(_info(await admin.access.open_stored(topic)))
    parts = {str(each.name): _info(each) async for each in _partitions(admin, topic)}
    return await shown_in_turns({"version": 0, "partitions": parts})


async def backlog_size(admin: AdminServices, request: Request) -> Reply:
    """About how many bytes a topic has from a message on."""
    place = arguments.place_to_go(request)
    topic = await admin.access.open_stored(arguments.topic(request))
    return shown(topic.log.size_from(place.message.position))


async def backlog(admin: AdminServices, request: Request) -> Reply:
    """How much a topic has stored, and its subscriptions have before them, in entries."""
    topic = await admin.access.open_stored(arguments.topic(request))
    info = topic.log.info()
    cursors = {
        name: {"cursorBacklog": each.backlog, "cursorLedgerId": -1}
        for name, each in info.cursors.items()
        if each.durable
    }
    name = topic.name
    return shown(
        {
            "storageSize": info.size_bytes,
            "totalMessages": info.entry_count,
            "messageBacklog": sum(each["cursorBacklog"] for each in cursors.values()),
            "brokerName": admin.broker_id.partition(":")[0],
            "topicName": f"{name.namespace}/{name.domain}/{name.local}",
            "dataLedgerDetails": [
                {
                    "entries": each.last_entry_id + 1,
                    "timestamp": each.sealed_ms,
                    "size": each.size_bytes,
                    "ledgerId": each.ledger_id,
                }
                for each in info.ledgers
            ],
            "cursorDetails": cursors,
            "statGeneratedAt": admin.clock.wall_ms(),
        }
    )


def _stats(topic: StoredTopic) -> dict[str, Any]:
    terminated = topic.terminated_at is not None
    active = {name for name, each in topic.subscriptions.items() if each.consumers}
    waiting = set[str]() if terminated else _waiting(topic)
    return internal_stats(topic.log.info(), active=active, waiting=waiting, terminated=terminated)


def _waiting(topic: StoredTopic) -> set[str]:
    """The subscriptions that would deliver more, if there were more to read."""
    return {
        name
        for name, each in topic.subscriptions.items()
        if isinstance(each, PersistentSubscription) and each.awaits_entries
    }


def _info(topic: StoredTopic) -> dict[str, Any]:
    return internal_info(topic.log.info(), topic.terminated_at)


async def _partitions(admin: AdminServices, topic: TopicName) -> AsyncIterator[StoredTopic]:
    for name in await admin.access.created_partitions(topic):
        yield await admin.access.open_stored(name)


_ONE: Final = "/admin/v2/persistent/{tenant}/{namespace}/{topic}"
ROUTES: Final = (
    Route("GET", f"{_ONE}/internalStats", get, access=Access.LOOKUP),
    Route("GET", f"{_ONE}/partitioned-internalStats", get_partitioned, access=Access.LOOKUP),
    Route("GET", f"{_ONE}/internal-info", get_info, access=Access.LOOKUP),
    Route("PUT", f"{_ONE}/backlogSize", backlog_size, takes=(JSON,), access=Access.CONSUME),
    Route("GET", f"{_ONE}/backlog", backlog, access=Access.CONSUME),
)
