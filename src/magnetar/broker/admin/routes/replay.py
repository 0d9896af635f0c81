"""Messages that a subscription has acknowledged, once more: those that are wanted."""

from typing import Any, Final

from magnetar.broker.admin import arguments
from magnetar.broker.admin.errors import Rejection
from magnetar.broker.admin.exchange import JSON, Reply, Request, shown
from magnetar.broker.admin.messages.page import (
    SCANNED_ENTRIES_MAX,
    SCANNED_S_MAX,
    Slices,
    entries_from,
    unpacked,
)
from magnetar.broker.admin.messages.shown import ShownMessages
from magnetar.broker.admin.router import Route, reads
from magnetar.broker.admin.routes.messages import place_at, wanted_of
from magnetar.broker.admin.routes.redrive import DRY_RUN, SAMPLE, read_body, truth, whole_number
from magnetar.broker.admin.services import AdminServices
from magnetar.broker.admin.topic_access import no_subscription
from magnetar.broker.auth.access import Access
from magnetar.errors import NotAllowed
from magnetar.model.position import Position

ENTRIES_MAX: Final = 5_000
"""Entries of one replay. A cursor's record has room for the ranges between them."""
COUNT: Final = 1_000
_FIELDS: Final = frozenset(
    {"from", "key", "filter", "properties", "since", "until", "count", "dryRun"}
)


@reads(DRY_RUN)
async def replay(admin: AdminServices, request: Request) -> Reply:
    """Let a subscription have entries again, whole as they were published, or say which."""
    sent, topic = read_body(request, _FIELDS), arguments.topic(request)
    if await admin.resources.partitions(topic):
        raise Rejection(405, f"{topic} is partitioned: replay each partition, one by one")
    stored = await admin.access.open_stored(topic)
    name = arguments.subscription(request)
    subscription = stored.subscriptions.get(name)
    if subscription is None:
        raise no_subscription(name, topic)
    if not subscription.durable:
        raise NotAllowed(f"Subscription {name} is a reader's, which goes back by itself")
    wanted, log = wanted_of(sent), stored.log
    count = whole_number(sent, "count", COUNT, 1, ENTRIES_MAX)
    dry_run, start = truth(sent, "dryRun"), str(sent.get("from") or "earliest")
    positions: list[Position] = []
    sample: list[dict[str, Any]] = []
    messages, scanned, complete = 0, 0, True
    showing, slices = ShownMessages(topic, admin.schema_registry), Slices(admin.clock)
    deadline = admin.clock.now() + SCANNED_S_MAX
    async with admin.messages.reading:
        first = (await place_at(log, start, backwards=False)).position
        async for position, entry in entries_from(log, first, log.end):
            if (
                len(positions) >= count
                or scanned >= SCANNED_ENTRIES_MAX
                or admin.clock.now() > deadline
            ):
                complete = False
                break
            scanned += 1
            if log.left(subscription, position):
                continue  # It will come anyway.
            inside = await unpacked(position, entry, slices)
            found = [each for each in inside if wanted.takes(each)]
            if found:
                positions.append(position)
                messages += len(found)
                sample += await showing.all(found[: SAMPLE - len(sample)])
    if positions and not dry_run:
        await log.replay(subscription, positions)
    return shown(
        {
            "entries": len(positions),
            "messages": messages,
            "scanned": scanned,
            "complete": complete,
            "dryRun": dry_run,
            "last": str(positions[-1]) if positions else None,
            "sample": sample,
        }
    )


ROUTES: Final = (
    Route(
        "POST",
        "/admin/v2/persistent/{tenant}/{namespace}/{topic}/subscription/{subscription}/replay",
        replay,
        takes=(JSON,),
        access=Access.CONSUME,
    ),
)
