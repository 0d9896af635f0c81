"""The records of policies that were set: of a namespace, and of a topic. Pure.

A record keeps what this version does not know of, and what it was given for other clusters.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Final, Self

from magnetar.errors import InvalidValue, Refused
from magnetar.late_dataclass import dataclass
from magnetar.model import policy_values as values
from magnetar.model.bundles import BUNDLES_DEFAULT, Bundles
from magnetar.model.policies import NO_POLICIES, ROWS, Policies
from magnetar.model.policy_rows import CLUSTER, Endpoint, Level, PolicyRow
from magnetar.model.records import Json

# What Pulsar shows of a namespace without settings; other keys are left out until they are set.
_SHOWN: Final[Json] = {
    **{
        row.namespace.key: {} if row.namespace.part else row.namespace.unset
        for row in ROWS.values()
        if row.namespace is not None and (row.namespace.part or row.namespace.listed)
    },
    "deleted": False,
}


def policies_in(value: Json, cluster: str) -> Policies:
    """The policies that a namespace's JSON sets for a cluster. Raises InvalidValue.

    A value that Pulsar shows by default counts as not set.
    """
    return _read(value, Level.NAMESPACE, cluster)


def unread_parts(value: Json, cluster: str) -> list[str]:
    """Keys of a namespace's JSON that have parts for other clusters or of unknown kinds."""
    read: dict[str, set[str]] = {}
    for _, at in _at(Level.NAMESPACE):
        if at.part is not None:
            read.setdefault(at.key, set()).add(_part(at, cluster))
    return [key for key, parts in read.items() if (value.get(key) or {}).keys() - parts]


@dataclass(frozen=True, slots=True)
class NamespacePolicies:
    """The record of a namespace: its bundles, and the policies that were set."""

    bundles: Bundles
    policies: Policies = NO_POLICIES
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
        before = policies_in(self.stored, self.cluster)
        written = _written(self.stored, Level.NAMESPACE, self.cluster, before, self.policies)
        return written | {"bundles": self.bundles.to_json(), "deleted": self.deleted}

    def shown(self) -> Json:
        """As an administrator sees it: what is set, and Pulsar's defaults for the rest."""
        return {**_SHOWN, **self.to_json()}

    def with_policies(self, **changed: Any) -> Self:
        """Change policies of the namespace; None unsets one. Raises Refused."""
        return replace(self, policies=_changed(self.policies, "namespace", changed))


@dataclass(frozen=True, slots=True)
class TopicPolicies:
    """The record of the policies that a topic sets itself."""

    policies: Policies = NO_POLICIES
    stored: Json = field(default_factory=dict, compare=False)  # The JSON that was read.

    @classmethod
    def from_json(cls, value: Json) -> Self:
        return cls(_read(value, Level.TOPIC), value)

    def to_json(self) -> Json:
        """The JSON that was read, with the changes since; unknown keys stay."""
        before = _read(self.stored, Level.TOPIC)
        return _written(self.stored, Level.TOPIC, "", before, self.policies)

    def with_policies(self, **changed: Any) -> Self:
        """Change policies of the topic; None unsets one. Raises Refused.

        What is given for some subscriptions leaves the others as they are.
        """
        given = changed.get("of_subscriptions")
        if given is not None:
            merged = {**(self.policies.of_subscriptions or {}), **given}
            rest = {name: of for name, of in merged.items() if of is not None}
            changed = {**changed, "of_subscriptions": rest or None}
        return replace(self, policies=_changed(self.policies, "topic", changed))


def _changed(policies: Policies, whose: str, changed: Mapping[str, Any]) -> Policies:
    """Raises Refused for a retention that keeps no more than the backlog's quota allows."""
    found = replace(policies, **changed)
    retention, quota = found.retention, found.backlog_quota_size
    if retention is None or quota is None or retention.exceeds(quota):
        return found
    if "retention" in changed:
        raise Refused(f"Retention Quota must exceed configured backlog quota for {whose}.")
    if "backlog_quota_size" in changed:
        raise Refused(
            f"Backlog Quota exceeds configured retention quota for {whose}. Please increase "
            "retention quota and retry"
        )
    return found


def _at(level: Level) -> Iterator[tuple[PolicyRow, Endpoint]]:
    """The policies that a level may set."""
    for row in ROWS.values():
        endpoint = row.at(level)
        if endpoint is not None:
            yield row, endpoint


def _read(value: Json, level: Level, cluster: str = "") -> Policies:
    """The policies in a JSON, but for those with the value that is shown where nothing is set."""
    found = {}
    for row, at in _at(level):
        sent = _holder(value, at).get(_part(at, cluster))
        default = at.unset if at.listed else None
        if sent in (None, [], {}, default):
            continue
        policy = values.from_json(row.kind, sent, at.key)
        if default is None or policy != values.from_json(row.kind, default, at.key):
            found[row.name] = policy
    return Policies(**found)


def _written(
    stored: Json, level: Level, cluster: str, before: Policies, policies: Policies
) -> Json:
    """A JSON that was read, with the policies that have changed since."""
    written = dict(stored)
    for row, at in _at(level):
        value = getattr(policies, row.name)
        if value != getattr(before, row.name):
            _write(written, at, _part(at, cluster), values.to_json(value))
    return written


def _holder(value: Json, at: Endpoint) -> Json:
    """The object that has a policy as one of its items."""
    if at.part is None:
        return value
    holder = value.get(at.key) or {}
    if not isinstance(holder, dict):
        raise InvalidValue(f"{at.key} is a JSON {type(holder).__name__}, not an object")
    return holder


def _part(at: Endpoint, cluster: str) -> str:
    return cluster if at.part == CLUSTER else at.part or at.key


def _write(value: Json, at: Endpoint, part: str, item: Any) -> None:
    """Put a policy where the JSON has it; None takes it away."""
    holder = value if at.part is None else value.setdefault(at.key, {})
    if at.part is not None:
        holder = value[at.key] = dict(holder)
    if item is None:
        holder.pop(part, None)
    else:
        holder[part] = item
