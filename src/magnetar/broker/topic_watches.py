"""Tells who watches the topics of a namespace which ones come and go.

All watches of a namespace share one list, read once and then kept by what the metadata store says
of single topics. Persistent topics only, partitions one by one, as in Pulsar.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from magnetar.clock import Clock
from magnetar.errors import MagnetarError
from magnetar.model.names import NamespaceName, TopicName
from magnetar.tasks import Tasks

from .resources import Resources

log = logging.getLogger(__name__)

Changed = Callable[[Sequence[TopicName], Sequence[TopicName]], None]
"""Called with the topics that came and those that went."""


class TopicWatches:
    """The namespaces that clients watch."""

    def __init__(self, resources: Resources, *, clock: Clock, tasks: Tasks) -> None:
        self._resources = resources
        self._clock = clock
        self._tasks = tasks
        self._namespaces: dict[NamespaceName, NamespaceTopics] = {}

    async def begin(self, name: NamespaceName, changed: Changed) -> "NamespaceTopics":
        """Call ``changed`` from now on; ``NamespaceTopics`` has the topics there are. To be ended.

        Raises what the metadata store raises.
        """
        namespace = self._namespaces.get(name)
        if namespace is None:
            namespace = self._namespaces[name] = NamespaceTopics(
                name, self._resources, clock=self._clock, tasks=self._tasks
            )
        namespace.watchers.append(changed)
        try:
            await namespace.known()
        except BaseException:
            self.end(namespace, changed)
            raise
        return namespace

    def end(self, namespace: "NamespaceTopics", changed: Changed) -> None:
        namespace.watchers.remove(changed)
        if not namespace.watchers:
            namespace.close()
            self._namespaces.pop(namespace.name, None)


class NamespaceTopics:
    """The topics of one namespace, kept up to date while a client watches."""

    def __init__(
        self, name: NamespaceName, resources: Resources, *, clock: Clock, tasks: Tasks
    ) -> None:
        self.name = name
        self.topics: set[TopicName] = set()
        self.watchers: list[Changed] = []
        self._resources = resources
        self._clock = clock
        self._tasks = tasks
        self._to_look_at: dict[TopicName, None] = {}
        self._read = False  # Once, at least.
        self._all = True  # The whole list must be read.
        self._looking: asyncio.Task[MagnetarError | None] | None = None
        self._watch = resources.watch_topics(name, self._noticed)

    async def known(self) -> None:
        """Return when the list was read. Raises what the metadata store raises."""
        while self._all:
            error = await asyncio.shield(self._look())
            if error is not None:
                raise error

    def close(self) -> None:
        self._watch.cancel()

    def _noticed(self, topic: TopicName | None) -> None:
        if topic is None:
            self._all = True
        else:
            self._to_look_at[topic] = None
        self._look()

    def _look(self) -> "asyncio.Task[MagnetarError | None]":
        if self._looking is None:
            self._looking = self._tasks.spawn("topic list", self._work())
        return self._looking

    async def _work(self) -> MagnetarError | None:
        """Look at what changed until nothing has, and tell. An error is returned and logged."""
        try:
            while self._all or self._to_look_at:
                before = set(self.topics)
                if self._all:
                    self._all = False
                    self._to_look_at.clear()
                    self.topics = set(await self._resources.topics(self.name))
                else:
                    await self._look_at_each()
                if self._read:
                    self._tell(before)
                self._read = True
                await self._clock.sleep(0)  # Long lists take long to be told.
        except MagnetarError as error:
            self._all = True  # Nobody knows what was missed.
            log.warning("topic_list.unreadable namespace=%s error=%s", self.name, error)
            return error
        finally:
            self._looking = None
        return None

    async def _look_at_each(self) -> None:
        looked_at, self._to_look_at = self._to_look_at, {}
        for name in looked_at:
            if await self._resources.topic_exists(name):
                self.topics.add(name)
            else:
                self.topics.discard(name)

    def _tell(self, before: set[TopicName]) -> None:
        came = sorted(self.topics - before, key=str)
        went = sorted(before - self.topics, key=str)
        for changed in list(self.watchers) if came or went else ():
            changed(came, went)
