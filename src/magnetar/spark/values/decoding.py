"""Payloads to a column of values, by the schema that they were written with. Pure."""

import json
from collections.abc import Callable
from decimal import Decimal
from importlib import import_module
from itertools import groupby, pairwise
from operator import attrgetter
from typing import Annotated, Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from magnetar.errors import InvalidValue, UndecodableValue
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.schemas.avro import Definition
from magnetar.schemas.key_value import parts_of, separated, split
from magnetar.spark.values.arrays import DAY_NS, Numbers, array_of, binary_array, fixed_array
from magnetar.spark.values.types import ValueType, stored_form

Decode = Callable[[pa.Array, pa.Array | None], pa.Array]
"""Payloads and, for pairs of keys and values, the keys of their messages: to values.

Only for those payloads may be null: all of them.

Raises UndecodableValue when one of them cannot be.
"""

_DAY_MS: Final = 86_400_000
_SECOND_US: Final = 1_000_000
_DAY_US: Final = 86_400_000_000


def decoder(reader: SchemaInfo, kind: ValueType, arrow: pa.DataType, writer: SchemaInfo) -> Decode:
    """What decodes messages of ``writer`` to ``kind``: that of ``reader``, or some of its fields.

    Raises UndecodableValue where nothing can: the two are of different types.
    """
    if reader.type is not writer.type:
        raise UndecodableValue(f"it was written as {writer.type.name}, not as {reader.type.name}")
    if reader.type is SchemaType.AVRO:
        return _avro(reader, kind, arrow, writer)
    if reader.type is SchemaType.JSON:
        return _json(kind, arrow)
    if reader.type is SchemaType.KEY_VALUE:
        return _key_value(reader, kind, arrow, writer)
    if reader.type is SchemaType.NONE:
        return lambda payloads, _keys: payloads
    if reader.type is SchemaType.STRING:
        return _text
    return _primitive(reader.type, arrow)


def bytes_of(payloads: pa.Array) -> list[bytes]:
    """The rows of an array of binary, none of them null."""
    _, places, data = payloads.buffers()
    start, stop = payloads.offset, payloads.offset + len(payloads) + 1
    ends = np.frombuffer(places, np.int32)[start:stop].tolist() if len(payloads) else []
    held = memoryview(data or b"")
    return [bytes(held[first:end]) for first, end in pairwise(ends)]


def _avro(reader: SchemaInfo, kind: ValueType, arrow: pa.DataType, writer: SchemaInfo) -> Decode:
    try:
        wanted, found = map(_stored, (reader, writer))
    except InvalidValue as error:
        raise UndecodableValue(f"the schema that it was written with: {error}") from None
    read = wanted.read if wanted.raw == found.raw else wanted.reading(found)
    return lambda payloads, _keys: array_of(list(map(read, bytes_of(payloads))), kind, arrow)


def _stored(schema: SchemaInfo) -> Definition:
    return Definition.of(json.dumps(stored_form(Definition.of(schema.data).parsed)))


def _json(kind: ValueType, arrow: pa.DataType) -> Decode:
    library: Any = import_module("msgspec")
    read = library.json.Decoder(_json_type(kind, library)).decode

    def decode(payloads: pa.Array, _keys: pa.Array | None) -> pa.Array:
        try:
            values = list(map(read, bytes_of(payloads)))
        except (ValueError, RecursionError) as error:
            raise UndecodableValue(f"no such JSON: {error}") from None
        return array_of(values, kind, arrow, _of_struct)

    return decode


def _of_struct(index: int, _name: str) -> Callable[[Any], Any]:
    return attrgetter(f"f{index}")


def _json_type(kind: ValueType, library: Any) -> Any:
    """What the library holds JSON to. A field that is missing, or null, is null."""
    spark = kind.spark
    if isinstance(spark, t.StructType):
        names = {f"f{index}": name for index, name in enumerate(spark.names)}
        types = [_json_type(child, library) | None for child in kind.children]
        fields = [(field, each, None) for field, each in zip(names, types, strict=True)]
        return library.defstruct("Value", fields, rename=names, gc=False)
    if isinstance(spark, t.ArrayType):
        return list[_json_type(kind.children[0], library) | None]  # type: ignore[misc]
    if isinstance(spark, t.MapType):
        return dict[str, _json_type(kind.children[0], library) | None]  # type: ignore[misc]
    bits = _BITS.get(type(spark))
    if bits is not None:
        return Annotated[int, library.Meta(ge=-(1 << bits), le=(1 << bits) - 1)]
    return _JSON_TYPES[type(spark)]


_BITS: Final[dict[type[t.DataType], int]] = {
    t.ByteType: 7,
    t.ShortType: 15,
    t.IntegerType: 31,
    t.LongType: 63,
}
_JSON_TYPES: Final[dict[type[t.DataType], Any]] = {
    t.NullType: type(None),
    t.BooleanType: bool,
    t.FloatType: float,
    t.DoubleType: float,
    t.StringType: str,
    t.BinaryType: bytes,
    t.DecimalType: Decimal,
    t.DateType: int | str,
    t.TimeType: int | str,
    t.TimestampType: int | str,
    t.TimestampNTZType: int | str,
}


def _key_value(
    reader: SchemaInfo, kind: ValueType, arrow: pa.DataType, writer: SchemaInfo
) -> Decode:
    assert isinstance(kind.spark, t.StructType)
    of_part = dict(
        zip(("key", "value"), zip(parts_of(reader), parts_of(writer), strict=True), strict=True)
    )
    inline = not separated(writer)
    parts = [
        (name, decoder(of_part[name][0], child, arrow.field(name).type, of_part[name][1]))
        for name, child in zip(kind.spark.names, kind.children, strict=True)
    ]

    def decode(payloads: pa.Array, keys: pa.Array | None) -> pa.Array:
        found = {"key": keys, "value": payloads}
        if inline:
            if payloads.null_count:
                return pa.nulls(len(payloads), arrow)
            pairs = list(map(split, bytes_of(payloads)))
            found = {
                "key": binary_array([key for key, _ in pairs]),
                "value": binary_array([value for _, value in pairs]),
            }
        children = [
            _decoded_part(part, found[name], arrow.field(name).type) for name, part in parts
        ]
        return pa.Array.from_buffers(arrow, len(payloads), [None], children=children)

    return decode


def _decoded_part(decode: Decode, payloads: pa.Array, arrow: pa.DataType) -> pa.Array:
    """As ``decode``; a part that is not there is null."""
    if not payloads.null_count:
        return decode(payloads, None)
    pieces, start = [], 0
    for there, run in groupby(payloads, lambda payload: payload.is_valid):
        count = len(list(run))
        piece = payloads.slice(start, count)
        pieces.append(decode(piece, None) if there else pa.nulls(count, arrow))
        start += count
    return pa.concat_arrays(pieces)


def _text(payloads: pa.Array, _keys: pa.Array | None) -> pa.Array:
    found = pa.Array.from_buffers(
        pa.string(), len(payloads), payloads.buffers(), offset=payloads.offset
    )
    try:
        found.validate(full=True)
    except pa.ArrowInvalid as error:
        raise UndecodableValue(f"not text in UTF-8: {error}") from None
    return found


def _primitive(kind: SchemaType, arrow: pa.DataType) -> Decode:
    stored, convert = _STORED[kind]

    def decode(payloads: pa.Array, _keys: pa.Array | None) -> pa.Array:
        _, places, data = payloads.buffers()
        start, stop = payloads.offset, payloads.offset + len(payloads) + 1
        ends = np.frombuffer(places, np.int32)[start:stop]
        if (np.diff(ends) != stored.itemsize).any():
            raise UndecodableValue(f"not of {stored.itemsize} bytes, as {kind.name} is")
        numbers = np.frombuffer(memoryview(data)[ends[0] : ends[-1]], stored)
        return fixed_array(convert(numbers), arrow)

    return decode


def _days(numbers: Numbers) -> Numbers:
    found = numbers.astype(np.int32)
    if (found != numbers).any():
        raise UndecodableValue("a day too far from 1970")
    return found


def _microseconds(numbers: Numbers, each: int) -> Numbers:
    """Decode numbers of ``each`` microseconds."""
    most = (2**63 - 1) // each - _SECOND_US
    if ((numbers > most) | (numbers < -most)).any():
        raise UndecodableValue("a time too far from 1970")
    found: Numbers = numbers.astype(np.int64) * each
    return found


def _of_day(nanoseconds: Numbers) -> Numbers:
    if ((nanoseconds < 0) | (nanoseconds >= DAY_NS)).any():
        raise UndecodableValue("a time of day outside of the day")
    return nanoseconds.astype(np.int64)


def _instants(parts: Numbers) -> Numbers:
    found: Numbers = _microseconds(parts["whole"], _SECOND_US) + parts["ns"] // 1000
    return found


def _day_times(parts: Numbers) -> Numbers:
    found: Numbers = _microseconds(parts["whole"], _DAY_US) + _of_day(parts["ns"]) // 1000
    return found


def _as(kind: type) -> Callable[[Numbers], Numbers]:
    return lambda numbers: numbers.astype(kind)


_STORED: Final[dict[SchemaType, tuple[np.dtype[Any], Callable[[Numbers], Numbers]]]] = {
    SchemaType.BOOLEAN: (np.dtype(">u1"), lambda numbers: numbers != 0),
    SchemaType.INT8: (np.dtype(">i1"), _as(np.int8)),
    SchemaType.INT16: (np.dtype(">i2"), _as(np.int16)),
    SchemaType.INT32: (np.dtype(">i4"), _as(np.int32)),
    SchemaType.INT64: (np.dtype(">i8"), _as(np.int64)),
    SchemaType.FLOAT: (np.dtype(">f4"), _as(np.float32)),
    SchemaType.DOUBLE: (np.dtype(">f8"), _as(np.float64)),
    SchemaType.DATE: (np.dtype(">i8"), lambda numbers: _days(numbers // _DAY_MS)),
    SchemaType.TIME: (
        np.dtype(">i8"),
        lambda numbers: numbers.astype(np.int64) % _DAY_MS * 1_000_000,
    ),
    SchemaType.TIMESTAMP: (np.dtype(">i8"), lambda numbers: _microseconds(numbers, 1000)),
    SchemaType.INSTANT: (
        np.dtype([("whole", ">i8"), ("ns", ">i4")]),
        _instants,
    ),
    SchemaType.LOCAL_DATE: (np.dtype(">i8"), _days),
    SchemaType.LOCAL_TIME: (np.dtype(">i8"), _of_day),
    SchemaType.LOCAL_DATE_TIME: (
        np.dtype([("whole", ">i8"), ("ns", ">i8")]),
        _day_times,
    ),
}
"""How values are stored, big-endian, and what makes Spark's numbers of them."""
