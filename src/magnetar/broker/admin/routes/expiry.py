"""Messages that an administrator declares to be too old: of one subscription, or of all."""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.owners import OfPartitions, OfTopic
from magnetar.broker.admin.routes.subscriptions import backlogged_in, where_found
from magnetar.broker.admin.services import TopicServices
from magnetar.broker.topics.log.backlog_limits import Backlogged
from magnetar.broker.topics.topic import StoredTopic
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done
from magnetar.rest.router import Route

SMALL_BACKLOG: Final = 1_000
"""Consumers who are there will read so few entries soon: nothing expires unless it is too old."""


async def expire(admin: TopicServices, request: Request, topic: StoredTopic) -> Reply:
    """Messages of a subscription, or of a replicator, published so many seconds ago, or earlier."""
    seconds = arguments.integer(request, "seconds")
    await _expire(admin, topic, backlogged_in(topic, request), seconds)
    return done()


async def expire_all(admin: TopicServices, request: Request, topic: StoredTopic) -> Reply:
    """The same of all durable ones; what is refused for one is done for the others."""
    seconds = arguments.integer(request, "seconds")
    refusals = []
    for subscription in [each for each in topic.upkeep.backlogs() if each.durable]:
        try:
            await _expire(admin, topic, subscription, seconds)
        except Rejection as refusal:
            refusals.append(refusal)
    if refusals:
        raise refusals[0]
    return done()


async def expire_to_message(_admin: TopicServices, request: Request, topic: StoredTopic) -> Reply:
    """Messages up to one, with it. ``excluded`` means the next one, too, as in Pulsar."""
    at, subscription = arguments.required_position(request), backlogged_in(topic, request)
    if not topic.upkeep.expire_to(subscription, at.message.position, excluded=at.excluded):
        raise Rejection(
            409,
            f"Expire message by position not issued on topic {topic.name} for subscription "
            f"{subscription.name} due to ongoing message expiration not finished or invalid "
            "message position provided.",
        )
    return done()


async def _expire(
    admin: TopicServices, topic: StoredTopic, subscription: Backlogged, seconds: int
) -> None:
    """As in Pulsar, no message is 0 seconds old. Raises Rejection where nothing can expire."""
    expired = 0
    if seconds and subscription.backlog:
        before_ms = admin.clock.wall_ms() - seconds * 1000
        expired = await topic.upkeep.expire(subscription, before_ms)
    subscribed = topic.subscriptions.get(subscription.name)
    is_read = subscribed is None or bool(subscribed.consumers)  # A replicator reads by itself.
    near_the_end = is_read and subscription.backlog < SMALL_BACKLOG
    if not expired and (near_the_end or not subscription.backlog):
        raise Rejection(
            409,
            f"Expire message by timestamp not issued on topic {topic.name} for subscription "
            f"{subscription.name} due to ongoing message expiration not finished or subscription "
            "almost catch  up. If it's performed on a partitioned topic operation might succeeded "
            "on other partitions, please check stats of individual partition.",
        )


_TOPIC = "/admin/v2/persistent/{tenant}/{namespace}/{topic}"
_ONE = f"{_TOPIC}/subscription/{{subscription}}/expireMessages"
SERVICES: Final = TopicServices
ROUTES: Final = (
    Route("POST", f"{_ONE}/{{seconds}}", expire, Access.CONSUME, OfPartitions(where_found)),
    Route(
        "POST",
        _ONE,
        expire_to_message,
        Access.CONSUME,
        OfTopic("Expire message at position is not supported for partitioned-topic"),
        takes=(JSON,),
    ),
    Route(
        "POST",
        f"{_TOPIC}/all_subscription/expireMessages/{{seconds}}",
        expire_all,
        Access.CONSUME,
        OfPartitions(),
    ),
)
