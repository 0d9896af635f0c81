"""The stats, internal stats and last message of topics."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, TypeAlias

from magnetar.auth.access import Access
from magnetar.broker.admin import stats, sums
from magnetar.broker.admin.non_persistent_stats import with_drops
from magnetar.broker.admin.rates import TopicRates, summed
from magnetar.broker.admin.routes.single_messages import message_id
from magnetar.broker.admin.services import AdminServices
from magnetar.broker.admin.stats import NO_BACKLOG, Earliest, Oldest, Wanted
from magnetar.broker.topics.topic import Topic
from magnetar.broker.topics.topic_stats import topic_stats
from magnetar.errors import StorageError, TopicNotFound
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST
from magnetar.model.stats import TopicStats
from magnetar.rest import arguments
from magnetar.rest.exchange import Reply, Request, shown
from magnetar.rest.long_answers import shown_in_turns
from magnetar.rest.router import Query, Route, reads
from magnetar.turns import batches, in_turns

RatesOf: TypeAlias = Callable[[TopicName, TopicStats], TopicRates]
"""Finds the rates of a topic whose stats were just taken."""

_NO_RATES: Final[TopicRates] = {}


@reads(*Wanted.QUERY)
async def get(admin: AdminServices, request: Request) -> Reply:
    """Show the counters, rates, producers, subscriptions and consumers of a topic."""
    name, wanted = arguments.topic(request), _wanted(admin, request)
    return shown(await topic_shown(admin, name, wanted, last_minute(admin)))


@reads(*Wanted.QUERY, Query("perPartition", "boolean"))
async def get_partitioned(admin: AdminServices, request: Request) -> Reply:
    """Show the sum of the stats of all partitions, and those of each."""
    topic, wanted = arguments.topic(request), _wanted(admin, request)
    each = request.flag("perPartition", default=True)
    found = await partitioned_shown(admin, topic, wanted, last_minute(admin), each=each)
    return await shown_in_turns(found)


def _wanted(admin: AdminServices, request: Request) -> Wanted:
    return Wanted.by(request, publishers=admin.metrics.publishers)


async def topic_shown(
    admin: AdminServices, name: TopicName, wanted: Wanted, rates_of: RatesOf
) -> dict[str, Any]:
    """The stats of a topic, as JSON. Raises NamespaceNotFound, TopicNotFound."""
    return _shown(admin, await _seen(admin, name, wanted, rates_of), wanted)


async def partitioned_shown(
    admin: AdminServices, topic: TopicName, wanted: Wanted, rates_of: RatesOf, *, each: bool
) -> dict[str, Any]:
    """The same of a partitioned topic; ``each``: with those of each partition."""
    metadata = await admin.resources.partitioned_topic(topic)
    if metadata is None:
        raise TopicNotFound(f"Partitioned Topic {topic} not found")
    names = await admin.access.created_partitions(topic)
    parts: list[_Seen] = []
    shown_parts: dict[str, Any] = {}
    total, rates = TopicStats(), _NO_RATES
    async for some in in_turns(batches(names), 1):
        seen = [await _seen(admin, name, wanted, rates_of) for name in some]
        before, total = total, sums.total([total, *(one.stats for one in seen)])
        rates = summed([(before, rates), *((one.stats, one.rates) for one in seen)], total)
        parts += seen
        if each:
            shown_parts |= {str(one.name): _shown(admin, one, wanted) for one in seen}
    answer = stats.partitioned_json(
        total,
        rates,
        wanted,
        earliest={
            name: stats.earliest_of(seen.earliest.get(name, -1) for seen in parts)
            for name in total.subscriptions
        },
        oldest=max((seen.oldest for seen in parts), key=attrgetter("age_s"), default=NO_BACKLOG),
        metadata=metadata.shown(),
    )
    if not topic.persistent:
        answer = with_drops(answer, total, rates)
    return answer | ({"partitions": shown_parts} if each else {})


async def last_message_id(admin: AdminServices, request: Request) -> Reply:
    """Show the id of the last message of a topic."""
    topic = await admin.access.open_stored(arguments.topic(request))
    position, batch_index = await topic.log.last_message_id()
    if position == EARLIEST:
        position = topic.last_position
    answer = message_id(position, topic.name.partition_index, batch_index)
    if batch_index >= 0:
        answer |= {"originalBatchSize": 0, "outstandingAcksInSameBatch": 0}
    return shown(answer)


def last_minute(admin: AdminServices) -> RatesOf:
    return lambda name, _: admin.rates.of(str(name))


async def _seen(
    admin: AdminServices, name: TopicName, wanted: Wanted, rates_of: RatesOf
) -> "_Seen":
    topic = await admin.access.open(name)
    earliest = {}
    if wanted.earliest_in_backlog:
        for subscription in list(topic.subscriptions.values()):
            time_ms = await topic.oldest_publish_time_ms(subscription)
            earliest[subscription.name] = time_ms
    oldest = await _oldest(topic, admin.clock.wall_ms())
    found = topic_stats(topic)
    return _Seen(name, found, rates_of(name, found), earliest, oldest)


async def _oldest(topic: Topic, now_ms: int) -> Oldest:
    """The oldest message that a durable subscription still needs, by its publisher's clock."""
    behind = (each for each in topic.subscriptions.values() if each.durable and each.backlog)
    slowest = min(behind, key=attrgetter("mark"), default=None)
    if slowest is None:
        return NO_BACKLOG
    try:
        published_ms = await topic.oldest_publish_time_ms(slowest)
    except StorageError:  # The stats are needed most when something is wrong with the disk.
        return NO_BACKLOG
    if published_ms < 0:  # It was acknowledged meanwhile.
        return NO_BACKLOG
    return Oldest(max(now_ms - published_ms, 0) // 1000, slowest.name)


def _shown(admin: AdminServices, seen: "_Seen", wanted: Wanted) -> dict[str, Any]:
    answer = stats.topic_json(
        seen.stats,
        seen.rates,
        wanted,
        earliest=seen.earliest,
        oldest=seen.oldest,
        owner=admin.broker_id,
    )
    return answer if seen.name.persistent else with_drops(answer, seen.stats, seen.rates)


@dataclass(slots=True, frozen=True)
class _Seen:
    """The stats of one topic."""

    name: TopicName
    stats: TopicStats
    rates: TopicRates
    earliest: Earliest
    oldest: Oldest


_ONE = "/admin/v2/persistent/{tenant}/{namespace}/{topic}"
ROUTES: Final = (
    Route(
        "GET",
        f"{_ONE}/stats",
        get,
        access=Access.LOOKUP,
        answer=stats.example,
    ),
    Route(
        "GET",
        f"{_ONE}/partitioned-stats",
        get_partitioned,
        access=Access.LOOKUP,
        answer=stats.example,
    ),
    Route("GET", f"{_ONE}/lastMessageId", last_message_id, access=Access.CONSUME),
)
