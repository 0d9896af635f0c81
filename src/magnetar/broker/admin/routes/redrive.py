"""Dead letters back to where they came from: a dry run, the redrive, and how it stands."""

from functools import partial
from typing import Any, Final

from magnetar.broker.admin import arguments
from magnetar.broker.admin.errors import Rejection
from magnetar.broker.admin.exchange import JSON, Reply, Request, done, shown
from magnetar.broker.admin.messages.page import SCANNED_S_MAX
from magnetar.broker.admin.messages.redrive import (
    COUNT_MAX,
    Progress,
    Redrive,
    RedriveOrder,
    planned,
)
from magnetar.broker.admin.messages.shown import ShownMessages
from magnetar.broker.admin.router import Query, Route, reads
from magnetar.broker.admin.routes.messages import wanted_of
from magnetar.broker.admin.services import AdminServices
from magnetar.broker.admin.topic_access import no_subscription
from magnetar.broker.auth.access import Access
from magnetar.broker.topics.subscription import Subscription
from magnetar.broker.topics.topic import StoredTopic, Topic
from magnetar.errors import MagnetarError, NotAuthorized, SubscriptionNotFound
from magnetar.model.hashing import java_string_hash
from magnetar.model.names import TopicName
from magnetar.model.process_status import ProcessStatus

COUNT: Final = 1_000
RATE: Final = 1_000
RATE_MAX: Final = 100_000
"""Letters in a second."""
SAMPLE: Final = 10
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

DRY_RUN: Final = Query("dryRun", "boolean")


@reads(DRY_RUN)
async def start(admin: AdminServices, request: Request) -> Reply:
    """Begin to send letters back, or say which they would be."""
    sent = read_body(request, _FIELDS)
    topic = arguments.topic(request)
    order = await _order(admin, topic, sent)
    await _check_subscription(admin, request, topic, order.subscription)
    if truth(sent, "dryRun"):
        return shown(await _dry_run(admin, request, order))
    admin.messages.check_redrive(topic)
    redrive = Redrive(
        order,
        admin.clock,
        resolve=partial(_resolve, admin, request, topic),
        open_topic=partial(_open, admin),
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
    value = sent.get(name, False)
    if not isinstance(value, bool):
        raise Rejection(400, f"{name} is true or false")
    return value


def whole_number(sent: dict[str, Any], name: str, default: int, least: int, most: int) -> int:
    value = sent.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise Rejection(400, f"{name} is a whole number from {least} to {most}")
    return value


async def _order(admin: AdminServices, topic: TopicName, sent: dict[str, Any]) -> RedriveOrder:
    if await admin.resources.partitions(topic):
        raise Rejection(
            405, f"{topic} is partitioned: send the letters of each partition back, one by one"
        )
    stored = await admin.access.open_stored(topic)
    subscription = _subscription(stored, sent.get("subscription"))
    if subscription is not None and subscription.consumers and not truth(sent, "force"):
        raise Rejection(
            412,
            f"Subscription {subscription.name} has connected consumers, which may have some of "
            "these letters already: stop them, or send force",
        )
    to = sent.get("to")
    if to is not None and not isinstance(to, str):
        raise Rejection(400, "to is the name of a topic")
    return RedriveOrder(
        stored,
        subscription,
        wanted_of(sent),
        None if to is None else TopicName.parse(to),
        whole_number(sent, "count", COUNT, 1, COUNT_MAX),
        whole_number(sent, "rate", RATE, 0, RATE_MAX),
    )


def _subscription(topic: StoredTopic, name: Any) -> Subscription | None:
    """The one that has the letters. Raises SubscriptionNotFound, Rejection."""
    if name is None:
        durable = [each for each in topic.subscriptions.values() if each.durable]
        if len(durable) > 1:
            names = ", ".join(sorted(each.name for each in durable))
            raise Rejection(412, f"Say with subscription whose letters are meant: {names}")
        return durable[0] if durable else None
    if not isinstance(name, str):
        raise Rejection(400, "subscription is the name of one")
    found = topic.subscriptions.get(name)
    if found is None or not found.durable:
        raise no_subscription(name, topic.name)
    return found


async def _dry_run(admin: AdminServices, request: Request, order: RedriveOrder) -> dict[str, Any]:
    progress = Progress()
    sample: list[dict[str, Any]] = []
    showing = ShownMessages(order.topic.name, admin.schema_registry)
    deadline = admin.clock.now() + SCANNED_S_MAX
    async with admin.messages.reading:
        async for found in planned(order, progress, admin.clock):
            for reason in found.skipped:
                progress.skip(reason)
            for letter in found.letters:
                try:
                    target = await _resolve(
                        admin, request, order.topic.name, letter.target, letter.key
                    )
                except MagnetarError as error:
                    progress.skip(f"{letter.target}: {error}")
                    continue
                progress.messages += 1
                progress.targets[str(target)] += 1
                if len(sample) < SAMPLE:
                    sample.append(await showing.one(letter.message) | {"to": str(target)})
            if admin.clock.now() > deadline:
                break
    progress.status = ProcessStatus.NOT_RUN
    return progress.shown() | {"dryRun": True, "sample": sample}


async def _check_subscription(
    admin: AdminServices, request: Request, topic: TopicName, subscription: Subscription | None
) -> None:
    """What is redriven is acknowledged. Raises NotAuthorized where that is for others to do."""
    if admin.authorization is None or subscription is None:
        return
    name = subscription.name
    if not await admin.authorization.may(request, Access.CONSUME, topic=topic, subscription=name):
        raise NotAuthorized(f"Don't have permission to use the subscription {name} of {topic}")


async def _resolve(
    admin: AdminServices, request: Request, source: TopicName, target: TopicName, key: str
) -> TopicName:
    """Raises MagnetarError."""
    if source in (target, target.partitioned_name):
        raise SubscriptionNotFound("the letters are there already: say another topic with `to`")
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
    await admin.ownership.take(target)
    # A partition that nobody used so far is made now; a topic that is missing is not.
    return await admin.topics.get(target, create=target.partition_index >= 0)


_ONE: Final = "/admin/v2/persistent/{tenant}/{namespace}/{topic}/redrive"
ROUTES: Final = (
    Route("POST", _ONE, start, takes=(JSON,), access=Access.CONSUME),
    Route("GET", _ONE, status, access=Access.CONSUME),
    Route("DELETE", _ONE, stop, access=Access.CONSUME),
)
