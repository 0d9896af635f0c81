"""Schemas of keys and values together: two schemas in one. Pure.

    [4 bytes: length][the key's definition][4 bytes: length][the value's definition]

The properties have the rest of both: ``key.schema.type`` and the like. ``kv.encoding.type`` says
whether the key travels within the payload (INLINE) or as the message's key (SEPARATED).
"""

import json
import struct
from typing import Final

from magnetar.errors import InvalidSchema
from magnetar.model.schemas import SchemaInfo, SchemaType

_LENGTH: Final = struct.Struct(">i")


def halves(schema: SchemaInfo) -> tuple[SchemaInfo, SchemaInfo]:
    """The schemas of key and value. Raises InvalidSchema."""
    key, rest = _split(schema.data)
    value, rest = _split(rest)
    if rest:
        raise InvalidSchema("Invalid KEY_VALUE schema: there is more behind key and value")
    return _half(schema, "key", key), _half(schema, "value", value)


def joined(key: bytes, value: bytes) -> bytes:
    """The definition of both."""
    return b"".join((_LENGTH.pack(len(key)), key, _LENGTH.pack(len(value)), value))


def _split(data: bytes) -> tuple[bytes, bytes]:
    if len(data) < _LENGTH.size:
        raise InvalidSchema("Invalid KEY_VALUE schema: it ends before the length of a part")
    (length,) = _LENGTH.unpack_from(data)
    end = _LENGTH.size + max(length, 0)  # -1 is a part without a definition.
    if end > len(data):
        raise InvalidSchema(
            f"Invalid KEY_VALUE schema: a part of {length} bytes, of which there are "
            f"{len(data) - _LENGTH.size}"
        )
    return data[_LENGTH.size : end], data[end:]


def _half(schema: SchemaInfo, which: str, data: bytes) -> SchemaInfo:
    name = schema.properties.get(f"{which}.schema.type", "BYTES")
    kind = "NONE" if name == "BYTES" else name
    if kind not in SchemaType.__members__ or kind in ("KEY_VALUE", "AUTO_CONSUME"):
        raise InvalidSchema(f"Invalid KEY_VALUE schema: {which}.schema.type is {name!r:.50}")
    return SchemaInfo(SchemaType[kind], data, _properties(schema, f"{which}.schema.properties"))


def _properties(schema: SchemaInfo, name: str) -> dict[str, str]:
    try:
        found = json.loads(schema.properties.get(name) or "{}")
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}
