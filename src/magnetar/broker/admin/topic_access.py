"""Finds and opens the topics that an administrator names, or refuses in Pulsar's words."""

import asyncio
from collections.abc import Sequence

from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.creation import Creation
from magnetar.broker.resources import NAMES_PER_TURN, Resources
from magnetar.broker.topics.topic import Topic
from magnetar.errors import SubscriptionNotFound, TopicNotFound
from magnetar.model.names import TopicName
from magnetar.turns import STEPS_PER_TURN, in_turns, yield_to_loop


class TopicAccess:
    """Opens topics by name, in bundles that are served here from then on where nobody did."""

    def __init__(self, resources: Resources, registry: TopicRegistry, creation: Creation) -> None:
        self._opened = 0  # Counted for all, so that no loop over many topics holds others up.
        self._resources = resources
        self._registry = registry
        self._creation = creation

    async def open(self, topic: TopicName) -> Topic:
        """A topic that exists, opened. Raises NamespaceNotFound, TopicNotFound, NotOwner."""
        await self._resources.require_namespace(topic.namespace)
        return await self.open_anywhere(topic)

    async def open_anywhere(self, topic: TopicName) -> Topic:
        """Like ``open``, for requests that do not look for the namespace first."""
        self._opened += 1
        if self._opened % STEPS_PER_TURN == 0:
            await yield_to_loop()
        if topic not in self._registry.loaded:
            if not topic.persistent and await self._resources.namespace(topic.namespace):
                await self._registry.serve(topic)  # Only its owner knows whether it exists.
            if not await self._resources.topic_exists(topic):
                raise await self._missing(topic)
        return await self._registry.look_at(topic)

    async def create(self, topic: TopicName) -> Topic:
        """A topic, created if it does not exist. Its namespace must exist."""
        return await self._registry.create(topic)

    async def make(self, topics: Sequence[TopicName]) -> list[TopicName]:
        """Create partitions of a topic of which nothing should be stored, and is not looked for.

        They are created side by side; what is the same for all is asked once. Where something is
        stored, they are opened as they are. Returns those that were refused, or that are to be
        asked for elsewhere: ``create`` tells why.
        """
        bundles = {topic: await self._resources.bundle(topic) for topic in topics}
        one_in_each = {bundle: topic for topic, bundle in bundles.items()}.values()
        # What is refused here is not begun below.
        await asyncio.gather(*map(self._registry.serve, one_in_each), return_exceptions=True)
        deleting = await self._resources.deleting()
        begun = [
            self._registry.begin_new(topic, bundles[topic], look=topic in deleting)
            for topic in await self._creation.admitted(topics)
        ]
        if opening := [task for task in begun if task is not None]:
            await asyncio.wait(opening)
        return [topic for topic in topics if topic not in self._registry.loaded]

    async def exists(self, topic: TopicName) -> bool:
        return topic in self._registry.loaded or await self._resources.topic_exists(topic)

    async def partitions(self, topic: TopicName) -> list[TopicName]:
        """The partitions of a partitioned topic, by name; [] for any other."""
        count = await self._resources.partitions(topic)
        return [topic.partition(index) async for index in in_turns(range(count), NAMES_PER_TURN)]

    async def created_partitions(self, topic: TopicName) -> list[TopicName]:
        """The partitions that exist: others are created when a client first uses them."""
        names = in_turns(await self.partitions(topic))
        return [name async for name in names if await self.exists(name)]

    async def _missing(self, topic: TopicName) -> TopicNotFound:
        if topic.partition_index < 0:
            return TopicNotFound(f"Topic {topic} not found")
        if await self._resources.partitions(topic.partitioned_name) == 0:
            return TopicNotFound(f"Partitioned Topic not found: {topic} has zero partitions")
        return TopicNotFound("Topic partitions were not yet created")


def no_subscription(name: str, topic: TopicName) -> SubscriptionNotFound:
    return SubscriptionNotFound(f"Subscription {name} not found for topic {topic}")
