"""How Pulsar words the refusal of a request, and with which status. Pure.

The words name the operation that the role may not do, which follows from the route.
"""

import re
from typing import Final, NamedTuple

from magnetar.auth.access import Access
from magnetar.auth.authorization import Principal

SUPERUSER: Final = "This operation requires super-user access"
ADMIN: Final = "Don't have permission to administrate resources on this tenant"
FUNCTIONS: Final = "Client is not authorized to perform operation"

_NAMESPACE_OPERATIONS: Final = {
    "bundles": "GET_BUNDLE",
    "bundle": "GET_BUNDLE",
    "topics": "GET_TOPICS",
    "partitioned": "GET_TOPICS",
    "clearBacklog": "CLEAR_BACKLOG",
    "unsubscribe": "UNSUBSCRIBE",
    "permissions": "GET_PERMISSION",
}
_TOPIC_OPERATIONS: Final = {
    "stats": "GET_STATS",
    "partitioned-stats": "GET_STATS",
    "internalStats": "GET_STATS",
    "partitioned-internalStats": "GET_STATS",
    "internal-info": "GET_STATS",
    "properties": "GET_METADATA",
    "schema": "GET_METADATA",
    "schemas": "GET_METADATA",
    "metadata": "GET_METADATA",
    "version": "GET_METADATA",
    "subscriptions": "GET_SUBSCRIPTIONS",
    "skip": "SKIP",
    "skip_all": "SKIP",
    "expireMessages": "EXPIRE_MESSAGES",
    "resetcursor": "RESET_CURSOR",
    "position": "PEEK_MESSAGES",
    "ledger": "PEEK_MESSAGES",
    "messageid": "PEEK_MESSAGES",
    "lastMessageId": "PEEK_MESSAGES",
    "examinemessage": "PEEK_MESSAGES",
    "backlogSize": "GET_BACKLOG_SIZE",
    "backlog": "GET_BACKLOG_SIZE",
    "replicatedSubscriptionStatus": "SET_REPLICATED_SUBSCRIPTION_STATUS",
    "terminate": "TERMINATE",
    "compaction": "COMPACT",
    "offload": "OFFLOAD",
    "unload": "UNLOAD",
    "trim": "TRIM_TOPIC",
    "truncate": "LOOKUP",
    "createMissedPartitions": "LOOKUP",
}
_BY_ADMINS: Final = frozenset(
    {"property", "permissions", "maxMessageSize", "compatibility", "schema", "bundles"}
)
"""What Pulsar asks the admin of a tenant for, and no operation."""

_POLICY_NAMES: Final = {
    "": "ALL",
    "messageTTL": "TTL",
    "replication": "REPLICATION",
    "replicatorDispatchRate": "REPLICATION_RATE",
    "backlogQuota": "BACKLOG",
    "backlogQuotaMap": "BACKLOG",
    "dispatchRate": "RATE",
    "subscriptionDispatchRate": "RATE",
    "subscribeRate": "RATE",
    "publishRate": "RATE",
    "deduplicationEnabled": "DEDUPLICATION",
    "deduplicationSnapshotInterval": "DEDUPLICATION_SNAPSHOT",
    "encryptionRequired": "ENCRYPTION",
    "inactiveTopicPolicies": "INACTIVE_TOPIC",
    "compactionThreshold": "COMPACTION",
    "offloadPolicies": "OFFLOAD",
    "removeOffloadPolicies": "OFFLOAD",
    "shadowTopics": "SHADOW_TOPIC",
    "topicHashPositions": "PERSISTENCE",
    "offloadThreshold": "OFFLOAD",
    "offloadThresholdInSeconds": "OFFLOAD",
    "offloadDeletionLagMs": "OFFLOAD",
    "maxProducersPerTopic": "MAX_PRODUCERS",
    "maxConsumersPerTopic": "MAX_CONSUMERS",
    "maxConsumersPerSubscription": "MAX_CONSUMERS",
    "maxSubscriptionsPerTopic": "MAX_SUBSCRIPTIONS",
    "maxTopicsPerNamespace": "MAX_TOPICS",
    "partitions": "PARTITION",
    "policies": "MAX_PRODUCERS",
    "resourcegroup": "RESOURCEGROUP",
    "subscriptionTypesEnabled": "SUBSCRIPTION_AUTH_MODE",
    "schemaValidationEnforced": "SCHEMA_COMPATIBILITY_STRATEGY",
    "isAllowAutoUpdateSchema": "SCHEMA_COMPATIBILITY_STRATEGY",
    "schemaAutoUpdateCompatibilityStrategy": "SCHEMA_COMPATIBILITY_STRATEGY",
    "allowedClusters": "ALLOW_CLUSTERS",
}
_PLAIN: Final = {
    Access.SUPERUSER: SUPERUSER,
    Access.FUNCTIONS: FUNCTIONS,
    Access.SOURCES: FUNCTIONS,
    Access.SINKS: FUNCTIONS,
}
_OF_SUBSCRIPTIONS: Final = ("subscription", "all_subscription")
_UNACKED: Final = "maxUnackedMessages"


class Refusal(NamedTuple):
    """A status, and why."""

    status: int
    reason: str


def refusal(who: Principal, access: Access, method: str, path: str, place: str) -> Refusal:
    """How a request is refused; ``path`` is the route's, ``place`` the topic, namespace or tenant.

    Pulsar answers 401 to some, and 403 to others, though all are authenticated.
    """
    segments = path.strip("/").split("/")
    if "tenants" in segments:
        return _of_tenant(who, method, segments, place)
    if access in _PLAIN:
        return Refusal(401, _PLAIN[access])
    if access is Access.PACKAGES or segments[-1] == "{bundle}":
        of_bundle = "DELETE_BUNDLE" if method == "DELETE" else "GET_BUNDLE"
        return _on_namespace("PACKAGES" if access is Access.PACKAGES else of_bundle, place)
    if "{topic}" in segments:
        return _of_topic(access, method, _tail(segments, "{topic}"), place)
    tail = _tail(segments, "{namespace}")
    if "{namespace}" in segments and (tail or method not in ("PUT", "DELETE")):
        return _of_namespace(access, method, tail, place)
    return _of_tenant(who, method, segments, place)


def _tail(segments: list[str], place: str) -> str:
    """What a route does to its place; "" where it is the place itself."""
    if place not in segments:
        return ""
    words = [word for word in segments[segments.index(place) + 1 :] if not word.startswith("{")]
    if len(words) > 1 and words[0] in _OF_SUBSCRIPTIONS:
        return words[1]
    return words[0] if words else ""


def _of_tenant(who: Principal, method: str, segments: list[str], place: str) -> Refusal:
    operation = {"PUT": "CREATE", "POST": "UPDATE", "DELETE": "DELETE"}.get(method, "GET")
    original = "null" if who.proxy_role is None else who.role
    asker = f"originalPrincipal [{original}] and clientAppId [{who.proxy_role or who.role}]"
    if "tenants" in segments:
        what = "LIST_TENANTS" if segments[-1] == "tenants" else f"{operation}_TENANT"
        return Refusal(
            401,
            f"Unauthorized to validateBothTenantOperationAndSuperUser for {asker} about operation "
            f"[{what}] ",
        )
    what = "LIST_NAMESPACES" if operation == "GET" else f"{operation}_NAMESPACE"
    return Refusal(
        401,
        f"Unauthorized to validateTenantOperation for {asker} about operation [{what}] on tenant "
        f"[{place.partition('/')[0]}]",
    )


def _of_namespace(access: Access, method: str, tail: str, place: str) -> Refusal:
    if tail == "permissions":
        by = {"GET": "GET_PERMISSION", "DELETE": "REVOKE_PERMISSION"}
        return _on_namespace(by.get(method, "GRANT_PERMISSION"), place)
    if access is not Access.TENANT_ADMIN or tail in _NAMESPACE_OPERATIONS:
        return _on_namespace(_NAMESPACE_OPERATIONS.get(tail, "GET_TOPICS"), place)
    if tail in _BY_ADMINS or tail == "properties":
        return Refusal(401, ADMIN)
    return Refusal(
        403,
        f"Unauthorized to validateNamespacePolicyOperation for operation [{_mode(method)}] on "
        f"namespace [{place}] on policy [{_policy(tail)}]",
    )


def _of_topic(access: Access, method: str, tail: str, place: str) -> Refusal:
    namespace = "/".join(place.partition("://")[2].split("/")[:2])
    if access is Access.TENANT_ADMIN:
        return _of_its_admin(method, tail, place, namespace)
    if access in (Access.NAMESPACE_TOPICS, Access.NAMESPACE_CONSUME):
        return _on_namespace(_NAMESPACE_OPERATIONS.get(tail, "GET_TOPICS"), namespace)
    plain = {Access.LOOKUP: "LOOKUP", Access.PRODUCE: "PRODUCE"}.get(access, "CONSUME")
    if tail == "subscription" or (tail == "properties" and access is Access.CONSUME):
        plain = {"PUT": "SUBSCRIBE", "DELETE": "UNSUBSCRIBE"}.get(method, plain)
        return _on_topic(plain, place)
    if (tail, method) == ("replicatedSubscriptionStatus", "GET"):
        return _on_topic("GET_REPLICATED_SUBSCRIPTION_STATUS", place)
    named = plain if access is Access.PRODUCE else _TOPIC_OPERATIONS.get(tail, plain)
    return _on_topic(named, place)


def _of_its_admin(method: str, tail: str, place: str, namespace: str) -> Refusal:
    if not tail or (tail, method) == ("partitions", "DELETE"):
        name = "DELETE_TOPIC" if method == "DELETE" else "CREATE_TOPIC"
        return _on_namespace(name, namespace)
    if tail in _BY_ADMINS:
        return Refusal(401, ADMIN)
    if tail == "properties":
        return _on_topic("DELETE_METADATA" if method == "DELETE" else "UPDATE_METADATA", place)
    if tail in _TOPIC_OPERATIONS:
        return _on_topic(_TOPIC_OPERATIONS[tail], place)
    return Refusal(
        403,
        f"Unauthorized to validateTopicPolicyOperation for operation [{_mode(method)}] on topic "
        f"[{place}] on policy [{_policy(tail)}]",
    )


def _on_namespace(operation: str, namespace: str) -> Refusal:
    return Refusal(
        403,
        f"Unauthorized to validateNamespaceOperation for operation [{operation}] on namespace "
        f"[{namespace}]",
    )


def _on_topic(operation: str, topic: str) -> Refusal:
    return Refusal(
        401,
        f"Unauthorized to validateTopicOperation for operation [{operation}] on topic [{topic}]",
    )


def _policy(tail: str) -> str:
    if tail.startswith(_UNACKED):
        return "MAX_UNACKED"
    return _POLICY_NAMES.get(tail) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", tail).upper()


def _mode(method: str) -> str:
    return "READ" if method in ("GET", "HEAD") else "WRITE"
