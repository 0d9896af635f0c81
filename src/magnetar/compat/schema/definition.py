"""Records as classes, what holds others as they do, and the Avro schema that they stand for.

Everything is as in ``pulsar.schema.definition``: the same schemas, values and refusals. A class
has the fields that its own body names, not those of its base.
"""

import copy
from collections.abc import Mapping
from enum import Enum
from typing import Any, ClassVar, Final

from .fields import (
    Boolean,
    Bytes,
    CustomEnum,
    Double,
    Field,
    Float,
    Integer,
    Long,
    Null,
    String,
    name_of,
    wrong_type,
)

__all__ = [
    "Array",
    "Boolean",
    "Bytes",
    "CustomEnum",
    "Double",
    "Field",
    "Float",
    "Integer",
    "Long",
    "Map",
    "Null",
    "Record",
    "RecordMeta",
    "String",
]

_SETTINGS: Final = ("_default", "_required_default", "_required")


class RecordMeta(type):
    """Collects the fields of a record when its class is made."""

    _fields: dict[str, "Record | Field"]

    def __new__(metacls, name: str, parents: tuple[type, ...], dct: dict[str, Any]) -> "RecordMeta":
        if name != "Record":  # The base itself has none.
            dct["_fields"] = RecordMeta._get_fields(dct)
            dct["_required"] = False
        return super().__new__(metacls, name, parents, dct)

    @classmethod
    def _get_fields(cls, dct: Mapping[str, Any]) -> dict[str, "Record | Field"]:
        fields: dict[str, Record | Field] = {}
        for name, given in dct.items():
            value = given
            if isinstance(value, type) and issubclass(value, Enum):
                value = CustomEnum(value)
            elif type(value) is RecordMeta:
                value = value()
            if isinstance(value, Record | Field):
                fields[name] = value
        return fields


class Record(metaclass=RecordMeta):
    """A record: its class's body says what fields it has. It is a field of others, too."""

    _avro_namespace: ClassVar[str | None] = None
    _sorted_fields: ClassVar[bool] = False  # The schema has the fields by name, not as written.
    _fields: ClassVar[dict[str, "Record | Field"]]
    _default: Any
    _required_default: bool
    _required: bool

    def __init__(
        self,
        default: Any = None,
        required_default: bool = False,
        required: bool = False,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """The keyword arguments are the values of fields; the others get their defaults.

        Raises TypeError for a value that a field does not take.
        """
        self._required_default = required_default
        self._default = default
        self._required = required
        for name, field in self._fields.items():
            if name in kwargs:
                setattr(self, name, _made_records(field, kwargs[name]))
            elif isinstance(field, Record):
                setattr(self, name, field)
            else:  # A default was checked where it was given.
                super().__setattr__(name, field.default())

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """The Avro schema."""
        schema = cls.schema_info(set())
        assert isinstance(schema, dict)  # Nothing had a name yet.
        return schema

    @classmethod
    def schema_info(cls, defined_names: set[str]) -> dict[str, Any] | str:
        """The Avro schema; only its name where an outer schema has it already."""
        name = cls.__name__
        if cls._avro_namespace is not None:
            name = f"{cls._avro_namespace}.{name}"
        if name in defined_names:
            return name
        defined_names.add(name)
        schema: dict[str, Any] = {"type": "record", "name": cls.__name__}
        if cls._avro_namespace is not None:
            schema["namespace"] = cls._avro_namespace
        names = sorted(cls._fields) if cls._sorted_fields else cls._fields
        schema["fields"] = [_field_info(each, cls._fields[each], defined_names) for each in names]
        return schema

    def __setattr__(self, key: str, value: Any) -> None:
        if key not in _SETTINGS:
            if key not in self._fields:
                raise AttributeError(f"Cannot set undeclared field {key} on record")
            value = self._fields[key].validate_type(key, value)
        super().__setattr__(key, value)

    def __eq__(self, other: object) -> bool:
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    __hash__ = None  # type: ignore[assignment] # It can change; theirs has none either.

    def __str__(self) -> str:
        return str(self.__dict__)

    def type(self) -> str:
        return type(self).__name__

    def python_type(self) -> Any:
        return type(self)

    def validate_type(self, name: str, val: Any) -> Any:
        if val is None and not self._required:
            return self.default()
        if not isinstance(val, type(self)):
            raise wrong_type("sub-record field", name, val, type(self))
        return val

    def default(self) -> Any:
        return self._default

    def required_default(self) -> bool:
        return self._required_default


class Array(Field):
    """A list of values of one type."""

    def __init__(
        self,
        array_type: Record | Field,
        default: Any = None,
        required: bool = False,
        required_default: bool = False,
    ) -> None:
        _check_record_or_field(array_type)
        self.array_type = array_type
        super().__init__(default, required, required_default)

    def type(self) -> str:
        return "array"

    def python_type(self) -> Any:
        return list

    def validate_type(self, name: str, val: Any) -> Any:
        if val is None:
            return None
        super().validate_type(name, val)
        if not all(isinstance(each, self.array_type.python_type()) for each in val):
            raise TypeError(
                f"Array field {name} items should all be of type {self.array_type.type()}"
            )
        return val

    def schema(self) -> Any:
        return self.schema_info(set())

    def schema_info(self, defined_names: set[str]) -> Any:
        return {"type": "array", "items": _nested_info(self.array_type, defined_names)}


class Map(Field):
    """Values of one type by text."""

    def __init__(
        self,
        value_type: Record | Field,
        default: Any = None,
        required: bool = False,
        required_default: bool = False,
    ) -> None:
        _check_record_or_field(value_type)
        self.value_type = value_type
        super().__init__(default, required, required_default)

    def type(self) -> str:
        return "map"

    def python_type(self) -> Any:
        return dict

    def validate_type(self, name: str, val: Any) -> Any:
        if val is None:
            return None
        super().validate_type(name, val)
        for key, value in val.items():
            if type(key) is not str:
                raise TypeError(f"Map keys for field {name}  should all be strings")
            if not isinstance(value, self.value_type.python_type()):
                raise TypeError(
                    f"Map values for field {name} should all be of type "
                    f"{name_of(self.value_type.python_type())}"
                )
        return val

    def schema(self) -> Any:
        return self.schema_info(set())

    def schema_info(self, defined_names: set[str]) -> Any:
        return {"type": "map", "values": _nested_info(self.value_type, defined_names)}


def _made_records(field: Record | Field, value: Any) -> Any:
    """The value of a field, with records made where it has dicts for them."""
    if isinstance(field, Record) and isinstance(value, dict):
        return _made_record(field, value)
    if (
        isinstance(field, Array)
        and isinstance(field.array_type, Record)
        and isinstance(value, list)
        and value
        and isinstance(value[0], dict)
    ):
        return [_made_record(field.array_type, each) for each in value]
    if (
        isinstance(field, Map)
        and isinstance(field.value_type, Record)
        and isinstance(value, dict)
        and value
        and isinstance(next(iter(value.values())), dict)
    ):
        return {key: _made_record(field.value_type, each) for key, each in value.items()}
    return value


def _made_record(like: Record, values: Mapping[str, Any]) -> Record:
    made = copy.copy(like)
    made.__init__(**values)  # type: ignore[misc] # A record has no other way to be filled.
    return made


def _field_info(name: str, field: Record | Field, defined_names: set[str]) -> dict[str, Any]:
    info: dict[str, Any] = {"name": name}
    if field.required_default():
        default = field.default()
        info["default"] = default.name if isinstance(default, Enum) else default
    of_type = field.schema_info(defined_names)
    info["type"] = of_type if field._required else ["null", of_type]
    return info


def _nested_info(field: Record | Field, defined_names: set[str]) -> Any:
    """The schema of what an array or map holds: of an enumeration only ``enum``, as theirs."""
    nested = isinstance(field, Array | Map | Record)
    return field.schema_info(defined_names) if nested else field.type()


def _check_record_or_field(given: object) -> None:
    if type(given) is type and not issubclass(given, Record):
        raise Exception(f"Argument {name_of(given)} is not a Record or a Field")
