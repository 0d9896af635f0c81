"""The base of schemas, and those that need no more: bytes, text, JSON."""

import enum
import json
from typing import Any, Final, NamedTuple, Protocol

from magnetar.compat.enums import SchemaType


class SchemaInfo(NamedTuple):
    """A schema as the broker is told of it."""

    type: SchemaType
    label: str
    definition: str  # JSON.

    def schema_type(self) -> SchemaType:
        return self.type

    def name(self) -> str:
        return self.label

    def schema(self) -> str:
        return self.definition


class Received(Protocol):
    """A received message, as a schema needs it."""

    def data(self) -> bytes: ...

    def decoded(self) -> Any: ...

    def message_id(self) -> object: ...

    def topic_name(self) -> str: ...

    def int_schema_version(self) -> int: ...


class Schema:
    """How objects become bytes. Programs may have their own: with ``encode`` and ``decode``."""

    def __init__(
        self,
        record_cls: type | None,
        schema_type: SchemaType,
        schema_definition: Any,
        schema_name: str,
    ) -> None:
        self._record_cls: Any = record_cls
        self._schema_info = SchemaInfo(
            schema_type, schema_name, json.dumps(schema_definition, indent=True)
        )

    def encode(self, obj: Any) -> bytes | None:
        """The object as bytes. Raises TypeError for one that the schema does not take."""

    def decode(self, data: bytes) -> Any:
        """The object that the bytes stand for."""

    def decode_message(self, msg: Received) -> Any:
        """The object that a received message stands for."""
        return self.decode(msg.data())

    def schema_info(self) -> SchemaInfo:
        return self._schema_info

    def attach_client(self, client: Any) -> None:
        """Give the schema the client, of which it may ask the schemas of messages."""
        self._client = client

    def _validate_object_type(self, obj: object) -> None:
        if not isinstance(obj, self._record_cls):
            raise TypeError(
                f"Invalid record obj of type {type(obj)} - expected type is {self._record_cls}"
            )


class BytesSchema(Schema):
    """Bytes as they are: the topic gets no schema."""

    def __init__(self) -> None:
        super().__init__(bytes, SchemaType.BYTES, None, "BYTES")

    def encode(self, data: Any) -> bytes | None:
        self._validate_object_type(data)
        assert isinstance(data, bytes)
        return data

    def decode(self, data: bytes) -> Any:
        return data

    def __str__(self) -> str:
        return "BytesSchema"


class StringSchema(Schema):
    """Text, in UTF-8."""

    def __init__(self) -> None:
        super().__init__(str, SchemaType.STRING, None, "STRING")

    def encode(self, obj: Any) -> bytes | None:
        self._validate_object_type(obj)
        return str(obj).encode()

    def decode(self, data: bytes) -> Any:
        return data.decode()

    def __str__(self) -> str:
        return "StringSchema"


_RESERVED: Final = ("_default", "_required", "_required_default")


def remove_reserved_key(data: dict[str, Any]) -> None:
    """Take out of a record's attributes those that are no fields."""
    for key in _RESERVED:
        data.pop(key, None)


class JsonSchema(Schema):
    """Records as JSON."""

    def __init__(self, record_cls: Any) -> None:
        super().__init__(record_cls, SchemaType.JSON, record_cls.schema(), "JSON")

    def _get_serialized_value(self, o: Any) -> Any:
        if isinstance(o, enum.Enum):
            return o.value
        return o.decode() if isinstance(o, bytes) else _fields_of(o)

    def encode(self, obj: Any) -> bytes | None:
        self._validate_object_type(obj)
        fields = _fields_of(obj)
        return json.dumps(fields, default=self._get_serialized_value, indent=True).encode()

    def decode(self, data: bytes) -> Any:
        return self._record_cls(**json.loads(data))


def _fields_of(record: object) -> dict[str, Any]:
    fields = dict(vars(record))
    remove_reserved_key(fields)
    return fields
