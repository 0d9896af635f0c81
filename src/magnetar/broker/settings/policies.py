"""The policies of topics whose namespace says nothing else, and what may be created."""

from dataclasses import fields
from typing import Literal, get_args

from magnetar.late_dataclass import dataclass
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

from .setting import MIB, setting

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
                self.auto_topics,
                self.auto_topic_kind,
                self.auto_partitions if self.auto_topic_kind == "partitioned" else None,
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
