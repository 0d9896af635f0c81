"""Decides which topics may be created, by whom, and with how many partitions.

A topic is created when an administrator asks for it, when a client uses it and its namespace allows
that, or as a partition of a topic that exists. The limit on the topics of a namespace counts all
partitions, used or not, and topics that are being created: a place is reserved before anything is
written.
"""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from magnetar.errors import (
    AlreadyExists,
    InvalidName,
    InvalidValue,
    LimitReached,
    NotAllowed,
    TopicNotFound,
)
from magnetar.model.names import DOMAINS, PARTITION_MARK, NamespaceName, TopicName
from magnetar.model.system_topics import (
    is_change_events,
    is_of_transactions,
    is_system_topic,
)

from .policies import PolicyService
from .resources import Resources

PARTITIONS_MAX: Final = 10_000
"""Partitions of a topic, which are made one by one, where no setting says less."""


class Creation:
    """Admits new topics; ``Resources`` and the topics' logs store them."""

    def __init__(
        self, resources: Resources, policies: PolicyService, *, partitions_max: int = 0
    ) -> None:
        """``partitions_max`` of one topic; 0: ``PARTITIONS_MAX``."""
        self.limit_partitions(partitions_max)
        self.makes_change_events = False
        """Whether this broker makes the topics that a cluster keeps policies of topics in."""
        self._resources = resources
        self._policies = policies
        self._reserved: Counter[TopicName] = Counter()  # Admitted, and perhaps not stored yet.
        self._released = 0  # Counts, so that a list read before a release is known to be old.

    def limit_partitions(self, partitions_max: int) -> None:
        """Take no more partitions for one topic; 0: ``PARTITIONS_MAX``."""
        self.partitions_max = partitions_max or PARTITIONS_MAX

    @asynccontextmanager
    async def topic(
        self, name: TopicName, *, exists: bool, create: bool, asked: bool
    ) -> AsyncIterator[None]:
        """Open a topic or partition inside the block, which may also create it there.

        ``exists``: there is such a topic; ``create``: a client uses it; ``asked``: an administrator
        asks for it. Raises TopicNotFound, LimitReached, and NotAllowed for a topic that only
        brokers make.
        """
        if is_of_transactions(name):
            raise NotAllowed(f"Can not create transaction system topic {name}")
        if exists:
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
        if is_system_topic(name):
            if not (self.makes_change_events and is_change_events(name) and (asked or partitions)):
                raise NotAllowed(f"{name} is a system topic, and this broker keeps nothing in it")
            await self._resources.require_namespace(name.namespace)
            yield
            return
        async with self._places(name.namespace, [name]):
            yield

    async def admitted(self, names: Sequence[TopicName]) -> list[TopicName]:
        """Those of these partitions of one topic that anybody may create: all that it has.

        Their places were taken when it got so many. Of a system topic there are none.
        """
        topic = names[0].partitioned_name
        has = 0 if is_system_topic(topic) else await self._resources.partitions(topic)
        return [name for name in names if name.partition_index < has]

    def opened(self, name: TopicName) -> None:
        """A non-persistent topic exists from now on."""
        self._resources.open_topics.add(name)

    def closed(self, name: TopicName) -> None:
        """A non-persistent topic exists no more, until somebody uses it again."""
        self._resources.open_topics.discard(name)

    async def usable(self, name: TopicName) -> bool:
        """Whether a topic exists, or will when a client uses it."""
        if not is_system_topic(name) and await self.automatic(name):
            return True
        partitions = await self._resources.partitions(name.partitioned_name)
        if partitions:
            return name.partition_index < partitions
        return await self._resources.topic_exists(name)

    async def automatic(self, name: TopicName) -> bool:
        """Whether a client creates a topic by using it."""
        auto = (await self._policies.of(name)).auto_topic_creation
        return auto is not None and auto.allowed

    async def partitions(self, name: TopicName, *, create: bool) -> int:
        """How many partitions a topic has; 0: it has none, or its first user may create it.

        Where missing topics get partitions, and ``create`` is set, this one is created.
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
        if index >= 0 or not auto.partitions_made or is_system_topic(name):
            return 0
        try:
            await self.create_partitioned(name, auto.partitions_made)
        except AlreadyExists:  # Another client asked at the same moment.
            return await self._resources.partitions(name)
        return auto.partitions_made

    async def create_partitioned(
        self, name: TopicName, partitions: int, properties: dict[str, str] | None = None
    ) -> None:
        """Store that a topic is partitioned; its partitions are created when they are first used.

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
        """Raise InvalidName for a name that only looks like a partition's."""
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
        """Reserve places in a namespace until the block ends. Raises LimitReached."""
        limit = (await self._policies.combined(namespace)).policies.topics_per_namespace_max
        while limit and names:
            released = self._released
            present = await self._present(namespace)
            if released != self._released:
                continue  # A topic may have been created while the list was read.
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
            for name in names:  # Subtracting a Counter would look at all that others reserve.
                self._reserved[name] -= 1
                if not self._reserved[name]:
                    del self._reserved[name]
            if limit:
                self._released += 1

    async def _present(self, namespace: NamespaceName) -> set[TopicName]:
        """The topics that exist, and all partitions, which exist once they are used."""
        present: set[TopicName] = set()
        for domain in DOMAINS:
            present.update(await self._resources.topics(namespace, domain))
            for name in await self._resources.partitioned_topics(namespace, domain):
                present.update(_partitions(name, 0, await self._resources.partitions(name)))
        return {name for name in present if not is_change_events(name)}


def _partitions(name: TopicName, start: int, stop: int) -> list[TopicName]:
    return [name.partition(index) for index in range(start, stop)]
