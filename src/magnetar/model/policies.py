"""The policies of a broker, a namespace and a topic, and how they combine. Pure.

A namespace's policies override the broker's, and a topic's override both. Where a level leaves a
policy out, the level below decides. Each policy is one field of ``Policies``, whose row says all
that records, routes, the console and commands know of it.
"""

from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from typing import Any, Final, Self

from magnetar.errors import InvalidValue
from magnetar.late_dataclass import dataclass
from magnetar.model.offload_policies import OffloadPolicies
from magnetar.model.policy_rows import CLUSTER, Endpoint, Level, PolicyRow, policy, rows_of
from magnetar.model.policy_values import (
    AuthPolicies,
    AutoSubscriptionCreationOverride,
    AutoTopicCreationOverride,
    BacklogQuota,
    DelayedDeliveryPolicies,
    DispatchRate,
    EntryFilters,
    InactiveTopicDeleteMode,
    InactiveTopicPolicies,
    PersistencePolicies,
    PublishRate,
    RetentionPolicies,
    SubscribeRate,
    SubscriptionAuthMode,
    SubscriptionPolicies,
    Words,
)
from magnetar.model.schemas import SchemaAutoUpdate, SchemaCompatibilityStrategy
from magnetar.model.subscriptions import SubscriptionType

# Policies by the part of the console's page that has them.
_keeping = partial(policy, group="Keeping messages")
_delivery = partial(policy, group="Delivery")
_rates = partial(policy, group="Rates")
_limits = partial(policy, group="Limits")
_creation = partial(policy, group="Creation and schemas")

_NO_RATE: Final = DispatchRate(period_s=1)
_UNACKED: Final = "maxUnackedNum must be 0 or more"
_NOWHERE: Final = "Namespace policies does not exist"


def _limit(label: str, namespace: Endpoint, topic: Endpoint | None = None) -> Any:
    return _limits(namespace, topic, words=Words(label, zero="no limit"))


def _quota(part: str, by: str, how: str) -> Any:
    return _keeping(
        Endpoint("backlog_quota_map", "backlogQuota", part, own_routes=True),
        Endpoint("backLogQuotaMap", "backlogQuota", part, own_routes=True),
        words=Words(f"Backlog quota by {by}"),
        about=f"How {how} a backlog may grow, and what happens then.",
    )


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies that one level sets; None leaves one to the level below."""

    auth: AuthPolicies | None = policy(
        Endpoint(
            "auth_policies",
            unset={"namespace_auth": {}, "destination_auth": {}, "subscription_auth_roles": {}},
            listed=True,
        )
    )
    replication_clusters: tuple[str, ...] | None = policy(
        Endpoint("replication_clusters"), Endpoint("replicationClusters")
    )
    allowed_clusters: tuple[str, ...] | None = policy(
        Endpoint("allowed_clusters", unset=[], listed=True)
    )
    retention: RetentionPolicies | None = _keeping(
        Endpoint("retention_policies", "retention"),
        Endpoint("retentionPolicies", "retention", applies=True),
        refusal=400,
        words=Words("Retention"),
        about="How long and how much acknowledged messages are kept.",
    )
    message_ttl_s: int | None = _keeping(
        Endpoint(
            "message_ttl_in_seconds",
            "messageTTL",
            negative="Invalid value for message TTL, message TTL must >= 0",
            null=0,
        ),
        Endpoint(
            "messageTTLInSeconds",
            "messageTTL",
            parameter="messageTTL",
            negative="Invalid value for message TTL",
            applies=True,
        ),
        default=0,
        words=Words("Time to live", "s", "never"),
        about="After this, a message nobody acknowledged counts as acknowledged.",
    )
    backlog_quota_size: BacklogQuota | None = _quota("destination_storage", "size", "large")
    backlog_quota_age: BacklogQuota | None = _quota("message_age", "age", "old")
    compaction_threshold_bytes: int | None = _keeping(
        Endpoint("compaction_threshold", "compactionThreshold", method="PUT"),
        Endpoint(
            "compactionThreshold",
            "compactionThreshold",
            negative="Invalid value for compactionThreshold",
            applies=True,
        ),
        default=0,
        words=Words("Compaction", "bytes", "never"),
        about="Backlog after which a topic is compacted to the last message of each key.",
    )
    subscription_expiration_minutes: int | None = _keeping(
        Endpoint(
            "subscription_expiration_time_minutes",
            "subscriptionExpirationTime",
            negative="Invalid value for subscription expiration time",
        ),
        words=Words("Subscriptions expire", "min", "never"),
        about="Subscriptions without consumers are deleted after this.",
    )
    inactive_topics: InactiveTopicPolicies | None = _keeping(
        Endpoint("inactive_topic_policies", "inactiveTopicPolicies"),
        Endpoint("inactiveTopicPolicies", "inactiveTopicPolicies", applies=True),
        default=InactiveTopicPolicies(
            InactiveTopicDeleteMode.NO_SUBSCRIPTIONS, 60, delete_while_inactive=True
        ),
        words=Words("Inactive topics"),
        about="Which topics that nobody uses are deleted, and when.",
    )
    persistence: PersistencePolicies | None = _keeping(
        Endpoint("persistence", "persistence"),
        Endpoint("persistence", "persistence", applies=True),
        acts=False,
        refusal=400,
        default=PersistencePolicies(1, 1, 1, 1.0),
        words=Words("Persistence"),
        about="Kept for Pulsar's tools; this broker syncs to its own disk.",
    )
    delayed_delivery: DelayedDeliveryPolicies | None = _delivery(
        Endpoint("delayed_delivery_policies", "delayedDelivery", superuser=True),
        Endpoint("delayedDeliveryPolicies", "delayedDelivery", applies=True),
        words=Words("Delayed delivery"),
        about="Whether Shared and Key_Shared hold messages back until they are due.",
    )
    deduplication: bool | None = _delivery(
        Endpoint("deduplicationEnabled", "deduplication"),
        Endpoint("deduplicationEnabled", "deduplicationEnabled", applies=True),
        default=False,
        words=Words("Deduplication"),
        about="What a producer sends again is not stored again.",
    )
    deduplication_snapshot_interval_s: int | None = _delivery(
        Endpoint(
            "deduplicationSnapshotIntervalSeconds",
            "deduplicationSnapshotInterval",
            negative="interval must be greater than or equal to 0",
            null=None,
            removable=False,
        ),
        Endpoint(
            "deduplicationSnapshotIntervalSeconds",
            "deduplicationSnapshotInterval",
            negative="interval must be 0 or more",
        ),
        words=Words("Deduplication snapshots", "s", "never"),
        about="How often sequence ids are saved.",
    )
    subscription_types: tuple[str, ...] | None = _delivery(
        Endpoint("subscription_types_enabled", "subscriptionTypesEnabled", unset=[], listed=True),
        Endpoint("subscriptionTypesEnabled", "subscriptionTypesEnabled", unset=[]),
        refusal=400,
        words=Words(
            "Types of subscriptions", options=tuple(each.printed for each in SubscriptionType)
        ),
        about="Which are allowed; none chosen means those of the broker.",
    )
    dispatch_pauses_on_ack_state: bool | None = _delivery(
        Endpoint(
            "dispatcherPauseOnAckStatePersistentEnabled",
            "dispatcherPauseOnAckStatePersistent",
            unset=False,
            removed=False,
            nowhere=_NOWHERE,
        ),
        Endpoint(
            "dispatcherPauseOnAckStatePersistentEnabled",
            "dispatcherPauseOnAckStatePersistent",
            unset=False,
            applies=True,
        ),
        acts=False,
        default=False,
        words=Words("Pause on acknowledgements"),
        about="Deliver no more while too many acknowledgements could not be stored.",
    )
    entry_filters: EntryFilters | None = policy(
        Endpoint("entryFilters", "entryFilters"),
        Endpoint("entryFilters", "entryFilters", applies=True),
        acts=False,
        refusal=400,
        default=EntryFilters(),
        group="",  # No filter can be named: this broker has none.
    )
    publish_rate: PublishRate | None = _rates(
        Endpoint("publishMaxMessageRate", "publishRate", CLUSTER),
        Endpoint("publishRate", "publishRate", unset_status=204),
        words=Words("Publishing"),
        about="Messages and bytes published to a topic in a second.",
    )
    dispatch_rate: DispatchRate | None = _rates(
        Endpoint("topicDispatchRate", "dispatchRate", CLUSTER),
        Endpoint("dispatchRate", "dispatchRate", applies=True),
        default=_NO_RATE,
        words=Words("Delivery from a topic"),
        about="Messages and bytes delivered from a topic in a period.",
    )
    cluster_dispatch_rate: DispatchRate | None = policy(
        Endpoint("clusterDispatchRate", part=CLUSTER), acts=False
    )
    subscription_dispatch_rate: DispatchRate | None = _rates(
        Endpoint("subscriptionDispatchRate", "subscriptionDispatchRate", CLUSTER),
        Endpoint("subscriptionDispatchRate", "subscriptionDispatchRate", applies=True),
        default=_NO_RATE,
        words=Words("Delivery to a subscription"),
        about="The same for each of its subscriptions.",
    )
    replicator_dispatch_rate: DispatchRate | None = _rates(
        Endpoint("replicatorDispatchRate", "replicatorDispatchRate", CLUSTER, nowhere=_NOWHERE),
        Endpoint("replicatorDispatchRate", "replicatorDispatchRate", applies=True),
        default=_NO_RATE,
        words=Words("Delivery to other clusters"),
        about="The same for each cluster that a topic is replicated to.",
    )
    subscribe_rate: SubscribeRate | None = _rates(
        Endpoint("clusterSubscribeRate", "subscribeRate", CLUSTER),
        Endpoint("subscribeRate", "subscribeRate", applies=True),
        default=SubscribeRate(period_s=30),
        words=Words("Subscribing"),
        about="How often one consumer may subscribe in a period.",
    )
    latency_stats_sample_rate: Mapping[str, int] | None = policy(
        Endpoint("latency_stats_sample_rate", unset={}, listed=True), acts=False
    )
    topics_per_namespace_max: int | None = _limit(
        "Topics", Endpoint("max_topics_per_namespace", "maxTopicsPerNamespace", unset=0)
    )
    producers_per_topic_max: int | None = _limit(
        "Producers of a topic",
        Endpoint("max_producers_per_topic", "maxProducersPerTopic"),
        Endpoint("maxProducerPerTopic", "maxProducers", applies=True),
    )
    consumers_per_topic_max: int | None = _limit(
        "Consumers of a topic",
        Endpoint("max_consumers_per_topic", "maxConsumersPerTopic"),
        Endpoint("maxConsumerPerTopic", "maxConsumers", applies=True),
    )
    subscriptions_per_topic_max: int | None = _limit(
        "Subscriptions of a topic",
        Endpoint("max_subscriptions_per_topic", "maxSubscriptionsPerTopic"),
        Endpoint("maxSubscriptionsPerTopic", "maxSubscriptionsPerTopic", unset_status=204),
    )
    consumers_per_subscription_max: int | None = _limit(
        "Consumers of a subscription",
        Endpoint("max_consumers_per_subscription", "maxConsumersPerSubscription"),
        Endpoint(
            "maxConsumersPerSubscription",
            "maxConsumersPerSubscription",
            unset_status=204,
            negative="Invalid value for maxConsumersPerSubscription",
        ),
    )
    unacked_per_consumer_max: int | None = _limit(
        "Unacknowledged messages of a consumer",
        Endpoint("max_unacked_messages_per_consumer", "maxUnackedMessagesPerConsumer"),
        Endpoint(
            "maxUnackedMessagesOnConsumer",
            "maxUnackedMessagesOnConsumer",
            negative=_UNACKED,
            applies=True,
        ),
    )
    unacked_per_subscription_max: int | None = _limit(
        "Unacknowledged messages of a subscription",
        Endpoint("max_unacked_messages_per_subscription", "maxUnackedMessagesPerSubscription"),
        Endpoint(
            "maxUnackedMessagesOnSubscription",
            "maxUnackedMessagesOnSubscription",
            negative=_UNACKED,
            applies=True,
        ),
    )
    message_size_max: int | None = _limits(
        topic=Endpoint(
            "maxMessageSize",
            "maxMessageSize",
            unset_status=204,
            negative="topic-level maxMessageSize must be greater than or equal to 0 and must be "
            "smaller than that in the broker-level",
        ),
        maximum="message_size_max",
        words=Words("Message size", "bytes", "nothing"),
        about="A larger send is refused.",
    )
    auto_topic_creation: AutoTopicCreationOverride | None = _creation(
        Endpoint("autoTopicCreationOverride", "autoTopicCreation"),
        words=Words("Topics by using them"),
        about="Whether a client creates a topic by using it.",
    )
    auto_subscription_creation: AutoSubscriptionCreationOverride | None = _creation(
        Endpoint("autoSubscriptionCreationOverride", "autoSubscriptionCreation"),
        Endpoint("autoSubscriptionCreationOverride", "autoSubscriptionCreation", applies=True),
        words=Words("Subscriptions by using them"),
        about="Whether a consumer creates its subscription.",
    )
    encryption_required: bool | None = _creation(
        Endpoint("encryption_required", "encryptionRequired", unset=False, listed=True),
        refusal=400,
        words=Words("Encryption required"),
        about="Producers must encrypt.",
    )
    schema_compatibility: SchemaCompatibilityStrategy | None = _creation(
        Endpoint(
            "schema_compatibility_strategy",
            "schemaCompatibilityStrategy",
            unset="UNDEFINED",
            listed=True,
            method="PUT",
            removable=False,
        ),
        Endpoint(
            "schemaCompatibilityStrategy", "schemaCompatibilityStrategy", method="PUT", applies=True
        ),
        words=Words("Schema compatibility", options=(*SchemaCompatibilityStrategy, "UNDEFINED")),
        about="Which new schema a topic takes.",
    )
    schema_auto_update: SchemaAutoUpdate | None = _creation(
        Endpoint(
            "schema_auto_update_compatibility_strategy",
            "schemaAutoUpdateCompatibilityStrategy",
            unset_status=204,
            method="PUT",
            removable=False,
        ),
        words=Words("Schema compatibility, older"),
        about="It holds where no schema compatibility is set.",
    )
    schema_auto_update_allowed: bool | None = _creation(
        Endpoint(
            "is_allow_auto_update_schema",
            "isAllowAutoUpdateSchema",
            unset=True,
            listed=True,
            removable=False,
        ),
        words=Words("Producers bring schemas"),
        about="Whether producers may bring a topic a new schema.",
    )
    schema_validation_enforced: bool | None = _creation(
        Endpoint(
            "schema_validation_enforced",
            "schemaValidationEnforced",
            unset=False,
            listed=True,
            removable=False,
            applies=True,
        ),
        Endpoint(
            "schemaValidationEnforced",
            "schemaValidationEnforced",
            unset=False,
            removable=False,
            applies=True,
        ),
        words=Words("Schema required"),
        about="Topics with a schema refuse producers without one.",
    )
    offload: OffloadPolicies | None = policy(
        Endpoint("offload_policies"), Endpoint("offloadPolicies")
    )
    offload_threshold_bytes: int | None = policy(
        Endpoint("offload_threshold", unset=-1, listed=True), acts=False
    )
    offload_threshold_s: int | None = policy(
        Endpoint("offload_threshold_in_seconds", unset=-1, listed=True), acts=False
    )
    offload_deletion_lag_ms: int | None = policy(Endpoint("offload_deletion_lag_ms"), acts=False)
    subscription_auth_mode: SubscriptionAuthMode | None = policy(
        Endpoint("subscription_auth_mode", unset="None", listed=True)
    )
    metric_properties: tuple[str, ...] | None = policy(
        Endpoint("allowed_topic_properties_for_metrics"), acts=False
    )
    properties: Mapping[str, str] | None = policy(Endpoint("properties", unset={}, listed=True))
    resource_group: str | None = policy(Endpoint("resource_group_name"))
    migrated: bool | None = policy(Endpoint("migrated", unset=False, listed=True), acts=False)
    shadow_topics: tuple[str, ...] | None = policy(topic=Endpoint("shadowTopics"), acts=False)
    of_subscriptions: Mapping[str, SubscriptionPolicies] | None = policy(
        topic=Endpoint("subscriptionPolicies")
    )
    # Only the broker has these.
    key_shared_enabled: bool | None = None
    producers_per_address_max: int | None = None
    consumers_per_address_max: int | None = None

    def dispatch_rate_of(self, subscription: str) -> DispatchRate | None:
        """The limit on what a subscription is delivered, if there is one."""
        own = (self.of_subscriptions or {}).get(subscription)
        rate = None if own is None else own.dispatch_rate
        return self.subscription_dispatch_rate if rate is None else rate

    def given(self) -> dict[str, Any]:
        """The policies that are set, by name; an empty list sets nothing."""
        found = ((name, getattr(self, name)) for name in self.__slots__)
        return {name: value for name, value in found if value is not None and value != ()}

    def check(self) -> None:
        """Raise InvalidValue, in Pulsar's words, for the first value that is not allowed."""
        for name, value in self.given().items():
            if hasattr(value, "check"):
                value.check()
            elif name.endswith("_max") and value < 0:
                raise InvalidValue(f"{ROWS[name].json_name} must be 0 or more")
        known = ROWS["subscription_types"].words.options
        for word in self.subscription_types or ():
            if word not in known:
                raise InvalidValue(f"Unknown subscription type {word}: use {', '.join(known)}")


NO_POLICIES: Final = Policies()


ROWS: Final[Mapping[str, PolicyRow]] = rows_of(fields(Policies))
"""The policies that namespaces and topics may set, by name."""


@dataclass(frozen=True, slots=True)
class Combined:
    """The combined policies of several levels, and the level that each came from."""

    policies: Policies
    levels: Mapping[str, Level]  # Invariant: its keys are those of ``policies.given()``.

    @classmethod
    def of(cls, level: Level, policies: Policies) -> Self:
        return cls(policies, dict.fromkeys(policies.given(), level))


def schema_strategy(combined: Combined) -> SchemaCompatibilityStrategy:
    """The strategy that holds; where only the broker sets one, the older policy of the namespace.

    Where nobody sets any it is Pulsar's default.
    """
    policies, level = combined.policies, combined.levels.get("schema_compatibility", Level.BROKER)
    if policies.schema_auto_update is not None and level is Level.BROKER:
        return policies.schema_auto_update.strategy
    return policies.schema_compatibility or SchemaCompatibilityStrategy.FULL


def combine(*lowest_first: Combined) -> Combined:
    """Combine levels: the last one that sets a policy decides.

    Where a value has ``over``, that makes one of it and the lower level's.
    """
    found: dict[str, Any] = {}
    levels: dict[str, Level] = {}
    for each in lowest_first:
        for name, value in each.policies.given().items():
            found[name] = value.over(found.get(name)) if hasattr(value, "over") else value
        levels |= each.levels
    return Combined(Policies(**found), levels)
