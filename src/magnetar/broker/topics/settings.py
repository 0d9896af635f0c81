"""How subscriptions deliver: the settings of topics that are no policies. Defaults are Pulsar's."""

from typing import Literal

from magnetar.broker.settings.setting import setting
from magnetar.errors import NotAllowed
from magnetar.late_dataclass import dataclass
from magnetar.model.names import TopicName

FailoverOrder = Literal["hashed", "joined"]


@dataclass(slots=True, frozen=True)
class TopicSettings:
    """Settings of subscriptions and dispatch, the same for all topics of a broker."""

    batch_index_acks: bool = setting(
        "acknowledgmentAtBatchIndexLevelEnabled",
        False,
        "single messages of a batch can be acknowledged; recommended: true, as in newer Pulsar",
    )
    key_shared_consistent_hashing: bool = setting(
        "subscriptionKeySharedUseConsistentHashing",
        True,
        "Key_Shared places consumers on a ring, else it splits ranges",
    )
    key_shared_points: int = setting(
        "subscriptionKeySharedConsistentHashingReplicaPoints",
        100,
        "points of each consumer on that ring",
        minimum=1,
    )
    look_ahead_per_consumer_max: int = setting(
        "keySharedLookAheadMsgInReplayThresholdPerConsumer",
        2000,
        "Key_Shared: entries per consumer that wait for their key before reading on stops",
        minimum=1,
    )
    look_ahead_per_subscription_max: int = setting(
        "keySharedLookAheadMsgInReplayThresholdPerSubscription",
        20_000,
        "the same for all consumers of a subscription",
        minimum=1,
    )
    failover_consistent_hashing: bool = setting(
        "activeConsumerFailoverConsistentHashing",
        False,
        "Failover chooses by a hash ring for partitions too",
    )
    failover_order: FailoverOrder = setting(
        "activeConsumerFailoverOrder",
        "hashed",
        "of Failover consumers with the same priority on a topic without partitions, hashed takes "
        "one by the names, as Pulsar does, and joined the one that subscribed first",
    )
    failover_delay_ms: int = setting(
        "activeConsumerFailoverDelayTimeMillis",
        1000,
        "pause before a newly active Failover consumer gets messages",
    )
    read_entries_max: int = setting(
        "dispatcherMaxReadBatchSize", 1000, "entries a dispatcher reads at once", minimum=1
    )  # Pulsar reads 100; ours travel as one list, so more cost nothing each.
    replay_entries_max: int = setting(
        "dispatcherMaxReplayBatchSize",
        100,
        "the same of what is delivered again, which is scattered over the log",
        minimum=1,
    )
    persistent_topics: bool = setting(
        "enablePersistentTopics", True, "clients may use persistent topics"
    )
    non_persistent_topics: bool = setting(
        "enableNonPersistentTopics", True, "clients may use non-persistent topics"
    )
    non_persistent_sends_max: int = setting(
        "maxConcurrentNonPersistentMessagePerConnection",
        1000,
        "sends of one producer to a non-persistent topic taken from one read of its socket; the "
        "rest is dropped; 0 is no limit",
    )
    throttle_caught_up: bool = setting(
        "dispatchThrottlingOnNonBacklogConsumerEnabled",
        True,
        "limits on the rate of delivery also hold for subscriptions with a backlog of less than "
        "1,000 entries",
    )
    delayed_strict: bool = setting(
        "isDelayedDeliveryDeliverAtTimeStrict",
        False,
        "a delayed message is never delivered early, else by up to a tick",
    )
    consumer_metadata_bytes_max: int = setting(
        "maxConsumerMetadataSize", 1024, "bytes of a consumer's own properties"
    )
    read_bytes_max: int = setting(
        "dispatcherMaxReadSizeBytes", 5 * 1024 * 1024, "bytes a dispatcher reads at once", minimum=1
    )
    backlog_scan_entries_max: int = setting(
        "subscriptionBacklogScanMaxEntries",
        10_000,
        "entries read to count the messages of a backlog",
        minimum=1,
    )
    backlog_scan_ms_max: int = setting(
        "subscriptionBacklogScanMaxTimeMs", 120_000, "how long they may be read", minimum=1
    )
    deduplication_entries_interval: int = setting(
        "brokerDeduplicationEntriesInterval",
        1000,
        "deduplication: after so many entries the sequence ids are saved",
        minimum=1,
    )
    deduplication_producers_max: int = setting(
        "brokerDeduplicationMaxNumberOfProducers",
        10_000,
        "producers of a topic whose sequence ids are kept",
        minimum=1,
    )
    deduplication_idle_minutes: int = setting(
        "brokerDeduplicationProducerInactivityTimeoutMinutes",
        360,
        "the sequence id of a producer that is gone for so long is forgotten",
    )
    unload_idle_after_s: int = setting(
        "topicUnloadAfterIdleSeconds",
        300,
        "a topic that nobody has used for so long is unloaded until it is used again; 0 is never",
    )
    compaction_retains_null_key: bool = setting(
        "topicCompactionRetainNullKey", False, "compaction keeps messages without a key"
    )
    compaction_keys_max: int = setting(
        "compactionKeysMax",
        5_000_000,
        "keys of one topic that compaction can hold in memory, at about 200 bytes each",
        minimum=1,
    )
    # What follows has no key: it bounds memory and keeps the event loop fair on every broker.
    chunked_messages_max: int = 10_000
    """Messages delivered in part whose owners are known; the rest of the oldest goes to anybody."""
    waiting_chunks_max: int = 1_000
    """Chunks that wait for a busy owner before nothing new is read."""
    keys_known_max: int = 10_000
    """Keys whose slots are remembered; hashing one takes longer than looking it up."""
    compactions_at_once_max: int = 2
    """Topics of a broker that are compacted at the same time; the others wait."""
    iteration_entries_max: int = 1_000
    """Entries delivered before the event loop gets to others; the rest follows by itself."""
    returned_at_once_max: int = 2_000
    """Entries given back before others get the event loop: a consumer may hold 50,000."""

    def check_domain(self, name: TopicName) -> None:
        """Raises NotAllowed where topics of this one's domain are switched off."""
        enabled, setting = self.persistent_topics, "enablePersistentTopics"
        if not name.persistent:
            enabled, setting = self.non_persistent_topics, "enableNonPersistentTopics"
        if not enabled:
            raise NotAllowed(
                f"This broker is unable to load {name.domain} topics ({setting}=false): {name}"
            )

    @property
    def failover_delay_s(self) -> float:
        return self.failover_delay_ms / 1000
