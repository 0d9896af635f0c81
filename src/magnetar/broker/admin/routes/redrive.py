"""Dead letters back to where they came from: a dry run, the redrive, and how it stands."""

from functools import partial
from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.messages.page import SCANNED_S_MAX
from magnetar.broker.admin.messages.redrive import (
    COUNT_MAX,
    Redrive,
    RedriveOrder,
    RedriveOrders,
    planned,
)
from magnetar.broker.admin.messages.redrive_progress import Progress
from magnetar.broker.admin.messages.shown import ShownMessages
from magnetar.broker.admin.owners import OfOneBroker
from magnetar.broker.admin.routes.messages import wanted_of
from magnetar.broker.admin.services import AdminServices
from magnetar.broker.admin.topic_access import no_subscription
from magnetar.broker.topics.subscriptions.subscription import Subscription
from magnetar.broker.topics.topic import StoredTopic, Topic, storing
from magnetar.errors import ConsumerBusy, MagnetarError, NotAllowed, NotAuthorized
from magnetar.model import jackson
from magnetar.model.hashing import java_string_hash
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
async def start(admin: AdminServices, request: Request) -> Reply:
    """Begin to send letters back, or say which they would be."""
    sent = read_body(request, _FIELDS)
    topic = arguments.topic(request)
    orders = await _orders(admin, request, topic, sent)
    for name in orders.sources:
        await orders.order(name)  # What nobody may, or cannot be, is said before anything begins.
    if truth(sent, "dryRun"):
        return shown(await _dry_run(admin, request, topic, orders))
    admin.messages.check_redrive(topic)
    redrive = Redrive(
        orders,
        admin.clock,
        resolve=partial(_resolve, admin, request, topic),
        open_topic=partial(_open, admin),
        is_open=lambda stored: admin.topics.loaded.get(stored.name) is stored,
        registry=admin.schema_registry,
        schemas=admin.schemas,
    )
    admin.messages.start_redrive(topic, redrive)
    answer = shown(redrive.progress.shown())
    answer.status = 202
    return answer


async def status(admin: AdminServices, request: Request) -> Reply:
    redrive = admin.messages.redrive_of(arguments.topic(request))
    progress = Progress(ProcessStatus.NOT_RUN) if redrive is None else redrive.progress
    return shown(progress.shown())


async def stop(admin: AdminServices, request: Request) -> Reply:
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


async def _orders(
    admin: AdminServices, request: Request, topic: TopicName, sent: dict[str, Any]
) -> RedriveOrders:
    count = await admin.resources.partitions(topic)
    if count > PARTITIONS_MAX:
        raise NotAllowed(
            f"{topic} has {count} partitions, of which {PARTITIONS_MAX} are redriven together: "
            f"send the letters of each back, as those of {topic.partition(0)}"
        )
    sources = await admin.access.created_partitions(topic) if count else [topic]
    to, force, wanted = sent.get("to"), truth(sent, "force"), wanted_of(sent)
    if to is not None and not isinstance(to, str):
        raise Rejection(400, "to is the name of a topic")
    target = None if to is None else TopicName.parse(to)
    name = await _subscription_name(admin, topic, sources, sent.get("subscription"))
    await _check_subscription(admin, request, topic, name)

    async def order(source: TopicName) -> RedriveOrder | None:
        stored = storing(await admin.access.open(source))
        if name is None:
            return RedriveOrder(stored, None, wanted, target)
        subscription = _durable(stored, name)
        if subscription is None:
            return None  # This partition has none of these letters.
        if subscription.consumers and not force:
            raise ConsumerBusy(
                f"Subscription {name} has connected consumers, which may have some of these "
                "letters already: stop them, or send force"
            )
        return RedriveOrder(stored, subscription, wanted, target)

    return RedriveOrders(
        sources,
        order,
        whole_number(sent, "count", COUNT, 1, COUNT_MAX),
        whole_number(sent, "rate", RATE, 0, RATE_MAX),
        partitioned=count > 0,
    )


async def _subscription_name(
    admin: AdminServices, topic: TopicName, sources: list[TopicName], named: Any
) -> str | None:
    """Which one has the letters. Raises SubscriptionNotFound, Rejection."""
    if named is not None and not isinstance(named, str):
        raise Rejection(400, "subscription is the name of one")
    durable: set[str] = set()
    for source in sources:
        stored = storing(await admin.access.open(source))
        durable.update(each.name for each in stored.subscriptions.values() if each.durable)
    if named is not None:
        if named not in durable:
            raise no_subscription(named, topic)
        return named
    if len(durable) > 1:
        names = ", ".join(sorted(durable))
        raise Rejection(412, f"Say with subscription whose letters are meant: {names}")
    return next(iter(durable), None)


def _durable(topic: StoredTopic, name: str) -> Subscription | None:
    found = topic.subscriptions.get(name)
    return found if found is not None and found.durable else None


async def _dry_run(
    admin: AdminServices, request: Request, topic: TopicName, orders: RedriveOrders
) -> dict[str, Any]:
    progress, left = Progress(complete=True), orders.count
    sample: list[dict[str, Any]] = []
    deadline = admin.clock.now() + SCANNED_S_MAX
    async with admin.messages.reading:
        for name in orders.sources:
            order = await orders.order(name)
            if order is None:
                continue
            showing = ShownMessages(name, admin.schema_registry)
            async for found in planned(order, left, progress, admin.clock):
                left -= len(found.letters)
                for reason in found.skipped:
                    progress.skip(reason)
                for letter in found.letters:
                    try:
                        target = await _resolve(admin, request, topic, letter.target, letter.key)
                    except MagnetarError as error:
                        progress.skip(f"{letter.target}: {error}")
                        continue
                    progress.messages += 1
                    progress.targets[str(target)] += 1
                    if len(sample) < SAMPLE:
                        sample.append(await showing.one(letter.message) | {"to": str(target)})
                if admin.clock.now() > deadline:
                    break
            if not progress.complete:
                break
    progress.status = ProcessStatus.NOT_RUN
    return progress.shown() | {"dryRun": True, "sample": sample}


async def _check_subscription(
    admin: AdminServices, request: Request, topic: TopicName, name: str | None
) -> None:
    """What is redriven is acknowledged. Raises NotAuthorized where that is for others to do."""
    if admin.authorization is None or name is None:
        return
    if not await admin.authorization.may(request, Access.CONSUME, topic=topic, subscription=name):
        raise NotAuthorized(f"Don't have permission to use the subscription {name} of {topic}")


async def _resolve(
    admin: AdminServices, request: Request, source: TopicName, target: TopicName, key: str
) -> TopicName:
    """Raises MagnetarError."""
    if target.domain != "persistent":
        raise NotAllowed("a non-persistent topic keeps nothing, and the letter would be lost")
    if source.partitioned_name == target.partitioned_name:
        raise NotAllowed("the letters are there already: say another topic with `to`")
    if admin.authorization is not None and not await admin.authorization.may(
        request,
        Access.PRODUCE,
        tenant=target.tenant,
        namespace=target.namespace,
        topic=target,
        subscription="",
    ):
        raise NotAuthorized(f"Don't have permission to produce to {target}")
    count = await admin.creation.partitions(target, create=False)
    return target.partition(java_string_hash(key) % count) if count else target


async def _open(admin: AdminServices, target: TopicName) -> Topic:
    await admin.topics.serve(target)
    # A partition that nobody used so far is made now; a topic that is missing is not.
    return await admin.topics.get(target, create=target.partition_index >= 0)


_ONE: Final = "/admin/v2/persistent/{tenant}/{namespace}/{topic}/redrive"
ROUTES: Final = (
    Route("POST", _ONE, start, takes=(JSON,), access=Access.CONSUME, about=OfOneBroker()),
    Route("GET", _ONE, status, access=Access.CONSUME, about=OfOneBroker()),
    Route("DELETE", _ONE, stop, access=Access.CONSUME, about=OfOneBroker()),
)
