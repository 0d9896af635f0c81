"""What a broker sets for its topics. Defaults are Pulsar's, except where a comment says why not."""

from dataclasses import dataclass


@dataclass(slots=True, frozen=True)
class TopicSettings:
    """Settings of topics, subscriptions and dispatch."""

    producers_max: int = 0
    """Of one topic; 0 for no limit, as in the next two."""
    consumers_max: int = 0
    subscriptions_max: int = 0
    """Durable ones: readers do not count."""
    unacked_per_consumer_max: int = 50_000
    """Messages a Shared or Key_Shared consumer may hold unacknowledged; 0 for no limit."""
    unacked_per_subscription_max: int = 200_000
    failover_delay_s: float = 1.0
    """How long a new active consumer of a Failover subscription waits for the old one's acks."""
    failover_consistent_hashing: bool = False
    key_shared_consistent_hashing: bool = True
    key_shared_points: int = 100
    batch_index_acks: bool = False
    """Whether single messages of a batch can be acknowledged (Pulsar's default: no)."""
    read_entries_max: int = 1_000
    """Entries per read. Pulsar reads 100; ours travel as one list, so more cost nothing each."""
    read_bytes_max: int = 5 * 1024 * 1024
    replay_entries_max: int = 100
    """Entries per read of what is to be delivered again; they are scattered over the log."""
    look_ahead_per_consumer_max: int = 2_000
    look_ahead_per_subscription_max: int = 20_000
    """Key_Shared: entries waiting for their slot before reading on stops."""
