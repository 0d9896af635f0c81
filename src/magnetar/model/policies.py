"""The policies of a broker, a namespace and a topic, and how they combine. Pure.

A namespace's policies override the broker's, and a topic's override both. Where a level leaves a
policy out, the level below decides.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from typing import Any, Final, NamedTuple, Self

from magnetar.errors import InvalidValue
from magnetar.model import policy_values as values
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
)
from magnetar.model.records import BUNDLES_DEFAULT, Bundles, Json
from magnetar.model.schemas import SchemaAutoUpdate, SchemaCompatibilityStrategy
from magnetar.model.subscriptions import SubscriptionType

CLUSTER: Final = "{cluster}"


class At(NamedTuple):
    """Where a namespace's JSON has a policy: at ``key``, or at ``part`` of the object there."""

    key: str
    part: str | None = None  # CLUSTER stands for the name of this cluster.


def at(key: str, part: str | None = None) -> Any:
    """A policy that a namespace may set, and where its JSON has it."""
    return field(default=None, metadata={"at": At(key, part)})


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies that one level sets; None leaves one to the level below."""

    auth: AuthPolicies | None = at("auth_policies")
    replication_clusters: tuple[str, ...] | None = at("replication_clusters")
    allowed_clusters: tuple[str, ...] | None = at("allowed_clusters")
    backlog_quota_size: BacklogQuota | None = at("backlog_quota_map", "destination_storage")
    backlog_quota_age: BacklogQuota | None = at("backlog_quota_map", "message_age")
    cluster_dispatch_rate: DispatchRate | None = at("clusterDispatchRate", CLUSTER)
    dispatch_rate: DispatchRate | None = at("topicDispatchRate", CLUSTER)
    subscription_dispatch_rate: DispatchRate | None = at("subscriptionDispatchRate", CLUSTER)
    replicator_dispatch_rate: DispatchRate | None = at("replicatorDispatchRate", CLUSTER)
    subscribe_rate: SubscribeRate | None = at("clusterSubscribeRate", CLUSTER)
    publish_rate: PublishRate | None = at("publishMaxMessageRate", CLUSTER)
    persistence: PersistencePolicies | None = at("persistence")
    deduplication: bool | None = at("deduplicationEnabled")
    deduplication_snapshot_interval_s: int | None = at("deduplicationSnapshotIntervalSeconds")
    auto_topic_creation: AutoTopicCreationOverride | None = at("autoTopicCreationOverride")
    auto_subscription_creation: AutoSubscriptionCreationOverride | None = at(
        "autoSubscriptionCreationOverride"
    )
    latency_stats_sample_rate: Mapping[str, int] | None = at("latency_stats_sample_rate")
    message_ttl_s: int | None = at("message_ttl_in_seconds")
    subscription_expiration_minutes: int | None = at("subscription_expiration_time_minutes")
    retention: RetentionPolicies | None = at("retention_policies")
    encryption_required: bool | None = at("encryption_required")
    delayed_delivery: DelayedDeliveryPolicies | None = at("delayed_delivery_policies")
    inactive_topics: InactiveTopicPolicies | None = at("inactive_topic_policies")
    subscription_auth_mode: str | None = at("subscription_auth_mode")
    producers_per_topic_max: int | None = at("max_producers_per_topic")
    consumers_per_topic_max: int | None = at("max_consumers_per_topic")
    consumers_per_subscription_max: int | None = at("max_consumers_per_subscription")
    unacked_per_consumer_max: int | None = at("max_unacked_messages_per_consumer")
    unacked_per_subscription_max: int | None = at("max_unacked_messages_per_subscription")
    subscriptions_per_topic_max: int | None = at("max_subscriptions_per_topic")
    topics_per_namespace_max: int | None = at("max_topics_per_namespace")
    compaction_threshold_bytes: int | None = at("compaction_threshold")
    offload_threshold_bytes: int | None = at("offload_threshold")
    offload_threshold_s: int | None = at("offload_threshold_in_seconds")
    offload_deletion_lag_ms: int | None = at("offload_deletion_lag_ms")
    offload: Mapping[str, Any] | None = at("offload_policies")
    schema_auto_update: SchemaAutoUpdate | None = at("schema_auto_update_compatibility_strategy")
    schema_compatibility: SchemaCompatibilityStrategy | None = at("schema_compatibility_strategy")
    schema_auto_update_allowed: bool | None = at("is_allow_auto_update_schema")
    schema_validation_enforced: bool | None = at("schema_validation_enforced")
    subscription_types: tuple[str, ...] | None = at("subscription_types_enabled")
    metric_properties: tuple[str, ...] | None = at("allowed_topic_properties_for_metrics")
    properties: Mapping[str, str] | None = at("properties")
    resource_group: str | None = at("resource_group_name")
    migrated: bool | None = at("migrated")
    dispatch_pauses_on_ack_state: bool | None = at("dispatcherPauseOnAckStatePersistentEnabled")
    entry_filters: EntryFilters | None = at("entryFilters")
    anti_affinity_group: str | None = at("antiAffinityGroup")
    # Only topics have these.
    message_size_max: int | None = None
    shadow_topics: tuple[str, ...] | None = None

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


class _Place(NamedTuple):
    """A policy of namespaces: its name, its type, and where the JSON has it."""

    name: str
    kind: Any
    at: At


_PLACES: Final = tuple(
    _Place(each.name, each.type, each.metadata["at"])
    for each in fields(Policies)
    if "at" in each.metadata
)


def json_name(policy: str) -> str:
    """What Pulsar's JSON calls a policy of namespaces."""
    return next(place.at.key for place in _PLACES if place.name == policy)


class Level(IntEnum):
    """Who set a policy; a higher level overrides a lower one."""

    BROKER = 0
    NAMESPACE = 1
    TOPIC = 2


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
    """Combine levels: the last one that sets a policy decides."""
    found: dict[str, Any] = {}
    levels: dict[str, Level] = {}
    for each in lowest_first:
        found |= each.policies.given()
        levels |= each.levels
    return Combined(Policies(**found), levels)


# What Pulsar shows of a namespace without settings; other keys are left out until they are set.
_SHOWN: Final[Json] = {
    "auth_policies": {"namespace_auth": {}, "destination_auth": {}, "subscription_auth_roles": {}},
    "allowed_clusters": [],
    "backlog_quota_map": {},
    "clusterDispatchRate": {},
    "topicDispatchRate": {},
    "subscriptionDispatchRate": {},
    "replicatorDispatchRate": {},
    "clusterSubscribeRate": {},
    "publishMaxMessageRate": {},
    "latency_stats_sample_rate": {},
    "deleted": False,
    "encryption_required": False,
    "subscription_auth_mode": "None",
    "offload_threshold": -1,
    "offload_threshold_in_seconds": -1,
    "schema_compatibility_strategy": "UNDEFINED",
    "is_allow_auto_update_schema": True,
    "schema_validation_enforced": False,
    "subscription_types_enabled": [],
    "properties": {},
    "migrated": False,
}


def policies_in(value: Json, cluster: str) -> Policies:
    """The policies that a namespace's JSON sets for a cluster. Raises InvalidValue.

    A value that Pulsar shows by default counts as not set.
    """
    found = {}
    for name, kind, place in _PLACES:
        sent = _holder(value, place).get(_part(place, cluster))
        if sent not in (None, [], {}) and (place.part or sent != _SHOWN.get(place.key)):
            found[name] = values.from_json(kind, sent, place.key)
    return Policies(**found)


def unread_parts(value: Json, cluster: str) -> list[str]:
    """Keys of a namespace's JSON that have parts for other clusters or of unknown kinds."""
    read: dict[str, set[str]] = {}
    for _, _, place in _PLACES:
        if place.part is not None:
            read.setdefault(place.key, set()).add(_part(place, cluster))
    return [key for key, parts in read.items() if (value.get(key) or {}).keys() - parts]


@dataclass(frozen=True, slots=True)
class NamespacePolicies:
    """The record of a namespace: its bundles, and the policies that somebody set."""

    bundles: Bundles
    policies: Policies = Policies()
    deleted: bool = False  # It is being deleted, and counts as absent.
    cluster: str = field(default="", compare=False)  # ``policies`` has the rates of this one.
    stored: Json = field(default_factory=dict, compare=False)  # The JSON that was read.

    @classmethod
    def fresh(cls, cluster: str, bundles: int = BUNDLES_DEFAULT) -> Self:
        policies = Policies(replication_clusters=(cluster,))
        return cls(Bundles.even(bundles), policies, cluster=cluster)

    @classmethod
    def from_json(cls, value: Json, cluster: str) -> Self:
        bundles = value.get("bundles") or {}
        if not isinstance(bundles, dict):
            raise InvalidValue(f"bundles are an object, not a {type(bundles).__name__}")
        policies = policies_in(value, cluster)
        deleted = value.get("deleted") is True
        return cls(Bundles.from_json(bundles), policies, deleted, cluster, value)

    def to_json(self) -> Json:
        """The JSON that was read, with the changes since; unknown keys stay."""
        written = dict(self.stored)
        before = policies_in(self.stored, self.cluster)
        for name, _, place in _PLACES:
            value = getattr(self.policies, name)
            if value != getattr(before, name):
                _write(written, place, _part(place, self.cluster), values.to_json(value))
        return written | {"bundles": self.bundles.to_json(), "deleted": self.deleted}

    def shown(self) -> Json:
        """As an administrator sees it: what is set, and Pulsar's defaults for the rest."""
        return {**_SHOWN, **self.to_json()}

    def with_policies(self, **changed: Any) -> Self:
        """The same namespace with these policies; None unsets one."""
        return replace(self, policies=replace(self.policies, **changed))


def _holder(value: Json, place: At) -> Json:
    """The object that has a policy as one of its items."""
    if place.part is None:
        return value
    holder = value.get(place.key) or {}
    if not isinstance(holder, dict):
        raise InvalidValue(f"{place.key} is a JSON {type(holder).__name__}, not an object")
    return holder


def _part(place: At, cluster: str) -> str:
    return cluster if place.part == CLUSTER else place.part or place.key


def _write(value: Json, place: At, part: str, item: Any) -> None:
    """Put a policy in its place in the JSON; None takes it away."""
    holder = value if place.part is None else value.setdefault(place.key, {})
    if place.part is not None:
        holder = value[place.key] = dict(holder)
    if item is None:
        holder.pop(part, None)
    else:
        holder[part] = item
