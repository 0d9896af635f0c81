"""The Avro schema of an event in ``__change_events``, as brokers of Pulsar 4.0 register it. Pure.

Registered with the same text, it is the same version for their brokers and ours.
"""

import json
from typing import Any, Final

from magnetar.model.schemas import SchemaInfo, SchemaType

_EVENTS: Final = "org.apache.pulsar.common.events"
_DATA: Final = "org.apache.pulsar.common.policies.data"
_VALUES: Final = "org.apache.pulsar.common.policies.data.impl"
_RATE: Final = f"{_VALUES}.DispatchRateImpl"
_OUTER: Final = ""
"""The namespace of a type that has that of the record around it."""


def _field(name: str, kind: Any) -> dict[str, Any]:
    """A field that may be null, but for one of a Java primitive: those have a ``!``."""
    if name.endswith("!"):
        return {"name": name[:-1], "type": kind}
    return {"name": name, "type": ["null", kind], "default": None}


def _record(name: str, namespace: str, fields: dict[str, Any]) -> dict[str, Any]:
    head = {"type": "record", "name": name}
    if namespace:
        head["namespace"] = namespace
    return {**head, "fields": [_field(each, kind) for each, kind in fields.items()]}


def _enum(name: str, *symbols: str, namespace: str = _OUTER) -> dict[str, Any]:
    head = {"type": "enum", "name": name}
    if namespace:
        head["namespace"] = namespace
    return {**head, "symbols": list(symbols)}


def _list(items: Any, java_class: str = "java.util.List") -> dict[str, Any]:
    return {"type": "array", "items": items, "java-class": java_class}


def _map(values: Any) -> dict[str, Any]:
    return {"type": "map", "values": values}


def _numbers(kind: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, kind)


_OFFLOAD: Final = _record(
    "OffloadPoliciesImpl",
    _OUTER,
    {
        "fileSystemProfilePath": "string",
        "fileSystemURI": "string",
        "gcsManagedLedgerOffloadBucket": "string",
        "gcsManagedLedgerOffloadMaxBlockSizeInBytes": "int",
        "gcsManagedLedgerOffloadReadBufferSizeInBytes": "int",
        "gcsManagedLedgerOffloadRegion": "string",
        "gcsManagedLedgerOffloadServiceAccountKeyFile": "string",
        "managedLedgerExtraConfigurations": _map("string"),
        "managedLedgerOffloadBucket": "string",
        "managedLedgerOffloadDeletionLagInMillis": "long",
        "managedLedgerOffloadDriver": "string",
        "managedLedgerOffloadMaxBlockSizeInBytes": "int",
        "managedLedgerOffloadMaxThreads": "int",
        "managedLedgerOffloadPrefetchRounds": "int",
        "managedLedgerOffloadReadBufferSizeInBytes": "int",
        "managedLedgerOffloadRegion": "string",
        "managedLedgerOffloadServiceEndpoint": "string",
        "managedLedgerOffloadThresholdInBytes": "long",
        "managedLedgerOffloadThresholdInSeconds": "long",
        "managedLedgerOffloadedReadPriority": _enum(
            "OffloadedReadPriority", "BOOKKEEPER_FIRST", "TIERED_STORAGE_FIRST"
        ),
        "offloadersDirectory": "string",
        "s3ManagedLedgerOffloadBucket": "string",
        "s3ManagedLedgerOffloadCredentialId": "string",
        "s3ManagedLedgerOffloadCredentialSecret": "string",
        "s3ManagedLedgerOffloadMaxBlockSizeInBytes": "int",
        "s3ManagedLedgerOffloadReadBufferSizeInBytes": "int",
        "s3ManagedLedgerOffloadRegion": "string",
        "s3ManagedLedgerOffloadRole": "string",
        "s3ManagedLedgerOffloadRoleSessionName": "string",
        "s3ManagedLedgerOffloadServiceEndpoint": "string",
    },
)
_POLICIES: Final = _record(
    "TopicPolicies",
    _DATA,
    {
        "autoSubscriptionCreationOverride": _record(
            "AutoSubscriptionCreationOverrideImpl",
            _VALUES,
            {"allowAutoSubscriptionCreation!": "boolean"},
        ),
        "backLogQuotaMap": _map(
            _record(
                "BacklogQuotaImpl",
                _VALUES,
                {
                    "limit!": "long",
                    "limitSize": "long",
                    "limitTime!": "int",
                    "policy": _enum(
                        "RetentionPolicy",
                        "producer_request_hold",
                        "producer_exception",
                        "consumer_backlog_eviction",
                        namespace=f"{_DATA}.BacklogQuota",
                    ),
                },
            )
        ),
        "compactionThreshold": "long",
        "deduplicationEnabled": "boolean",
        "deduplicationSnapshotIntervalSeconds": "int",
        "delayedDeliveryEnabled": "boolean",
        "delayedDeliveryMaxDelayInMillis": "long",
        "delayedDeliveryTickTimeMillis": "long",
        "dispatchRate": _record(
            "DispatchRateImpl",
            _VALUES,
            {
                "dispatchThrottlingRateInByte!": "long",
                "dispatchThrottlingRateInMsg!": "int",
                "ratePeriodInSecond!": "int",
                "relativeToPublishRate!": "boolean",
            },
        ),
        "dispatcherPauseOnAckStatePersistentEnabled": "boolean",
        "entryFilters": _record("EntryFilters", _OUTER, {"entryFilterNames": "string"}),
        "inactiveTopicPolicies": _record(
            "InactiveTopicPolicies",
            _OUTER,
            {
                "deleteWhileInactive!": "boolean",
                "inactiveTopicDeleteMode": _enum(
                    "InactiveTopicDeleteMode",
                    "delete_when_no_subscriptions",
                    "delete_when_subscriptions_caught_up",
                ),
                "maxInactiveDurationSeconds!": "int",
            },
        ),
        "isGlobal": "boolean",
        **_numbers(
            "int",
            "maxConsumerPerTopic",
            "maxConsumersPerSubscription",
            "maxMessageSize",
            "maxProducerPerTopic",
            "maxSubscriptionsPerTopic",
            "maxUnackedMessagesOnConsumer",
            "maxUnackedMessagesOnSubscription",
            "messageTTLInSeconds",
        ),
        "offloadPolicies": _OFFLOAD,
        "persistence": _record(
            "PersistencePolicies",
            _OUTER,
            {
                "bookkeeperAckQuorum!": "int",
                "bookkeeperEnsemble!": "int",
                "bookkeeperWriteQuorum!": "int",
                "managedLedgerMaxMarkDeleteRate!": "double",
                "managedLedgerStorageClassName": "string",
            },
        ),
        "publishRate": _record(
            "PublishRate",
            _OUTER,
            {"publishThrottlingRateInByte!": "long", "publishThrottlingRateInMsg!": "int"},
        ),
        "replicationClusters": _list("string"),
        "replicatorDispatchRate": _RATE,
        "retentionPolicies": _record(
            "RetentionPolicies",
            _OUTER,
            {"retentionSizeInMB!": "long", "retentionTimeInMinutes!": "int"},
        ),
        "schemaCompatibilityStrategy": _enum(
            "SchemaCompatibilityStrategy",
            "UNDEFINED",
            "ALWAYS_INCOMPATIBLE",
            "ALWAYS_COMPATIBLE",
            "BACKWARD",
            "FORWARD",
            "FULL",
            "BACKWARD_TRANSITIVE",
            "FORWARD_TRANSITIVE",
            "FULL_TRANSITIVE",
        ),
        "schemaValidationEnforced": "boolean",
        "shadowTopics": _list("string"),
        "subscribeRate": _record(
            "SubscribeRate",
            _OUTER,
            {"ratePeriodInSecond!": "int", "subscribeThrottlingRatePerConsumer!": "int"},
        ),
        "subscriptionDispatchRate": _RATE,
        "subscriptionPolicies": _map(
            _record("SubscriptionPolicies", _OUTER, {"dispatchRate": _RATE})
        ),
        "subscriptionTypesEnabled": _list(
            _enum(
                "SubType",
                "Exclusive",
                "Shared",
                "Failover",
                "Key_Shared",
                namespace="org.apache.pulsar.common.api.proto.CommandSubscribe",
            )
        ),
    },
)
_EVENT: Final = _record(
    "PulsarEvent",
    _EVENTS,
    {
        "actionType": _enum("ActionType", "INSERT", "DELETE", "UPDATE", "NONE"),
        "eventType": _enum(
            "EventType",
            "TOPIC_POLICY",
            "TRANSACTION_BUFFER_SNAPSHOT",
            "TRANSACTION_BUFFER_SNAPSHOT_SEGMENTS",
            "TRANSACTION_BUFFER_SNAPSHOT_INDEXES",
        ),
        "replicateTo": _list("string", "java.util.HashSet"),
        "topicPoliciesEvent": _record(
            "TopicPoliciesEvent",
            _OUTER,
            {
                "domain": "string",
                "namespace": "string",
                "policies": _POLICIES,
                "tenant": "string",
                "topic": "string",
            },
        ),
    },
)
EVENT_SCHEMA: Final = SchemaInfo(
    SchemaType.AVRO,
    json.dumps(_EVENT, separators=(",", ":")).encode(),
    {"__jsr310ConversionEnabled": "false", "__alwaysAllowNull": "true"},
)
