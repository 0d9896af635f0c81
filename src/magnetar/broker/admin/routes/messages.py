"""Messages as an operator looks at them; no subscription notices. Pulsar has no such routes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, Self

from magnetar.auth.access import Access
from magnetar.broker.admin.messages import merged
from magnetar.broker.admin.messages.dead_letters import is_pending
from magnetar.broker.admin.messages.message_filter import MessageFilter, time_ms
from magnetar.broker.admin.messages.page import COUNT_MAX, PageCursor, find_page
from magnetar.broker.admin.messages.shown import ShownMessages
from magnetar.broker.admin.messages.stored import StoredMessage, id_json
from magnetar.broker.admin.messages.tail import Tail
from magnetar.broker.admin.owners import (
    OfOneBroker,
    OfTopicOrRecord,
    by_name,
    granted,
    of_partition,
)
from magnetar.broker.admin.services import MessageServices
from magnetar.broker.admin.topic_access import no_subscription
from magnetar.broker.topics.log.topic_log import TopicLog
from magnetar.broker.topics.topic import StoredTopic
from magnetar.errors import InvalidValue, NotAllowed
from magnetar.late_dataclass import dataclass
from magnetar.model import jackson
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import EVENTS, Reply, Request, shown
from magnetar.rest.router import ANY, Query, Route, reads

_WANTED: Final = tuple(map(Query, ("key", "filter", "since", "until")))
COUNT: Final = 20
"""Messages of a page where nothing is said."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request for a page of messages."""

    start: str
    count: int
    backwards: bool
    wanted: MessageFilter
    subscription: str | None  # Only what it has not acknowledged.

    @classmethod
    def of(cls, request: Request) -> Self:
        """Raises Rejection, InvalidValue."""
        start = request.query.get("from", "").strip()
        backwards = request.flag("backwards", default=start in ("", "latest"))
        count = arguments.parameter(request, "count")
        if count is not None and not 1 <= count <= COUNT_MAX:
            raise Rejection(412, f"count is {count}: a page has 1 to {COUNT_MAX} messages")
        start = start or ("latest" if backwards else "earliest")
        subscription = request.query.get("subscription")
        return cls(start, count or COUNT, backwards, wanted_of(request.query), subscription)


def wanted_of(said: Any) -> MessageFilter:
    """Which messages a query, or a body, asks for. Raises InvalidValue."""
    since, until = said.get("since"), said.get("until")
    properties = jackson.text_map(said.get("properties") or {}, "properties")
    return MessageFilter(
        jackson.text(said.get("key"), "key"),
        jackson.text(said.get("filter"), "filter") or "",
        tuple(properties.items()),
        since_ms=None if since is None else time_ms(str(since)),
        until_ms=None if until is None else time_ms(str(until)),
    )


@reads(
    Query("from"),
    Query("count", "integer"),
    Query("backwards", "boolean"),
    Query("subscription"),
    *_WANTED,
)
async def browse(admin: MessageServices, request: Request, topic: StoredTopic | None) -> Reply:
    """A page of messages; what was found, where to go on, and how far was looked."""
    asked = PageRequest.of(request)
    if topic is None:
        return shown(await _of_partitions(admin, request, asked))
    if "=" in asked.start:
        raise InvalidValue(f"{topic.name} has 0 partitions: {asked.start!r:.80} names others")
    async with admin.messages.reading:
        page = await find_page(
            topic.log,
            admin.clock,
            await place_at(topic.log, asked.start, backwards=asked.backwards),
            count=asked.count,
            backwards=asked.backwards,
            wanted=_taken(asked, topic),
            may_have=asked.wanted.may_be_in,
        )
        messages = await ShownMessages(topic.name, admin.schema_registry).all(page.messages)
    ends = {"first": page.scan.first, "last": page.scan.last}
    scanned = {
        "entries": page.scan.entries,
        "messages": page.scan.messages,
        "bytes": page.scan.bytes,
        "complete": page.next is None,
        **{
            name: message and {"id": id_json(message, -1), "publishTime": message.publish_time_ms}
            for name, message in ends.items()
        },
    }
    going_on = None if page.next is None else str(page.next)
    return shown({"messages": messages, "next": going_on, "scanned": scanned})


async def _of_partitions(
    admin: MessageServices, request: Request, asked: PageRequest
) -> dict[str, Any]:
    """The pages of all partitions as one. Raises Rejection, InvalidValue, NotAllowed."""
    topic = arguments.topic(request)
    count = await admin.resources.partitions(topic)
    places: dict[int, str] = {}
    if "=" in asked.start:
        places = {index: str(place) for index, place in merged.places_of(asked.start).items()}
        if not (places.keys() <= set(range(count))):
            raise InvalidValue(f"{topic} has {count} partitions: {asked.start!r:.80} names others")
    elif count > merged.PARTITIONS_MAX:
        raise NotAllowed(
            f"{topic} has {count} partitions, of which {merged.PARTITIONS_MAX} are looked at "
            f"together: ask for one, as {topic.partition(0)}"
        )
    names = list(map(topic.partition, places)) or await admin.owners.partitions(topic)

    def page(name: TopicName) -> Request:
        start = places.get(name.partition_index, asked.start)
        query = {**request.query, "from": start, "backwards": str(asked.backwards).lower()}
        return replace(of_partition(request, name), query=query)

    answers = await admin.owners.ask_all(names, page)
    if answers and not granted(answers) and asked.subscription:
        raise no_subscription(asked.subscription, topic)
    pages = {TopicName.parse(name).partition_index: each for name, each in by_name(answers).items()}
    return merged.merged(pages, asked.count, backwards=asked.backwards)


def _taken(asked: PageRequest, topic: StoredTopic) -> Callable[[StoredMessage], bool]:
    """Raises SubscriptionNotFound."""
    if asked.subscription is None:
        return asked.wanted.takes
    subscription = topic.subscriptions.get(asked.subscription)
    if subscription is None:
        raise no_subscription(asked.subscription, topic.name)

    def takes(message: StoredMessage) -> bool:
        left = topic.log.pending(subscription, message.position)
        return is_pending(left, message.batch_index) and asked.wanted.takes(message)

    return takes


@reads(*_WANTED)
async def tail(admin: MessageServices, request: Request) -> Reply:
    """What is published from now on, as server-sent events; ``filter`` and ``key`` as of a page."""
    topic, wanted = arguments.topic(request), wanted_of(request.query)
    for name in await admin.owners.access.created_partitions(topic) or [topic]:
        await admin.owners.access.open(name)  # Whoever misspells it is told at once.
    names = await admin.owners.access.partitions(topic) or [topic]

    def logs() -> dict[TopicName, TopicLog]:
        # What is not loaded has nobody who publishes to it.
        loaded = ((name, admin.topics.loaded.get(name)) for name in names)
        return {name: each.stored.log for name, each in loaded if each and each.stored}

    stream = Tail(
        admin.messages,
        logs,
        lambda name: ShownMessages(name, admin.schema_registry),
        wanted,
        admin.clock,
    )
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return Reply(200, content_type=EVENTS, headers=headers, stream=stream)


async def place_at(log: TopicLog, start: str, *, backwards: bool) -> PageCursor:
    """Where ``earliest``, ``latest``, a message's id or a time is. Raises InvalidValue."""
    if start == "earliest":
        return PageCursor(*EARLIEST)
    if start == "latest":
        return PageCursor(*log.end)
    if ":" in start and "-" not in start:
        return merged.places_of(start)[-1]
    time = time_ms(start)
    if not backwards:
        return PageCursor(*await log.position_at(time))
    behind = await log.position_at(time + 1)
    return PageCursor(*(log.back(behind, 1) if behind > log.first else EARLIEST))


_ALL: Final = "/admin/v2/persistent/{tenant}/{namespace}/{topic}/messages"
SERVICES: Final = MessageServices
ROUTES: Final = (
    Route("GET", _ALL, browse, Access.CONSUME, OfTopicOrRecord()),
    Route(
        "GET", f"{_ALL}/tail", tail, Access.CONSUME, OfOneBroker("a tail is one stream"), gives=ANY
    ),
)
