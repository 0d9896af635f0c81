"""Schemas of topics, for ``create_producer``, ``subscribe`` and ``create_reader``.

Libraries that only some of them need are imported when one of those is made.
"""

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
from magnetar.client.schemas.schema import Schema

__all__ = [
    "BooleanSchema",
    "BytesSchema",
    "DateSchema",
    "DoubleSchema",
    "FloatSchema",
    "InstantSchema",
    "Int8Schema",
    "Int16Schema",
    "Int32Schema",
    "Int64Schema",
    "LocalDateSchema",
    "LocalDateTimeSchema",
    "LocalTimeSchema",
    "Schema",
    "StringSchema",
    "TimeSchema",
    "TimestampSchema",
]
