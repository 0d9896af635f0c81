"""The values of policies, to Pulsar's JSON and back. Pure.

Each field has, beside its type, the name that Pulsar's JSON gives it, and then older names that
Pulsar still reads; ``Words`` are for people. A field that the JSON leaves out has its default; keys
without a field are ignored here.
"""

from collections.abc import Callable, Mapping
from dataclasses import field, is_dataclass, replace
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, NamedTuple, Self, get_args, get_origin, get_type_hints

from magnetar.errors import InvalidValue
from magnetar.late_dataclass import dataclass
from magnetar.model import jackson
from magnetar.model.records import Json


class Words(NamedTuple):
    """How people are shown a value."""

    label: str = ""
    unit: str = ""  # Of a number: s, ms, min, MB or bytes.
    zero: str = ""  # What 0 means, in a word or two.
    options: tuple[str, ...] = ()  # A text is one of these, a list has some of them.


_NO_LIMIT: Final = "no limit"
_MESSAGES: Final = Words("Messages", zero=_NO_LIMIT)
_BYTES: Final = Words("Bytes", "bytes", _NO_LIMIT)
_PERIOD: Final = Words("In a period of", "s")


class BacklogQuotaPolicy(StrEnum):
    """What happens while a backlog exceeds its quota."""

    HOLD = "producer_request_hold"
    EXCEPTION = "producer_exception"
    EVICTION = "consumer_backlog_eviction"


class InactiveTopicDeleteMode(StrEnum):
    """Which unused topics are deleted."""

    NO_SUBSCRIPTIONS = "delete_when_no_subscriptions"
    CAUGHT_UP = "delete_when_subscriptions_caught_up"


class TopicKind(StrEnum):
    """The kind of topic that is created when a client first uses one."""

    PLAIN = "non-partitioned"
    PARTITIONED = "partitioned"


@dataclass(frozen=True, slots=True)
class RetentionPolicies:
    """How long and how much acknowledged messages are kept: -1 is no limit, 0 and 0 keep none."""

    time_minutes: Annotated[int, "retentionTimeInMinutes", Words("Time", "min", "nothing")] = 0
    size_mb: Annotated[int, "retentionSizeInMB", Words("Size", "MB", "nothing")] = 0

    @property
    def time_s(self) -> int:
        return self.time_minutes * 60 if self.time_minutes > 0 else self.time_minutes

    @property
    def size_bytes(self) -> int:
        return self.size_mb * 1024 * 1024 if self.size_mb > 0 else self.size_mb

    def exceeds(self, quota: "BacklogQuota") -> bool:
        """Whether more is kept than a backlog may have: else the quota would never be reached."""
        more = self.size_mb <= 0 or self.size_bytes > quota.limit_bytes
        return more and (self.time_minutes <= 0 or self.time_s > quota.limit_time_s)

    def check(self) -> None:
        """Raises InvalidValue."""
        for limit, value in (("time", self.time_minutes), ("size", self.size_mb)):
            if value < -1:
                raise InvalidValue(f"Invalid retention policy: {limit} limit must be >= -1")
        if (self.time_minutes == 0) != (self.size_mb == 0):
            raise InvalidValue(
                "Invalid retention policy: Setting a single time or size limit to 0 is invalid "
                "when one of the limits has a non-zero value. Use the value of -1 instead of 0 to "
                "ignore a specific limit. To disable retention both limits must be set to 0."
            )


@dataclass(frozen=True, slots=True)
class BacklogQuota:
    """How large or old a backlog may grow (-1: no limit), and what happens then."""

    limit_bytes: Annotated[int, "limitSize", "limit", Words("Size", "bytes", _NO_LIMIT)] = 0
    limit_time_s: Annotated[int, "limitTime", Words("Age", "s", _NO_LIMIT)] = 0
    policy: Annotated[BacklogQuotaPolicy | None, "policy", Words("Then")] = None

    def check(self) -> None:
        """Raises InvalidValue."""
        if self.policy is None:
            raise InvalidValue("the attribute policy cannot be null")


@dataclass(frozen=True, slots=True)
class DispatchRate:
    """A limit on delivery in a period; 0 or less is no limit."""

    messages: Annotated[int, "dispatchThrottlingRateInMsg", _MESSAGES] = 0
    size_bytes: Annotated[int, "dispatchThrottlingRateInByte", _BYTES] = 0
    relative_to_publish_rate: Annotated[
        bool, "relativeToPublishRate", Words("Over and above what is published")
    ] = False
    period_s: Annotated[int, "ratePeriodInSecond", _PERIOD] = 0


@dataclass(frozen=True, slots=True)
class SubscriptionPolicies:
    """The policies that a topic sets for one of its subscriptions."""

    dispatch_rate: Annotated[DispatchRate | None, "dispatchRate"] = None


@dataclass(frozen=True, slots=True)
class PublishRate:
    """A limit on publishing in a second; 0 or less is no limit."""

    messages: Annotated[int, "publishThrottlingRateInMsg", _MESSAGES] = -1
    size_bytes: Annotated[int, "publishThrottlingRateInByte", _BYTES] = -1


@dataclass(frozen=True, slots=True)
class SubscribeRate:
    """How often a consumer may subscribe in a period; 0 or less is no limit."""

    per_consumer: Annotated[
        int, "subscribeThrottlingRatePerConsumer", Words("Times", zero=_NO_LIMIT)
    ] = 0
    period_s: Annotated[int, "ratePeriodInSecond", _PERIOD] = 0


@dataclass(frozen=True, slots=True)
class PersistencePolicies:
    """How many bookies store a ledger, and how often a cursor's mark-delete is written."""

    ensemble: Annotated[int, "bookkeeperEnsemble", Words("Ensemble")] = 0
    write_quorum: Annotated[int, "bookkeeperWriteQuorum", Words("Write quorum")] = 0
    ack_quorum: Annotated[int, "bookkeeperAckQuorum", Words("Ack quorum")] = 0
    marks_per_s: Annotated[float, "managedLedgerMaxMarkDeleteRate", Words("Marks a second")] = 0.0

    def check(self) -> None:
        """Raises InvalidValue."""
        if not 0 < self.ensemble <= 5:
            raise InvalidValue("Bookkeeper-Ensemble must be <= 5 and > 0.")
        if not self.ensemble >= self.write_quorum >= self.ack_quorum:
            raise InvalidValue(
                f"Bookkeeper Ensemble ({self.ensemble}) >= WriteQuorum ({self.write_quorum}) >= "
                f"AckQuorum ({self.ack_quorum})"
            )


@dataclass(frozen=True, slots=True)
class InactiveTopicPolicies:
    """When an unused topic is deleted."""

    delete_mode: Annotated[
        InactiveTopicDeleteMode | None, "inactiveTopicDeleteMode", Words("Those with")
    ] = None
    inactive_s_max: Annotated[int, "maxInactiveDurationSeconds", Words("After", "s")] = 0
    delete_while_inactive: Annotated[bool, "deleteWhileInactive", Words("Delete them")] = False


@dataclass(frozen=True, slots=True)
class DelayedDeliveryPolicies:
    """Whether and how exactly delivery can be delayed; a delay of 0 or less is no limit."""

    tick_ms: Annotated[int, "tickTime", Words("How exactly", "ms")] = 0
    active: Annotated[bool, "active", Words("On")] = False
    delay_ms_max: Annotated[
        int, "maxDeliveryDelayInMillis", Words("Longest delay", "ms", _NO_LIMIT)
    ] = 0


@dataclass(frozen=True, slots=True)
class AutoTopicCreationOverride:
    """Whether a client creates a topic by using it, and of which kind."""

    allowed: Annotated[bool, "allowAutoTopicCreation", Words("Allowed")] = False
    kind: Annotated[str | None, "topicType", Words("As", options=tuple(TopicKind))] = None
    partitions: Annotated[int | None, "defaultNumPartitions", Words("Partitions")] = None

    def check(self) -> None:
        """Raises InvalidValue."""
        if not self.allowed:
            return
        wrong = None
        if self.kind not in list(TopicKind):
            wrong = f"Unknown topic type [{self.kind or 'null'}]"
        elif self.kind == TopicKind.PLAIN:
            if self.partitions is not None:
                wrong = (
                    "[defaultNumPartitions] is not allowed to be set when the type is "
                    "non-partition."
                )
        elif self.partitions is None:
            wrong = "[defaultNumPartitions] cannot be null when the type is partitioned."
        elif self.partitions < 1:
            wrong = "[defaultNumPartitions] cannot be less than 1 for partition type."
        if wrong is not None:
            raise InvalidValue(
                f"Invalid configuration for autoTopicCreationOverride. the detail is {wrong}"
            )

    @property
    def partitions_made(self) -> int:
        """The partitions of a topic that a client creates; 0: it is not partitioned."""
        return (self.partitions or 1) if self.kind == TopicKind.PARTITIONED else 0


@dataclass(frozen=True, slots=True)
class AutoSubscriptionCreationOverride:
    """Whether a client creates a durable subscription by subscribing."""

    allowed: Annotated[bool, "allowAutoSubscriptionCreation", Words("Allowed")] = False


@dataclass(frozen=True, slots=True)
class EntryFilters:
    """The filters that entries pass before delivery, by name, separated by commas."""

    names: Annotated[str, "entryFilterNames"] = ""

    def check(self) -> None:
        """Raises InvalidValue: this broker has no filters."""
        if not self.names.strip():
            raise InvalidValue(
                "entryFilterNames can't be empty. To remove entry filters use the remove method."
            )
        raise InvalidValue(f"Entry filter '{self.names.partition(',')[0].strip()}' not found")


class SubscriptionAuthMode(StrEnum):
    """What the name of a subscription must have to do with the role of its consumers."""

    NONE = "None"
    PREFIX = "Prefix"


@dataclass(frozen=True, slots=True)
class AuthPolicies:
    """Which roles may do what: in the namespace, on a topic, with a subscription."""

    namespace: Annotated[Mapping[str, Any], "namespace_auth"] = field(default_factory=dict)
    topics: Annotated[Mapping[str, Any], "destination_auth"] = field(default_factory=dict)
    subscriptions: Annotated[Mapping[str, Any], "subscription_auth_roles"] = field(
        default_factory=dict
    )


class Field(NamedTuple):
    """A field of a value."""

    name: str
    key: str  # Its name in JSON.
    kind: Any
    old_keys: tuple[str, ...] = ()  # Older names in JSON.
    words: Words = Words()


@cache
def fields_of(value: type[object]) -> tuple[Field, ...]:
    """The fields of a value's class, in its order."""
    hints = get_type_hints(value, include_extras=True)
    found = []
    for name, hint in hints.items():
        kind, key, *more = get_args(hint)
        old_keys = tuple(each for each in more if isinstance(each, str))
        words = next((each for each in more if isinstance(each, Words)), Words(key))
        found.append(Field(name, key, kind, old_keys, words))
    return tuple(found)


def from_json(kind: Any, value: Any, what: str) -> Any:
    """A value of a type, from JSON. Raises InvalidValue, naming ``what``, for another type."""
    origin = get_origin(kind)
    if origin is UnionType:
        return None if value is None else from_json(get_args(kind)[0], value, what)
    if origin is tuple:
        return tuple(sorted(set(jackson.texts(value, what))))
    if origin is Mapping:
        of = get_args(kind)[1]
        items = _expect(dict, value, what).items()
        return {key: item if of is Any else from_json(of, item, what) for key, item in items}
    return _object(kind, value, what) if is_dataclass(kind) else _plain(kind, value, what)


def to_json(value: Any) -> Any:
    """A value as JSON, without the fields that are not set."""
    if is_dataclass(value) and not isinstance(value, type):
        found = ((one.key, getattr(value, one.name)) for one in fields_of(type(value)))
        return {key: to_json(item) for key, item in found if item is not None}
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


_SCALARS: Final[dict[Any, Callable[[Any, str], Any]]] = {
    int: jackson.whole,
    float: jackson.number,
    bool: jackson.truth,
    str: jackson.text,
}


def _object(kind: Any, value: Any, what: str) -> Any:
    sent, found = _expect(dict, value, what), {}
    for one in fields_of(kind):
        items = (sent.get(key) for key in (one.key, *one.old_keys))
        item = next((each for each in items if each is not None), None)
        if item is None:
            continue
        read = from_json(one.kind, item, one.key)
        if read is not None or one.kind not in _SCALARS:
            found[one.name] = read
    return kind(**found)


def _plain(kind: Any, value: Any, what: str) -> Any:
    if issubclass(kind, StrEnum):
        word = _expect(str, value, what).strip()
        return kind(word) if word in list(kind) else None  # Pulsar reads unknown words as null.
    return _SCALARS[kind](value, what)


def _expect(kind: Any, value: Any, what: str) -> Any:
    if not isinstance(value, kind):
        raise InvalidValue(f"{what} is a JSON {type(value).__name__}: {value!r:.100}")
    return value


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """What all namespaces of a group may do together in a second; None or less than 1: no limit."""

    publish_messages: Annotated[int | None, "publishRateInMsgs"] = None
    publish_bytes: Annotated[int | None, "publishRateInBytes"] = None
    dispatch_messages: Annotated[int | None, "dispatchRateInMsgs"] = None
    dispatch_bytes: Annotated[int | None, "dispatchRateInBytes"] = None

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Raises InvalidValue."""
        found: Self = from_json(cls, value, "a resource group")
        return found

    def to_json(self) -> Json:
        written: Json = to_json(self)
        return written

    def changed_by(self, other: Self) -> Self:
        """Copy the group with the limits that the other one has."""
        given: dict[str, Any] = {
            each.name: getattr(other, each.name) for each in fields_of(ResourceGroup)
        }
        return replace(self, **{name: limit for name, limit in given.items() if limit is not None})
