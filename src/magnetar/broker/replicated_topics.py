"""Opens topics that have something to send to other clusters, although no client asks for them.

A topic's replicators run while it is open. So what was published before a broker ended, or lost a
bundle, or closed a topic because a write failed, would wait for the next client: each round opens
the topics of replicated namespaces that this broker serves, or that none does, but for those that
it unloaded since they were idle: these have nothing to send.
"""

import logging
from typing import Final

from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.policies import PolicyService
from magnetar.broker.resources import Resources
from magnetar.broker.topics.remote_topic import OtherClusters
from magnetar.clock import Clock
from magnetar.errors import MagnetarError, NotOwner
from magnetar.model.names import NamespaceName, TopicName

log = logging.getLogger(__name__)

INTERVAL_S: Final = 15.0
"""From one round to the next: so long what nobody serves may wait."""
PER_TURN: Final = 20
"""Topics and namespaces that are looked at before others are served."""


class ReplicatedTopics:
    """Goes over them, for one broker."""

    def __init__(
        self,
        registry: TopicRegistry,
        resources: Resources,
        policies: PolicyService,
        *,
        clusters: OtherClusters,
        clock: Clock,
    ) -> None:
        self._registry = registry
        self._resources = resources
        self._policies = policies
        self._clusters = clusters
        self._clock = clock

    async def run(self) -> None:
        """Go over them for ever."""
        while True:
            try:
                await self.open_all()
            except MagnetarError as error:
                log.warning("replication.topics_unknown error=%s", error)
            await self._clock.sleep(INTERVAL_S)

    async def open_all(self) -> None:
        """One round. Raises what the metadata store raises."""
        count = 0
        if set(await self._resources.clusters()) <= {self._clusters.here}:
            return
        for tenant in await self._resources.tenants():
            for number, namespace in enumerate(await self._resources.namespaces(tenant)):
                for topic in await self._replicated(namespace):
                    await self._open(topic)
                    count += 1
                    if count % PER_TURN == 0:
                        await self._clock.sleep(0)
                if number % PER_TURN == 0:
                    await self._clock.sleep(0)

    async def _replicated(self, namespace: NamespaceName) -> list[TopicName]:
        of_namespace = (await self._policies.combined(namespace)).policies
        if self._clusters.named(of_namespace):
            return await self._resources.topics(namespace)
        own = {
            each
            for each in await self._policies.with_own(namespace)
            if self._clusters.named(await self._policies.of(each))
        }
        topics = await self._resources.topics(namespace) if own else []
        return [each for each in topics if each.partitioned_name in own or each in own]

    async def _open(self, topic: TopicName) -> None:
        if topic in self._registry.loaded or topic in self._registry.resting:
            return
        try:
            await self._registry.look_at(topic)
        except NotOwner:
            return
        except MagnetarError as error:
            log.warning("replication.topic_not_opened topic=%s error=%s", topic, error)
