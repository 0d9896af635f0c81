"""What the values of a topic are in Spark: schemas of the registry as types of columns. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pyspark.sql import types as t

from magnetar.errors import InvalidValue, UndecodableValue
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.schemas.avro import Definition
from magnetar.schemas.key_value import parts_of

_DIGITS_MAX: Final = 38  # Of Spark's decimals.
_NS_OF_MS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class ValueType:
    """The type of a column, and what it is made of.

    ``factor`` takes the number of a time that is stored to Spark's: microseconds since the epoch,
    or nanoseconds of the day. ``children`` are the types of a struct's fields, of an array's items
    or of a map's values. Of the fields of a struct ``defaults`` are those that may be left out.
    """

    spark: t.DataType
    factor: int = 1
    children: tuple["ValueType", ...] = ()
    nullable: bool = False  # Null may be stored.
    defaults: frozenset[str] = frozenset()


PRIMITIVES: Final[Mapping[SchemaType, ValueType]] = {
    SchemaType.NONE: ValueType(t.BinaryType()),
    SchemaType.STRING: ValueType(t.StringType()),
    SchemaType.BOOLEAN: ValueType(t.BooleanType()),
    SchemaType.INT8: ValueType(t.ByteType()),
    SchemaType.INT16: ValueType(t.ShortType()),
    SchemaType.INT32: ValueType(t.IntegerType()),
    SchemaType.INT64: ValueType(t.LongType()),
    SchemaType.FLOAT: ValueType(t.FloatType()),
    SchemaType.DOUBLE: ValueType(t.DoubleType()),
    SchemaType.DATE: ValueType(t.DateType()),
    SchemaType.TIME: ValueType(t.TimeType()),
    SchemaType.TIMESTAMP: ValueType(t.TimestampType()),
    SchemaType.INSTANT: ValueType(t.TimestampType()),
    SchemaType.LOCAL_DATE: ValueType(t.DateType()),
    SchemaType.LOCAL_TIME: ValueType(t.TimeType()),
    SchemaType.LOCAL_DATE_TIME: ValueType(t.TimestampNTZType()),
}

_PLAIN: Final[Mapping[str, t.DataType]] = {
    "null": t.NullType(),
    "boolean": t.BooleanType(),
    "int": t.IntegerType(),
    "long": t.LongType(),
    "float": t.FloatType(),
    "double": t.DoubleType(),
    "bytes": t.BinaryType(),
    "fixed": t.BinaryType(),
    "string": t.StringType(),
    "enum": t.StringType(),
}
_LOGICAL: Final[Mapping[tuple[str, str], ValueType]] = {
    ("int", "date"): ValueType(t.DateType()),
    ("int", "time-millis"): ValueType(t.TimeType(), _NS_OF_MS),
    ("long", "time-micros"): ValueType(t.TimeType(), 1000),
    ("long", "timestamp-millis"): ValueType(t.TimestampType(), 1000),
    ("long", "timestamp-micros"): ValueType(t.TimestampType()),
    ("long", "local-timestamp-millis"): ValueType(t.TimestampNTZType(), 1000),
    ("long", "local-timestamp-micros"): ValueType(t.TimestampNTZType()),
}
_WIDER: Final = ({"int", "long"}, "long"), ({"float", "double"}, "double")


def value_type(schema: SchemaInfo) -> ValueType:
    """The type of values of a schema. Raises InvalidValue for one that is no column, by its name.

    The fields of a key with a value are called so.
    """
    kind = schema.type
    if kind in PRIMITIVES:
        return PRIMITIVES[kind]
    if kind in (SchemaType.AVRO, SchemaType.JSON):
        return _Avro().type(Definition.of(schema.data).parsed, "value")
    if kind is SchemaType.KEY_VALUE:
        try:
            key, value = map(value_type, parts_of(schema))
        except UndecodableValue as error:
            raise InvalidValue(str(error)) from None
        return _struct({"key": key, "value": value})
    raise InvalidValue(f"a schema of type {kind.name} is no column here: set schema=none")


def pruned(found: ValueType, wanted: t.DataType) -> ValueType:
    """``found`` with no more fields than ``wanted``, in its order, which may be nested.

    Raises InvalidValue where ``wanted`` is something else.
    """
    if isinstance(wanted, t.StructType) and isinstance(found.spark, t.StructType):
        children = dict(zip(found.spark.names, found.children, strict=True))
        unknown = [name for name in wanted.names if name not in children]
        if not unknown:
            return _struct(
                {each.name: pruned(children[each.name], each.dataType) for each in wanted}
            )
    elif isinstance(wanted, t.ArrayType) and isinstance(found.spark, t.ArrayType):
        item = pruned(found.children[0], wanted.elementType)
        return ValueType(t.ArrayType(item.spark), children=(item,))
    elif isinstance(wanted, t.MapType) and isinstance(found.spark, t.MapType):
        item = pruned(found.children[0], wanted.valueType)
        return ValueType(t.MapType(t.StringType(), item.spark), children=(item,))
    elif wanted == found.spark:
        return found
    raise InvalidValue(f"it is {found.spark.simpleString():.500}, not {wanted.simpleString():.500}")


def stored_form(definition: Any) -> Any:
    """A parsed definition without logical types: numbers and bytes stay what is stored."""
    if isinstance(definition, list):
        return [stored_form(each) for each in definition]
    if not isinstance(definition, dict):
        return definition
    kept = {
        name: each
        for name, each in definition.items()
        if name != "logicalType" and not name.startswith("__")
    }
    for name in ("type", "items", "values"):
        if name in kept:
            kept[name] = stored_form(kept[name])
    if "fields" in kept:
        kept["fields"] = [stored_form(field) for field in kept["fields"]]
    return kept


def _struct(children: Mapping[str, ValueType], defaults: frozenset[str] = frozenset()) -> ValueType:
    fields = [t.StructField(name, child.spark) for name, child in children.items()]
    return ValueType(t.StructType(fields), children=tuple(children.values()), defaults=defaults)


class _Avro:
    """Types of one definition that was parsed, where each name is a full one."""

    def __init__(self) -> None:
        self._named: dict[str, Any] = {}
        self._open: list[str] = []

    def type(self, definition: Any, path: str) -> ValueType:
        if isinstance(definition, list):
            return self._union(definition, path)
        if isinstance(definition, str):
            if definition in _PLAIN:
                return ValueType(_PLAIN[definition])
            if definition in self._open:
                raise InvalidValue(
                    f"{path} of the schema is a {definition} inside a {definition}: Spark has no "
                    "recursive types, set schema=none"
                )
            return self.type(self._named[definition], path)
        return self._defined(definition, path)

    def _defined(self, definition: Any, path: str) -> ValueType:
        kind = definition["type"]
        if "name" in definition:
            self._named[definition["name"]] = definition
        if kind in ("record", "error"):
            return self._record(definition, path)
        if kind == "array":
            item = self.type(definition["items"], f"{path}[]")
            return ValueType(t.ArrayType(item.spark), children=(item,))
        if kind == "map":
            item = self.type(definition["values"], f"{path}[]")
            return ValueType(t.MapType(t.StringType(), item.spark), children=(item,))
        if not isinstance(kind, str) or kind not in _PLAIN:
            return self.type(kind, path)
        logical = definition.get("logicalType")
        if logical == "decimal" and kind in ("bytes", "fixed"):
            digits, scale = definition["precision"], definition.get("scale", 0)
            if digits > _DIGITS_MAX:
                raise InvalidValue(
                    f"{path} of the schema has {digits} digits: Spark's decimals have "
                    f"{_DIGITS_MAX}, set schema=none"
                )
            return ValueType(t.DecimalType(digits, scale))
        return _LOGICAL.get((kind, logical or ""), ValueType(_PLAIN[kind]))

    def _record(self, definition: Any, path: str) -> ValueType:
        self._open.append(definition["name"])
        children = {
            field["name"]: self.type(field["type"], f"{path}.{field['name']}")
            for field in definition["fields"]
        }
        self._open.pop()
        defaults = {field["name"] for field in definition["fields"] if "default" in field}
        return _struct(children, frozenset(defaults))

    def _union(self, definitions: list[Any], path: str) -> ValueType:
        others = [each for each in definitions if each != "null"]
        if len(others) == 1:
            found = self.type(others[0], path)
            return replace(found, nullable=len(definitions) > 1)
        if not others:
            return ValueType(t.NullType(), nullable=True)
        for narrow, wide in _WIDER:
            if all(isinstance(each, str) and each in narrow for each in others):
                return ValueType(_PLAIN[wide], nullable="null" in definitions)
        raise InvalidValue(
            f"{path} of the schema is one of several types, as no column is: set schema=none"
        )
