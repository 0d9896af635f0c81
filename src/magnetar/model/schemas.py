"""Schemas of topics: their types, what is kept of one, and when a new one may replace it. Pure."""

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum, StrEnum
from typing import Final, NamedTuple

from magnetar.late_dataclass import dataclass


class SchemaType(IntEnum):
    """The type of a schema: its number in the protocol, and its name in the admin API."""

    NONE = 0  # Bytes.
    STRING = 1
    JSON = 2
    PROTOBUF = 3
    AVRO = 4
    BOOLEAN = 5
    INT8 = 6
    INT16 = 7
    INT32 = 8
    INT64 = 9
    FLOAT = 10
    DOUBLE = 11
    DATE = 12
    TIME = 13
    TIMESTAMP = 14
    KEY_VALUE = 15
    INSTANT = 16
    LOCAL_DATE = 17
    LOCAL_TIME = 18
    LOCAL_DATE_TIME = 19
    PROTOBUF_NATIVE = 20
    AUTO_CONSUME = 21  # "Whatever the topic has": never kept.


AVRO_DEFINED: Final = frozenset({SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF})
"""The types whose definition is an Avro schema, or may be."""


class SchemaCompatibilityStrategy(StrEnum):
    """How a topic's schemas may change: new ones read old data, old ones read new data, or both.

    A transitive one compares with all versions and not just with the latest.
    """

    ALWAYS_INCOMPATIBLE = "ALWAYS_INCOMPATIBLE"
    ALWAYS_COMPATIBLE = "ALWAYS_COMPATIBLE"
    BACKWARD = "BACKWARD"
    FORWARD = "FORWARD"
    FULL = "FULL"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def transitive(self) -> bool:
        return self.endswith("_TRANSITIVE")

    @property
    def new_reads_old(self) -> bool:
        return self.startswith(("BACKWARD", "FULL"))

    @property
    def old_reads_new(self) -> bool:
        return self.startswith(("FORWARD", "FULL"))


class SchemaAutoUpdate(StrEnum):
    """An older word for the strategy, which a namespace may still have."""

    DISABLED = "AutoUpdateDisabled"
    BACKWARD = "Backward"
    FORWARD = "Forward"
    FULL = "Full"
    ALWAYS_COMPATIBLE = "AlwaysCompatible"
    BACKWARD_TRANSITIVE = "BackwardTransitive"
    FORWARD_TRANSITIVE = "ForwardTransitive"
    FULL_TRANSITIVE = "FullTransitive"

    @property
    def strategy(self) -> SchemaCompatibilityStrategy:
        if self is SchemaAutoUpdate.DISABLED:
            return SchemaCompatibilityStrategy.ALWAYS_INCOMPATIBLE
        return SchemaCompatibilityStrategy[self.name]


@dataclass(frozen=True, slots=True)
class SchemaInfo:
    """A schema. ``data`` is its definition; ``deleted``: it stands for there being none."""

    type: SchemaType
    data: bytes = b""
    properties: Mapping[str, str] = field(default_factory=dict)
    timestamp_ms: int = 0
    deleted: bool = False


class SchemaVersion(NamedTuple):
    """A schema that a topic has, and its number there, from 0 on."""

    number: int
    schema: SchemaInfo


@dataclass(frozen=True, slots=True)
class SchemaRefusal:
    """A client whose schema did not fit; ``count`` were refused since the first remembered."""

    client: str  # "producer" or "consumer".
    reason: str
    at_ms: int
    count: int
