"""How topics are replicated to other clusters."""

from dataclasses import dataclass
from typing import Literal

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
