"""The verbs of ``namespaces`` that show, set and remove policies."""

from typing import Final

from . import kinds
from . import policy_rows as rows
from .kinds import BYTES, INTEGER, MILLIS, SECONDS, TEXT
from .offload_rows import OF_NAMESPACES
from .policy_rows import limit, policies
from .verb import APPLIED, ENABLE, ENABLE_OR_DISABLE, NAMESPACE, Verb, flag, need, opt

_HERE: Final = "namespaces/{namespace}"
_POLICY: Final = policies(NAMESPACE, _HERE)
_AUTO_UPDATE: Final = kinds.choice(
    "Full",
    "Backward",
    "Forward",
    "BackwardTransitive",
    "ForwardTransitive",
    "FullTransitive",
    "AlwaysCompatible",
    "AutoUpdateDisabled",
)
_ANTI_AFFINITY: Final = f"{_HERE}/antiAffinity"
_BOOKIES: Final = f"{_HERE}/persistence/bookieAffinity"


def _number(noun: str, path: str, option: str, about: str) -> tuple[Verb, ...]:
    return _POLICY(noun, path, about, limit(option, "0 for any number."))


POLICIES: Final[tuple[Verb, ...]] = (
    *_POLICY(
        "retention",
        "retention",
        "how long and how much is kept that is acknowledged",
        *rows.RETENTION,
        example="public/default -t 7d -s 10G",
    ),
    Verb("get-backlog-quotas", "Show the quotas.", "GET", f"{_HERE}/backlogQuotaMap", (NAMESPACE,)),
    *_POLICY(
        "backlog-quota",
        "backlogQuota",
        "how large the backlog of a topic may be",
        *rows.BACKLOG_QUOTA,
        run="backlog_quota",
        example="public/default -l 2G -p producer_request_hold",
        removed_with=(rows.QUOTA_OF_TYPE,),
    )[1:],
    *_POLICY(
        "message-ttl",
        "messageTTL",
        "after which time messages expire",
        need("-ttl --messageTTL", "=", SECONDS, "The time: 90s, 3h, 7d; 0 for never."),
        example="public/default -ttl 3h",
    ),
    *_POLICY(
        "subscription-expiration-time",
        "subscriptionExpirationTime",
        "after how many minutes a subscription without consumers goes",
        need("-t --time", "=", INTEGER, "Minutes; 0 for never."),
    ),
    *_POLICY(
        "dispatch-rate",
        "dispatchRate",
        "how fast messages of a topic are dispatched",
        *rows.DISPATCH_RATE,
        rows.RELATIVE,
        example="public/default -md 1000 -bd -1 -dt 1",
    ),
    *_POLICY(
        "subscription-dispatch-rate",
        "subscriptionDispatchRate",
        "how fast messages are dispatched to a subscription",
        *rows.DISPATCH_RATE,
        rows.RELATIVE,
    ),
    *_POLICY(
        "replicator-dispatch-rate",
        "replicatorDispatchRate",
        "how fast messages are sent to other clusters",
        *rows.DISPATCH_RATE,
    ),
    *_POLICY(
        "subscribe-rate",
        "subscribeRate",
        "how often a consumer may subscribe",
        *rows.SUBSCRIBE_RATE,
    ),
    *_POLICY("publish-rate", "publishRate", "how fast may be published", *rows.PUBLISH_RATE),
    *_POLICY("persistence", "persistence", "how many copies are written", *rows.PERSISTENCE),
    *_POLICY(
        "deduplication",
        "deduplication",
        "whether what producers send again is dropped",
        *ENABLE,
        one_of=ENABLE_OR_DISABLE,
        example="public/default --enable",
    ),
    *_POLICY(
        "deduplication-snapshot-interval",
        "deduplicationSnapshotInterval",
        "how often snapshots of deduplication are written",
        need("-i --interval", "=", INTEGER, "Seconds."),
    )[:2],
    Verb(
        "remove-deduplication-snapshot-interval",
        "Remove how often snapshots of deduplication are written.",
        "POST",
        f"{_HERE}/deduplicationSnapshotInterval",
        (NAMESPACE,),
        body=kinds.Raw("null"),
    ),
    *_POLICY(
        "auto-topic-creation",
        "autoTopicCreation",
        "whether topics are made by who uses them",
        flag("-e --enable", "allowAutoTopicCreation", "They are."),
        flag("-d --disable", "allowAutoTopicCreation", "They are not.", value=False),
        opt(
            "-t --type",
            "topicType",
            kinds.choice("partitioned", "non-partitioned"),
            "partitioned or non-partitioned.",
            "non-partitioned",
        ),
        opt("-n --num-partitions", "defaultNumPartitions", INTEGER, "Partitions of such a topic."),
        one_of=ENABLE_OR_DISABLE,
        example="public/default --enable --type partitioned -n 4",
    ),
    *_POLICY(
        "auto-subscription-creation",
        "autoSubscriptionCreation",
        "whether subscriptions are made by who subscribes",
        flag("-e --enable", "allowAutoSubscriptionCreation", "They are.", default=False),
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
        "what becomes of topics that nobody uses",
        *rows.INACTIVE_TOPICS,
        one_of=rows.INACTIVE_ONE_OF,
    ),
    *_number(
        "max-producers-per-topic",
        "maxProducersPerTopic",
        "-p --max-producers-per-topic",
        "how many producers a topic may have",
    ),
    *_number(
        "max-consumers-per-topic",
        "maxConsumersPerTopic",
        "-c --max-consumers-per-topic",
        "how many consumers a topic may have",
    ),
    *_number(
        "max-consumers-per-subscription",
        "maxConsumersPerSubscription",
        "-c --max-consumers-per-subscription",
        "how many consumers a subscription may have",
    ),
    *_number(
        "max-unacked-messages-per-subscription",
        "maxUnackedMessagesPerSubscription",
        "-c --max-unacked-messages-per-subscription",
        "how many messages a subscription may have unacknowledged",
    ),
    *_number(
        "max-unacked-messages-per-consumer",
        "maxUnackedMessagesPerConsumer",
        "-c --max-unacked-messages-per-topic",
        "how many messages a consumer may have unacknowledged",
    ),
    *_number(
        "max-subscriptions-per-topic",
        "maxSubscriptionsPerTopic",
        "-m --max-subscriptions-per-topic",
        "how many subscriptions a topic may have",
    ),
    *_number(
        "max-topics-per-namespace",
        "maxTopicsPerNamespace",
        "-t --max-topics-per-namespace",
        "how many topics there may be",
    ),
    *_POLICY(
        "compaction-threshold",
        "compactionThreshold",
        "from which size on a topic is compacted by itself",
        need("-t --threshold", "=", BYTES, "The size: 10M, 16G; 0 for never."),
        method="PUT",
    ),
    *_POLICY(
        "subscription-types-enabled",
        "subscriptionTypesEnabled",
        "which types of subscriptions there may be",
        *rows.SUBSCRIPTION_TYPES,
    ),
    *_POLICY("entry-filters", "entryFilters", "the entry filters", *rows.ENTRY_FILTERS),
    *_POLICY(
        "dispatcher-pause-on-ack-state-persistent",
        "dispatcherPauseOnAckStatePersistent",
        "whether dispatch pauses while too many acknowledgements are kept",
    ),
    *_POLICY(
        "resource-group",
        "resourcegroup",
        "the resource group whose limits it shares",
        need("-rgn --resource-group-name", "{resource_group_name}", TEXT, "Its name."),
        paths=(("resource_group_name", f"{_HERE}/resourcegroup/{{resource_group_name}}"),),
    ),
    *_POLICY(
        "encryption-required",
        "encryptionRequired",
        "whether producers have to encrypt",
        *ENABLE,
        one_of=ENABLE_OR_DISABLE,
        without_remove=True,
    ),
    *_POLICY(
        "subscription-auth-mode",
        "subscriptionAuthMode",
        "whether subscriptions have to begin with their role",
        need("-m --subscription-auth-mode", "=", kinds.choice("None", "Prefix"), "None or Prefix."),
        without_remove=True,
    ),
    *_POLICY(
        "schema-compatibility-strategy",
        "schemaCompatibilityStrategy",
        "which new schemas go with the old ones",
        need("-c --compatibility", "=", rows.STRATEGIES, "BACKWARD, FULL and so on."),
        method="PUT",
        without_remove=True,
    ),
    *_POLICY(
        "schema-autoupdate-strategy",
        "schemaAutoUpdateCompatibilityStrategy",
        "which schemas of producers are taken (Pulsar's older setting)",
        opt("-c --compatibility", "=", _AUTO_UPDATE, "Full, Backward, Forward ..."),
        flag("-d --disabled", "=", "None is taken.", value="AutoUpdateDisabled"),
        method="PUT",
        one_of=("compatibility", "disabled"),
        without_remove=True,
    ),
    *_POLICY(
        "is-allow-auto-update-schema",
        "isAllowAutoUpdateSchema",
        "whether producers may bring new schemas",
        *ENABLE,
        one_of=ENABLE_OR_DISABLE,
        without_remove=True,
    ),
    *_POLICY(
        "schema-validation-enforce",
        "schemaValidationEnforced",
        "whether producers have to have a schema where there is one",
        *ENABLE,
        read=(APPLIED,),
        one_of=ENABLE_OR_DISABLE,
        without_remove=True,
    ),
    *_POLICY(
        "offload-policies",
        "offloadPolicies",
        "where and when ledgers are offloaded",
        *OF_NAMESPACES,
        run="offload_policies",
        without_remove=True,
    ),
    Verb(
        "remove-offload-policies",
        "Remove where and when ledgers are offloaded.",
        "DELETE",
        f"{_HERE}/removeOffloadPolicies",
        (NAMESPACE,),
    ),
    Verb(
        "get-offload-threshold",
        "Show above which size, and after which time, is offloaded.",
        "GET",
        f"{_HERE}/offloadThreshold",
        (NAMESPACE,),
        run="offload_threshold",
    ),
    Verb(
        "set-offload-threshold",
        "Set above which size, and after which time, is offloaded.",
        "PUT",
        f"{_HERE}/offloadThreshold",
        (
            NAMESPACE,
            need("-s --size", "", BYTES, "The size: 10M, 16G; -1 for none."),
            opt("-t --time", "", SECONDS, "The time; -1 for none.", -1),
        ),
        run="set_offload_threshold",
    ),
    Verb(
        "get-offload-deletion-lag",
        "Show when the broker's copy of what was offloaded goes.",
        "GET",
        f"{_HERE}/offloadDeletionLagMs",
        (NAMESPACE,),
    ),
    Verb(
        "set-offload-deletion-lag",
        "Set when the broker's copy of what was offloaded goes.",
        "PUT",
        f"{_HERE}/offloadDeletionLagMs",
        (NAMESPACE, need("-l --lag", "=", MILLIS, "The time after it: 10m, 3h.")),
    ),
    Verb(
        "clear-offload-deletion-lag",
        "Remove it: what the broker's configuration says holds.",
        "DELETE",
        f"{_HERE}/offloadDeletionLagMs",
        (NAMESPACE,),
    ),
    Verb("get-anti-affinity-group", "Its group.", "GET", _ANTI_AFFINITY, (NAMESPACE,)),
    Verb(
        "set-anti-affinity-group",
        "Keep it on other brokers than the rest of a group.",
        "POST",
        _ANTI_AFFINITY,
        (NAMESPACE, need("-g --group", "=", kinds.RAW, "The group.")),
    ),
    Verb("delete-anti-affinity-group", "Leave it.", "DELETE", _ANTI_AFFINITY, (NAMESPACE,)),
    Verb("get-bookie-affinity-group", "Its bookies.", "GET", _BOOKIES, (NAMESPACE,)),
    Verb(
        "set-bookie-affinity-group",
        "Say on which bookies it is stored.",
        "POST",
        _BOOKIES,
        (
            NAMESPACE,
            need("-pg --primary-group", "bookkeeperAffinityGroupPrimary", TEXT, "The first group."),
            opt("-sg --secondary-group", "bookkeeperAffinityGroupSecondary", TEXT, "The second."),
        ),
    ),
    Verb("delete-bookie-affinity-group", "On any bookies.", "DELETE", _BOOKIES, (NAMESPACE,)),
)
