"""The verbs of ``topicPolicies``, and those of ``topics`` that say the same by older names."""

from dataclasses import replace
from typing import Final

from . import policy_rows as rows
from .kinds import BYTES, INTEGER, SECONDS, SUBSCRIPTION
from .offload_rows import OF_TOPICS, OLDER
from .policy_rows import limit, policies
from .verb import APPLIED, ENABLE, ENABLE_OR_DISABLE, GLOBAL, TOPIC, Verb, flag, need, opt

_POLICY: Final = policies(TOPIC, "{topic}", get=(APPLIED, GLOBAL), change=(GLOBAL,))
_PLAIN: Final = (GLOBAL,)  # Of what has no value applied from above.
_ONE: Final = (opt("-s --subscription", "{subscription}", SUBSCRIPTION, "Of one subscription."),)
_OF_ONE: Final = (("subscription", "{topic}/{subscription}/dispatchRate"),)
_RATES: Final = (*rows.DISPATCH_RATE, rows.RELATIVE)
_PAUSE: Final = "dispatcherPauseOnAckStatePersistent"

VERBS: Final[tuple[Verb, ...]] = (
    *_POLICY(
        "message-ttl",
        "messageTTL",
        "after which time messages expire",
        need("-t --ttl", "?messageTTL", SECONDS, "The time: 90s, 3h, 7d; 0 for never."),
    ),
    *_POLICY(
        "max-unacked-messages-per-consumer",
        "maxUnackedMessagesOnConsumer",
        "how many messages a consumer may have unacknowledged",
        limit("-m --maxNum", "Messages; 0 for any number."),
    ),
    *_POLICY(
        "max-unacked-messages-per-subscription",
        "maxUnackedMessagesOnSubscription",
        "how many messages a subscription may have unacknowledged",
        limit("-m --maxNum", "Messages; 0 for any number."),
    ),
    *_POLICY(
        "max-consumers-per-subscription",
        "maxConsumersPerSubscription",
        "how many consumers a subscription may have",
        limit("-c --max-consumers-per-subscription", "Consumers; 0 for any number."),
        read=_PLAIN,
    ),
    *_POLICY(
        "subscription-types-enabled",
        "subscriptionTypesEnabled",
        "which types of subscriptions there may be",
        *rows.SUBSCRIPTION_TYPES,
        read=_PLAIN,
    ),
    *_POLICY(
        "retention",
        "retention",
        "how long and how much is kept that is acknowledged",
        *rows.RETENTION,
        example="public/default/orders -t 7d -s 10G",
    ),
    *_POLICY(
        "backlog-quota",
        "backlogQuota",
        "how large the backlog may be",
        *rows.BACKLOG_QUOTA,
        run="backlog_quota",
        read_path="backlogQuotaMap",
        example="public/default/orders -l 2G -p producer_request_hold",
        removed_with=(rows.QUOTA_OF_TYPE,),
    ),
    *_POLICY(
        "max-producers",
        "maxProducers",
        "how many producers there may be",
        limit("-p --max-producers", "Producers; 0 for any number."),
    ),
    *_POLICY(
        "max-consumers",
        "maxConsumers",
        "how many consumers there may be",
        limit("-c --max-consumers", "Consumers; 0 for any number."),
    ),
    *_POLICY(
        "max-subscriptions-per-topic",
        "maxSubscriptionsPerTopic",
        "how many subscriptions there may be",
        limit("-s --max-subscriptions-per-topic", "Subscriptions; 0 for any number."),
        read=_PLAIN,
    ),
    *_POLICY(
        "max-message-size",
        "maxMessageSize",
        "how large a message may be",
        limit("-m --max-message-size", "Bytes."),
        read=_PLAIN,
    ),
    *_POLICY(
        "deduplication",
        "deduplicationEnabled",
        "whether what producers send again is dropped",
        *ENABLE,
        one_of=ENABLE_OR_DISABLE,
    ),
    *_POLICY(
        "deduplication-snapshot-interval",
        "deduplicationSnapshotInterval",
        "how often snapshots of deduplication are written",
        need("-i --interval", "=", INTEGER, "Seconds."),
        read=_PLAIN,
    ),
    *_POLICY("persistence", "persistence", "how many copies are written", *rows.PERSISTENCE),
    *_POLICY(
        "dispatch-rate",
        "dispatchRate",
        "how fast messages are dispatched",
        *_RATES,
        example="public/default/orders -md 1000 -bd -1 -dt 1",
    ),
    *_POLICY(
        "subscription-dispatch-rate",
        "subscriptionDispatchRate",
        "how fast messages are dispatched to a subscription",
        *_RATES,
        *_ONE,
        removed_with=_ONE,
        paths=_OF_ONE,
    ),
    *_POLICY(
        "replicator-dispatch-rate",
        "replicatorDispatchRate",
        "how fast messages are sent to other clusters",
        *_RATES,
    ),
    *_POLICY(
        "publish-rate", "publishRate", "how fast may be published", *rows.PUBLISH_RATE, read=_PLAIN
    ),
    *_POLICY(
        "subscribe-rate", "subscribeRate", "how often may be subscribed", *rows.SUBSCRIBE_RATE
    ),
    *_POLICY(
        "compaction-threshold",
        "compactionThreshold",
        "from which size on it is compacted by itself",
        need("-t --threshold", "=", BYTES, "The size: 10M, 16G; 0 for never."),
    ),
    *_POLICY(
        "delayed-delivery",
        "delayedDelivery",
        "whether messages may be delivered late",
        *rows.DELAYED_DELIVERY,
        one_of=ENABLE_OR_DISABLE,
    ),
    *_POLICY(
        "inactive-topic-policies",
        "inactiveTopicPolicies",
        "what becomes of it when nobody uses it",
        *rows.INACTIVE_TOPICS,
        one_of=rows.INACTIVE_ONE_OF,
    ),
    *_POLICY(
        "offload-policies",
        "offloadPolicies",
        "where and when ledgers are offloaded",
        *OF_TOPICS,
        run="offload_policies",
        example="public/default/orders -d aws-s3 -r eu-west-1 -b bucket",
    ),
    *_POLICY("entry-filters-per-topic", "entryFilters", "its entry filters", *rows.ENTRY_FILTERS),
    *_POLICY(
        "auto-subscription-creation",
        "autoSubscriptionCreation",
        "whether subscriptions are made by who subscribes",
        flag("-e --enable", "allowAutoSubscriptionCreation", "They are.", default=False),
    ),
    *(
        one.without("--global")
        for one in _POLICY(
            "schema-compatibility-strategy",
            "schemaCompatibilityStrategy",
            "which new schemas go with the old ones",
            need("-s --strategy", "=", rows.STRATEGIES, "BACKWARD, FULL and so on."),
            method="PUT",
        )
    ),
    *_POLICY(
        "dispatcher-pause-on-ack-state-persistent",
        _PAUSE,
        "whether dispatch pauses while too many acknowledgements are kept",
    ),
)

# What a verb is called besides, below topics.
_ALSO: Final = {
    f"{action}-{noun}": f"{action}-{other}"
    for noun, other in (
        ("max-unacked-messages-per-consumer", "max-unacked-messages-on-consumer"),
        ("max-unacked-messages-per-subscription", "max-unacked-messages-on-subscription"),
        ("max-producers", "maxProducers"),
        ("max-subscriptions-per-topic", "max-subscriptions"),
    )
    for action in ("get", "set", "remove")
} | {"get-backlog-quota": "get-backlog-quotas", "get-deduplication": "get-deduplication-enabled"}
_CHANGED: Final = {
    "set-offload-policies": (TOPIC, *OLDER),
    "set-max-subscriptions-per-topic": (
        TOPIC,
        limit("-m -s --max-subscriptions-per-topic", "Subscriptions; 0 for any number."),
    ),
}
_WITHOUT: Final = (
    "auto-subscription-creation",
    "dispatcher-pause-on-ack-state-persistent",
    "entry-filters-per-topic",
    "schema-compatibility-strategy",
)


DEDUPLICATION: Final = tuple(
    Verb(
        f"{name}-deduplication",
        f"{about} duplicates.",
        "POST",
        "{topic}/deduplicationEnabled",
        (TOPIC,),
        body=body,
        hidden=True,
    )
    for name, about, body in (("enable", "Drop", True), ("disable", "Keep", False))
)


def older_verbs() -> tuple[Verb, ...]:
    """What ``topics`` still knows by its older names: not listed, and not for all clusters."""
    found = []
    for verb in VERBS:
        if verb.name.partition("-")[2] in _WITHOUT:
            continue
        also = (_ALSO[verb.name],) if verb.name in _ALSO else ()
        older = replace(
            verb.without("--global", "--subscription"), hidden=True, paths=(), also=also
        )
        found.append(replace(older, params=_CHANGED.get(verb.name, older.params)))
    found += DEDUPLICATION
    return tuple(found)
