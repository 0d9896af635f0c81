"""Messages as an operator looks at them; no subscription notices. Pulsar has no such routes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Self

from magnetar.auth.access import Access
from magnetar.broker.admin.messages import merged
from magnetar.broker.admin.messages.letters import is_pending
from magnetar.broker.admin.messages.page import COUNT_MAX, Page, Place, find_page
from magnetar.broker.admin.messages.shown import ShownMessages
from magnetar.broker.admin.messages.stored import StoredMessage, id_json
from magnetar.broker.admin.messages.tail import Tail
from magnetar.broker.admin.messages.wanted import Wanted, time_ms
from magnetar.broker.admin.services import AdminServices
from magnetar.broker.admin.topic_access import no_subscription
from magnetar.broker.topics.log.topic_log import TopicLog
from magnetar.broker.topics.topic import StoredTopic
from magnetar.errors import InvalidValue, NotAllowed
from magnetar.model import jackson
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Reply, Request, shown
from magnetar.rest.router import ANY, Query, Route, reads

EVENTS: Final = "text/event-stream"
_WANTED: Final = tuple(map(Query, ("key", "filter", "since", "until")))
COUNT: Final = 20
"""Messages of a page where nothing is said."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request for a page says."""

    start: str
    count: int
    backwards: bool
    wanted: Wanted
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


def wanted_of(said: Any) -> Wanted:
    """Which messages a query, or a body, asks for. Raises InvalidValue."""
    since, until = said.get("since"), said.get("until")
    properties = jackson.text_map(said.get("properties") or {}, "properties")
    return Wanted(
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
async def browse(admin: AdminServices, request: Request) -> Reply:
    """A page of messages; what was found, where to go on, and how far was looked."""
    topic, asked = arguments.topic(request), Asked.of(request)
    pages: dict[int, Page] = {}
    async with admin.messages.reading:
        for name, place in (await _places(admin, topic, asked)).items():
            stored = await admin.access.open_stored(name)
            log = stored.log
            start = place or await place_at(log, asked.start, backwards=asked.backwards)
            pages[name.partition_index] = await find_page(
                log,
                admin.clock,
                start,
                count=asked.count,
                backwards=asked.backwards,
                wanted=_taken(asked, stored),
                may_have=asked.wanted.may_be_in,
            )
        found, places = merged.merged(pages, asked.count, backwards=asked.backwards)
        showing = {
            partition: ShownMessages(
                topic if partition < 0 else topic.partitioned_name.partition(partition),
                admin.schema_registry,
            )
            for partition in pages
        }
        messages = [await showing[partition].one(message) for partition, message in found]
    return shown(
        {"messages": messages, "next": merged.token(places), "scanned": _scanned(pages, places)}
    )


def _taken(asked: Asked, topic: StoredTopic) -> Callable[[StoredMessage], bool]:
    """Raises SubscriptionNotFound."""
    if asked.subscription is None:
        return asked.wanted.takes
    subscription = topic.subscriptions.get(asked.subscription)
    if subscription is None:
        raise no_subscription(asked.subscription, topic.name)

    def takes(message: StoredMessage) -> bool:
        left = topic.log.left(subscription, message.position)
        return is_pending(left, message.batch_index) and asked.wanted.takes(message)

    return takes


@reads(*_WANTED)
async def tail(admin: AdminServices, request: Request) -> Reply:
    """What is published from now on, as server-sent events; ``filter`` and ``key`` as of a page."""
    topic, wanted = arguments.topic(request), wanted_of(request.query)
    for name in await admin.access.created_partitions(topic) or [topic]:
        await admin.access.open_stored(name)  # Whoever misspells it is told at once.
    names = await admin.access.partitions(topic) or [topic]

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


async def place_at(log: TopicLog, start: str, *, backwards: bool) -> Place:
    """Where ``earliest``, ``latest``, a message's id or a time is. Raises InvalidValue."""
    if start == "earliest":
        return Place(*EARLIEST)
    if start == "latest":
        return Place(*log.end)
    if ":" in start and "-" not in start:
        return merged.places_of(start)[-1]
    time = time_ms(start)
    if not backwards:
        return Place(*await log.position_at(time))
    behind = await log.position_at(time + 1)
    return Place(*(log.back(behind, 1) if behind > log.first else EARLIEST))


async def _places(
    admin: AdminServices, topic: TopicName, asked: Asked
) -> dict[TopicName, Place | None]:
    """The topic, or its partitions, and where to begin in each; None: at what was asked."""
    count = await admin.resources.partitions(topic)
    if "=" in asked.start:
        places = merged.places_of(asked.start)
        if not (places.keys() <= set(range(count))):
            raise InvalidValue(f"{topic} has {count} partitions: {asked.start!r:.80} names others")
        return {topic.partition(index): place for index, place in places.items()}
    if not count:
        return {topic: None}
    if count > merged.PARTITIONS_MAX:
        raise NotAllowed(
            f"{topic} has {count} partitions, of which {merged.PARTITIONS_MAX} are looked at "
            f"together: ask for one, as {topic.partition(0)}"
        )
    return dict.fromkeys(await admin.access.created_partitions(topic))


def _scanned(pages: dict[int, Page], places: dict[int, Place]) -> dict[str, Any]:
    total = merged.scanned(pages)
    ends = {"first": total.first, "last": total.last}
    return {
        "entries": total.entries,
        "messages": total.messages,
        "bytes": total.bytes,
        "complete": not places,
        **{
            name: message and {"id": id_json(message, -1), "publishTime": message.publish_time_ms}
            for name, message in ends.items()
        },
    }


_ALL: Final = "/admin/v2/persistent/{tenant}/{namespace}/{topic}/messages"
ROUTES: Final = (
    Route("GET", _ALL, browse, access=Access.CONSUME),
    Route("GET", f"{_ALL}/tail", tail, gives=ANY, access=Access.CONSUME),
)
