"""Topics: creation, partitions, lists, deletion."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from magnetar.broker.admin import arguments
from magnetar.broker.admin.errors import Rejection
from magnetar.broker.admin.exchange import JSON, Reply, Request, done, shown
from magnetar.broker.admin.fanout import Fanout
from magnetar.broker.admin.router import Route
from magnetar.broker.admin.topic_access import TopicAccess
from magnetar.broker.resources import Resources
from magnetar.errors import AlreadyExists, NamespaceNotFound, NotAllowed, TopicNotFound
from magnetar.model.names import PARTITION_MARK, NamespaceName, TopicName
from magnetar.model.records import NamespacePolicies, PartitionedTopicMetadata

PARTITIONS_MAX: Final = 10_000  # Where no setting says less: they are made one by one.
_METADATA: Final = "application/vnd.partitioned-topic-metadata+json"
_NOT_PARTITIONED: Final = PartitionedTopicMetadata(0)


@dataclass(frozen=True, slots=True)
class TopicCreation:
    """What is made when a client asks for a topic that does not exist, and how much may be made."""

    auto: bool = True
    auto_partitions: int = 0  # 0: a topic without partitions.
    partitions_max: int = 0  # Of one topic; 0: PARTITIONS_MAX.


class Topics:
    """``/persistent``, as far as it is about topics as a whole."""

    def __init__(
        self, resources: Resources, access: TopicAccess, fanout: Fanout, creation: TopicCreation
    ) -> None:
        self._resources = resources
        self._access = access
        self._fanout = fanout
        self._creation = creation

    def routes(self) -> list[Route]:
        all_of = "/admin/v2/persistent/{tenant}/{namespace}"
        one = f"{all_of}/{{topic}}"
        return [
            Route("GET", all_of, self.names),
            Route("GET", f"{all_of}/partitioned", self.partitioned_names),
            Route("PUT", one, self.create, takes=(JSON,)),
            Route("DELETE", one, self.delete),
            Route("PUT", f"{one}/unload", self.unload),
            Route("GET", f"{one}/partitions", self.partitions),
            Route("PUT", f"{one}/partitions", self.create_partitions, takes=(JSON, _METADATA)),
            Route("POST", f"{one}/partitions", self.grow_partitions, takes=(JSON,)),
            Route("DELETE", f"{one}/partitions", self.delete_partitions),
        ]

    async def names(self, request: Request) -> Reply:
        namespace, policies = await self._namespace(request)
        topics = await self._resources.topics(namespace)
        bundle = request.query.get("bundle")
        if bundle is not None:
            topics = [name for name in topics if policies.bundles.range_of(name) == bundle]
        return shown([str(name) for name in topics])

    async def partitioned_names(self, request: Request) -> Reply:
        namespace, _ = await self._namespace(request)
        return shown([str(name) for name in await self._resources.partitioned_topics(namespace)])

    async def create(self, request: Request) -> Reply:
        topic = arguments.topic(request)
        if arguments.string_map(arguments.body(request), "properties"):
            raise NotAllowed(f"This broker keeps no properties: create {topic} without them")
        await self._resources.require_namespace(topic.namespace)
        await self._check_partition(topic)
        if await self._resources.partitions(topic) or await self._access.exists(topic):
            raise AlreadyExists("This topic already exists")
        await self._access.create(topic)
        return done()

    async def delete(self, request: Request) -> Reply:
        topic, force = arguments.topic(request), request.flag("force")
        if await self._resources.partitions(topic) and not await self._access.exists(topic):
            raise Rejection(
                409,
                f"{topic} is a partitioned topic, instead of calling delete topic, please call "
                "delete-partitioned-topic.",
            )
        await self._access.open_anywhere(topic)
        connected = self._access.busy(topic)
        if connected and not force:
            raise Rejection(412, f"Topic has {connected} connected producers/consumers")
        await self._access.delete(topic, force=force)
        return done()

    async def unload(self, request: Request) -> Reply:
        topic = arguments.topic(request)
        await self._resources.require_namespace(topic.namespace)
        if await self._resources.partitions(topic):
            await self._fanout.unload(topic)
        else:
            await self._access.open(topic)
            await self._access.unload(topic)
        return done()

    async def partitions(self, request: Request) -> Reply:
        """How many partitions: 0 also for a topic that a client may make by using it."""
        topic = arguments.topic(request)
        await self._resources.require_namespace(topic.namespace)
        metadata = await self._resources.partitioned_topic(topic)
        if metadata is None and not await self._access.exists(topic):
            metadata = await self._partitions_of_missing(
                topic, may_create=request.flag("checkAllowAutoCreation")
            )
        return shown((metadata or _NOT_PARTITIONED).shown())

    async def create_partitions(self, request: Request) -> Reply:
        topic = arguments.topic(request)
        count, properties = self._asked(request)
        if topic.partition_index >= 0 or PARTITION_MARK in topic.local:
            raise Rejection(412, f"Partitioned Topic Name should not contain '{PARTITION_MARK}'")
        if count < 1:
            raise Rejection(406, "Number of partitions should be more than 0")
        if count > self._partitions_max:
            raise Rejection(
                406,
                f"Number of partitions should be less than or equal to {self._partitions_max}",
            )
        await self._fanout.create(topic, count, properties)
        return done()

    async def grow_partitions(self, request: Request) -> Reply:
        topic, count = arguments.topic(request), arguments.number(request)
        await self._resources.require_namespace(topic.namespace)
        had = await self._resources.partitions(topic)
        if had and count < had:
            raise Rejection(
                422, f"Desired partitions {count} can't be less than the current partitions {had}."
            )
        if count > self._partitions_max:
            raise Rejection(
                422,
                f"Desired partitions {count} can't be greater than the maximum partitions per "
                f"topic {self._partitions_max}.",
            )
        await self._fanout.grow(topic, count)
        return done()

    async def delete_partitions(self, request: Request) -> Reply:
        topic = arguments.topic(request)
        if not await self._resources.partitions(topic):
            if await self._access.exists(topic):
                raise Rejection(
                    409,
                    f"{topic} is a non-partitioned topic. Instead of calling "
                    "delete-partitioned-topic please call delete.",
                )
            raise TopicNotFound(f"Topic {topic} not found.")
        await self._fanout.delete(topic, force=request.flag("force"))
        return done()

    @property
    def _partitions_max(self) -> int:
        return self._creation.partitions_max or PARTITIONS_MAX

    async def _namespace(self, request: Request) -> tuple[NamespaceName, NamespacePolicies]:
        name = arguments.namespace(request)
        policies = await self._resources.namespace(name)
        if policies is None:
            raise NamespaceNotFound("Namespace does not exist")
        return name, policies

    async def _check_partition(self, topic: TopicName) -> None:
        """A name that ends like a partition's must be one of a partitioned topic."""
        index = topic.partition_index
        base = topic.partitioned_name
        if index >= 0 and await self._resources.partitions(base) <= index:
            raise Rejection(
                412,
                f'Can\'t create topic {topic.local} with "{PARTITION_MARK}" followed by numeric '
                f"value if there isn't a partitioned topic {base.local} created.",
            )

    async def _partitions_of_missing(
        self, topic: TopicName, *, may_create: bool
    ) -> PartitionedTopicMetadata | None:
        """A partitioned topic is made where topics are made so, and the client may; else None."""
        if topic.partition_index >= 0:
            siblings = await self._resources.partitions(topic.partitioned_name)
            if siblings > topic.partition_index:
                return None
            may_create = may_create and not siblings
        if not (may_create and self._creation.auto):
            raise TopicNotFound(f"Topic {topic} not found")
        if not self._creation.auto_partitions or topic.partition_index >= 0:
            return None
        with suppress(AlreadyExists):  # Somebody else asked at the same moment.
            await self._fanout.create(topic, self._creation.auto_partitions)
        return await self._resources.partitioned_topic(topic)

    def _asked(self, request: Request) -> tuple[int, dict[str, str] | None]:
        """How many partitions, and the properties that may come with them."""
        if (request.content_type or "").partition(";")[0].strip().lower() != _METADATA:
            return arguments.number(request), None
        sent = arguments.json_object(request) or {}
        count = arguments.whole(sent.get("partitions", 0), "partitions")
        properties = arguments.string_map(sent.get("properties"), "properties")
        return count, properties
