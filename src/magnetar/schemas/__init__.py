"""Schemas of topics, for ``create_producer``, ``subscribe`` and ``create_reader``.

Those that need a library of their own are imported when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from magnetar.schemas.auto import AutoConsumeSchema, AutoProduceSchema
from magnetar.schemas.json import JsonSchema
from magnetar.schemas.key_value import KeyValue, KeyValueEncoding, KeyValueSchema
from magnetar.schemas.primitives import (
    BooleanSchema,
    BytesSchema,
    DateSchema,
    DoubleSchema,
    FloatSchema,
    InstantSchema,
    Int8Schema,
    Int16Schema,
    Int32Schema,
    Int64Schema,
    LocalDateSchema,
    LocalDateTimeSchema,
    LocalTimeSchema,
    StringSchema,
    TimeSchema,
    TimestampSchema,
)
from magnetar.schemas.records import AvroType, Float32, Int32
from magnetar.schemas.schema import Schema

if TYPE_CHECKING:
    from magnetar.schemas.avro import AvroSchema
    from magnetar.schemas.protobuf import ProtobufNativeSchema

__all__ = [
    "AutoConsumeSchema",
    "AutoProduceSchema",
    "AvroSchema",
    "AvroType",
    "BooleanSchema",
    "BytesSchema",
    "DateSchema",
    "DoubleSchema",
    "Float32",
    "FloatSchema",
    "InstantSchema",
    "Int8Schema",
    "Int16Schema",
    "Int32",
    "Int32Schema",
    "Int64Schema",
    "JsonSchema",
    "KeyValue",
    "KeyValueEncoding",
    "KeyValueSchema",
    "LocalDateSchema",
    "LocalDateTimeSchema",
    "LocalTimeSchema",
    "ProtobufNativeSchema",
    "Schema",
    "StringSchema",
    "TimeSchema",
    "TimestampSchema",
]

_HOMES: Final = {
    "AvroSchema": "magnetar.schemas.avro",
    "ProtobufNativeSchema": "magnetar.schemas.protobuf",
}

if not TYPE_CHECKING:  # A type checker would take every name for one that is there.

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'magnetar.schemas' has no attribute {name!r}")
        found: object = getattr(import_module(_HOMES[name]), name)
        globals()[name] = found
        return found
