"""What a topic asks of other clusters; ``broker/remote_clusters.py`` satisfies it."""

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Protocol

from magnetar.broker.settings.replication import ReplicationSettings
from magnetar.late_dataclass import dataclass
from magnetar.message.send_run import SendRun
from magnetar.model.counts import SnapshotCounts
from magnetar.model.names import TopicName
from magnetar.model.policies import Policies
from magnetar.model.system_topics import is_change_events, is_system_topic


class RemoteTopicUser(Protocol):
    """Whoever sends to a topic of another cluster; it is told of what becomes of that."""

    @property
    def encrypted(self) -> bool:
        """Whether all that it sends is encrypted."""

    def on_attached(self) -> None:
        """What is sent from now on is stored there, behind what was stored before."""

    def on_detached(self) -> None:
        """What has no receipt may be stored or not: it is to be sent again."""

    def on_stored(self, ledger_ids: list[int], entry_ids: list[int], *, named: bool) -> None:
        """So many sends, in their order, are stored.

        Where ``named``, these are their places here, but for markers: ``OF_A_MARKER``.
        """


class RemoteTopic(Protocol):
    """A topic of another cluster, as one topic here sends to it."""

    @property
    def address(self) -> str:
        """The broker there, ``host:port``; "" while it is not attached."""

    @property
    def attached_ms(self) -> int:
        """When it was attached; 0 while it is not."""

    @property
    def trouble(self) -> str:
        """Why it is not attached, or what was refused last; "" where nothing is amiss."""

    def attach(self) -> None:
        """Attach, and try again until that works; nothing where it is attached or about to be."""

    def detach(self) -> None:
        """Let go of it, until ``attach``."""

    def send(self, run: SendRun) -> None:
        """Send entries in their order. Dropped while it is not attached."""

    def again(self) -> None:
        """Let go of it and attach again: what was answered does not fit what was sent."""

    def schema_version(self, version: bytes) -> bytes | None:
        """The version there of a schema of this topic; None where it is not known yet."""

    async def learn_schema(self, version: bytes) -> None:
        """Find it out; the schema is added there if need be. Raises what keeps it from that."""

    async def close(self) -> None:
        """Let go of it for good."""


@dataclass(frozen=True, slots=True)
class OtherClusters:
    """The clusters that topics are replicated to."""

    here: str
    """The name of this one."""
    settings: ReplicationSettings
    open: Callable[[str, TopicName, RemoteTopicUser], RemoteTopic]
    """A topic of the cluster with this name; nothing is asked of that before ``attach``."""
    snapshots: SnapshotCounts = field(default_factory=SnapshotCounts)
    """Those of all topics."""

    def cursor_name(self, cluster: str) -> str:
        """The cursor of the replicator to a cluster."""
        return f"{self.settings.prefix}.{cluster}"

    def producer_name(self, source: str, target: str) -> str:
        """What the producers of replicators from one cluster to another are called."""
        return f"{self.settings.prefix}.{source}-->{target}"

    def named(self, policies: Policies) -> set[str]:
        """The other clusters that policies name."""
        return {*(policies.replication_clusters or ())} - {self.here}

    def of_topic(self, topic: TopicName, policies: Policies) -> set[str]:
        """The same of a topic; none for what only brokers of one cluster write."""
        if is_system_topic(topic) and not is_change_events(topic):
            return set()
        return self.named(policies)

    def with_cursors(self, cursors: Iterable[str]) -> set[str]:
        """The clusters whose replicators have one of these cursors."""
        return {*filter(None, map(self.cluster_of, cursors))}

    def cluster_of(self, cursor: str) -> str | None:
        """The cluster of a replicator's cursor; None for another cursor."""
        prefix = self.cursor_name("")
        return cursor.removeprefix(prefix) if cursor.startswith(prefix) else None
