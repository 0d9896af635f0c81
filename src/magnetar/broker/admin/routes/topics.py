"""Topics: creation, partitions, lists, deletion."""

from typing import Final

from magnetar.broker.admin import arguments
from magnetar.broker.admin.errors import Rejection
from magnetar.broker.admin.exchange import JSON, Reply, Request, done, shown
from magnetar.broker.admin.fanout import Fanout
from magnetar.broker.admin.router import Route
from magnetar.broker.admin.topic_access import TopicAccess
from magnetar.broker.creation import Creation
from magnetar.broker.resources import Resources
from magnetar.errors import (
    AlreadyExists,
    InvalidValue,
    LimitReached,
    NamespaceNotFound,
    NotAllowed,
    TopicNotFound,
)
from magnetar.model.names import NamespaceName
from magnetar.model.policies import NamespacePolicies
from magnetar.model.records import PartitionedTopicMetadata

_METADATA: Final = "application/vnd.partitioned-topic-metadata+json"
_NOT_PARTITIONED: Final = PartitionedTopicMetadata(0)


class Topics:
    """``/persistent``, as far as it is about topics as a whole."""

    def __init__(
        self, resources: Resources, access: TopicAccess, fanout: Fanout, creation: Creation
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
        await self._creation.check_plain_name(topic)
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
        topic, create = arguments.topic(request), request.flag("checkAllowAutoCreation")
        await self._creation.partitions(topic, create=create)
        metadata = await self._resources.partitioned_topic(topic)
        return shown((metadata or _NOT_PARTITIONED).shown())

    async def create_partitions(self, request: Request) -> Reply:
        topic = arguments.topic(request)
        count, properties = self._asked(request)
        try:
            await self._fanout.create(topic, count, properties)
        except InvalidValue as error:
            raise Rejection(406, str(error)) from None
        except LimitReached as error:
            raise Rejection(412, str(error)) from None
        return done()

    async def grow_partitions(self, request: Request) -> Reply:
        topic, count = arguments.topic(request), arguments.number(request)
        await self._resources.require_namespace(topic.namespace)
        try:
            await self._fanout.grow(topic, count)
        except InvalidValue as error:
            raise Rejection(422, str(error)) from None
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

    async def _namespace(self, request: Request) -> tuple[NamespaceName, NamespacePolicies]:
        name = arguments.namespace(request)
        policies = await self._resources.namespace(name)
        if policies is None:
            raise NamespaceNotFound("Namespace does not exist")
        return name, policies

    def _asked(self, request: Request) -> tuple[int, dict[str, str] | None]:
        """How many partitions, and the properties that may come with them."""
        if (request.content_type or "").partition(";")[0].strip().lower() != _METADATA:
            return arguments.number(request), None
        sent = arguments.json_object(request) or {}
        count = arguments.whole(sent.get("partitions", 0), "partitions")
        properties = arguments.string_map(sent.get("properties"), "properties")
        return count, properties
