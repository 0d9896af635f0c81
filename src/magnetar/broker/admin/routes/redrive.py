"""Dead letters back to where they came from: a dry run, the redrive, and how it stands."""

from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.messages.page import SCANNED_S_MAX
from magnetar.broker.admin.messages.redrive import (
    COUNT_MAX,
    Redrive,
    RedriveOrder,
)
from magnetar.broker.admin.messages.redrive_progress import Progress
from magnetar.broker.admin.messages.shown import ShownMessages
from magnetar.broker.admin.owners import OfOneBroker
from magnetar.broker.admin.routes.messages import wanted_of
from magnetar.broker.admin.services import MessageServices
from magnetar.broker.admin.topic_access import no_subscription
from magnetar.broker.topics.topic import storing
from magnetar.errors import NotAllowed, NotAuthorized
from magnetar.model import jackson
from magnetar.model.names import TopicName
from magnetar.model.process_status import ProcessStatus
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import DRY_RUN, Route, reads

COUNT: Final = 1_000
RATE: Final = 1_000
RATE_MAX: Final = 100_000
"""Letters in a second."""
SAMPLE: Final = 10
PARTITIONS_MAX: Final = 1_000
"""Partitions whose letters one redrive sends back, or whose messages one replay looks at."""
_FIELDS: Final = frozenset(
    {
        "subscription",
        "to",
        "key",
        "filter",
        "properties",
        "since",
        "until",
        "count",
        "rate",
        "dryRun",
        "force",
    }
)


@reads(DRY_RUN)
async def start(admin: MessageServices, request: Request) -> Reply:
    """Begin to send letters back, or say which they would be."""
    sent = read_body(request, _FIELDS)
    topic = arguments.topic(request)
    redrive = Redrive(await _order(admin, request, topic, sent), admin, request)
    await redrive.check()  # What nobody may, or cannot be, is said before anything begins.
    if truth(sent, "dryRun"):
        return shown(await _dry_run(admin, redrive))
    admin.messages.start_redrive(topic, redrive.progress, redrive.run)
    answer = shown(redrive.progress.shown())
    answer.status = 202
    return answer


async def status(admin: MessageServices, request: Request) -> Reply:
    progress = admin.messages.redrive_of(arguments.topic(request))
    return shown((progress or Progress(ProcessStatus.NOT_RUN)).shown())


async def stop(admin: MessageServices, request: Request) -> Reply:
    """What was sent back stays so."""
    await admin.messages.stop_redrive(arguments.topic(request))
    return done()


def read_body(request: Request, known: frozenset[str]) -> dict[str, Any]:
    """What a body says; ``dryRun=true`` may be in the query, too. Raises Rejection."""
    sent = arguments.json_object(request) or {}
    unknown = sorted(sent.keys() - known)
    if unknown:
        raise Rejection(400, f"{', '.join(unknown)} is none of {', '.join(sorted(known))}")
    if "dryRun" in request.query:
        sent["dryRun"] = request.flag("dryRun")
    return sent


def truth(sent: dict[str, Any], name: str) -> bool:
    found = arguments.read(jackson.truth, sent.get(name, False), name)
    if found is None:
        raise Rejection(400, f"{name} is true or false")
    return found


def whole_number(sent: dict[str, Any], name: str, default: int, least: int, most: int) -> int:
    value = arguments.whole(sent.get(name, default), name)
    if not least <= value <= most:
        raise Rejection(400, f"{name} is a whole number from {least} to {most}")
    return value


async def _order(
    admin: MessageServices, request: Request, topic: TopicName, sent: dict[str, Any]
) -> RedriveOrder:
    count = await admin.resources.partitions(topic)
    if count > PARTITIONS_MAX:
        raise NotAllowed(
            f"{topic} has {count} partitions, of which {PARTITIONS_MAX} are redriven together: "
            f"send the letters of each back, as those of {topic.partition(0)}"
        )
    sources = await admin.owners.access.created_partitions(topic) if count else [topic]
    to, force, wanted = sent.get("to"), truth(sent, "force"), wanted_of(sent)
    if to is not None and not isinstance(to, str):
        raise Rejection(400, "to is the name of a topic")
    return RedriveOrder(
        topic,
        sources,
        await _subscription_name(admin, request, topic, sources, sent.get("subscription")),
        wanted,
        None if to is None else TopicName.parse(to),
        whole_number(sent, "count", COUNT, 1, COUNT_MAX),
        whole_number(sent, "rate", RATE, 0, RATE_MAX),
        force=force,
    )


async def _subscription_name(
    admin: MessageServices,
    request: Request,
    topic: TopicName,
    sources: list[TopicName],
    named: Any,
) -> str | None:
    """Which one has the letters, which are acknowledged on it.

    Raises SubscriptionNotFound, Rejection, and NotAuthorized where that is for others to do.
    """
    if named is not None and not isinstance(named, str):
        raise Rejection(400, "subscription is the name of one")
    durable: set[str] = set()
    for source in sources:
        stored = storing(await admin.owners.access.open(source))
        durable.update(each.name for each in stored.subscriptions.values() if each.durable)
    if named is not None and named not in durable:
        raise no_subscription(named, topic)
    if named is None and len(durable) > 1:
        names = ", ".join(sorted(durable))
        raise Rejection(412, f"Say with subscription whose letters are meant: {names}")
    name = named or next(iter(durable), None)
    rights = admin.authorization
    if (
        rights
        and name
        and not await rights.may(request, Access.CONSUME, topic=topic, subscription=name)
    ):
        raise NotAuthorized(f"Don't have permission to use the subscription {name} of {topic}")
    return name


async def _dry_run(admin: MessageServices, redrive: Redrive) -> dict[str, Any]:
    async with admin.messages.reading:
        found = await redrive.look(SAMPLE, admin.clock.now() + SCANNED_S_MAX)
        sample = [
            await ShownMessages(source, admin.schema_registry).one(letter.message)
            | {"to": str(target)}
            for source, letter, target in found
        ]
    return redrive.progress.shown() | {"dryRun": True, "sample": sample}


_ONE: Final = "/admin/v2/persistent/{tenant}/{namespace}/{topic}/redrive"
_ONE_BROKER: Final = OfOneBroker("the count and the rate of a redrive are kept by one")
SERVICES: Final = MessageServices
ROUTES: Final = (
    Route("POST", _ONE, start, Access.CONSUME, _ONE_BROKER, takes=(JSON,)),
    Route("GET", _ONE, status, Access.CONSUME, _ONE_BROKER),
    Route("DELETE", _ONE, stop, Access.CONSUME, _ONE_BROKER),
)
