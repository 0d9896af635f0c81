"""To which other clusters one topic is replicated: replicators come and go with its policies."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from magnetar.broker.topics.features.replicator import Replicator
from magnetar.broker.topics.publishing.producer import Producer
from magnetar.broker.topics.publishing.topic_writer import TopicWriter
from magnetar.broker.topics.remote_topic import OtherClusters
from magnetar.broker.topics.topic_state import StoredTopicState
from magnetar.errors import MagnetarError
from magnetar.message.replicas import Copies
from magnetar.model.position import EARLIEST, LATEST
from magnetar.model.stats import ReplicationStats, TopicStats
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.tasks import Tasks

log = logging.getLogger(__name__)


class SubscriptionReplication(Protocol):
    """Keeps the subscriptions of a topic as other clusters have them."""

    def apply(self) -> None:
        """Know which subscriptions are replicated now."""

    def grew(self) -> None:
        """Something was published."""

    def look_again(self) -> None:
        """Try again what could not be done."""

    def read(self, cluster: str, run: EntryRun, indexes: Sequence[int]) -> None:
        """The replicator to a cluster has read these entries, which may be markers."""

    async def close(self) -> None:
        """End what runs."""


class TopicReplication:
    """Made for topics that go to other clusters, or have the cursors of when they did."""

    def __init__(
        self,
        state: StoredTopicState,
        writer: TopicWriter,
        producers: Mapping[str, Producer],
        clusters: OtherClusters,
        subscriptions: Callable[["TopicReplication"], SubscriptionReplication | None],
    ) -> None:
        """``subscriptions`` is asked once there is something to do for them."""
        self.replicators: dict[str, Replicator] = {}  # By cluster.
        self._state = state
        self._ledger = state.ledger
        self._writer = writer
        self._producers = producers
        self._clusters = clusters
        self._subscriptions = subscriptions
        self.subscriptions: SubscriptionReplication | None = None  # None before the first one.
        self._tasks = Tasks(f"replication of {state.name}")
        self._settling: asyncio.Task[MagnetarError | None] | None = None
        writer.replicators = self.replicators

    def apply(self) -> None:
        """Replicate to the clusters that the policies name, from now on."""
        for replicator in self.replicators.values():
            self._limit(replicator)
        self._settle()

    async def settled(self) -> None:
        """Return when nothing that is published is missed. Raises what the stores raise."""
        if self._settling is not None and (error := await asyncio.shield(self._settling)):
            raise error

    async def maintain(self) -> None:
        """Try again what failed, and let go of clusters that nothing was sent to for long.

        Raises what the stores raise.
        """
        for replicator in self.replicators.values():
            replicator.wake()
            replicator.rest_if_idle()
        if self.subscriptions is not None:
            self.subscriptions.look_again()
        self._settle()
        await self.settled()

    def replicate_subscriptions(self) -> None:
        """Some are replicated, or are no longer."""
        if self.subscriptions is None:
            self.subscriptions = self._subscriptions(self)
        if self.subscriptions is not None:
            self.subscriptions.apply()

    def may_rest(self) -> bool:
        """False: something is still to be sent."""
        return not any(each.backlog for each in self.replicators.values())

    def fill(self, stats: TopicStats) -> None:
        """Say how each stands, and what comes from which cluster."""
        for cluster, replicator in self.replicators.items():
            found = stats.replication[cluster] = ReplicationStats()
            replicator.fill(found)
            stats.backlog_bytes = max(stats.backlog_bytes, found.backlog_bytes)
        for name, producer in self._producers.items():
            cluster = (self._clusters.cluster_of(name) or "").partition("-->")[0]
            if cluster in stats.replication:
                found = stats.replication[cluster]
                found.inbound_address = producer.connection.address
                found.inbound_since_ms = producer.connected_at_ms
                found.msg_in_counter = producer.message_count
                found.bytes_in_counter = producer.size_bytes

    async def close(self) -> None:
        """Send nothing any more; the cursors keep how far it came."""
        await self._tasks.close()
        if self.subscriptions is not None:
            await self.subscriptions.close()
        for replicator in self.replicators.values():
            await replicator.close()

    def _limit(self, replicator: Replicator) -> None:
        replicator.limit(self._state.policies.replicator_dispatch_rate, self._writer.published)

    def _settle(self) -> None:
        if self._settling is None and self._is_wrong():
            self._settling = self._tasks.spawn("settle", self._work())

    @property
    def _wanted(self) -> set[str]:
        return self._clusters.of_topic(self._state.name, self._state.policies)

    @property
    def _with_cursors(self) -> set[str]:
        return self._clusters.with_cursors(self._ledger.cursors)

    def _is_wrong(self) -> bool:
        wanted = self._wanted
        return wanted != self.replicators.keys() or wanted != self._with_cursors

    async def _work(self) -> MagnetarError | None:
        """Begin and end replicators. An error is returned to whoever waits, and logged."""
        try:
            while self._is_wrong():
                wanted = self._wanted
                for cluster in self._with_cursors - wanted:
                    await self._end(cluster)
                for cluster in sorted(wanted - self.replicators.keys()):
                    await self._begin(cluster)
        except MagnetarError as error:
            log.warning("replication.not_settled topic=%s error=%s", self._state.name, error)
            return error
        finally:
            self._settling = None
        return None

    async def _begin(self, cluster: str) -> None:
        start = EARLIEST if self._clusters.settings.start_at == "earliest" else LATEST
        cursor = await self._ledger.open_cursor(self._clusters.cursor_name(cluster), start)
        replicator = Replicator(cluster, cursor, self._state, self._clusters, self._saw)
        self._limit(replicator)
        self.replicators[cluster] = replicator
        log.info("replicator.began topic=%s cluster=%s", self._state.name, cluster)
        replicator.wake()

    def _saw(self, cluster: str, run: EntryRun, found: Copies) -> None:
        if found.markers:
            if self.subscriptions is None:
                self.replicate_subscriptions()
            if self.subscriptions is not None:
                self.subscriptions.read(cluster, run, found.markers)
        if self.subscriptions is not None and found.end > len(found.markers):
            self.subscriptions.grew()

    async def _end(self, cluster: str) -> None:
        replicator = self.replicators.pop(cluster, None)
        left = 0
        if replicator is not None:
            left = replicator.backlog
            await replicator.close()
        await self._ledger.delete_cursor(self._clusters.cursor_name(cluster))
        log.info(
            "replicator.ended topic=%s cluster=%s entries_not_sent=%d",
            self._state.name,
            cluster,
            left,
        )
