"""Schemas for topics that have none, made of the columns that are written to them. Pure.

Records are called as Spark's own Avro and StreamNative's connector call them, so that a topic that
was begun with either goes on.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import types as t

from magnetar.errors import InvalidValue
from magnetar.model.schemas import SchemaInfo, SchemaType

RECORD: Final = "topLevelRecord"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_PRIMITIVES: Final[Mapping[type[t.DataType], SchemaType]] = {
    t.BinaryType: SchemaType.NONE,
    t.StringType: SchemaType.STRING,
    t.BooleanType: SchemaType.BOOLEAN,
    t.ByteType: SchemaType.INT8,
    t.ShortType: SchemaType.INT16,
    t.IntegerType: SchemaType.INT32,
    t.LongType: SchemaType.INT64,
    t.FloatType: SchemaType.FLOAT,
    t.DoubleType: SchemaType.DOUBLE,
    # Those of Java's newer classes, which cut nothing off.
    t.TimestampType: SchemaType.INSTANT,
    t.DateType: SchemaType.LOCAL_DATE,
    t.TimeType: SchemaType.LOCAL_TIME,
    t.TimestampNTZType: SchemaType.LOCAL_DATE_TIME,
}
_AVRO: Final[Mapping[type[t.DataType], Any]] = {
    t.BooleanType: "boolean",
    t.ByteType: "int",
    t.ShortType: "int",
    t.IntegerType: "int",
    t.LongType: "long",
    t.FloatType: "float",
    t.DoubleType: "double",
    t.StringType: "string",
    t.BinaryType: "bytes",
    t.DateType: {"type": "int", "logicalType": "date"},
    t.TimestampType: {"type": "long", "logicalType": "timestamp-micros"},
    t.TimestampNTZType: {"type": "long", "logicalType": "local-timestamp-micros"},
    t.TimeType: {"type": "long", "logicalType": "time-micros"},
}


def derived(value: t.DataType, wanted: SchemaType | None = None) -> SchemaInfo:
    """The schema of a column: Avro of a struct and a primitive of others, if none is ``wanted``.

    Raises InvalidValue where there is none.
    """
    kind = wanted
    if kind is None:
        kind = SchemaType.AVRO if isinstance(value, t.StructType) else _PRIMITIVES.get(type(value))
    if kind is None:
        raise InvalidValue(
            f"there is no schema for values of {value.simpleString():.200}: make a struct of it"
        )
    if kind not in (SchemaType.AVRO, SchemaType.JSON):
        return SchemaInfo(kind)
    if not isinstance(value, t.StructType):
        raise InvalidValue(
            f"schema={kind.name.lower()} is for a struct, and the value is "
            f"{value.simpleString():.200}: select struct(...) as value"
        )
    return SchemaInfo(kind, json.dumps(avro_of(value, RECORD, "")).encode())


def avro_of(kind: t.DataType, name: str, namespace: str) -> Any:
    """The definition of a type; ``name`` is that of the field it is of. Raises InvalidValue."""
    if isinstance(kind, t.ArrayType):
        item = avro_of(kind.elementType, name, namespace)
        return {"type": "array", "items": _nullable(item, kind.containsNull)}
    if isinstance(kind, t.MapType) and isinstance(kind.keyType, t.StringType):
        item = avro_of(kind.valueType, name, namespace)
        return {"type": "map", "values": _nullable(item, kind.valueContainsNull)}
    if isinstance(kind, t.DecimalType):
        return {
            "type": "fixed",
            "name": ".".join(filter(None, (namespace, name, "fixed"))),
            "size": _bytes_of(kind.precision),
            "logicalType": "decimal",
            "precision": kind.precision,
            "scale": kind.scale,
        }
    if isinstance(kind, t.StructType):
        inside = f"{namespace}.{name}" if namespace else name
        fields = []
        for field in kind:
            if not _NAME.fullmatch(field.name):
                raise InvalidValue(
                    f"column '{field.name}' is no name of a schema, which is of a-z, 0-9 and _: "
                    "rename it"
                )
            found = avro_of(field.dataType, field.name, inside)
            fields.append({"name": field.name, "type": _nullable(found, field.nullable)})
        return {"type": "record", "name": name, "namespace": namespace, "fields": fields}
    if type(kind) not in _AVRO:
        raise InvalidValue(
            f"column '{name}' is {kind.simpleString():.200}, which no schema has: cast it"
        )
    return _AVRO[type(kind)]


def _nullable(definition: Any, nullable: bool) -> Any:  # noqa: FBT001 - one of two
    return [definition, "null"] if nullable else definition


def _bytes_of(digits: int) -> int:
    """The bytes that so many digits take, with a sign."""
    return int(10**digits).bit_length() // 8 + 1
