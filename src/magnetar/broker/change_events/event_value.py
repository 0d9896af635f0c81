"""The value of an event, a record in Avro with policies in it. Pure."""

from functools import lru_cache
from typing import Any, Final

from magnetar.errors import UndecodableValue
from magnetar.model.records import Json
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.schemas.avro import of_topic
from magnetar.schemas.schema import Schema

from .event import EventKey

VERSIONS_KEPT_MAX: Final = 8
"""Definitions that stay parsed, which takes as long as reading twenty events."""
_OF_POLICIES: Final = "TOPIC_POLICY"
_WITHOUT_POLICIES: Final = frozenset({"DELETE", "NONE"})
_EMPTY: Final[Json] = {
    "backLogQuotaMap": {},
    "subscriptionPolicies": {},
    "subscriptionTypesEnabled": [],
}
"""What brokers of Pulsar never leave out."""


def encode(schema: SchemaInfo, key: EventKey, policies: Json, cluster: str) -> bytes:
    """An event with policies in a version of its schema.

    Raises InvalidValue where that has no place for all of them, UndecodableValue where it is none.
    """
    topic = key.topic
    return _parsed(schema.data).encode(
        {
            "actionType": "UPDATE",
            "eventType": _OF_POLICIES,
            "replicateTo": None if key.is_global else [cluster],
            "topicPoliciesEvent": {
                "domain": topic.domain,
                "tenant": topic.tenant,
                "namespace": topic.namespace_local,
                "topic": topic.local,
                "policies": {**_EMPTY, **policies, "isGlobal": key.is_global},
            },
        }
    )


def decode(schema: SchemaInfo, payload: bytes) -> Json | None:
    """The policies in an event; None where it says that there are none. Raises UndecodableValue."""
    value = _parsed(schema.data).decode(payload)
    if value.get("eventType") != _OF_POLICIES:
        raise UndecodableValue(f"an event of the type {value.get('eventType')}")
    policies = (value.get("topicPoliciesEvent") or {}).get("policies")
    if policies is None or value.get("actionType") in _WITHOUT_POLICIES:
        return None
    return {key: item for key, item in policies.items() if item is not None}


@lru_cache(maxsize=VERSIONS_KEPT_MAX)
def _parsed(definition: bytes) -> Schema[dict[str, Any]]:
    """Raises UndecodableValue."""
    return of_topic(SchemaInfo(SchemaType.AVRO, definition))
