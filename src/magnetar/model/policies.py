"""The policies of a broker, a namespace and a topic, and how they combine. Pure.

A namespace's policies override the broker's, and a topic's override both. Where a level leaves a
policy out, the level below decides.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum
from itertools import chain
from typing import Any, Final, NamedTuple, Self

from magnetar.errors import InvalidValue
from magnetar.model.offload_policies import OffloadPolicies
from magnetar.model.policy_values import (
    AuthPolicies,
    AutoSubscriptionCreationOverride,
    AutoTopicCreationOverride,
    BacklogQuota,
    DelayedDeliveryPolicies,
    DispatchRate,
    EntryFilters,
    InactiveTopicPolicies,
    PersistencePolicies,
    PublishRate,
    RetentionPolicies,
    SubscribeRate,
    SubscriptionAuthMode,
    SubscriptionPolicies,
)
from magnetar.model.schemas import SchemaAutoUpdate, SchemaCompatibilityStrategy
from magnetar.model.subscriptions import SubscriptionType

CLUSTER: Final = "{cluster}"
_ACTS: Final = "acts"


class Level(IntEnum):
    """Who set a policy; a higher level overrides a lower one."""

    BROKER = 0
    NAMESPACE = 1
    TOPIC = 2


class At(NamedTuple):
    """Where JSON has a policy: at ``key``, or at ``part`` of the object there."""

    key: str
    part: str | None = None  # CLUSTER stands for the name of this cluster.


def at(key: str, part: str | None = None, *, topic: str = "", acts: bool = True) -> Any:
    """A policy that a namespace may set, and where its JSON has it.

    ``topic``: a topic may set it, too, and this is the key in its JSON. One that does not act is
    kept and shown.
    """
    metadata: dict[Any, Any] = {Level.NAMESPACE: At(key, part), _ACTS: acts}
    if topic:
        metadata[Level.TOPIC] = At(topic, None if part == CLUSTER else part)
    return field(default=None, metadata=metadata)


def of_topics(key: str, *, acts: bool = True) -> Any:
    """A policy that only topics may set."""
    return field(default=None, metadata={Level.TOPIC: At(key), _ACTS: acts})


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies that one level sets; None leaves one to the level below."""

    auth: AuthPolicies | None = at("auth_policies")
    replication_clusters: tuple[str, ...] | None = at(
        "replication_clusters", topic="replicationClusters"
    )
    allowed_clusters: tuple[str, ...] | None = at("allowed_clusters")
    backlog_quota_size: BacklogQuota | None = at(
        "backlog_quota_map", "destination_storage", topic="backLogQuotaMap"
    )
    backlog_quota_age: BacklogQuota | None = at(
        "backlog_quota_map", "message_age", topic="backLogQuotaMap"
    )
    cluster_dispatch_rate: DispatchRate | None = at("clusterDispatchRate", CLUSTER, acts=False)
    dispatch_rate: DispatchRate | None = at("topicDispatchRate", CLUSTER, topic="dispatchRate")
    subscription_dispatch_rate: DispatchRate | None = at(
        "subscriptionDispatchRate", CLUSTER, topic="subscriptionDispatchRate"
    )
    replicator_dispatch_rate: DispatchRate | None = at(
        "replicatorDispatchRate", CLUSTER, topic="replicatorDispatchRate", acts=False
    )
    subscribe_rate: SubscribeRate | None = at(
        "clusterSubscribeRate", CLUSTER, topic="subscribeRate"
    )
    publish_rate: PublishRate | None = at("publishMaxMessageRate", CLUSTER, topic="publishRate")
    persistence: PersistencePolicies | None = at("persistence", topic="persistence", acts=False)
    deduplication: bool | None = at("deduplicationEnabled", topic="deduplicationEnabled")
    deduplication_snapshot_interval_s: int | None = at(
        "deduplicationSnapshotIntervalSeconds", topic="deduplicationSnapshotIntervalSeconds"
    )
    auto_topic_creation: AutoTopicCreationOverride | None = at("autoTopicCreationOverride")
    auto_subscription_creation: AutoSubscriptionCreationOverride | None = at(
        "autoSubscriptionCreationOverride", topic="autoSubscriptionCreationOverride"
    )
    latency_stats_sample_rate: Mapping[str, int] | None = at(
        "latency_stats_sample_rate", acts=False
    )
    message_ttl_s: int | None = at("message_ttl_in_seconds", topic="messageTTLInSeconds")
    subscription_expiration_minutes: int | None = at("subscription_expiration_time_minutes")
    retention: RetentionPolicies | None = at("retention_policies", topic="retentionPolicies")
    encryption_required: bool | None = at("encryption_required")
    delayed_delivery: DelayedDeliveryPolicies | None = at(
        "delayed_delivery_policies", topic="delayedDeliveryPolicies"
    )
    inactive_topics: InactiveTopicPolicies | None = at(
        "inactive_topic_policies", topic="inactiveTopicPolicies"
    )
    subscription_auth_mode: SubscriptionAuthMode | None = at("subscription_auth_mode")
    producers_per_topic_max: int | None = at("max_producers_per_topic", topic="maxProducerPerTopic")
    consumers_per_topic_max: int | None = at("max_consumers_per_topic", topic="maxConsumerPerTopic")
    consumers_per_subscription_max: int | None = at(
        "max_consumers_per_subscription", topic="maxConsumersPerSubscription"
    )
    unacked_per_consumer_max: int | None = at(
        "max_unacked_messages_per_consumer", topic="maxUnackedMessagesOnConsumer"
    )
    unacked_per_subscription_max: int | None = at(
        "max_unacked_messages_per_subscription", topic="maxUnackedMessagesOnSubscription"
    )
    subscriptions_per_topic_max: int | None = at(
        "max_subscriptions_per_topic", topic="maxSubscriptionsPerTopic"
    )
    topics_per_namespace_max: int | None = at("max_topics_per_namespace")
    compaction_threshold_bytes: int | None = at("compaction_threshold", topic="compactionThreshold")
    offload_threshold_bytes: int | None = at("offload_threshold", acts=False)
    offload_threshold_s: int | None = at("offload_threshold_in_seconds", acts=False)
    offload_deletion_lag_ms: int | None = at("offload_deletion_lag_ms", acts=False)
    offload: OffloadPolicies | None = at("offload_policies", topic="offloadPolicies")
    schema_auto_update: SchemaAutoUpdate | None = at("schema_auto_update_compatibility_strategy")
    schema_compatibility: SchemaCompatibilityStrategy | None = at(
        "schema_compatibility_strategy", topic="schemaCompatibilityStrategy"
    )
    schema_auto_update_allowed: bool | None = at("is_allow_auto_update_schema")
    schema_validation_enforced: bool | None = at(
        "schema_validation_enforced", topic="schemaValidationEnforced"
    )
    subscription_types: tuple[str, ...] | None = at(
        "subscription_types_enabled", topic="subscriptionTypesEnabled"
    )
    metric_properties: tuple[str, ...] | None = at(
        "allowed_topic_properties_for_metrics", acts=False
    )
    properties: Mapping[str, str] | None = at("properties")
    resource_group: str | None = at("resource_group_name")
    migrated: bool | None = at("migrated", acts=False)
    dispatch_pauses_on_ack_state: bool | None = at(
        "dispatcherPauseOnAckStatePersistentEnabled",
        topic="dispatcherPauseOnAckStatePersistentEnabled",
        acts=False,
    )
    entry_filters: EntryFilters | None = at("entryFilters", topic="entryFilters", acts=False)
    message_size_max: int | None = of_topics("maxMessageSize")
    shadow_topics: tuple[str, ...] | None = of_topics("shadowTopics", acts=False)
    of_subscriptions: Mapping[str, SubscriptionPolicies] | None = of_topics("subscriptionPolicies")
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
                raise InvalidValue(f"{json_name(name)} must be 0 or more")
        known = [each.printed for each in SubscriptionType]
        for word in self.subscription_types or ():
            if word not in known:
                raise InvalidValue(f"Unknown subscription type {word}: use {', '.join(known)}")


NO_POLICIES: Final = Policies()


class Place(NamedTuple):
    """A policy that a level may set: its name, its type, and where the JSON has it."""

    name: str
    kind: Any
    at: At


PLACES: Final = {
    level: tuple(
        Place(each.name, each.type, each.metadata[level])
        for each in fields(Policies)
        if level in each.metadata
    )
    for level in (Level.NAMESPACE, Level.TOPIC)
}
"""The policies that a namespace may set, and those that a topic may."""
IN_FORCE: Final = frozenset(each.name for each in fields(Policies) if each.metadata.get(_ACTS))
"""The policies that this broker applies; any other is kept and shown, and an administrator told."""


def json_name(policy: str) -> str:
    """What Pulsar's JSON calls a policy: a namespace's, where namespaces have it."""
    places = chain(PLACES[Level.NAMESPACE], PLACES[Level.TOPIC])
    return next(place.at.key for place in places if place.name == policy)


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
