"""How topics are replicated to other clusters."""

from typing import Literal

from magnetar.late_dataclass import dataclass

from .setting import setting


@dataclass(frozen=True, slots=True)
class ReplicationSettings:
    """Replicators: what they are called, and how much they do at once."""

    prefix: str = setting(
        "replicatorPrefix",
        "pulsar.repl",
        "how the names of replicators' cursors and producers begin; the same in all clusters",
    )
    connections_per_broker: int = setting(
        "replicationConnectionsPerBroker",
        16,
        "connections to each broker of another cluster",
        minimum=1,
    )
    queue_max: int = setting(
        "replicationProducerQueueSize",
        1000,
        "entries of a topic that are on their way to another cluster at once",
        minimum=1,
    )
    start_at: Literal["earliest", "latest"] = setting(
        "replicationStartAt",
        "latest",
        "where a replicator begins in a topic that has messages already",
    )
    creates_topics: bool = setting(
        "createTopicToRemoteClusterForReplication",
        True,
        "a topic that the other cluster does not have, or with fewer partitions, is made there",
    )
    subscriptions: bool = setting(
        "enableReplicatedSubscriptions",
        True,
        "subscriptions that ask for it are kept as far in other clusters, too",
    )
    snapshot_interval_ms: int = setting(
        "replicatedSubscriptionsSnapshotFrequencyMillis",
        1000,
        "from one snapshot of a topic for these to the next, where something was published",
        minimum=10,
    )
    snapshot_timeout_s: int = setting(
        "replicatedSubscriptionsSnapshotTimeoutSeconds",
        30,
        "a snapshot that not all clusters have answered by then is given up",
        minimum=1,
    )
    snapshots_max: int = setting(
        "replicatedSubscriptionsSnapshotMaxCachedPerSubscription",
        10,
        "snapshots that are known before a subscription has come past them",
        minimum=1,
    )
