"""Subscriptions: lists, creation, deletion, skip and reset."""

from typing import Final, overload

from magnetar.auth.access import Access
from magnetar.broker.admin.owners import About, Answers, OfPartitions, OfTopic, all_of, granted
from magnetar.broker.admin.services import TopicServices
from magnetar.broker.admin.topic_access import no_subscription
from magnetar.broker.topics.log.backlog_limits import Backlogged
from magnetar.broker.topics.subscriptions.persistent_subscription import (
    REPLICATED,
    PersistentSubscription,
)
from magnetar.broker.topics.subscriptions.subscription import Subscription
from magnetar.broker.topics.topic import StoredTopic, Topic
from magnetar.errors import AlreadyExists, SubscriptionNotFound
from magnetar.model.position import LATEST_MESSAGE
from magnetar.rest import arguments
from magnetar.rest.arguments import CursorPosition
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import FORCE, Handler, Query, Route, reads
from magnetar.storage.managed_ledger.compaction import COMPACTION_CURSOR

_AT_THE_END: Final = CursorPosition(LATEST_MESSAGE)


async def names(_admin: TopicServices, _request: Request, topic: Topic) -> Reply:
    """The subscriptions of a topic, or of any of its partitions."""
    found = list(topic.subscriptions)
    return shown([*found, COMPACTION_CURSOR] if _has(topic, COMPACTION_CURSOR) else found)


@reads(Query("replicated", "boolean"))
async def create(_admin: TopicServices, request: Request, topic: StoredTopic) -> Reply:
    """Create a subscription at the end of a topic, or where the body says."""
    name, at = arguments.subscription(request), arguments.position(request) or _AT_THE_END
    if name in topic.subscriptions:
        raise AlreadyExists("Subscription already exists for topic")
    properties = at.properties
    if request.flag("replicated"):
        properties = {**properties, REPLICATED: "1"}
    await topic.create_subscription(name, at.message.position, properties)
    return done()


@reads(FORCE)
async def delete(_admin: TopicServices, request: Request, topic: Topic) -> Reply:
    """Delete a subscription; with consumers only by force."""
    name, force = arguments.subscription(request), request.flag("force")
    if not _has(topic, name):
        raise no_subscription(name, topic.name)
    present = topic.subscriptions.get(name)
    if not force and present is not None and present.consumers:
        raise Rejection(412, "Subscription has active connected consumers")
    await topic.delete_subscription(name, force=force)
    return done()


async def properties(_admin: TopicServices, request: Request, topic: StoredTopic) -> Reply:
    """Those on the first partition that has it, where there are partitions."""
    return shown(dict(found_in(topic, request).properties))


async def set_properties(_admin: TopicServices, request: Request, topic: StoredTopic) -> Reply:
    """Replace the properties of a subscription."""
    sent = arguments.string_map(arguments.json_object(request), "properties") or {}
    await topic.set_properties(found_in(topic, request), sent)
    return done()


async def replicated(_admin: TopicServices, request: Request, topic: StoredTopic) -> Reply:
    """Whether other clusters are to have the subscription, by topic or partition."""
    return shown({str(topic.name): found_in(topic, request).replicated})


async def set_replicated(_admin: TopicServices, request: Request, topic: StoredTopic) -> Reply:
    """Say whether other clusters are to have the subscription, too."""
    value = arguments.boolean(request)
    await topic.set_properties(found_in(topic, request), replicated=value)
    return done()


async def skip_all(_admin: TopicServices, request: Request, topic: StoredTopic) -> Reply:
    """Acknowledge the whole backlog of a subscription, or of a replicator."""
    await topic.skip(backlogged_in(topic, request))
    return done()


async def skip(_admin: TopicServices, request: Request, topic: StoredTopic) -> Reply:
    """Skip a number of entries that are not acknowledged yet."""
    count = arguments.integer(request, "count")
    await topic.skip(backlogged_in(topic, request), count)
    return done()


async def reset_to_time(_admin: TopicServices, request: Request, topic: StoredTopic) -> Reply:
    """Reset to the first message published at a time, or later."""
    time_ms = arguments.integer(request, "timestamp")
    await topic.seek_to_time(found_in(topic, request), time_ms)
    return done()


async def reset_to_message(_admin: TopicServices, request: Request, topic: StoredTopic) -> Reply:
    """Reset to a message: its id, "earliest" or "latest"."""
    at = arguments.required_position(request)
    await topic.seek(found_in(topic, request), at.message.position, excluded=at.excluded)
    return done()


async def analyze_backlog(_admin: TopicServices, request: Request, topic: StoredTopic) -> Reply:
    """Count entries and messages of a backlog, by reading it. There are no filters."""
    at = arguments.position(request)
    start = None if at is None else at.message.position
    found = await topic.count_backlog(found_in(topic, request), start)
    return shown(
        {
            "entries": found.entries,
            "messages": found.messages,
            "filterRejectedEntries": 0,
            "filterAcceptedEntries": found.entries,
            "filterRescheduledEntries": 0,
            "filterRejectedMessages": 0,
            "filterAcceptedMessages": found.messages,
            "filterRescheduledMessages": 0,
            "aborted": found.aborted,
            "firstMessageId": None if found.first is None else str(found.first),
            "lastMessageId": None if found.last is None else str(found.last),
        }
    )


def _has(topic: Topic, name: str) -> bool:
    """Whether it has the subscription, or what compaction reads with where that is meant."""
    if name != COMPACTION_CURSOR:
        return name in topic.subscriptions
    return topic.stored is not None and name in topic.stored.log.info().cursors


@overload
def found_in(topic: StoredTopic, request: Request) -> PersistentSubscription: ...
@overload
def found_in(topic: Topic, request: Request) -> Subscription: ...
def found_in(topic: Topic, request: Request) -> Subscription:
    """The subscription of a request. Raises SubscriptionNotFound."""
    name = arguments.subscription(request)
    if name not in topic.subscriptions:
        raise no_subscription(name, topic.name)
    return topic.subscriptions[name]


def backlogged_in(topic: StoredTopic, request: Request) -> Backlogged:
    """The subscription of a request, or the replicator whose cursor it names.

    Raises SubscriptionNotFound.
    """
    name = arguments.subscription(request)
    for each in topic.upkeep.backlogs():
        if each.name == name:
            return each
    raise no_subscription(name, topic.name)


def _created(_request: Request, answers: Answers) -> Reply:
    """Of partitions, some of which may have had the subscription before."""
    if answers and not granted(answers, but=409):
        raise AlreadyExists("Subscription already exists for topic")
    return done()


def deleted(_request: Request, answers: Answers) -> Reply:
    if not granted(answers):
        raise SubscriptionNotFound("Subscription not found")
    return done()


def where_found(request: Request, answers: Answers) -> Reply:
    """The answer of the first partition that has the subscription."""
    for reply in granted(answers):
        return reply
    raise no_subscription(arguments.subscription(request), arguments.topic(request))


def _all_where_found(request: Request, answers: Answers) -> Reply:
    where_found(request, answers)
    return all_of(request, answers)


_TOPIC = "/admin/v2/persistent/{tenant}/{namespace}/{topic}"
_ONE = f"{_TOPIC}/subscription/{{subscription}}"
_WHERE_FOUND: Final = OfPartitions(where_found)


def _route(method: str, path: str, handler: Handler, about: About = _WHERE_FOUND) -> Route:
    takes = (JSON,) if handler in _WITH_BODY else ()
    return Route(method, path, handler, Access.CONSUME, about, takes=takes)


_WITH_BODY: Final = (create, set_properties, set_replicated, reset_to_message, analyze_backlog)
SERVICES: Final = TopicServices
ROUTES: Final = (
    _route("GET", f"{_TOPIC}/subscriptions", names, OfPartitions(all_of)),
    _route("PUT", _ONE, create, OfPartitions(_created, creates=True)),
    _route("DELETE", _ONE, delete, OfPartitions(deleted)),
    _route("GET", f"{_ONE}/properties", properties),
    _route("PUT", f"{_ONE}/properties", set_properties),
    _route(
        "GET", f"{_ONE}/replicatedSubscriptionStatus", replicated, OfPartitions(_all_where_found)
    ),
    _route("POST", f"{_ONE}/replicatedSubscriptionStatus", set_replicated),
    _route("POST", f"{_ONE}/skip_all", skip_all),
    _route(
        "POST",
        f"{_ONE}/skip/{{count}}",
        skip,
        OfTopic("Skip messages on a partitioned topic is not allowed"),
    ),
    _route("POST", f"{_ONE}/resetcursor/{{timestamp}}", reset_to_time),
    _route(
        "POST",
        f"{_ONE}/resetcursor",
        reset_to_message,
        OfTopic("Reset-cursor at position is not allowed for partitioned-topic"),
    ),
    _route(
        "POST",
        f"{_ONE}/analyzeBacklog",
        analyze_backlog,
        OfTopic(
            "Analyze backlog on a partitioned topic is not allowed, please try do it on specific "
            "topic partition"
        ),
    ),
)
