"""The logs behind topics: their ledgers, their cursors, and how much lies where."""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.internal_stats import internal_info, internal_stats
from magnetar.broker.admin.owners import Answers, ByPartitions, OfPartitions, OfTopic, by_name
from magnetar.broker.admin.services import TopicServices
from magnetar.broker.topics.topic import StoredTopic
from magnetar.errors import TopicNotFound
from magnetar.rest import arguments
from magnetar.rest.exchange import JSON, Reply, Request, shown
from magnetar.rest.long_answers import shown_in_turns
from magnetar.rest.router import Route


async def get(_admin: TopicServices, _request: Request, topic: StoredTopic) -> Reply:
    """The ledgers and cursors of a topic."""
    terminated = topic.terminated_at is not None
    active = {name for name, each in topic.subscriptions.items() if each.consumers}
    waiting = set[str]() if terminated else _waiting(topic)
    return shown(
        internal_stats(topic.log.info(), active=active, waiting=waiting, terminated=terminated)
    )


async def get_partitioned(admin: TopicServices, request: Request, answers: Answers) -> Reply:
    """The same for each partition that exists."""
    topic = arguments.topic(request)
    metadata = await admin.resources.partitioned_topic(topic)
    if metadata is None:
        raise TopicNotFound(f"Partitioned Topic {topic} not found")
    return await shown_in_turns({"metadata": metadata.shown(), "partitions": by_name(answers)})


async def get_info(_admin: TopicServices, _request: Request, topic: StoredTopic) -> Reply:
    """What is recorded of a topic's log, or of each partition's."""
    return shown(internal_info(topic.log.info(), topic.terminated_at))


def _infos(_request: Request, answers: Answers) -> Reply:
    return shown({"version": 0, "partitions": by_name(answers)})


async def backlog_size(_admin: TopicServices, request: Request, topic: StoredTopic) -> Reply:
    """About how many bytes a topic has from a message on."""
    return shown(topic.log.size_from(arguments.required_position(request).message.position))


async def backlog(admin: TopicServices, _request: Request, topic: StoredTopic) -> Reply:
    """How much a topic has stored, and its subscriptions have before them, in entries."""
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


def _waiting(topic: StoredTopic) -> set[str]:
    """The subscriptions that would deliver more, if there were more to read."""
    return {name for name, each in topic.subscriptions.items() if each.awaits_entries}


_ONE: Final = "/admin/v2/persistent/{tenant}/{namespace}/{topic}"
_ONE_TOPIC: Final = OfTopic()
_LOOKUP: Final = Access.LOOKUP
SERVICES: Final = TopicServices
ROUTES: Final = (
    Route("GET", f"{_ONE}/internalStats", get, _LOOKUP, _ONE_TOPIC),
    Route(
        "GET",
        f"{_ONE}/partitioned-internalStats",
        get_partitioned,
        _LOOKUP,
        ByPartitions("GET", "/internalStats"),
    ),
    Route("GET", f"{_ONE}/internal-info", get_info, _LOOKUP, OfPartitions(_infos)),
    Route("PUT", f"{_ONE}/backlogSize", backlog_size, Access.CONSUME, _ONE_TOPIC, takes=(JSON,)),
    Route("GET", f"{_ONE}/backlog", backlog, Access.CONSUME, _ONE_TOPIC),
)
