"""How subscriptions deliver: the settings of topics that are no policies. Defaults are Pulsar's."""

from dataclasses import dataclass
from typing import Annotated

from magnetar.broker.setting import Key


@dataclass(slots=True, frozen=True)
class TopicSettings:
    """Settings of subscriptions and dispatch, the same for all topics of a broker."""

    batch_index_acks: Annotated[
        bool,
        Key(
            "acknowledgmentAtBatchIndexLevelEnabled",
            "single messages of a batch can be acknowledged",
        ),
    ] = False
    key_shared_consistent_hashing: Annotated[
        bool,
        Key(
            "subscriptionKeySharedUseConsistentHashing",
            "Key_Shared places consumers on a ring, else it splits ranges",
        ),
    ] = True
    key_shared_points: Annotated[
        int,
        Key(
            "subscriptionKeySharedConsistentHashingReplicaPoints",
            "points of each consumer on that ring",
            minimum=1,
        ),
    ] = 100
    look_ahead_per_consumer_max: Annotated[
        int,
        Key(
            "keySharedLookAheadMsgInReplayThresholdPerConsumer",
            "Key_Shared: entries per consumer that wait for their key before reading on stops",
            minimum=1,
        ),
    ] = 2000
    look_ahead_per_subscription_max: Annotated[
        int,
        Key(
            "keySharedLookAheadMsgInReplayThresholdPerSubscription",
            "the same for all consumers of a subscription",
            minimum=1,
        ),
    ] = 20_000
    failover_consistent_hashing: Annotated[
        bool,
        Key(
            "activeConsumerFailoverConsistentHashing",
            "Failover chooses by a hash ring for partitions too",
        ),
    ] = False
    failover_delay_ms: Annotated[
        int,
        Key(
            "activeConsumerFailoverDelayTimeMillis",
            "pause before a newly active Failover consumer gets messages",
            minimum=0,
        ),
    ] = 1000
    read_entries_max: Annotated[
        int, Key("dispatcherMaxReadBatchSize", "entries a dispatcher reads at once", minimum=1)
    ] = 1000  # Pulsar reads 100; ours travel as one list, so more cost nothing each.
    replay_entries_max: Annotated[
        int,
        Key(
            "dispatcherMaxReplayBatchSize",
            "the same of what is delivered again, which is scattered over the log",
            minimum=1,
        ),
    ] = 100
    consumer_metadata_bytes_max: Annotated[
        int, Key("maxConsumerMetadataSize", "bytes of a consumer's own properties", minimum=0)
    ] = 1024
    read_bytes_max: Annotated[
        int, Key("dispatcherMaxReadSizeBytes", "bytes a dispatcher reads at once", minimum=1)
    ] = 5 * 1024 * 1024

    @property
    def failover_delay_s(self) -> float:
        return self.failover_delay_ms / 1000
