"""Subscriptions: lists, creation, deletion, skip and reset."""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.services import AdminServices
from magnetar.broker.admin.topic_access import no_subscription
from magnetar.broker.topics.subscriptions.persistent_subscription import REPLICATED
from magnetar.broker.topics.subscriptions.subscription import Subscription
from magnetar.broker.topics.topic import Topic, storing
from magnetar.errors import AlreadyExists, SubscriptionNotFound
from magnetar.model.names import TopicName
from magnetar.model.position import LATEST_MESSAGE
from magnetar.rest import arguments
from magnetar.rest.arguments import Place
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import FORCE, Query, Route, reads
from magnetar.storage.managed_ledger.compaction import COMPACTION_CURSOR

_AT_THE_END: Final = Place(LATEST_MESSAGE)


async def names(admin: AdminServices, request: Request) -> Reply:
    """The subscriptions of a topic, or of any of its partitions."""
    found: dict[str, None] = {}
    for topic in await topics_of(admin, arguments.topic(request)):
        found |= dict.fromkeys(topic.subscriptions)
        if _has(topic, COMPACTION_CURSOR):
            found[COMPACTION_CURSOR] = None
    return shown(list(found))


@reads(Query("replicated", "boolean"))
async def create(admin: AdminServices, request: Request) -> Reply:
    """Create a subscription at the end of a topic, or where the body says."""
    name, at = arguments.subscription(request), arguments.place(request) or _AT_THE_END
    topics = await _topics_to_subscribe(admin, arguments.topic(request))
    missing = [topic for topic in topics if name not in topic.subscriptions]
    if not missing:
        raise AlreadyExists("Subscription already exists for topic")
    properties = at.properties
    if request.flag("replicated"):
        properties = {**properties, REPLICATED: "1"}
    for topic in missing:
        await storing(topic).create_subscription(name, at.message.position, properties)
    return done()


@reads(FORCE)
async def delete(admin: AdminServices, request: Request) -> Reply:
    """Delete a subscription; with consumers only by force."""
    name, force = arguments.subscription(request), request.flag("force")
    asked = arguments.topic(request)
    topics = [topic for topic in await topics_of(admin, asked) if _has(topic, name)]
    if not topics:
        partitioned = await admin.resources.partitions(asked)
        raise (
            SubscriptionNotFound("Subscription not found")
            if partitioned
            else no_subscription(name, asked)
        )
    present = [topic.subscriptions[name] for topic in topics if name in topic.subscriptions]
    if not force and any(subscription.consumers for subscription in present):
        raise Rejection(412, "Subscription has active connected consumers")
    for topic in topics:
        await topic.delete_subscription(name, force=force)
    return done()


async def properties(admin: AdminServices, request: Request) -> Reply:
    """Those on the first partition that has it, where there are partitions."""
    _, subscription = (await found_in(admin, request))[0]
    return shown(dict(subscription.properties))


async def set_properties(admin: AdminServices, request: Request) -> Reply:
    """Replace the properties of a subscription."""
    sent = arguments.string_map(arguments.json_object(request), "properties") or {}
    for topic, subscription in await found_in(admin, request):
        await storing(topic).set_properties(subscription, sent)
    return done()


async def replicated(admin: AdminServices, request: Request) -> Reply:
    """Whether other clusters are to have the subscription, by topic or partition.

    This broker keeps what is said of it; it replicates to no other cluster.
    """
    found = await found_in(admin, request)
    return shown({str(topic.name): subscription.replicated for topic, subscription in found})


async def set_replicated(admin: AdminServices, request: Request) -> Reply:
    """Say whether other clusters are to have the subscription, too."""
    value = arguments.boolean(request)
    for topic, subscription in await found_in(admin, request):
        await storing(topic).set_properties(subscription, replicated=value)
    return done(("replicatedSubscriptionStatus",) if value else ())


async def skip_all(admin: AdminServices, request: Request) -> Reply:
    """Acknowledge the whole backlog of a subscription."""
    for topic, subscription in await found_in(admin, request):
        await storing(topic).skip(subscription)
    return done()


async def skip(admin: AdminServices, request: Request) -> Reply:
    """Skip a number of entries that are not acknowledged yet."""
    count = arguments.integer(request, "count", bits=32)
    await refuse_partitioned(admin, request, "Skip messages on a partitioned topic is not allowed")
    for topic, subscription in await found_in(admin, request):
        await storing(topic).skip(subscription, count)
    return done()


async def reset_to_time(admin: AdminServices, request: Request) -> Reply:
    """Reset to the first message published at a time, or later."""
    time_ms = arguments.integer(request, "timestamp")
    for topic, subscription in await found_in(admin, request):
        await storing(topic).seek_to_time(subscription, time_ms)
    return done()


async def reset_to_message(admin: AdminServices, request: Request) -> Reply:
    """Reset to a message: its id, "earliest" or "latest"."""
    at = arguments.place_to_go(request)
    await refuse_partitioned(
        admin, request, "Reset-cursor at position is not allowed for partitioned-topic"
    )
    for topic, subscription in await found_in(admin, request):
        await storing(topic).seek(subscription, at.message.position, excluded=at.excluded)
    return done()


async def analyze_backlog(admin: AdminServices, request: Request) -> Reply:
    """Count entries and messages of a backlog, by reading it. There are no filters."""
    at = arguments.place(request)
    await refuse_partitioned(
        admin,
        request,
        "Analyze backlog on a partitioned topic is not allowed, please try do it on specific topic "
        "partition",
    )
    [(topic, subscription)] = await found_in(admin, request)
    start = None if at is None else at.message.position
    found = await storing(topic).count_backlog(subscription, start)
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


async def topics_of(admin: AdminServices, name: TopicName) -> list[Topic]:
    """The topic, or its partitions. Raises TopicNotFound."""
    await admin.resources.require_namespace(name.namespace)
    if not await admin.resources.partitions(name):
        return [await admin.access.open(name)]
    names = await admin.access.created_partitions(name)
    return [await admin.access.open(each) for each in names]


async def _topics_to_subscribe(admin: AdminServices, name: TopicName) -> list[Topic]:
    """The same, created where they are missing and clients may create topics."""
    count = await admin.creation.partitions(name, create=True)
    names = [name.partition(index) for index in range(count)] or [name]
    return [await admin.access.create(each) for each in names]


async def found_in(admin: AdminServices, request: Request) -> list[tuple[Topic, Subscription]]:
    """The subscription, on the topic or on each of its partitions that has it."""
    asked, name = arguments.topic(request), arguments.subscription(request)
    found = [
        (topic, topic.subscriptions[name])
        for topic in await topics_of(admin, asked)
        if name in topic.subscriptions
    ]
    if not found:
        raise no_subscription(name, asked)
    return found


async def refuse_partitioned(admin: AdminServices, request: Request, reason: str) -> None:
    if await admin.resources.partitions(arguments.topic(request)):
        raise Rejection(405, reason)


_TOPIC = "/admin/v2/persistent/{tenant}/{namespace}/{topic}"
_ONE = f"{_TOPIC}/subscription/{{subscription}}"
ROUTES: Final = (
    Route("GET", f"{_TOPIC}/subscriptions", names, access=Access.CONSUME),
    Route("PUT", _ONE, create, takes=(JSON,), access=Access.CONSUME),
    Route("DELETE", _ONE, delete, access=Access.CONSUME),
    Route("GET", f"{_ONE}/properties", properties, access=Access.CONSUME),
    Route("PUT", f"{_ONE}/properties", set_properties, takes=(JSON,), access=Access.CONSUME),
    Route("GET", f"{_ONE}/replicatedSubscriptionStatus", replicated, access=Access.CONSUME),
    Route(
        "POST",
        f"{_ONE}/replicatedSubscriptionStatus",
        set_replicated,
        takes=(JSON,),
        access=Access.CONSUME,
    ),
    Route("POST", f"{_ONE}/skip_all", skip_all, access=Access.CONSUME),
    Route("POST", f"{_ONE}/skip/{{count}}", skip, access=Access.CONSUME),
    Route("POST", f"{_ONE}/resetcursor/{{timestamp}}", reset_to_time, access=Access.CONSUME),
    Route("POST", f"{_ONE}/resetcursor", reset_to_message, takes=(JSON,), access=Access.CONSUME),
    Route("POST", f"{_ONE}/analyzeBacklog", analyze_backlog, takes=(JSON,), access=Access.CONSUME),
)
