"""Keys and values together, each with a schema of its own. Pure.

INLINE    payload: [4 bytes: size][key][4 bytes: size][value], a size of -1 for none
SEPARATED payload: the value; the key is the message's key, in base64
"""

import json
import struct
from collections.abc import Callable
from enum import Enum
from typing import Final, Generic, NamedTuple, TypeVar, cast

from magnetar.checks import check_member
from magnetar.errors import InvalidSchema, InvalidValue, UndecodableValue
from magnetar.model.key_value_schemas import halves, joined
from magnetar.model.schemas import SchemaInfo, SchemaType

from .schema import Encoded, Payload, Schema

K = TypeVar("K")
V = TypeVar("V")

_SIZE: Final = struct.Struct(">i")
_NONE: Final = -1
_ENCODING: Final = "kv.encoding.type"


class KeyValue(NamedTuple, Generic[K, V]):
    """What messages with a KeyValueSchema have as values."""

    key: K
    value: V


class KeyValueEncoding(Enum):
    """Where the key travels."""

    INLINE = "INLINE"  # In the payload.
    SEPARATED = "SEPARATED"  # As the key of the message, by which it is routed and compacted.


class KeyValueSchema(Schema[KeyValue[K, V]]):
    """Pairs of a key and a value."""

    info: SchemaInfo

    def __init__(
        self,
        key: Schema[K],
        value: Schema[V],
        encoding: KeyValueEncoding = KeyValueEncoding.INLINE,
    ) -> None:
        check_member("encoding", encoding, KeyValueEncoding)
        self._key = key
        self._value = value
        self._separated = encoding is KeyValueEncoding.SEPARATED
        self.evolves = key.evolves or value.evolves
        properties = {**_told("key", key), **_told("value", value), _ENCODING: encoding.value}
        data = joined(_definition(key), _definition(value))
        self.info = SchemaInfo(SchemaType.KEY_VALUE, data, properties)

    def __repr__(self) -> str:
        return f"KeyValueSchema({self._key!r}, {self._value!r})"

    def encode(self, value: KeyValue[K, V]) -> bytes:
        if not isinstance(value, KeyValue):
            raise InvalidValue(
                f"a value of KeyValueSchema must be KeyValue, not {type(value).__name__}: make one"
            )
        data = self._value.encode(value.value)
        if self._separated:
            return data
        return joined_payload(self._key.encode(value.key), data)

    def encode_key(self, value: KeyValue[K, V]) -> bytes | None:
        return self._key.encode(value.key) if self._separated else None

    def decode(self, data: bytes) -> KeyValue[K, V]:
        if self._separated:
            raise UndecodableValue("its key is not in the payload: look at message.value")
        return self.decoder(None)(Payload(data))

    def decoder(self, writer: SchemaInfo | None) -> Callable[[Encoded], KeyValue[K, V]]:
        if writer is None:
            return pairs(self._key.decoder(None), self._value.decoder(None), self._separated)
        key, value = parts_of(writer)
        return pairs(self._key.decoder(key), self._value.decoder(value), separated(writer))


def parts_of(schema: SchemaInfo) -> tuple[SchemaInfo, SchemaInfo]:
    """The schemas of key and value. Raises UndecodableValue."""
    if schema.type is not SchemaType.KEY_VALUE:
        raise UndecodableValue(f"it was written as {schema.type.name}, not as KEY_VALUE")
    try:
        return halves(schema)
    except InvalidSchema as error:
        raise UndecodableValue(f"the schema that it was written with: {error}") from None


def separated(schema: SchemaInfo) -> bool:
    """Whether keys travel as those of the messages."""
    return schema.properties.get(_ENCODING) == KeyValueEncoding.SEPARATED.value


def pairs(
    key: Callable[[Encoded], K],
    value: Callable[[Encoded], V],
    separated: bool,  # noqa: FBT001 - it follows the two as a third
) -> Callable[[Encoded], KeyValue[K, V]]:
    """What decodes both parts of a message."""

    def decode_separated(message: Encoded) -> KeyValue[K, V]:
        found = message.key_bytes
        if found is None:
            raise UndecodableValue("it has no key")
        return KeyValue(key(Payload(found)), value(message))

    def decode_inline(message: Encoded) -> KeyValue[K, V]:
        first, second = split(message.data)
        return KeyValue(
            cast("K", None) if first is None else key(Payload(first)),
            cast("V", None) if second is None else value(Payload(second)),
        )

    return decode_separated if separated else decode_inline


def joined_payload(key: bytes, value: bytes) -> bytes:
    """A payload with both parts, INLINE."""
    return b"".join((_SIZE.pack(len(key)), key, _SIZE.pack(len(value)), value))


def split(data: bytes) -> tuple[bytes | None, bytes | None]:
    """Key and value of such a payload; Java's clients send None. Raises UndecodableValue."""
    key, rest = _cut(data, "key")
    value, rest = _cut(rest, "value")
    if rest:
        raise UndecodableValue(f"{len(rest)} bytes behind key and value")
    return key, value


def _cut(data: bytes, name: str) -> tuple[bytes | None, bytes]:
    if len(data) < _SIZE.size:
        raise UndecodableValue(f"it ends before the size of its {name}")
    (size,) = _SIZE.unpack_from(data)
    if size == _NONE:
        return None, data[_SIZE.size :]
    end = _SIZE.size + size
    if not 0 <= size <= len(data) - _SIZE.size:
        raise UndecodableValue(f"it has no {name}: a size of {size} bytes")
    return data[_SIZE.size : end], data[end:]


def _definition(schema: Schema[K]) -> bytes:
    return b"" if schema.info is None else schema.info.data


def _told(part: str, schema: Schema[K]) -> dict[str, str]:
    """What the properties say of a part, as Java's client writes it."""
    name = "BYTES" if schema.info is None else schema.info.type.name
    properties = {} if schema.info is None else dict(schema.info.properties)
    return {
        f"{part}.schema.name": "",
        f"{part}.schema.type": name,
        f"{part}.schema.properties": json.dumps(properties),
    }
