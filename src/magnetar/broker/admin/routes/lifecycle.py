"""What an administrator does to a topic's log: ends it, empties it, compacts it."""

import json
from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.owners import Answers, ByPartitions, OfPartitions, OfTopic, granted
from magnetar.broker.admin.routes.single_messages import message_id
from magnetar.broker.admin.services import TopicServices
from magnetar.broker.topics.topic import StoredTopic
from magnetar.model.process_status import ProcessStatus
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Reply, Request, done, shown
from magnetar.rest.router import Route


async def terminate(_admin: TopicServices, _request: Request, topic: StoredTopic) -> Reply:
    """End a topic for ever: nothing is published any more. The answer is its last message's id."""
    return shown(message_id(await topic.terminate(), topic.name.partition_index))


async def terminate_partitions(admin: TopicServices, request: Request, answers: Answers) -> Reply:
    """The same for all partitions of a topic; the last message of each, by its index."""
    name = arguments.topic(request)
    await admin.resources.require_namespace(name.namespace)
    if not await admin.resources.partitions(name):
        await admin.owners.access.open(name)
        raise Rejection(
            405,
            "Termination of a non-partitioned topic is not allowed using partitioned-terminate, "
            "please use terminate commands",
        )
    last = map(json.loads, (each.body for each in granted(answers)))
    return shown({str(each["partitionIndex"]): {**each, "partitionIndex": -1} for each in last})


async def truncate(_admin: TopicServices, _request: Request, topic: StoredTopic) -> Reply:
    """Acknowledge everything for everybody, and delete the ledgers that are not in use."""
    for subscription in list(topic.subscriptions.values()):
        await topic.skip(subscription)
    await topic.log.trim(retained=True)
    return done()


async def trim(_admin: TopicServices, _request: Request, topic: StoredTopic) -> Reply:
    """Delete the ledgers that no subscription needs and retention does not keep, now."""
    await topic.log.trim()
    return Reply(200)


async def compact(_admin: TopicServices, _request: Request, topic: StoredTopic) -> Reply:
    """Compact a topic, or all partitions of one, though some may be at it already."""
    topic.compact()
    return done()


async def compaction_status(_admin: TopicServices, _request: Request, topic: StoredTopic) -> Reply:
    """How the last compaction went, since the topic was opened."""
    compaction = topic.compaction
    if compaction is None:
        return shown({"status": ProcessStatus.NOT_RUN.value, "lastError": ""})
    return shown({"status": compaction.status.value, "lastError": compaction.last_error})


SERVICES: Final = TopicServices
_ONE: Final = "/admin/v2/persistent/{tenant}/{namespace}/{topic}"
ROUTES: Final = tuple(
    Route(method, f"{_ONE}/{path}", handler, Access.TENANT_ADMIN, about)
    for method, path, handler, about in (
        (
            "POST",
            "terminate",
            terminate,
            OfTopic("Termination of a partitioned topic is not allowed"),
        ),
        ("POST", "terminate/partitions", terminate_partitions, ByPartitions("POST", "/terminate")),
        ("DELETE", "truncate", truncate, OfPartitions()),
        ("POST", "trim", trim, OfPartitions()),
        ("PUT", "compaction", compact, OfPartitions()),
        ("GET", "compaction", compaction_status, OfTopic()),
    )
)
