"""What a field of a record takes: the types that hold no other. As in ``pulsar.schema``."""

from collections.abc import Mapping
from enum import Enum
from typing import Any


class Field:
    """A field of a record: its type, its default, and whether it may be missing."""

    def __init__(
        self,
        default: Any = None,
        required: bool = False,
        required_default: bool = False,
    ) -> None:
        """``required_default`` puts the default into the schema. Raises TypeError."""
        if default is not None:
            default = self.validate_type("default", default)
        self._default = default
        self._required_default = required_default
        self._required = required

    def type(self) -> str:
        """Avro's name of the type."""
        raise NotImplementedError

    def python_type(self) -> Any:
        """What ``isinstance`` is asked for."""
        raise NotImplementedError

    def validate_type(self, name: str, val: Any) -> Any:
        """What the field holds when it is given ``val``. Raises TypeError."""
        if val is None and not self._required:
            return self.default()
        if not isinstance(val, self.python_type()):
            raise wrong_type("field", name, val, self.python_type())
        return val

    def schema(self) -> Any:
        return self.type()

    def schema_info(self, defined_names: set[str]) -> Any:
        return self.type()

    def default(self) -> Any:
        return self._default

    def required_default(self) -> bool:
        return self._required_default


class Null(Field):
    """Nothing."""

    def type(self) -> str:
        return "null"

    def python_type(self) -> Any:
        return type(None)

    def validate_type(self, name: str, val: Any) -> Any:
        if val is not None:
            raise TypeError(f"Field {name} is set to be None")
        return val


class Boolean(Field):
    """True or False, which is the default."""

    def type(self) -> str:
        return "boolean"

    def python_type(self) -> Any:
        return bool

    def default(self) -> Any:
        return False if self._default is None else self._default


class Integer(Field):
    """32 bits."""

    def type(self) -> str:
        return "int"

    def python_type(self) -> Any:
        return int


class Long(Integer):
    """64 bits."""

    def type(self) -> str:
        return "long"


class Float(Field):
    """32 bits, floating."""

    def type(self) -> str:
        return "float"

    def python_type(self) -> Any:
        return float, int


class Double(Float):
    """64 bits, floating."""

    def type(self) -> str:
        return "double"


class Bytes(Field):
    """Bytes; text is encoded."""

    def type(self) -> str:
        return "bytes"

    def python_type(self) -> Any:
        return bytes, str

    def validate_type(self, name: str, val: Any) -> Any:
        return val.encode() if isinstance(val, str) else val


class String(Field):
    """Text; bytes are decoded."""

    def type(self) -> str:
        return "string"

    def python_type(self) -> Any:
        return str, bytes

    def validate_type(self, name: str, val: Any) -> Any:
        if val is None and not self._required:
            return self.default()
        if not isinstance(val, str | bytes):
            raise TypeError(f"Invalid type '{type(val)}' for field '{name}'. Expected a string")
        return val.decode() if isinstance(val, bytes) else val


class CustomEnum(Field):
    """A member of an enumeration, which may be given by its name or its number."""

    def __init__(
        self,
        enum_type: type[Enum],
        default: Any = None,
        required: bool = False,
        required_default: bool = False,
    ) -> None:
        if not issubclass(enum_type, Enum):
            raise Exception(f"{name_of(enum_type)} is not a valid Enum type")
        self.enum_type = enum_type
        self.values = {member.value: member for member in enum_type}
        super().__init__(default, required, required_default)

    def type(self) -> str:
        return "enum"

    def python_type(self) -> Any:
        return self.enum_type

    def validate_type(self, name: str, val: Any) -> Any:
        if val is None or isinstance(val, self.enum_type):
            return val
        members: Mapping[Any, Enum]
        if type(val) is str:
            members = self.enum_type.__members__
        elif type(val) is int:
            members = self.values
        else:
            raise wrong_type("field", name, val, self.enum_type)
        if val not in members:
            raise TypeError(
                f"Invalid enum value '{val}' for field '{name}'. Expected: {members.keys()}"
            )
        return members[val]

    def schema(self) -> Any:
        return self.schema_info(set())

    def schema_info(self, defined_names: set[str]) -> Any:
        name = self.enum_type.__name__
        if name in defined_names:
            return name
        defined_names.add(name)
        return {"type": "enum", "name": name, "symbols": [each.name for each in self.enum_type]}


def wrong_type(what: str, name: str, value: object, expected: object) -> TypeError:
    return TypeError(
        f"Invalid type '{type(value)}' for {what} '{name}'. Expected: {name_of(expected)}"
    )


def name_of(kind: object) -> str:
    return str(getattr(kind, "__name__", kind))
