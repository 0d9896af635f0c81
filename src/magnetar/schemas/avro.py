"""Records in Avro's binary form: the one place that knows the library."""

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import fastavro
from fastavro.schema import SchemaParseException, UnknownType
from fastavro.validation import ValidationError

from magnetar.errors import InvalidValue, UndecodableValue
from magnetar.model.schemas import SchemaInfo, SchemaType

from .records import Deriving, plain_of, value_of
from .schema import Encoded, Schema, T

# What fastavro raises for values and bytes that are not what a schema says.
_FLAWS = (
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    EOFError,
    ArithmeticError,
    RecursionError,
    MemoryError,
    fastavro.read.SchemaResolutionError,
)


class Definition:
    """An Avro schema that was parsed."""

    def __init__(self, data: bytes, raw: Any) -> None:
        """Raises InvalidValue."""
        self.data = data
        self.raw = raw
        try:
            self.parsed: Any = fastavro.parse_schema(raw)
        except (*_FLAWS, SchemaParseException, UnknownType) as error:
            raise InvalidValue(f"this is no Avro schema: {error!r:.300}") from None

    @classmethod
    def of(cls, definition: str | bytes | Mapping[str, Any]) -> "Definition":
        if not isinstance(definition, str | bytes):
            return cls(json.dumps(definition).encode(), definition)
        try:
            raw = json.loads(definition)
        except (ValueError, RecursionError) as error:
            raise InvalidValue(f"this is no Avro schema: {error}") from None
        return cls(definition.encode() if isinstance(definition, str) else definition, raw)

    def check(self, value: Any) -> None:
        """Raises InvalidValue, which names the field."""
        try:
            fastavro.validate(value, self.parsed, strict=True)
        except (ValidationError, *_FLAWS) as error:
            raise InvalidValue(f"the value does not fit its schema: {error}") from None

    def write(self, plain: Any) -> bytes:
        out = io.BytesIO()
        try:
            fastavro.schemaless_writer(out, self.parsed, plain, strict_allow_default=True)
        except _FLAWS as error:
            self.check(plain)
            raise InvalidValue(f"the value does not fit its schema: {error}") from None
        return out.getvalue()

    def read(self, data: bytes) -> Any:
        """Raises UndecodableValue."""
        try:
            return fastavro.schemaless_reader(io.BytesIO(data), self.parsed, None)
        except _FLAWS as error:
            raise _undecodable(data, error) from None

    def reading(self, writer: "Definition") -> Callable[[bytes], Any]:
        """What reads as this schema has it what was written with another; raises as ``read``."""
        reader = self.parsed
        if isinstance(self.raw, dict) and isinstance(writer.raw, dict):
            # The two may call the record by different names.
            reader = fastavro.parse_schema({**self.raw, "aliases": [writer.parsed["name"]]})

        def read(data: bytes) -> Any:
            try:
                return fastavro.schemaless_reader(io.BytesIO(data), writer.parsed, reader)
            except _FLAWS as error:
                raise _undecodable(data, error) from None

        return read


class _Avro(Schema[T]):
    """The base of Avro records, of a class or as dicts."""

    info: SchemaInfo
    evolves = True

    def __init__(self, definition: Definition) -> None:
        self.info = SchemaInfo(SchemaType.AVRO, definition.data)
        self._definition = definition

    def decode(self, data: bytes) -> T:
        return self._of_plain(self._definition.read(data))

    def decoder(self, writer: SchemaInfo | None) -> Callable[[Encoded], T]:
        if writer is None or (writer.type, writer.data) == (self.info.type, self.info.data):
            return super().decoder(None)
        if writer.type is not SchemaType.AVRO:
            raise UndecodableValue(f"it was written as {writer.type.name}, not as AVRO")
        try:
            read = self._definition.reading(Definition.of(writer.data))
        except InvalidValue as error:
            raise UndecodableValue(f"the schema that it was written with: {error}") from None
        return lambda message: self._of_plain(read(message.data))

    def _of_plain(self, plain: Any) -> T:
        raise NotImplementedError


class AvroSchema(_Avro[T]):
    """Records of a class in Avro's binary form.

    ``record`` is a dataclass, a pydantic model or a msgspec struct. A message that was written with
    another version of the schema is read by Avro's rules: fields are matched by name, numbers are
    widened, what is missing takes its default.
    """

    def __init__(self, record: type[T], *, name: str | None = None) -> None:
        """``name`` is the record's name where that of the class does not do, as "shop.Order".

        Raises InvalidValue for a class that is none of these, or has a field of another kind.
        """
        self._record = record
        self._kind = Deriving(in_json=False).record(record, name)
        super().__init__(Definition.of(self._kind.definition))

    def __repr__(self) -> str:
        return f"AvroSchema({self._record.__name__})"

    @staticmethod
    def from_definition(definition: str | bytes | Mapping[str, Any]) -> Schema[dict[str, Any]]:
        """Records as dicts; ``definition`` is an Avro schema, parsed or as text.

        Raises InvalidValue.
        """
        return _DictAvro(Definition.of(definition))

    def encode(self, value: T) -> bytes:
        return self._definition.write(plain_of(self._kind, self._record, value))

    def _of_plain(self, plain: Any) -> T:
        return value_of(self._kind, self._record, plain)


class _DictAvro(_Avro[dict[str, Any]]):
    """Records as dicts."""

    def __repr__(self) -> str:
        return "AvroSchema.from_definition(...)"

    def encode(self, value: dict[str, Any]) -> bytes:
        return self._definition.write(value)

    def _of_plain(self, plain: Any) -> dict[str, Any]:
        found: dict[str, Any] = plain
        return found


def of_topic(schema: SchemaInfo) -> Schema[dict[str, Any]]:
    """A schema with the topic's definition. Raises UndecodableValue."""
    try:
        return _DictAvro(Definition.of(schema.data))
    except InvalidValue as error:
        raise UndecodableValue(f"the schema that it was written with: {error}") from None


def _undecodable(data: bytes, error: BaseException) -> UndecodableValue:
    return UndecodableValue(f"{len(data)} bytes that are no such Avro: {error!r:.300}")
