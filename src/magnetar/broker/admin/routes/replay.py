"""Messages that a subscription has acknowledged, once more: those that are wanted."""

from dataclasses import dataclass, field
from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.messages.entries import TurnTaker, entries_from, unpacked
from magnetar.broker.admin.messages.message_filter import MessageFilter
from magnetar.broker.admin.messages.page import SCANNED_ENTRIES_MAX, SCANNED_S_MAX
from magnetar.broker.admin.messages.shown import ShownMessages
from magnetar.broker.admin.owners import OfOneBroker
from magnetar.broker.admin.routes.messages import place_at, wanted_of
from magnetar.broker.admin.routes.redrive import (
    PARTITIONS_MAX,
    SAMPLE,
    read_body,
    truth,
    whole_number,
)
from magnetar.broker.admin.services import MessageServices
from magnetar.broker.admin.topic_access import TopicAccess, no_subscription
from magnetar.broker.topics.subscriptions.persistent_subscription import PersistentSubscription
from magnetar.broker.topics.topic import StoredTopic, storing
from magnetar.errors import MagnetarError, NotAllowed
from magnetar.model.names import TopicName
from magnetar.model.position import Position
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection, status_of
from magnetar.rest.exchange import JSON, Reply, Request, shown
from magnetar.rest.router import DRY_RUN, Route, reads

ENTRIES_MAX: Final = 5_000
"""Entries of one replay. A cursor's record has room for the ranges between them."""
COUNT: Final = 1_000
_FIELDS: Final = frozenset(
    {"from", "key", "filter", "properties", "since", "until", "count", "dryRun"}
)


@dataclass(slots=True)
class ReplayedTopic:
    """What comes again of one topic, or partition."""

    topic: TopicName
    positions: list[Position] = field(default_factory=list)


@dataclass(slots=True)
class ReplaySearch:
    """What is looked for, and how far; the same for all partitions."""

    wanted: MessageFilter
    start: str
    left: int  # Entries that may still be found.
    until: float  # By ``Clock.now``.
    messages: int = 0
    scanned: int = 0
    complete: bool = True
    sample: list[dict[str, Any]] = field(default_factory=list)


@reads(DRY_RUN)
async def replay(admin: MessageServices, request: Request) -> Reply:
    """Let a subscription have entries again, whole as they were published, or say which.

    Of a partitioned topic one partition after the other; nothing is done before all were looked at.
    """
    sent, topic = read_body(request, _FIELDS), arguments.topic(request)
    name, dry_run = arguments.subscription(request), truth(sent, "dryRun")
    search = ReplaySearch(
        wanted_of(sent),
        str(sent.get("from") or "earliest"),
        whole_number(sent, "count", COUNT, 1, ENTRIES_MAX),
        admin.clock.now() + SCANNED_S_MAX,
    )
    partitions = await _partitions(admin, topic, search)
    found: list[ReplayedTopic] = []
    async with admin.messages.reading:
        for source in [topic] if partitions is None else partitions:
            stored = storing(await admin.owners.access.open(source))
            subscription = stored.subscriptions.get(name)
            if subscription is None:
                continue
            if not subscription.durable:
                raise NotAllowed(f"Subscription {name} is a reader's, which goes back by itself")
            positions = await _positions(admin, stored, subscription, search)
            found.append(ReplayedTopic(source, positions))
            if not search.complete:
                break
    if not found:
        raise no_subscription(name, topic)
    if not dry_run:
        await replay_all(admin.owners.access, name, [each for each in found if each.positions])
    last = found[-1].positions
    answer: dict[str, Any] = {
        "entries": sum(len(each.positions) for each in found),
        "messages": search.messages,
        "scanned": search.scanned,
        "complete": search.complete,
        "dryRun": dry_run,
        "last": str(last[-1]) if last else None,
        "sample": search.sample,
    }
    if partitions is not None:
        answer["partitions"] = [
            {"topic": str(each.topic), "entries": len(each.positions)} for each in found
        ]
    return shown(answer)


async def _partitions(
    admin: MessageServices, topic: TopicName, search: ReplaySearch
) -> list[TopicName] | None:
    """Those of a partitioned topic; None for any other. Raises Rejection, NotAllowed."""
    count = await admin.resources.partitions(topic)
    if not count:
        return None
    if count > PARTITIONS_MAX:
        raise NotAllowed(
            f"{topic} has {count} partitions, of which {PARTITIONS_MAX} are replayed together: "
            f"replay each, as {topic.partition(0)}"
        )
    if ":" in search.start and "-" not in search.start:
        raise Rejection(
            400, f"{search.start} is a place in one partition: replay that, or say a time"
        )
    return await admin.owners.access.created_partitions(topic)


async def _positions(
    admin: MessageServices,
    topic: StoredTopic,
    subscription: PersistentSubscription,
    search: ReplaySearch,
) -> list[Position]:
    """Look in one log for entries that have what is wanted."""
    log, found = topic.log, list[Position]()
    showing = ShownMessages(topic.name, admin.schema_registry)
    slices = TurnTaker(admin.clock)
    first = (await place_at(log, search.start, backwards=False)).position
    async for position, entry in entries_from(log, first, log.end):
        looked_enough = search.scanned >= SCANNED_ENTRIES_MAX or admin.clock.now() > search.until
        if not search.left or looked_enough:
            search.complete = False
            break
        search.scanned += 1
        if log.pending(subscription, position):
            continue  # It will come anyway.
        inside = await unpacked(position, entry, slices)
        messages = [each for each in inside if search.wanted.takes(each)]
        if messages:
            found.append(position)
            search.left -= 1
            search.messages += len(messages)
            search.sample += await showing.all(messages[: SAMPLE - len(search.sample)])
    return found


async def replay_all(access: TopicAccess, name: str, found: list[ReplayedTopic]) -> None:
    """Let a subscription have what was found. Raises Rejection, which says of which partitions."""
    for index, each in enumerate(found):
        try:
            topic = storing(await access.open(each.topic))
            if name not in topic.subscriptions:
                raise no_subscription(name, each.topic)
            await topic.log.replay(topic.subscriptions[name], each.positions)
        except MagnetarError as error:
            if len(found) == 1:
                raise
            done = sum(len(one.positions) for one in found[:index])
            left = sum(len(one.positions) for one in found[index:])
            raise Rejection(
                status_of(error),
                f"{each.topic}: {error}. {done} entries of the partitions before it come "
                f"again, {left} of it and of those behind it do not: send the same once more, what "
                "comes anyway is left out",
            ) from error


SERVICES: Final = MessageServices
ROUTES: Final = (
    Route(
        "POST",
        "/admin/v2/persistent/{tenant}/{namespace}/{topic}/subscription/{subscription}/replay",
        replay,
        Access.CONSUME,
        OfOneBroker(),
        takes=(JSON,),
    ),
)
