"""Messages that a subscription has acknowledged, once more: those that are wanted."""

import json
from dataclasses import field
from typing import Any, Final
from urllib.parse import quote

from magnetar.auth.access import Access
from magnetar.broker.admin.messages.entries import TurnTaker, entries_from, unpacked
from magnetar.broker.admin.messages.message_filter import MessageFilter
from magnetar.broker.admin.messages.page import SCANNED_ENTRIES_MAX, SCANNED_S_MAX
from magnetar.broker.admin.messages.shown import ShownMessages
from magnetar.broker.admin.owners import OfTopicOrRecord, reason_of
from magnetar.broker.admin.routes.messages import place_at, wanted_of
from magnetar.broker.admin.routes.redrive import (
    PARTITIONS_MAX,
    SAMPLE,
    read_body,
    truth,
    whole_number,
)
from magnetar.broker.admin.services import MessageServices
from magnetar.broker.admin.topic_access import no_subscription
from magnetar.broker.topics.subscriptions.persistent_subscription import PersistentSubscription
from magnetar.broker.topics.topic import StoredTopic
from magnetar.errors import NotAllowed
from magnetar.late_dataclass import dataclass
from magnetar.model.names import TopicName
from magnetar.model.position import Position
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, shown
from magnetar.rest.router import DRY_RUN, Route, reads

ENTRIES_MAX: Final = 5_000
"""Entries of one replay. A cursor's record has room for the ranges between them."""
COUNT: Final = 1_000
_FIELDS: Final = frozenset(
    {"from", "key", "filter", "properties", "since", "until", "count", "dryRun"}
)


@dataclass(slots=True)
class ReplaySearch:
    """What is looked for, and how far."""

    wanted: MessageFilter
    start: str
    left: int  # Entries that may still be found.
    until: float  # By ``Clock.now``.
    messages: int = 0
    scanned: int = 0
    complete: bool = True
    sample: list[dict[str, Any]] = field(default_factory=list)


@reads(DRY_RUN)
async def replay(admin: MessageServices, request: Request, topic: StoredTopic | None) -> Reply:
    """Let a subscription have entries again, whole as they were published, or say which."""
    sent, name = read_body(request, _FIELDS), arguments.subscription(request)
    dry_run, count = truth(sent, "dryRun"), whole_number(sent, "count", COUNT, 1, ENTRIES_MAX)
    search = ReplaySearch(
        wanted_of(sent),
        str(sent.get("from") or "earliest"),
        count,
        admin.clock.now() + SCANNED_S_MAX,
    )
    if topic is None:
        return shown(await _of_partitions(admin, request, sent, search, dry_run=dry_run))
    subscription = topic.subscriptions.get(name)
    if subscription is None:
        raise no_subscription(name, topic.name)
    if not subscription.durable:
        raise NotAllowed(f"Subscription {name} is a reader's, which goes back by itself")
    async with admin.messages.reading:
        positions = await _positions(admin, topic, subscription, search)
    if not dry_run and positions:
        await topic.log.replay(subscription, positions)
    return shown(
        {
            "entries": len(positions),
            "messages": search.messages,
            "scanned": search.scanned,
            "complete": search.complete,
            "dryRun": dry_run,
            "last": str(positions[-1]) if positions else None,
            "sample": search.sample,
        }
    )


async def _of_partitions(
    admin: MessageServices,
    request: Request,
    sent: dict[str, Any],
    search: ReplaySearch,
    *,
    dry_run: bool,
) -> dict[str, Any]:
    """Ask the owners of the partitions, one after the other: first all of them which it would be.

    Raises SubscriptionNotFound, Rejection, NotAllowed.
    """
    topic, name = arguments.topic(request), arguments.subscription(request)
    found: dict[TopicName, dict[str, Any]] = {}
    for partition in await _partitions(admin, topic, search.start):
        order = {**sent, "count": max(search.left, 1), "dryRun": True}
        reply = await _ask(admin, partition, name, order)
        if reply.status == 404:
            continue
        if reply.status >= 400:
            raise Rejection(reply.status, f"{partition}: {reason_of(reply)}")
        page = json.loads(reply.body)
        if search.left:
            found[partition] = page
            search.left -= page["entries"]
            search.messages += page["messages"]
            search.sample += page["sample"][: SAMPLE - len(search.sample)]
        elif page["entries"]:
            page["complete"] = False  # There is more than was asked for.
        search.scanned += page["scanned"]
        search.complete = page["complete"] and admin.clock.now() <= search.until
        if not search.complete:
            break
    if not found:
        raise no_subscription(name, topic)
    counts = {partition: page["entries"] for partition, page in found.items()}
    if not dry_run:
        await _replay_all(admin, name, sent, {each: some for each, some in counts.items() if some})
    return {
        "entries": sum(counts.values()),
        "messages": search.messages,
        "scanned": search.scanned,
        "complete": search.complete,
        "dryRun": dry_run,
        "last": list(found.values())[-1]["last"],
        "sample": search.sample,
        "partitions": [{"topic": str(each), "entries": some} for each, some in counts.items()],
    }


async def _replay_all(
    admin: MessageServices, name: str, sent: dict[str, Any], counts: dict[TopicName, int]
) -> None:
    """Let a subscription have what was found. Raises Rejection, which says of which partitions."""
    done = 0
    for partition, count in counts.items():
        reply = await _ask(admin, partition, name, {**sent, "count": count, "dryRun": False})
        if reply.status >= 400:
            raise Rejection(
                reply.status,
                f"{partition}: {reason_of(reply)}. {done} entries of the partitions before it come "
                f"again, {sum(counts.values()) - done} of it and of those behind it do not: send "
                "the same once more, what comes anyway is left out",
            )
        done += count


async def _ask(
    admin: MessageServices, partition: TopicName, name: str, order: dict[str, Any]
) -> Reply:
    rest = f"/subscription/{quote(name, safe='')}/replay"
    return await admin.owners.ask_topic(partition, "POST", rest, body=order)


async def _partitions(admin: MessageServices, topic: TopicName, start: str) -> list[TopicName]:
    """Raises Rejection, NotAllowed."""
    count = await admin.resources.partitions(topic)
    if count > PARTITIONS_MAX:
        raise NotAllowed(
            f"{topic} has {count} partitions, of which {PARTITIONS_MAX} are replayed together: "
            f"replay each, as {topic.partition(0)}"
        )
    if ":" in start and "-" not in start:
        raise Rejection(400, f"{start} is a place in one partition: replay that, or say a time")
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


SERVICES: Final = MessageServices
ROUTES: Final = (
    Route(
        "POST",
        "/admin/v2/persistent/{tenant}/{namespace}/{topic}/subscription/{subscription}/replay",
        replay,
        Access.CONSUME,
        OfTopicOrRecord(),
        takes=(JSON,),
    ),
)
