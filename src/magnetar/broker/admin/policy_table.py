"""The policies that administrators set, and how Pulsar offers each of them over REST. Pure.

A row for each policy: where it is below a namespace, and below a topic.
"""

from dataclasses import dataclass
from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.model.policies import PLACES
from magnetar.model.policy_values import (
    DispatchRate,
    EntryFilters,
    InactiveTopicDeleteMode,
    InactiveTopicPolicies,
    PersistencePolicies,
    SubscribeRate,
)

REFUSED: Final = object()


@dataclass(frozen=True, slots=True)
class Offer:
    """A policy at ``path`` below its namespace or its topic."""

    path: str
    unset: Any = None  # What is shown where it is not set; None: nothing.
    unset_status: int = 200  # With which nothing is shown.
    verb: str = "POST"  # It sets the policy.
    removable: bool = True
    parameter: str = ""  # The parameter that has the value; "": it is the body.
    negative: str = ""  # Why a number below 0 is refused; "": it "must be 0 or more".
    null: Any = REFUSED  # What a number is set to by ``null``; None unsets it.
    removed: Any = None  # What it is when it has been removed; None: not set.
    nowhere: str = ""  # Why it is not shown of a namespace that does not exist.
    applies: bool = False  # ``?applied=true`` shows what holds, whoever set it.
    access: Access = Access.TENANT_ADMIN  # Of who changes it; an admin of the tenant may see it.


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """A policy, by its name in ``Policies``, and who may set it."""

    name: str
    namespace: Offer | None = None
    topic: Offer | None = None
    refusal: int = 412  # The status of a value that cannot be.
    maximum: str = ""  # What the services call the largest value; "": there is none.
    default: Any = None  # What holds where nobody sets it, and the broker has no setting.


def _topic(path: str, *, applies: bool = True, **more: Any) -> Offer:
    return Offer(path, applies=applies, **more)


_NO_RATE: Final = DispatchRate(period_s=1)
_UNACKED: Final = "maxUnackedNum must be 0 or more"
_NO_POLICIES: Final = "Namespace policies does not exist"

POLICY_ROWS: Final = (
    PolicyRow("retention", Offer("retention"), _topic("retention"), refusal=400),
    PolicyRow(
        "message_ttl_s",
        Offer(
            "messageTTL",
            negative="Invalid value for message TTL, message TTL must >= 0",
            null=0,
        ),
        _topic("messageTTL", parameter="messageTTL", negative="Invalid value for message TTL"),
        default=0,
    ),
    PolicyRow(
        "subscription_expiration_minutes",
        Offer(
            "subscriptionExpirationTime",
            negative="Invalid value for subscription expiration time",
        ),
    ),
    PolicyRow(
        "persistence",
        Offer("persistence"),
        _topic("persistence"),
        refusal=400,
        default=PersistencePolicies(1, 1, 1, 1.0),
    ),
    PolicyRow(
        "deduplication", Offer("deduplication"), _topic("deduplicationEnabled"), default=False
    ),
    PolicyRow(
        "deduplication_snapshot_interval_s",
        Offer(
            "deduplicationSnapshotInterval",
            negative="interval must be greater than or equal to 0",
            null=None,
            removable=False,
        ),
        _topic(
            "deduplicationSnapshotInterval",
            negative="interval must be 0 or more",
            applies=False,
        ),
    ),
    PolicyRow(
        "delayed_delivery",
        Offer("delayedDelivery", access=Access.SUPERUSER),
        _topic("delayedDelivery"),
    ),
    PolicyRow(
        "inactive_topics",
        Offer("inactiveTopicPolicies"),
        _topic("inactiveTopicPolicies"),
        default=InactiveTopicPolicies(
            InactiveTopicDeleteMode.NO_SUBSCRIPTIONS, 60, delete_while_inactive=True
        ),
    ),
    PolicyRow(
        "compaction_threshold_bytes",
        Offer("compactionThreshold", verb="PUT"),
        _topic("compactionThreshold", negative="Invalid value for compactionThreshold"),
        default=0,
    ),
    PolicyRow("dispatch_rate", Offer("dispatchRate"), _topic("dispatchRate"), default=_NO_RATE),
    PolicyRow(
        "subscription_dispatch_rate",
        Offer("subscriptionDispatchRate"),
        _topic("subscriptionDispatchRate"),
        default=_NO_RATE,
    ),
    PolicyRow(
        "replicator_dispatch_rate",
        Offer("replicatorDispatchRate", nowhere=_NO_POLICIES),
        _topic("replicatorDispatchRate"),
        default=_NO_RATE,
    ),
    PolicyRow(
        "publish_rate",
        Offer("publishRate"),
        _topic("publishRate", unset_status=204, applies=False),
    ),
    PolicyRow(
        "subscribe_rate",
        Offer("subscribeRate"),
        _topic("subscribeRate"),
        default=SubscribeRate(period_s=30),
    ),
    PolicyRow(
        "message_size_max",
        topic=_topic(
            "maxMessageSize",
            unset_status=204,
            applies=False,
            negative="topic-level maxMessageSize must be greater than or equal to 0 and must be "
            "smaller than that in the broker-level",
        ),
        maximum="message_size_max",
    ),
    PolicyRow("auto_topic_creation", Offer("autoTopicCreation")),
    PolicyRow(
        "auto_subscription_creation",
        Offer("autoSubscriptionCreation"),
        _topic("autoSubscriptionCreation"),
    ),
    PolicyRow("encryption_required", Offer("encryptionRequired", unset=False), refusal=400),
    PolicyRow("topics_per_namespace_max", Offer("maxTopicsPerNamespace", unset=0)),
    PolicyRow("producers_per_topic_max", Offer("maxProducersPerTopic"), _topic("maxProducers")),
    PolicyRow("consumers_per_topic_max", Offer("maxConsumersPerTopic"), _topic("maxConsumers")),
    PolicyRow(
        "consumers_per_subscription_max",
        Offer("maxConsumersPerSubscription"),
        _topic(
            "maxConsumersPerSubscription",
            unset_status=204,
            applies=False,
            negative="Invalid value for maxConsumersPerSubscription",
        ),
    ),
    PolicyRow(
        "subscriptions_per_topic_max",
        Offer("maxSubscriptionsPerTopic"),
        _topic("maxSubscriptionsPerTopic", unset_status=204, applies=False),
    ),
    PolicyRow(
        "unacked_per_consumer_max",
        Offer("maxUnackedMessagesPerConsumer"),
        _topic("maxUnackedMessagesOnConsumer", negative=_UNACKED),
    ),
    PolicyRow(
        "unacked_per_subscription_max",
        Offer("maxUnackedMessagesPerSubscription"),
        _topic("maxUnackedMessagesOnSubscription", negative=_UNACKED),
    ),
    PolicyRow(
        "subscription_types",
        Offer("subscriptionTypesEnabled", unset=[]),
        _topic("subscriptionTypesEnabled", unset=[], applies=False),
        refusal=400,
    ),
    PolicyRow(
        "dispatch_pauses_on_ack_state",
        Offer(
            "dispatcherPauseOnAckStatePersistent",
            unset=False,
            removed=False,
            nowhere=_NO_POLICIES,
        ),
        _topic("dispatcherPauseOnAckStatePersistent", unset=False),
        default=False,
    ),
    PolicyRow(
        "schema_compatibility",
        Offer("schemaCompatibilityStrategy", unset="UNDEFINED", verb="PUT", removable=False),
        _topic("schemaCompatibilityStrategy", verb="PUT"),
    ),
    PolicyRow(
        "schema_auto_update",
        Offer(
            "schemaAutoUpdateCompatibilityStrategy",
            unset_status=204,
            verb="PUT",
            removable=False,
        ),
    ),
    PolicyRow(
        "schema_auto_update_allowed",
        Offer("isAllowAutoUpdateSchema", unset=True, removable=False),
    ),
    PolicyRow(
        "schema_validation_enforced",
        Offer("schemaValidationEnforced", unset=False, removable=False, applies=True),
        _topic("schemaValidationEnforced", unset=False, removable=False),
    ),
    PolicyRow(
        "entry_filters",
        Offer("entryFilters"),
        _topic("entryFilters"),
        refusal=400,
        default=EntryFilters(),
    ),
)

KINDS: Final = {place.name: place.kind for places in PLACES.values() for place in places}
"""The type of each policy; None is one of its values."""
