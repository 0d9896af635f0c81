"""What a topic counts and holds: stats, internal stats, the last message."""

from dataclasses import dataclass
from typing import Any

from magnetar.broker.admin import arguments, stats, sums
from magnetar.broker.admin.exchange import Reply, Request, shown
from magnetar.broker.admin.internal_stats import internal_stats
from magnetar.broker.admin.rates import RateBook, TopicRates, summed
from magnetar.broker.admin.router import Route
from magnetar.broker.admin.stats import Earliest, Wanted
from magnetar.broker.admin.topic_access import TopicAccess
from magnetar.broker.resources import Resources
from magnetar.broker.topics.topic_stats import topic_stats
from magnetar.errors import TopicNotFound
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST
from magnetar.model.stats import TopicStats


class TopicStatsRoutes:
    """``/persistent``, as far as it only reads."""

    def __init__(
        self, resources: Resources, access: TopicAccess, rates: RateBook, *, owner: str
    ) -> None:
        self._resources = resources
        self._access = access
        self._rates = rates
        self._owner = owner

    def routes(self) -> list[Route]:
        one = "/admin/v2/persistent/{tenant}/{namespace}/{topic}"
        return [
            Route("GET", f"{one}/stats", self.stats),
            Route("GET", f"{one}/partitioned-stats", self.partitioned_stats),
            Route("GET", f"{one}/internalStats", self.internal_stats),
            Route("GET", f"{one}/lastMessageId", self.last_message_id),
        ]

    async def stats(self, request: Request) -> Reply:
        name, wanted = arguments.topic(request), Wanted.by(request)
        return shown(self._shown(await self._seen(name, wanted), wanted))

    async def partitioned_stats(self, request: Request) -> Reply:
        topic, wanted = arguments.topic(request), Wanted.by(request)
        metadata = await self._resources.partitioned_topic(topic)
        if metadata is None:
            raise TopicNotFound(f"Partitioned Topic {topic} not found")
        names = await self._access.created_partitions(topic)
        each = [await self._seen(name, wanted) for name in names]
        total = sums.total(seen.stats for seen in each)
        answer = stats.partitioned_json(
            total,
            summed(((seen.stats, seen.rates) for seen in each), total),
            wanted,
            earliest={
                name: stats.oldest(seen.earliest.get(name, -1) for seen in each)
                for name in total.subscriptions
            },
            metadata=metadata.shown(),
        )
        if request.flag("perPartition", default=True):
            answer["partitions"] = {seen.name: self._shown(seen, wanted) for seen in each}
        return shown(answer)

    async def internal_stats(self, request: Request) -> Reply:
        topic = await self._access.open(arguments.topic(request))
        return shown(internal_stats(topic.log_info()))

    async def last_message_id(self, request: Request) -> Reply:
        topic = await self._access.open(arguments.topic(request))
        position, batch_index = await topic.last_message_id()
        if position == EARLIEST:
            position = topic.last_position
        answer = {
            "ledgerId": position.ledger_id,
            "entryId": position.entry_id,
            "partitionIndex": topic.name.partition_index,
            "batchIndex": batch_index,
            "batchSize": 0,
        }
        if batch_index >= 0:
            answer |= {"originalBatchSize": 0, "outstandingAcksInSameBatch": 0}
        return shown(answer)

    async def _seen(self, name: TopicName, wanted: Wanted) -> "_Seen":
        topic = await self._access.open(name)
        earliest = {}
        if wanted.earliest_in_backlog:
            for subscription in list(topic.subscriptions.values()):
                time_ms = await topic.oldest_publish_time_ms(subscription)
                earliest[subscription.name] = time_ms
        return _Seen(str(name), topic_stats(topic), self._rates.of(str(name)), earliest)

    def _shown(self, seen: "_Seen", wanted: Wanted) -> dict[str, Any]:
        return stats.topic_json(
            seen.stats, seen.rates, wanted, earliest=seen.earliest, owner=self._owner
        )


@dataclass(slots=True, frozen=True)
class _Seen:
    """What is known of a topic, to be shown or added up."""

    name: str
    stats: TopicStats
    rates: TopicRates
    earliest: Earliest
