"""What may be created, by whom, with how many partitions: the one place for topics of all kinds.

A topic comes to be because an administrator asks for it, because a client uses it where its
namespace allows that, or as a partition of a topic that exists. The topics of a namespace are
counted with the partitions that partitioned topics have, whether they were used or not, and with
those that are being created: their places are taken before anything is written.
"""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from magnetar.errors import AlreadyExists, InvalidName, InvalidValue, LimitReached, TopicNotFound
from magnetar.model.names import PARTITION_MARK, NamespaceName, TopicName

from .policies import PolicyService
from .resources import Resources

PARTITIONS_MAX: Final = 10_000
"""Of a topic, where no setting says less: they are made one by one."""


class Creation:
    """Admits new topics; ``Resources`` and the topics' logs keep them."""

    def __init__(
        self, resources: Resources, policies: PolicyService, *, partitions_max: int = 0
    ) -> None:
        """``partitions_max`` of one topic; 0: ``PARTITIONS_MAX``."""
        self.partitions_max = partitions_max or PARTITIONS_MAX
        self._resources = resources
        self._policies = policies
        self._reserved: Counter[TopicName] = Counter()  # Admitted, and perhaps not yet on record.
        self._released = 0  # Counts, so that a list that was read before is known to be old.

    @asynccontextmanager
    async def topic(self, name: TopicName, *, create: bool, asked: bool) -> AsyncIterator[None]:
        """Open a topic, or a partition, inside the block; if it is missing it may be created there.

        ``create``: by a client that uses it; ``asked``: by an administrator. Raises TopicNotFound,
        LimitReached.
        """
        if await self._resources.topic_exists(name):
            yield
            return
        index = name.partition_index
        partitions = await self._resources.partitions(name.partitioned_name) if index >= 0 else 0
        if partitions:
            allowed = index < partitions
        else:
            allowed = asked or (create and await self.automatic(name))
        if not allowed:
            raise TopicNotFound(f"Topic not found {name}")
        async with self._places(name.namespace, [name]):
            yield

    async def usable(self, name: TopicName) -> bool:
        """Whether a topic exists, or will when a client uses it."""
        if await self.automatic(name):
            return True
        partitions = await self._resources.partitions(name.partitioned_name)
        if partitions:
            return name.partition_index < partitions
        return await self._resources.topic_exists(name)

    async def automatic(self, name: TopicName) -> bool:
        """Whether a client makes a topic by using it."""
        auto = (await self._policies.of(name)).auto_topic_creation
        return auto is not None and auto.allowed

    async def partitions(self, name: TopicName, *, create: bool) -> int:
        """How many partitions a topic has; 0: none, or it may be made by who first uses it.

        Where missing topics are made with partitions, and ``create`` is set, this one is made.
        Raises NamespaceNotFound, TopicNotFound, LimitReached.
        """
        await self._resources.require_namespace(name.namespace)
        index = name.partition_index
        partitions = await self._resources.partitions(name.partitioned_name)
        if partitions and index < partitions:
            return partitions if index < 0 else 0
        if not partitions and await self._resources.topic_exists(name):
            return 0
        auto = (await self._policies.of(name)).auto_topic_creation
        if partitions or not (create and auto is not None and auto.allowed):
            raise TopicNotFound(f"Topic {name} not found")
        if index >= 0 or not auto.partitions_made:
            return 0
        try:
            await self.create_partitioned(name, auto.partitions_made)
        except AlreadyExists:  # Somebody else asked at the same moment.
            return await self._resources.partitions(name)
        return auto.partitions_made

    async def create_partitioned(
        self, name: TopicName, partitions: int, properties: dict[str, str] | None = None
    ) -> None:
        """Store that a topic is partitioned; its partitions are made by who first uses them.

        Raises InvalidName, InvalidValue, LimitReached, and what Resources raises.
        """
        if name.partition_index >= 0 or PARTITION_MARK in name.local:
            raise InvalidName(f"Partitioned Topic Name should not contain '{PARTITION_MARK}'")
        if partitions < 1:
            raise InvalidValue("Number of partitions should be more than 0")
        if partitions > self.partitions_max:
            raise InvalidValue(
                f"Number of partitions should be less than or equal to {self.partitions_max}"
            )
        async with self._places(name.namespace, _partitions(name, 0, partitions)):
            await self._resources.create_partitioned_topic(name, partitions, properties)

    async def grow(self, name: TopicName, partitions: int) -> int:
        """Give a partitioned topic more partitions (as many is fine); return how many it had.

        Raises InvalidValue, LimitReached, and what Resources raises.
        """
        if partitions > self.partitions_max:
            raise InvalidValue(
                f"Desired partitions {partitions} can't be greater than the maximum partitions per "
                f"topic {self.partitions_max}."
            )
        has = await self._resources.partitions(name)
        async with self._places(name.namespace, _partitions(name, has, partitions) if has else []):
            return await self._resources.grow_partitions(name, partitions)

    async def check_plain_name(self, name: TopicName) -> None:
        """Raises InvalidName for a name that ends like a partition's and is none."""
        base = name.partitioned_name
        if name.partition_index >= await self._resources.partitions(base) and base != name:
            raise InvalidName(
                f'Can\'t create topic {name.local} with "{PARTITION_MARK}" followed by numeric '
                f"value if there isn't a partitioned topic {base.local} created."
            )

    @asynccontextmanager
    async def _places(
        self, namespace: NamespaceName, names: Sequence[TopicName]
    ) -> AsyncIterator[None]:
        """Keep places in a namespace for these topics until the block ends. Raises LimitReached."""
        limit = (await self._policies.combined(namespace)).policies.topics_per_namespace_max
        while limit and names:
            released = self._released
            present = await self._present(namespace)
            if released != self._released:
                continue  # A topic may have come to be while we read; then no place was kept.
            present |= {name for name in self._reserved if name.namespace == namespace}
            if len(present | set(names)) > max(limit, len(present)):
                raise LimitReached(
                    f"Exceed maximum number of topics in namespace {namespace}: it has "
                    f"{len(present)}"
                )
            break
        self._reserved.update(names)
        try:
            yield
        finally:
            self._reserved -= Counter(names)
            if limit:
                self._released += 1

    async def _present(self, namespace: NamespaceName) -> set[TopicName]:
        """The topics there are, and the partitions that may be used any moment."""
        present = set(await self._resources.topics(namespace))
        for name in await self._resources.partitioned_topics(namespace):
            present.update(_partitions(name, 0, await self._resources.partitions(name)))
        return present


def _partitions(name: TopicName, start: int, stop: int) -> list[TopicName]:
    return [name.partition(index) for index in range(start, stop)]
