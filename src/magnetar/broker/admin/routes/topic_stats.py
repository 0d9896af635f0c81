"""What a topic counts and holds: stats, internal stats, the last message."""

from magnetar.broker.admin import arguments, stats, sums
from magnetar.broker.admin.exchange import Reply, Request, shown
from magnetar.broker.admin.internal_stats import internal_stats
from magnetar.broker.admin.rates import RateBook, summed
from magnetar.broker.admin.router import Route
from magnetar.broker.admin.stats import Wanted
from magnetar.broker.admin.topic_access import TopicAccess
from magnetar.broker.resources import Resources
from magnetar.broker.topics.topic_stats import topic_stats
from magnetar.errors import TopicNotFound
from magnetar.model.position import EARLIEST


class TopicNumbers:
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
        topic = arguments.topic(request)
        found = topic_stats(await self._access.open(topic))
        rates = self._rates.of(str(topic))
        return shown(stats.topic_json(found, rates, Wanted.by(request), owner=self._owner))

    async def partitioned_stats(self, request: Request) -> Reply:
        topic, wanted = arguments.topic(request), Wanted.by(request)
        metadata = await self._resources.partitioned_topic(topic)
        if metadata is None:
            raise TopicNotFound(f"Partitioned Topic {topic} not found")
        names = await self._access.created_partitions(topic)
        each = {str(name): topic_stats(await self._access.open(name)) for name in names}
        total = sums.total(each.values())
        rates = summed(((found, self._rates.of(name)) for name, found in each.items()), total)
        answer = stats.partitioned_json(total, rates, wanted, metadata=metadata.shown())
        if request.flag("perPartition", default=True):
            answer["partitions"] = {
                name: stats.topic_json(found, self._rates.of(name), wanted, owner=self._owner)
                for name, found in each.items()
            }
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
