"""The records of the metadata store, to JSON and back. Pure.

The JSON is Pulsar's, so that it can be shown as it is, and ``storage/codec`` makes it bytes. Fields
that this version does not know are written back: an older broker loses nothing that a newer one
stored.
"""

import re
import zlib
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Self, TypeAlias

from magnetar.errors import InvalidValue
from magnetar.model import jackson
from magnetar.model.names import PARTITION_MAX, NamespaceName, TopicName

Json: TypeAlias = dict[str, Any]

BUNDLES_DEFAULT = 4
BUNDLES_MAX = 4096  # All bundles of a namespace are one record.
RING_END = 0xFFFF_FFFF  # Hashes are 32 bits, unsigned; the last bundle includes this one.

_RANGE = re.compile("0x[0-9a-fA-F]{8}_0x[0-9a-fA-F]{8}")
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
        """Those for TLS are left out where there are none."""
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
        """The same cluster, with every field that ``other`` sets."""
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
class Bundles:
    """The bundles of a namespace: ranges of topic hashes without gaps or overlaps."""

    boundaries: tuple[int, ...]  # Invariant: ascending, from 0 to RING_END.

    @classmethod
    def even(cls, count: int) -> Self:
        """``count`` bundles of the same width."""
        if not 1 <= count <= BUNDLES_MAX:
            raise InvalidValue(f"a namespace has 1 to {BUNDLES_MAX} bundles, not {count}")
        width = (RING_END + 1) // count
        return cls((*(index * width for index in range(count)), RING_END))

    @classmethod
    def from_json(cls, value: Json) -> Self:
        texts = value.get("boundaries")
        if not texts:
            count = jackson.whole(value.get("numBundles"), "numBundles") or 0
            return cls.even(count if count > 0 else BUNDLES_DEFAULT)
        try:
            boundaries = tuple(sorted({int(text, 16) for text in texts}))
        except (TypeError, ValueError) as error:
            raise InvalidValue(f"Invalid bundle boundaries: {texts}") from error
        if len(boundaries) < 2 or boundaries[0] != 0 or boundaries[-1] != RING_END:
            raise InvalidValue(
                f"Invalid bundle boundaries: {texts} must reach from 0x00000000 to 0xffffffff"
            )
        return cls(boundaries)

    def to_json(self) -> Json:
        texts = [f"0x{boundary:08x}" for boundary in self.boundaries]
        return {"boundaries": texts, "numBundles": len(texts) - 1}

    @property
    def ranges(self) -> list[str]:
        return [range_text(low, high) for low, high in pairwise(self.boundaries)]

    def range_of(self, topic: TopicName) -> str:
        """The bundle of a topic, as ``0x00000000_0x40000000``: lower bound in, upper bound out."""
        upper = min(bisect_right(self.boundaries, place_of(topic)), len(self.boundaries) - 1)
        return range_text(*self.boundaries[upper - 1 : upper + 1])

    def bounds(self, text: str, where: NamespaceName) -> tuple[int, int]:
        """The bounds of one of these bundles. Raises InvalidValue, in Pulsar's words."""
        if not _RANGE.fullmatch(text):
            raise InvalidValue(f"Invalid bundle range: {text}")
        low, high = (int(bound, 16) for bound in text.split("_"))
        if low not in self.boundaries[:-1]:
            raise InvalidValue(f"Cannot find bundle {where}/{text} in the bundles list")
        upper = self.boundaries[self.boundaries.index(low) + 1]
        if high != upper:
            raise InvalidValue(
                f"Invalid upper boundary for bundle {where}/{text}. Expected upper boundary of "
                f"{where}/{range_text(low, upper)}"
            )
        return low, high

    def split_at(self, places: Iterable[int]) -> "Bundles":
        """The same with more bundles: new ones begin at these places. Raises InvalidValue."""
        boundaries = tuple(sorted({*self.boundaries, *places}))
        if not len(boundaries) - 1 <= BUNDLES_MAX or boundaries[-1] != RING_END:
            raise InvalidValue(f"a namespace has 1 to {BUNDLES_MAX} bundles, up to 0x{RING_END:x}")
        return Bundles(boundaries)


def place_of(topic: TopicName) -> int:
    """Where a topic is among the bundles of its namespace: a hash of its name, of 32 bits."""
    return zlib.crc32(str(topic).encode())


def range_text(low: int, high: int) -> str:
    """A bundle as text."""
    return f"0x{low:08x}_0x{high:08x}"


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
