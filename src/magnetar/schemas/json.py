"""Records as JSON, as Java's and Python's other clients write them.

``msgspec`` writes and reads JSON where it is installed: the same, in less time.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from magnetar.errors import InvalidValue, UndecodableValue
from magnetar.model.schemas import SchemaInfo, SchemaType

from .records import Deriving, plain_of, value_of
from .schema import Schema, T


class JsonSchema(Schema[T]):
    """Records of a class as JSON objects.

    ``record`` is a dataclass, a pydantic model or a msgspec struct. The broker is told its fields
    in Avro's words. What is missing in a message takes its default, what is unknown is passed
    over: so values survive that the class changes.
    """

    info: SchemaInfo

    def __init__(self, record: type[T], *, name: str | None = None) -> None:
        """``name`` is the record's name where that of the class does not do, as "shop.Order".

        Raises InvalidValue for a class that is none of these, or has a field of another kind.
        """
        kind = Deriving(in_json=True).record(record, name)
        self.info = SchemaInfo(SchemaType.JSON, json.dumps(kind.definition).encode())
        self._record = record
        self._kind = kind
        self._write, self._read = codec()
        self._read_record = _reader_of(record) if kind.same_in_json else None

    def __repr__(self) -> str:
        return f"JsonSchema({self._record.__name__})"

    @staticmethod
    def from_definition(definition: str | bytes | Mapping[str, Any]) -> "Schema[dict[str, Any]]":
        """Records as dicts; ``definition`` is an Avro schema, parsed or as text.

        Raises InvalidValue.
        """
        return _DictJson(definition)

    def encode(self, value: T) -> bytes:
        return _written(self._write, plain_of(self._kind, self._record, value))

    def decode(self, data: bytes) -> T:
        if self._read_record is not None:
            return self._read_record(data)
        return value_of(self._kind, self._record, self._read(data))


class _DictJson(Schema[dict[str, Any]]):
    """Objects of JSON as dicts, held to a definition."""

    info: SchemaInfo

    def __init__(self, definition: str | bytes | Mapping[str, Any]) -> None:
        self._definition = import_module("magnetar.schemas.avro").Definition.of(definition)
        self.info = SchemaInfo(SchemaType.JSON, self._definition.data)
        _, self._read = codec()

    def __repr__(self) -> str:
        return "JsonSchema.from_definition(...)"

    def encode(self, value: dict[str, Any]) -> bytes:
        self._definition.check(value)
        return _written(_dumps, value)

    def decode(self, data: bytes) -> dict[str, Any]:
        found: dict[str, Any] = self._read(data)
        return found


@cache
def codec() -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    """What writes and reads plain values; the latter raises UndecodableValue."""
    if find_spec("msgspec") is None:
        return _dumps, partial(_read_with, json.loads)
    library: Any = import_module("msgspec")
    return library.json.Encoder().encode, partial(_read_with, library.json.Decoder().decode)


def _written(write: Callable[[Any], bytes], value: Any) -> bytes:
    try:
        return write(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValue(f"JSON cannot have this value: {error}") from None


def _dumps(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _reader_of(record: type[T]) -> Callable[[bytes], T] | None:
    """What makes records of JSON at once; None where ``msgspec`` is not installed."""
    if find_spec("msgspec") is None:
        return None
    library: Any = import_module("msgspec")
    return partial(_read_with, library.json.Decoder(record).decode)


def _read_with(read: Callable[[bytes], Any], data: bytes) -> Any:
    try:
        return read(data)
    except (ValueError, RecursionError) as error:  # msgspec's are ValueErrors, too.
        raise UndecodableValue(f"{len(data)} bytes that are no such JSON: {error}") from None
