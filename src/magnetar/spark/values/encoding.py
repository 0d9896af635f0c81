"""A column of values to payloads, by a schema. Pure."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from functools import partial
from importlib import import_module
from math import isfinite
from typing import Any, Final, NamedTuple

from pyspark.sql import types as t

from magnetar.errors import InvalidValue
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.schemas.auto import PRIMITIVES
from magnetar.schemas.avro import Definition
from magnetar.schemas.key_value import joined_payload, parts_of, separated
from magnetar.schemas.primitives import of_day
from magnetar.spark.values.types import ValueType, value_type

Convert = Callable[[Any], Any]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_WHOLE: Final[list[type[t.DataType]]] = [t.ByteType, t.ShortType, t.IntegerType, t.LongType]


class Encoded(NamedTuple):
    """Payloads, and the keys that travel apart from them: None for those of null."""

    payloads: Sequence[bytes | None]
    keys: Sequence[bytes | None] | None


Encode = Callable[[Sequence[Any]], Encoded]
"""Values as ``pyarrow`` shows them, to payloads. Raises InvalidValue, which names the field."""


def encoder(schema: SchemaInfo, given: t.DataType) -> Encode:
    """What encodes a column of type ``given`` by ``schema``.

    Raises InvalidValue, which names the field, where the two do not fit.
    """
    kind = value_type(schema)
    check_fits(given, kind, "value")
    if schema.type is SchemaType.KEY_VALUE:
        return _key_value(schema, given)
    encode = _one(schema, kind, given)

    def encode_all(values: Sequence[Any]) -> Encoded:
        return Encoded([None if each is None else encode(each) for each in values], None)

    return encode_all


def check_fits(given: t.DataType, wanted: ValueType, path: str) -> None:
    """Raise InvalidValue unless every value of type ``given`` is one of ``wanted``, but for null.

    Numbers may be widened, and fields that have defaults, or may be null, left out.
    """
    spark = wanted.spark
    if isinstance(given, t.StructType) and isinstance(spark, t.StructType):
        children = dict(zip(spark.names, wanted.children, strict=True))
        for field in given:
            if field.name not in children:
                raise InvalidValue(
                    f"field '{path}.{field.name}' is not in the topic's schema, which has "
                    f"{', '.join(spark.names)}: leave it out, or set schema=avro to add it"
                )
            check_fits(field.dataType, children[field.name], f"{path}.{field.name}")
        for name, child in children.items():
            if name not in given.names and name not in wanted.defaults and not child.nullable:
                raise InvalidValue(
                    f"field '{path}.{name}' is missing: the topic's schema has it as "
                    f"{child.spark.simpleString():.200}, without a default"
                )
    elif isinstance(given, t.ArrayType) and isinstance(spark, t.ArrayType):
        check_fits(given.elementType, wanted.children[0], f"{path}[]")
    elif isinstance(given, t.MapType) and isinstance(spark, t.MapType) and _is_text(given.keyType):
        check_fits(given.valueType, wanted.children[0], f"{path}[]")
    elif not _fits(given, spark):
        raise InvalidValue(
            f"field '{path}' is {given.simpleString():.200}, and "
            f"{spark.simpleString():.200} in the schema: cast it"
        )


def differences(theirs: t.DataType, ours: t.DataType, path: str = "value") -> Iterator[str]:
    """How the values of a topic differ from those of rows, field by field."""
    if isinstance(theirs, t.StructType) and isinstance(ours, t.StructType):
        mine = {field.name: field.dataType for field in ours}
        for field in theirs:
            name = f"{path}.{field.name}"
            if field.name in mine:
                yield from differences(field.dataType, mine[field.name], name)
            else:
                yield f"field '{name}' is missing in the rows"
        yield from (
            f"field '{path}.{name}' is new" for name in ours.names if name not in theirs.names
        )
    elif theirs != ours:
        yield (
            f"field '{path}' is {theirs.simpleString():.200}, and "
            f"{ours.simpleString():.200} in the rows"
        )


def _is_text(kind: t.DataType) -> bool:
    return isinstance(kind, t.StringType)


def _fits(given: t.DataType, wanted: t.DataType) -> bool:
    if type(given) in _WHOLE:
        most = _WHOLE[_WHOLE.index(type(given)) :]
        exact = isinstance(wanted, t.DoubleType) and not isinstance(given, t.LongType)
        return exact or type(wanted) in most
    if isinstance(given, t.FloatType):
        return isinstance(wanted, t.FloatType | t.DoubleType)
    if isinstance(given, t.DecimalType) and isinstance(wanted, t.DecimalType):
        return given.scale <= wanted.scale and (
            given.precision - given.scale <= wanted.precision - wanted.scale
        )
    return type(given) is type(wanted)


def _key_value(schema: SchemaInfo, given: t.DataType) -> Encode:
    assert isinstance(given, t.StructType), "held by check_fits"
    parts = [
        (name, _one(part, value_type(part), given[name].dataType))
        for name, part in zip(("key", "value"), parts_of(schema), strict=True)
    ]
    apart = separated(schema)

    def encode_part(values: Sequence[Any], name: str, encode: Convert) -> list[bytes | None]:
        found = [None if pair is None else pair[name] for pair in values]
        if not (apart and name == "value") and any(
            pair is not None and part is None for pair, part in zip(values, found, strict=True)
        ):
            raise InvalidValue(f"field 'value.{name}' is null: a pair has both")
        return [None if part is None else encode(part) for part in found]

    def encode_all(values: Sequence[Any]) -> Encoded:
        keys, payloads = (encode_part(values, *part) for part in parts)
        if apart:
            return Encoded(payloads, keys)
        both = zip(keys, payloads, strict=True)
        return Encoded(
            [None if key is None or one is None else joined_payload(key, one) for key, one in both],
            None,
        )

    return encode_all


def _one(schema: SchemaInfo, kind: ValueType, given: t.DataType) -> Callable[[Any], bytes]:
    """What encodes one value that is there."""
    if schema.type is SchemaType.AVRO:
        write = Definition.of(schema.data).write
        return _chained(_plain(kind, given), write)
    if schema.type is SchemaType.JSON:
        library: Any = import_module("msgspec")
        dump = library.json.Encoder(decimal_format="number").encode
        return _chained(_in_json(kind, given), dump)
    encode = PRIMITIVES[schema.type]().encode
    if schema.type is SchemaType.DATE:
        return lambda day: encode(datetime(day.year, day.month, day.day, tzinfo=UTC))
    return encode


def _chained(convert: Convert | None, write: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    def encode(value: Any) -> bytes:
        try:
            return write(value if convert is None else convert(value))
        except InvalidValue as error:
            raise InvalidValue(" ".join(str(error).split())) from None

    return encode


def _plain(kind: ValueType, given: t.DataType) -> Convert | None:
    """What makes of a value what Avro's library takes; None where it is that already."""
    return _converted(kind, given, lambda _kind: None, fill=True)


def _in_json(kind: ValueType, given: t.DataType) -> Convert | None:
    """Convert to JSON: times are the numbers that Avro would store."""
    return _converted(kind, given, _json_leaf, fill=False)


def _converted(
    kind: ValueType, given: t.DataType, leaf: Callable[[ValueType], Convert | None], *, fill: bool
) -> Convert | None:
    """``fill``: with null for fields that are missing, and have no default."""
    if isinstance(kind.spark, t.StructType):
        return _converted_struct(kind, given, leaf, fill=fill)
    if isinstance(kind.spark, t.ArrayType):
        assert isinstance(given, t.ArrayType)
        item = _converted(kind.children[0], given.elementType, leaf, fill=fill)
        return None if item is None else partial(_each, item)
    if isinstance(kind.spark, t.MapType):
        assert isinstance(given, t.MapType)
        of = _converted(kind.children[0], given.valueType, leaf, fill=fill)
        return partial(_pairs, of)
    return leaf(kind)


def _converted_struct(
    kind: ValueType, given: t.DataType, leaf: Callable[[ValueType], Convert | None], *, fill: bool
) -> Convert | None:
    assert isinstance(kind.spark, t.StructType)
    assert isinstance(given, t.StructType)
    children = dict(zip(kind.spark.names, kind.children, strict=True))
    converts = {
        field.name: convert
        for field in given
        if (convert := _converted(children[field.name], field.dataType, leaf, fill=fill))
    }
    missing = set(children) - set(given.names) - kind.defaults if fill else set()
    if not converts and not missing:
        return None
    nulls = dict.fromkeys(missing)

    def struct(value: dict[str, Any]) -> dict[str, Any]:
        made = {**nulls, **value}
        for name, convert in converts.items():
            if made[name] is not None:
                made[name] = convert(made[name])
        return made

    return struct


def _each(convert: Convert, values: list[Any]) -> list[Any]:
    return [None if each is None else convert(each) for each in values]


def _pairs(convert: Convert | None, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if convert is None:
        return dict(pairs)
    return {name: None if each is None else convert(each) for name, each in pairs}


def _json_leaf(kind: ValueType) -> Convert | None:
    if isinstance(kind.spark, t.FloatType | t.DoubleType):
        return _finite
    if isinstance(kind.spark, t.DateType):
        return lambda day: day.toordinal() - _EPOCH_DAY
    if isinstance(kind.spark, t.TimestampType | t.TimestampNTZType):
        return lambda when: _microseconds(when) // kind.factor
    if isinstance(kind.spark, t.TimeType):
        return lambda when: _nanoseconds(when) // kind.factor
    return None


def _finite(number: float) -> float:
    if not isfinite(number):
        raise InvalidValue(f"JSON has no {number}: write null instead, or schema=avro")
    return number


def _microseconds(when: datetime) -> int:
    since = (when if when.tzinfo else when.replace(tzinfo=UTC)) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _nanoseconds(when: time) -> int:
    since = of_day(when)
    return (since.seconds * 1_000_000 + since.microseconds) * 1000
