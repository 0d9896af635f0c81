"""Every setting of a broker but those of topics, in sections."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, Literal, get_args

from magnetar.model.policies import Policies
from magnetar.model.policy_values import (
    AutoSubscriptionCreationOverride,
    AutoTopicCreationOverride,
    BacklogQuota,
    BacklogQuotaPolicy,
    DelayedDeliveryPolicies,
    InactiveTopicDeleteMode,
    InactiveTopicPolicies,
    RetentionPolicies,
)
from magnetar.model.schemas import SchemaCompatibilityStrategy

from .setting import setting

MIB: Final = 1024 * 1024

Durability = Literal["fsync", "interval", "none"]
SubscriptionTypeName = Literal["Exclusive", "Shared", "Failover", "Key_Shared"]
TopicType = Literal["non-partitioned", "partitioned"]
BacklogPolicyName = Literal[
    "producer_request_hold", "producer_exception", "consumer_backlog_eviction"
]
InactiveTopicModeName = Literal[
    "delete_when_no_subscriptions", "delete_when_subscriptions_caught_up"
]
SchemaStrategy = Literal[
    "ALWAYS_INCOMPATIBLE",
    "ALWAYS_COMPATIBLE",
    "BACKWARD",
    "FORWARD",
    "FULL",
    "BACKWARD_TRANSITIVE",
    "FORWARD_TRANSITIVE",
    "FULL_TRANSITIVE",
]


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the broker listens, and what it calls itself."""

    bind_address: str = setting(
        "bindAddress", "127.0.0.1", "address to listen on; 0.0.0.0 lets other machines in"
    )
    advertised_address: str = setting(
        "advertisedAddress",
        "",
        "host name or address that lookups tell clients; when absent it follows bindAddress: "
        "localhost, that address, or for 0.0.0.0 this machine's host name",
    )
    broker_port: int = setting(
        "brokerServicePort",
        6650,
        "port of the binary protocol; 0 picks a free one, -1 switches it off where TLS is on",
        minimum=-1,
        maximum=65535,
    )
    web_port: int = setting(
        "webServicePort",
        8080,
        "port of the admin REST API; 0 picks a free one, -1 switches it off",
        minimum=-1,
        maximum=65535,
    )
    cluster: str = setting("clusterName", "standalone", "name of the cluster this broker serves")
    shutdown_timeout_ms: int = setting(
        "brokerShutdownTimeoutMs", 10_000, "how long a clean shutdown may take"
    )
    functions_worker: bool = setting(
        "functionsWorkerEnabled",
        False,
        "run functions: a worker is started beside the broker when the first one is created, or "
        "there are some (docs/functions.md)",
    )


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """What a client's connection may do, and how a dead one is noticed."""

    message_size_max: int = setting(
        "maxMessageSize",
        5 * MIB,
        "largest message in bytes, as told to clients",
        minimum=1024,
        maximum=1024 * MIB,
    )
    keep_alive_interval_s: int = setting(
        "keepAliveIntervalSeconds",
        30,
        "a silent peer is pinged after this, closed after twice this",
        minimum=1,
    )
    liveness_timeout_ms: int = setting(
        "connectionLivenessCheckTimeoutMillis",
        5000,
        "how long a client may take to answer when another claims its place",
        minimum=1,
    )
    pending_publishes_max: int = setting(
        "maxPendingPublishRequestsPerConnection",
        16_384,
        "sends of one connection not yet answered before it is no longer read",
        minimum=1,
    )
    pending_publish_bytes_max: int = setting(
        "maxPendingPublishBytesPerConnection", 32 * MIB, "the same, in bytes", minimum=1
    )
    publish_buffer_mb_max: int = setting(
        "maxMessagePublishBufferSizeInMB",
        512,
        "the same for all connections together, in MiB",
        minimum=1,
    )
    delivery_buffer_mb_max: int = setting(
        "maxMessageDeliveryBufferSizeInMB",
        512,
        "messages and answers that clients have not read yet, for all connections together, in MiB",
        minimum=1,
    )
    connections_max: int = setting(
        "brokerMaxConnections", 0, "connections at the same time; 0 is no limit"
    )
    connections_per_ip_max: int = setting(
        "brokerMaxConnectionsPerIp", 0, "the same, from one address; 0 is no limit"
    )
    admin_connections_max: int = setting(
        "maxHttpServerConnections",
        2048,
        "connections to the admin REST API at the same time; 0 is no limit",
    )
    producers_max: int = setting(
        "maxProducersPerConnection", 50_000, "producers of one connection; 0 is no limit"
    )
    consumers_max: int = setting(
        "maxConsumersPerConnection", 50_000, "consumers of one connection; 0 is no limit"
    )
    topic_watchers: bool = setting(
        "enableBrokerTopicListWatcher",
        True,
        "clients may watch which topics of a namespace come and go",
    )
    # Operators cannot set these two: they let a broker serve all its clients at all times.
    requests_running_max: int = 50_000
    """Requests of all connections at once; Pulsar answers as many lookups."""
    message_ids_at_once_max: int = 2_000
    """Message ids handled before the loop serves others: a frame can have hundreds of thousands."""


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """What may be created, and the policies of topics whose namespace says nothing else."""

    auto_topics: bool = setting(
        "allowAutoTopicCreation", True, "a topic is made when a client first uses it"
    )
    auto_topic_kind: TopicType = setting(
        "allowAutoTopicCreationType", "non-partitioned", "what is made then"
    )
    auto_partitions: int = setting(
        "defaultNumPartitions", 1, "partitions of a partitioned topic made then", minimum=1
    )
    partitions_max: int = setting("maxNumPartitionsPerPartitionedTopic", 0, "0 is no limit")
    force_delete_namespaces: bool = setting(
        "forceDeleteNamespaceAllowed",
        False,
        "an administrator may delete a namespace with its topics, by force",
    )
    force_delete_tenants: bool = setting(
        "forceDeleteTenantAllowed", False, "the same for a tenant with its namespaces"
    )
    topics_per_namespace_max: int = setting(
        "maxTopicsPerNamespace", 0, "topics of a namespace; 0 is no limit"
    )
    auto_subscriptions: bool = setting(
        "allowAutoSubscriptionCreation", True, "a subscription is made when first used"
    )
    producers_per_topic_max: int = setting(
        "maxProducersPerTopic", 0, "producers of a topic; 0 is no limit"
    )
    encryption_required: bool = setting(
        "encryptionRequireOnProducer", False, "producers must encrypt what they send"
    )
    deduplication: bool = setting(
        "brokerDeduplicationEnabled", False, "what a producer sends again is not stored again"
    )
    deduplication_snapshot_interval_s: int = setting(
        "brokerDeduplicationSnapshotIntervalSeconds",
        120,
        "how often sequence ids are saved where few entries come; 0 is never",
    )
    consumers_per_topic_max: int = setting(
        "maxConsumersPerTopic", 0, "consumers of a topic; 0 is no limit"
    )
    consumers_per_subscription_max: int = setting(
        "maxConsumersPerSubscription", 0, "consumers of a subscription; 0 is no limit"
    )
    subscription_types: tuple[SubscriptionTypeName, ...] = setting(
        "subscriptionTypesEnabled",
        get_args(SubscriptionTypeName),
        "types of subscription that consumers may ask for",
    )
    producers_per_address_max: int = setting(
        "maxSameAddressProducersPerTopic",
        0,
        "producers of a topic from one host; 0 is no limit",
    )
    consumers_per_address_max: int = setting(
        "maxSameAddressConsumersPerTopic", 0, "the same for consumers"
    )
    key_shared_enabled: bool = setting(
        "subscriptionKeySharedEnable",
        True,
        "Key_Shared subscriptions are served; false overrules every policy",
    )
    subscriptions_per_topic_max: int = setting(
        "maxSubscriptionsPerTopic", 0, "subscriptions of a topic; 0 is no limit"
    )
    unacked_per_consumer_max: int = setting(
        "maxUnackedMessagesPerConsumer",
        50_000,
        "unacknowledged messages before a Shared consumer gets no more; 0 is no limit",
    )
    unacked_per_subscription_max: int = setting(
        "maxUnackedMessagesPerSubscription",
        200_000,
        "the same for all consumers of a subscription; 0 is no limit",
    )
    delayed_delivery_enabled: bool = setting(
        "delayedDeliveryEnabled",
        True,
        "Shared and Key_Shared deliver messages when they are due, else at once",
    )
    delayed_tick_ms: int = setting(
        "delayedDeliveryTickTimeMillis",
        1000,
        "how often delayed messages are looked at, and by how much they may be early",
        minimum=1,
    )
    delay_ms_max: int = setting(
        "delayedDeliveryMaxDelayInMillis", 0, "longest delay of a message; 0 is no limit"
    )
    compaction_threshold_bytes: int = setting(
        "brokerServiceCompactionThresholdInBytes",
        0,
        "a topic is compacted when so much was published since the last time; 0 is never",
    )
    retention_minutes: int = setting(
        "defaultRetentionTimeInMinutes",
        0,
        "how long acknowledged messages are kept; -1 is for ever",
        minimum=-1,
    )
    retention_mb: int = setting(
        "defaultRetentionSizeInMB",
        0,
        "how much of acknowledged messages is kept for a topic, in MiB; -1 is no limit",
        minimum=-1,
    )

    message_ttl_s: int = setting(
        "ttlDurationDefaultInSeconds",
        0,
        "messages older than this count as acknowledged; 0 keeps them",
    )
    backlog_bytes_max: int = setting(
        "backlogQuotaDefaultLimitBytes",
        -1,
        "quota of a topic's backlog in bytes; -1 is no limit",
        minimum=-1,
    )
    backlog_gb_max: float = setting(
        "backlogQuotaDefaultLimitGB",
        -1.0,
        "the same in GiB, where it is not given in bytes",
        minimum=-1,
    )
    backlog_age_max_s: int = setting(
        "backlogQuotaDefaultLimitSecond",
        -1,
        "how old the oldest message of a topic's backlog may be; -1 is no limit",
        minimum=-1,
    )
    backlog_quota_policy: BacklogPolicyName = setting(
        "backlogQuotaDefaultRetentionPolicy",
        "producer_request_hold",
        "what happens beyond these quotas: producers are held back or refused, or the oldest "
        "messages count as acknowledged",
    )
    subscription_expiration_minutes: int = setting(
        "subscriptionExpirationTimeMinutes",
        0,
        "a subscription without consumers is deleted after this; 0 is never",
    )
    delete_inactive_topics: bool = setting(
        "brokerDeleteInactiveTopicsEnabled", True, "topics that nobody uses are deleted"
    )
    inactive_topic_mode: InactiveTopicModeName = setting(
        "brokerDeleteInactiveTopicsMode",
        "delete_when_no_subscriptions",
        "which: those without subscriptions, or also those whose subscriptions have no backlog",
    )
    inactive_topic_s_max: int | None = setting(
        "brokerDeleteInactiveTopicsMaxInactiveDurationSeconds",
        None,
        "after how long without producers and consumers, and not before retention is over; when "
        "empty, as often as they are looked for",
    )
    inactive_check_s: int = setting(
        "brokerDeleteInactiveTopicsFrequencySeconds",
        60,
        "how often topics are looked for that nobody uses",
        minimum=1,
    )

    schema_compatibility: SchemaStrategy = setting(
        "schemaCompatibilityStrategy",
        "FULL",
        "which new schema a topic takes, compared with those it has",
    )
    schema_auto_update_allowed: bool = setting(
        "isAllowAutoUpdateSchemaEnabled", True, "producers may bring a topic a new schema"
    )
    schema_validation_enforced: bool = setting(
        "isSchemaValidationEnforced",
        False,
        "producers without a schema are refused by topics that have one",
    )

    system_schema_compatibility: SchemaStrategy = setting(
        "systemTopicSchemaCompatibilityStrategy",
        "ALWAYS_COMPATIBLE",
        "the same for system topics, and those in the namespace pulsar/system",
    )
    topic_level_policies: bool = setting(
        "topicLevelPoliciesEnabled", True, "topics may have policies of their own"
    )
    system_topics: bool = setting(
        "systemTopicEnabled",
        True,
        "without Pulsar's system topics, topics have no policies of their own either",
    )

    @property
    def topic_level(self) -> bool:
        """Whether topics have policies of their own."""
        return self.topic_level_policies and self.system_topics

    def policies(self) -> Policies:
        """The broker's level: all policies that are in force are set."""
        quota_policy = BacklogQuotaPolicy(self.backlog_quota_policy)
        same = {field.name for field in fields(self)} & set(Policies.__slots__)
        return Policies(
            auto_topic_creation=AutoTopicCreationOverride(
                self.auto_topics, self.auto_topic_kind, self.auto_partitions
            ),
            auto_subscription_creation=AutoSubscriptionCreationOverride(self.auto_subscriptions),
            delayed_delivery=DelayedDeliveryPolicies(
                self.delayed_tick_ms, self.delayed_delivery_enabled, self.delay_ms_max
            ),
            retention=RetentionPolicies(self.retention_minutes, self.retention_mb),
            backlog_quota_size=BacklogQuota(self._backlog_bytes_max, -1, quota_policy),
            backlog_quota_age=BacklogQuota(-1, self.backlog_age_max_s, quota_policy),
            inactive_topics=InactiveTopicPolicies(
                InactiveTopicDeleteMode(self.inactive_topic_mode),
                self.inactive_check_s
                if self.inactive_topic_s_max is None
                else self.inactive_topic_s_max,
                self.delete_inactive_topics,
            ),
            **{name: getattr(self, name) for name in same - {"schema_compatibility"}},
            schema_compatibility=SchemaCompatibilityStrategy(self.schema_compatibility),
        )

    @property
    def _backlog_bytes_max(self) -> int:
        if self.backlog_bytes_max >= 0 or self.backlog_gb_max < 0:
            return self.backlog_bytes_max
        return int(self.backlog_gb_max * 1024 * MIB)


@dataclass(frozen=True, slots=True)
class HousekeepingSettings:
    """How often topics are looked after."""

    expiry_check_minutes: float = setting(
        "messageExpiryCheckIntervalInMinutes",
        5.0,
        "how often expired messages are looked for, in minutes; 0.1 is six seconds",
        minimum=0.001,
    )
    subscription_check_minutes: float = setting(
        "subscriptionExpiryCheckIntervalInMinutes",
        5.0,
        "the same for subscriptions that are not used",
        minimum=0.001,
    )
    backlog_check: bool = setting(
        "backlogQuotaCheckEnabled", True, "backlogs are compared with their quotas"
    )
    backlog_check_s: int = setting("backlogQuotaCheckIntervalInSeconds", 60, "how often", minimum=1)
    compaction_check_s: int = setting(
        "brokerServiceCompactionMonitorIntervalInSeconds",
        60,
        "how often topics are looked for that are to be compacted",
        minimum=1,
    )

    @property
    def expiry_check_s(self) -> float:
        return self.expiry_check_minutes * 60

    @property
    def subscription_check_s(self) -> float:
        return self.subscription_check_minutes * 60


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """Where messages are kept, how safely and how long."""

    data_directory: Path = setting(
        "dataDirectory", Path("data"), "folder of everything stored; made when absent"
    )
    in_memory: bool = setting("storageInMemory", False, "keep everything in memory, for tests")
    durability: Durability = setting(
        "durability",
        "fsync",
        "fsync: a receipt means it is on disk; interval: synced every so often; none: the "
        "operating system decides",
    )
    sync_interval_ms: int = setting(
        "durabilityIntervalMillis", 1000, "how often with durability=interval", minimum=1
    )
    segment_size: int = setting(
        "logSizeLimit",
        64 * MIB,
        "bytes of one file of the log that holds all entries",
        minimum=64 * 1024,
        maximum=1024 * MIB,
    )
    spare_mb_max: int = setting(
        "logSpareSizeMB",
        512,
        "files of deleted entries kept to be overwritten, in MiB; at most eight files",
    )
    cache_mb: int = setting(
        "managedLedgerCacheSizeMB", 64, "memory for recent entries, for all topics together, in MiB"
    )
    entries_per_ledger_max: int = setting(
        "managedLedgerMaxEntriesPerLedger", 50_000, "then a new ledger starts", minimum=1
    )
    ledger_size_mb_max: int = setting(
        "managedLedgerMaxSizePerLedgerMbytes", 2048, "then a new ledger starts", minimum=1
    )
    ledger_age_min_minutes: int = setting(
        "managedLedgerMinLedgerRolloverTimeMinutes", 10, "no new ledger before this age"
    )
    ledger_age_max_minutes: int = setting(
        "managedLedgerMaxLedgerRolloverTimeMinutes", 240, "a new ledger after this age", minimum=1
    )
    cursor_saves_per_s: float = setting(
        "managedLedgerDefaultMarkDeleteRateLimit",
        1.0,
        "how often a second a cursor's acknowledgements are written",
        minimum=0.001,
    )
    cursor_ranges_max: int = setting(
        "managedLedgerMaxUnackedRangesToPersist",
        10_000,
        "ranges of acknowledgements kept for a cursor",
        minimum=1,
    )
    retention_check_s: int = setting(
        "retentionCheckIntervalInSeconds", 120, "how often old ledgers are looked for", minimum=1
    )
