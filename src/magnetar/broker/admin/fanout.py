"""Does what is asked of a partitioned topic to each of its partitions.

The record of a partitioned topic is written first and removed last, so that an interrupted request
can be repeated; a missing partition is created when a client first uses it.
"""

from magnetar.broker.admin.topic_access import TopicAccess
from magnetar.broker.authorization.permissions import Permissions
from magnetar.broker.creation import Creation
from magnetar.broker.policies import PolicyService
from magnetar.broker.resources import Resources
from magnetar.broker.schema.registry import SchemaRegistry
from magnetar.broker.topics.topic import Topic, storing
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST
from magnetar.rest.errors import Rejection


class Fanout:
    """Creates, grows, unloads and deletes all partitions of a topic."""

    def __init__(
        self,
        resources: Resources,
        access: TopicAccess,
        creation: Creation,
        schemas: SchemaRegistry,
        *,
        policies: PolicyService,
        permissions: Permissions,
    ) -> None:
        self._resources = resources
        self._access = access
        self._creation = creation
        self._schemas = schemas
        self._policies = policies
        self._permissions = permissions

    async def create(
        self, topic: TopicName, partitions: int, properties: dict[str, str] | None = None
    ) -> None:
        """Raises what ``Creation.create_partitioned`` raises."""
        await self._creation.create_partitioned(topic, partitions, properties)
        await self.create_missed(topic)

    async def create_missed(self, topic: TopicName) -> None:
        """Create the partitions that do not exist yet."""
        for name in await self._access.partitions(topic):
            await self._access.create(name)

    async def grow(self, topic: TopicName, partitions: int) -> None:
        """More partitions, each with the durable subscriptions of the first, from its beginning.

        Raises what ``Creation.grow`` raises.
        """
        had = await self._creation.grow(topic, partitions)
        first = topic.partition(0)
        model = await self._access.open(first) if await self._access.exists(first) else None
        for index in range(had, partitions):
            await self._grow_by(topic.partition(index), model)

    async def _grow_by(self, name: TopicName, model: Topic | None) -> None:
        partition = await self._access.create(name)
        for subscription in list(model.subscriptions.values()) if model else []:
            if subscription.durable and subscription.name not in partition.subscriptions:
                properties = dict(subscription.properties)
                await storing(partition).create_subscription(
                    subscription.name, EARLIEST, properties
                )

    async def unload(self, topic: TopicName) -> None:
        for name in await self._access.partitions(topic):
            await self._access.unload(name)

    async def delete(self, topic: TopicName, *, force: bool) -> None:
        """Delete all partitions, or none when one is in use and ``force`` is off."""
        names = await self._access.created_partitions(topic)
        if not force and any(self._access.busy(name) for name in names):
            raise Rejection(412, "Topic has active producers/subscriptions")
        for name in names:
            await self._access.delete(name, force=force)
        await self._schemas.forget(topic)
        await self._policies.forget(topic)
        await self._permissions.topic_deleted(topic)
        await self._resources.delete_partitioned_topic(topic)
