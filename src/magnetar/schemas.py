"""Schemas of topics, for ``create_producer``, ``subscribe`` and ``create_reader``.

Those that need a library of their own are imported when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from magnetar.client.schemas.auto import AutoConsumeSchema, AutoProduceSchema
from magnetar.client.schemas.json import JsonSchema
from magnetar.client.schemas.key_value import KeyValue, KeyValueEncoding, KeyValueSchema
from magnetar.client.schemas.primitives import (
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
from magnetar.client.schemas.records import AvroType, Float32, Int32
from magnetar.client.schemas.schema import Schema

if TYPE_CHECKING:
    from magnetar.client.schemas.avro import AvroSchema
    from magnetar.client.schemas.protobuf import ProtobufNativeSchema

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
    "AvroSchema": "magnetar.client.schemas.avro",
    "ProtobufNativeSchema": "magnetar.client.schemas.protobuf",
}

if not TYPE_CHECKING:  # A type checker would take every name for one that is there.

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'magnetar.schemas' has no attribute {name!r}")
        found: object = getattr(import_module(_HOMES[name]), name)
        globals()[name] = found
        return found
