"""The records of the metadata store, to JSON and back. Pure.

The JSON is Pulsar's, so that it can be shown as it is, and ``storage/codec`` makes it bytes. Fields
that this version does not know are written back: an older broker loses nothing that a newer one
stored.
"""

from dataclasses import field
from typing import Any, Self, TypeAlias

from magnetar.errors import InvalidValue
from magnetar.late_dataclass import dataclass
from magnetar.model.names import PARTITION_MAX

Json: TypeAlias = dict[str, Any]

_CLUSTER_DEFAULTS: Json = {
    "brokerClientTlsEnabled": False,
    "tlsAllowInsecureConnection": False,
    "brokerClientTlsEnabledWithKeyStore": False,
}


@dataclass(frozen=True, slots=True)
class ClusterData:
    """Where a cluster is reached. ``fields`` are those of Pulsar's that are set."""

    fields: Json = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        service_url: str,
        broker_service_url: str,
        service_url_tls: str = "",
        broker_service_url_tls: str = "",
    ) -> Self:
        """Make the record of a cluster; URLs for TLS are left out where there are none."""
        fields = {"serviceUrl": service_url, "brokerServiceUrl": broker_service_url}
        tls = {"serviceUrlTls": service_url_tls, "brokerServiceUrlTls": broker_service_url_tls}
        return cls(fields | {key: url for key, url in tls.items() if url})

    @classmethod
    def from_json(cls, value: Json) -> Self:
        return cls({key: item for key, item in value.items() if item is not None})

    @property
    def service_url(self) -> str | None:
        return self.fields.get("serviceUrl")

    @property
    def broker_service_url(self) -> str | None:
        return self.fields.get("brokerServiceUrl")

    def to_json(self) -> Json:
        return self.fields

    def moved_to(self, other: "ClusterData") -> "ClusterData":
        """Copy the cluster, with every field that ``other`` sets."""
        return ClusterData({**self.fields, **other.fields})

    def shown(self) -> Json:
        """As an administrator sees it: what is set, and the defaults of what is not."""
        return {**_CLUSTER_DEFAULTS, **self.fields}


@dataclass(frozen=True, slots=True)
class TenantInfo:
    """Who administers a tenant, and in which clusters it may live."""

    admin_roles: list[str] = field(default_factory=list)
    allowed_clusters: list[str] = field(default_factory=list)
    other: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Json) -> Self:
        other = dict(value)
        roles = _strings(other.pop("adminRoles", None))
        clusters = _strings(other.pop("allowedClusters", None))
        return cls(roles, clusters, other)

    def to_json(self) -> Json:
        return {**self.other, **self.shown()}

    def shown(self) -> Json:
        return {"adminRoles": self.admin_roles, "allowedClusters": self.allowed_clusters}


@dataclass(frozen=True, slots=True)
class PartitionedTopicMetadata:
    """The number of a topic's partitions. ``properties`` None: they were never set."""

    partitions: int
    properties: dict[str, str] | None = None
    other: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Json) -> Self:
        other = dict(value)
        partitions = other.pop("partitions", 0)
        properties = other.pop("properties", None)
        other.pop("deleted", None)
        if not isinstance(partitions, int) or not 0 <= partitions <= PARTITION_MAX:
            raise InvalidValue(f"a topic has whole partitions, not {partitions!r}")
        if not isinstance(properties, dict | None):
            raise InvalidValue(f"properties are an object, not a {type(properties).__name__}")
        return cls(partitions, properties, other)

    def to_json(self) -> Json:
        return {**self.other, **self.shown()}

    def shown(self) -> Json:
        shown: Json = {"partitions": self.partitions, "deleted": False}
        if self.properties:
            shown["properties"] = self.properties
        return shown


def _strings(value: object) -> list[str]:
    """A set of names as a sorted list, since Pulsar's sets have no order."""
    names = value or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidValue(f"a list of names was expected instead of {value!r:.200}")
    return sorted(set(names))
