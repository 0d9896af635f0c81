"""Decoded values to Arrow arrays, column by column. Pure.

Arrays are made of buffers: ``pa.array`` would import pandas and ``pyarrow.compute`` first, half a
second in each of Spark's workers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import chain
from operator import itemgetter
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from magnetar.errors import UndecodableValue
from magnetar.schemas.primitives import of_day
from magnetar.spark.values.types import ValueType

PLACES_MAX: Final = 2**31 - 1
"""Bytes, or items, in one array: Arrow counts them in 32 bits."""
DAY_NS: Final = 86_400_000_000_000

_NUMBERS: Final[Mapping[type[t.DataType], Any]] = {
    t.BooleanType: np.bool_,
    t.ByteType: np.int8,
    t.ShortType: np.int16,
    t.IntegerType: np.int32,
    t.LongType: np.int64,
    t.FloatType: np.float32,
    t.DoubleType: np.float64,
}
_NUMBER_MAX: Final = 2**63 - 1
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_DECIMAL_BYTES: Final = 16

Numbers = np.ndarray[Any, np.dtype[Any]]
Values = Sequence[Any]
FieldOf = Callable[[int, str], Callable[[Any], Any]]
"""What takes a field, by its index and its name, from a decoded struct."""


def of_dict(_index: int, name: str) -> Callable[[Any], Any]:
    return itemgetter(name)


def array_of(
    values: Values, kind: ValueType, arrow: pa.DataType, field_of: FieldOf = of_dict
) -> pa.Array:
    """The values as an array of type ``arrow``, which is that of ``kind``.

    Texts and numbers are as they are stored, or as JSON has them. Raises UndecodableValue for
    numbers that are out of range.
    """
    try:
        return _Arrays(field_of).make(values, kind, arrow)
    except (OverflowError, ValueError, TypeError, ArithmeticError) as error:
        raise UndecodableValue(
            f"a {kind.spark.simpleString():.100} is out of range: {error}"
        ) from None


def binary_array(values: Sequence[bytes | None]) -> pa.Array:
    return array_of(values, ValueType(t.BinaryType()), pa.binary())


def fixed_array(numbers: Numbers, arrow: pa.DataType, valid: Numbers | None = None) -> pa.Array:
    """Numbers, or truths, as an array of a type of that size."""
    if pa.types.is_boolean(arrow):
        data = pa.py_buffer(np.packbits(numbers, bitorder="little"))
    else:
        data = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(arrow, len(numbers), [_bitmap(valid), data])


class _Arrays:
    def __init__(self, field_of: FieldOf) -> None:
        self._field_of = field_of

    def make(self, values: Values, kind: ValueType, arrow: pa.DataType) -> pa.Array:
        valid = None
        if None in values:
            valid = np.array([each is not None for each in values], np.bool_)
        made: pa.Array = _MAKERS[type(kind.spark)](self, values, kind, arrow, valid)
        return made

    def nulls(
        self, values: Values, _kind: ValueType, _arrow: pa.DataType, _valid: Numbers | None
    ) -> pa.Array:
        return pa.nulls(len(values))

    def struct(
        self, values: Values, kind: ValueType, arrow: pa.DataType, valid: Numbers | None
    ) -> pa.Array:
        assert isinstance(kind.spark, t.StructType)
        children = []
        for index, (name, child) in enumerate(zip(kind.spark.names, kind.children, strict=True)):
            get = self._field_of(index, name)
            if valid is None:
                column = list(map(get, values))
            else:
                column = [None if each is None else get(each) for each in values]
            children.append(self.make(column, child, arrow.field(index).type))
        return pa.Array.from_buffers(arrow, len(values), [_bitmap(valid)], children=children)

    def list(
        self, values: Values, kind: ValueType, arrow: pa.DataType, valid: Numbers | None
    ) -> pa.Array:
        items = [*chain.from_iterable(filter(None, values))]
        child = self.make(items, kind.children[0], arrow.value_type)
        return _nested(values, arrow, child, valid)

    def map(
        self, values: Values, kind: ValueType, arrow: pa.DataType, valid: Numbers | None
    ) -> pa.Array:
        filled = [*filter(None, values)]
        names = [*chain.from_iterable(filled)]
        items = [*chain.from_iterable(each.values() for each in filled)]
        pairs = pa.StructArray.from_arrays(
            [_texts(names, None), self.make(items, kind.children[0], arrow.item_type)],
            fields=[arrow.key_field, arrow.item_field],
        )
        return _nested(values, arrow, pairs, valid)

    def text(
        self, values: Values, _kind: ValueType, _arrow: pa.DataType, valid: Numbers | None
    ) -> pa.Array:
        return _texts([each or "" for each in values] if valid is not None else values, valid)

    def binary(
        self, values: Values, _kind: ValueType, arrow: pa.DataType, valid: Numbers | None
    ) -> pa.Array:
        return _strings([each or b"" for each in values], valid, arrow)

    def decimal(
        self, values: Values, kind: ValueType, arrow: pa.DataType, valid: Numbers | None
    ) -> pa.Array:
        assert isinstance(kind.spark, t.DecimalType)
        buffers = [_bitmap(valid), _decimals(values, kind.spark)]
        return pa.Array.from_buffers(arrow, len(values), buffers)

    def time(
        self, values: Values, kind: ValueType, arrow: pa.DataType, valid: Numbers | None
    ) -> pa.Array:
        return fixed_array(_times(_filled(values, valid), kind, arrow), arrow, valid)

    def number(
        self, values: Values, kind: ValueType, arrow: pa.DataType, valid: Numbers | None
    ) -> pa.Array:
        numbers = np.array(_filled(values, valid), _NUMBERS[type(kind.spark)])
        return fixed_array(numbers, arrow, valid)


_MAKERS: Final[dict[type[t.DataType], Callable[..., pa.Array]]] = {
    t.NullType: _Arrays.nulls,
    t.StructType: _Arrays.struct,
    t.ArrayType: _Arrays.list,
    t.MapType: _Arrays.map,
    t.StringType: _Arrays.text,
    t.BinaryType: _Arrays.binary,
    t.DecimalType: _Arrays.decimal,
    t.DateType: _Arrays.time,
    t.TimeType: _Arrays.time,
    t.TimestampType: _Arrays.time,
    t.TimestampNTZType: _Arrays.time,
    **dict.fromkeys(_NUMBERS, _Arrays.number),
}


def _filled(values: Values, valid: Numbers | None) -> Values:
    return values if valid is None else [0 if each is None else each for each in values]


def _nested(values: Values, arrow: pa.DataType, child: pa.Array, valid: Numbers | None) -> pa.Array:
    places = _places(len(each) if each else 0 for each in values)
    return pa.Array.from_buffers(arrow, len(values), [_bitmap(valid), places], children=[child])


def _texts(values: Sequence[str], valid: Numbers | None) -> pa.Array:
    joined = "".join(values)
    data = joined.encode()
    if len(data) != len(joined):
        return _strings([each.encode() for each in values], valid, pa.string())
    buffers = [_bitmap(valid), _places(map(len, values)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def _strings(values: Sequence[bytes], valid: Numbers | None, arrow: pa.DataType) -> pa.Array:
    buffers = [_bitmap(valid), _places(map(len, values)), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(arrow, len(values), buffers)


def _places(sizes: Iterable[int]) -> pa.Buffer:
    places = np.concatenate([[0], np.cumsum(np.fromiter(sizes, np.int64))])
    if places[-1] > PLACES_MAX:
        raise OverflowError("more than one column has room for: lower the option rowsPerBatch")
    return pa.py_buffer(places.astype(np.int32))


def _decimals(values: Values, spark: t.DecimalType) -> pa.Buffer:
    """A column of bytes, big-endian, or of decimal numbers."""
    most = 10**spark.precision
    parts = []
    for each in values:
        if each is None:
            number = 0
        elif isinstance(each, bytes):
            number = int.from_bytes(each, signed=True)
        else:
            number = _unscaled(each, spark.scale)
        if not -most < number < most:
            raise OverflowError(f"{each!r:.60}")
        parts.append(number.to_bytes(_DECIMAL_BYTES, "little", signed=True))
    return pa.py_buffer(b"".join(parts))


def _unscaled(number: Decimal, scale: int) -> int:
    if not number.is_finite():
        raise ValueError(f"{number}")
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    whole = int("".join(map(str, digits))) * (-1 if sign else 1)
    shift = exponent + scale
    if shift > _DECIMAL_BYTES * 4 and whole:
        raise OverflowError(f"{number}")
    moved, rest = divmod(whole * 10 ** max(shift, 0), 10 ** max(-shift, 0))
    if rest:
        raise ValueError(f"{number} has more than {scale} digits behind the point")
    return int(moved)


def _times(values: Values, kind: ValueType, arrow: pa.DataType) -> Numbers:
    """Numbers as they are stored, or texts as JSON may have them."""
    if any(isinstance(each, str) for each in values):
        values = [_stored(each, kind) if isinstance(each, str) else each for each in values]
    numbers = np.array(values, np.int64)
    if len(numbers) and max(int(numbers.max()), -int(numbers.min())) > _NUMBER_MAX // kind.factor:
        raise OverflowError(f"{numbers.max()} is too far from 1970")
    numbers *= kind.factor
    if isinstance(kind.spark, t.TimeType) and ((numbers < 0) | (numbers >= DAY_NS)).any():
        raise OverflowError("a time of day outside of the day")
    if arrow.bit_width == 32:
        if len(numbers) and max(int(numbers.max()), -int(numbers.min())) > PLACES_MAX:
            raise OverflowError(f"{numbers.max()} is too far from 1970")
        return numbers.astype(np.int32)
    return numbers


def _stored(text: str, kind: ValueType) -> int:
    """A date or time in ISO 8601 as the number that would be stored. Raises ValueError."""
    if isinstance(kind.spark, t.DateType):
        return date.fromisoformat(text).toordinal() - _EPOCH_DAY
    if isinstance(kind.spark, t.TimeType):
        since = of_day(time.fromisoformat(text))
        return (since.days * 86_400 + since.seconds) * 10**9 // kind.factor + (
            since.microseconds * 1000 // kind.factor
        )
    when = datetime.fromisoformat(text)
    since = when.replace(tzinfo=when.tzinfo or UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) // kind.factor


def _bitmap(valid: Numbers | None) -> pa.Buffer | None:
    return None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
