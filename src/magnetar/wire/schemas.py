"""Schemas and their versions, as the protocol has them. Pure."""

import struct
from typing import Final

from magnetar.errors import IncompatibleSchema, InvalidSchema, UnexpectedCommand
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.wire.commands import Schema

_VERSION: Final = struct.Struct(">q")


def declared(schema: Schema) -> SchemaInfo:
    """A schema as a peer sent it. Raises InvalidSchema for a type that is not known."""
    try:
        kind = SchemaType(schema.type)
    except ValueError:
        raise InvalidSchema(
            f"Schemas of type {Schema.Type.Name(schema.type)} are not known here"
        ) from None
    return SchemaInfo(
        kind, schema.schema_data, {pair.key: pair.value for pair in schema.properties}
    )


def version_bytes(number: int | None) -> bytes:
    """A version in the protocol; b"" for None: there is no schema."""
    return b"" if number is None else _VERSION.pack(number)


def version_number(sent: bytes) -> int:
    """The version that a client asks for.

    Raises IncompatibleSchema for no bytes, as Pulsar does, and UnexpectedCommand for too few.
    """
    if not sent:
        raise IncompatibleSchema("Empty schema version")
    if len(sent) < _VERSION.size:
        raise UnexpectedCommand(f"a schema version of {len(sent)} bytes, which has {_VERSION.size}")
    number: int = _VERSION.unpack_from(sent)[0]
    return number
