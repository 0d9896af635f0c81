"""One event of ``__change_events``: the policies that one topic sets itself. Pure.

Its key is the topic's name, with a mark before it where the policies are those of all clusters. Its
value (``event_value.py``) has the policies; no value says that the topic sets nothing any more.
"""

from collections.abc import Mapping
from typing import Any, Final, Self

from magnetar.errors import InvalidName
from magnetar.late_dataclass import dataclass
from magnetar.message import metadata
from magnetar.message.entry import join
from magnetar.model.names import TopicName
from magnetar.model.policy_records import TopicPolicies
from magnetar.model.position import Position
from magnetar.model.records import Json

_GLOBAL: Final = "__G__"
_SCHEME: Final = "://"
_DELAYED: Final = "delayedDeliveryPolicies"
"""One policy of ours, and three of Pulsar's events."""
_OF_DELAYED: Final = {
    "active": "delayedDeliveryEnabled",
    "tickTime": "delayedDeliveryTickTimeMillis",
    "maxDeliveryDelayInMillis": "delayedDeliveryMaxDelayInMillis",
}
_QUOTAS: Final = "backLogQuotaMap"


@dataclass(frozen=True, slots=True)
class EventKey:
    """Whose policies an event has."""

    topic: TopicName
    is_global: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises InvalidName, also for a short name."""
        if _SCHEME not in text:
            raise InvalidName(f"{text!r:.100} is no name of a topic")
        return cls(TopicName.parse(text.removeprefix(_GLOBAL)), text.startswith(_GLOBAL))

    def __str__(self) -> str:
        return f"{_GLOBAL if self.is_global else ''}{self.topic}"


@dataclass(frozen=True, slots=True)
class Event:
    """The newest event with its key. ``policies`` are Pulsar's JSON; None: there are none."""

    key: EventKey
    position: Position
    policies: Json | None
    schema_version: int | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """What another broker told."""
        return cls(EventKey.parse(value["key"]), Position(*value["position"]), value["policies"])

    def to_json(self) -> Json:
        return {"key": str(self.key), "position": self.position, "policies": self.policies}

    @property
    def record(self) -> TopicPolicies:
        """The policies, with what nobody here knows of them. Raises InvalidValue."""
        value = {key: item for key, item in (self.policies or {}).items() if item is not None}
        parts = {ours: value.pop(key) for ours, key in _OF_DELAYED.items() if key in value}
        return TopicPolicies.from_json({**value, _DELAYED: parts} if parts else value)


def policies_of(record: TopicPolicies) -> Json:
    """The policies of a topic as Pulsar's JSON; what nobody here knows of them stays."""
    value = record.to_json()
    parts = value.pop(_DELAYED, None) or {}
    value |= {key: parts[ours] for ours, key in _OF_DELAYED.items() if ours in parts}
    if value.get(_QUOTAS):
        # The older of two names must be there, too.
        value[_QUOTAS] = {
            kind: {**quota, "limit": quota["limitSize"]} for kind, quota in value[_QUOTAS].items()
        }
    return value


@dataclass(frozen=True, slots=True)
class EventMessage:
    """An event that can be published."""

    key: EventKey
    payload: bytes  # Empty: it has no value.
    cluster: str
    sequence_id: int | None = None

    def entry(
        self, producer: str, sequence_id: int, now_ms: int, schema_version: bytes | None
    ) -> bytes:
        said = metadata.build(
            producer,
            sequence_id,
            now_ms,
            key=str(self.key),
            uncompressed_size=len(self.payload),
            replicate_to=None if self.key.is_global else [self.cluster],
            null_value=not self.payload,
            schema_version=schema_version,
        )
        return join(said, self.payload)


def key_in(entry: bytes) -> EventKey | None:
    """Whose policies an entry has; None where it says nothing of policies. Raises CorruptEntry."""
    key = metadata.parse(entry).key
    try:
        return None if key is None else EventKey.parse(key)
    except InvalidName:
        return None
