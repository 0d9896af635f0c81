"""The stats, internal stats and last message of topics."""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Final, TypeAlias

from magnetar.auth.access import Access
from magnetar.broker.admin import stats
from magnetar.broker.admin.non_persistent_stats import with_drops
from magnetar.broker.admin.owners import Answers, ByPartitions, OfTopic, by_name
from magnetar.broker.admin.rates import TopicRates
from magnetar.broker.admin.routes.single_messages import message_id
from magnetar.broker.admin.services import TopicServices
from magnetar.broker.admin.stats import NO_BACKLOG, Oldest, StatsOptions
from magnetar.broker.topics.topic import StoredTopic, Topic
from magnetar.broker.topics.topic_stats import topic_stats
from magnetar.errors import StorageError, TopicNotFound
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST
from magnetar.model.stats import ReplicationStats, TopicStats
from magnetar.rest import arguments
from magnetar.rest.exchange import Reply, Request, shown
from magnetar.rest.long_answers import shown_in_turns
from magnetar.rest.router import Query, Route, reads

RatesOf: TypeAlias = Callable[[TopicName, TopicStats], TopicRates]
"""Finds the rates of a topic whose stats were just taken."""


@reads(*StatsOptions.QUERY)
async def get(admin: TopicServices, request: Request, topic: Topic) -> Reply:
    """Show the counters, rates, producers, subscriptions and consumers of a topic."""
    return shown(await topic_shown(admin, topic, _wanted(admin, request), last_minute(admin)))


@reads(*StatsOptions.QUERY, Query("perPartition", "boolean"))
async def get_partitioned(admin: TopicServices, request: Request, answers: Answers) -> Reply:
    """Show the sum of the stats of all partitions, and those of each."""
    each = request.flag("perPartition", default=True)
    parts = by_name(answers)
    return await shown_in_turns(
        await partitioned_shown(admin, arguments.topic(request), parts, each=each)
    )


def _wanted(admin: TopicServices, request: Request) -> StatsOptions:
    return StatsOptions.by(request, publishers=admin.publishers)


async def topic_shown(
    admin: TopicServices, topic: Topic, wanted: StatsOptions, rates_of: RatesOf
) -> dict[str, Any]:
    """The stats of a topic, as JSON."""
    earliest = {}
    if wanted.earliest_in_backlog:
        for subscription in list(topic.subscriptions.values()):
            time_ms = await topic.oldest_publish_time_ms(subscription)
            earliest[subscription.name] = time_ms
    oldest = await _oldest(topic, admin.clock.wall_ms())
    found = topic_stats(topic)
    if topic.stored is not None and found.replication:
        await note_ages(topic.stored, found.replication, admin.clock.wall_ms())
    rates = rates_of(topic.name, found)
    answer = stats.topic_json(
        found, rates, wanted, earliest=earliest, oldest=oldest, owner=admin.broker_id
    )
    return answer if topic.name.persistent else with_drops(answer, found, rates)


async def partitioned_shown(
    admin: TopicServices, topic: TopicName, parts: Mapping[str, Any], *, each: bool
) -> dict[str, Any]:
    """The sum of the stats of a partitioned topic's partitions; ``each``: with those.

    Raises TopicNotFound.
    """
    metadata = await admin.resources.partitioned_topic(topic)
    if metadata is None:
        raise TopicNotFound(f"Partitioned Topic {topic} not found")
    found = stats.partitioned_json(
        parts.values(), metadata=metadata.shown(), persistent=topic.persistent
    )
    return found | ({"partitions": parts} if each else {})


async def last_message_id(_admin: TopicServices, _request: Request, topic: StoredTopic) -> Reply:
    """Show the id of the last message of a topic."""
    position, batch_index = await topic.log.last_message_id()
    if position == EARLIEST:
        position = topic.last_position
    answer = message_id(position, topic.name.partition_index, batch_index)
    if batch_index >= 0:
        answer |= {"originalBatchSize": 0, "outstandingAcksInSameBatch": 0}
    return shown(answer)


def last_minute(admin: TopicServices) -> RatesOf:
    return lambda name, _: admin.rates.of(str(name))


async def note_ages(
    topic: StoredTopic, replication: Mapping[str, ReplicationStats], now_ms: int
) -> None:
    """Find how old the oldest entry is that each other cluster lacks."""
    for cluster, each in replication.items():
        replicator = topic.replicators.get(cluster)
        if replicator is None or not replicator.backlog:
            continue
        try:
            published_ms = await topic.oldest_publish_time_ms(replicator)
        except StorageError:  # What else is known is needed most when a disk fails.
            continue
        if published_ms >= 0:
            each.age_s = max(now_ms - published_ms, 0) / 1000


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


_ONE = "/admin/v2/persistent/{tenant}/{namespace}/{topic}"
BY_PARTITIONS: Final = ByPartitions("GET", "/stats")
SERVICES: Final = TopicServices
ROUTES: Final = (
    Route("GET", f"{_ONE}/stats", get, Access.LOOKUP, OfTopic(), answer=stats.example),
    Route(
        "GET",
        f"{_ONE}/partitioned-stats",
        get_partitioned,
        Access.LOOKUP,
        BY_PARTITIONS,
        answer=stats.example,
    ),
    Route("GET", f"{_ONE}/lastMessageId", last_message_id, Access.CONSUME, OfTopic()),
)
