"""The record of one version of a topic's schema. Pure.

    {"version": 1,
     "type": "AVRO",
     "definition": "eyJ0eXBlIjogInJlY29yZCIs...",       bytes, in base64
     "properties": {...},
     "timestamp": 1700000000000,
     "deleted": false}

The number of the version is in its path. A record is never changed: a deleted schema is a version
of its own, with ``deleted``.
"""

import base64
import binascii

from magnetar.errors import CorruptEntry, InvalidValue
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.storage.codec.json_object import Fields, encode


def encode_schema(schema: SchemaInfo) -> bytes:
    """Encode a record."""
    return encode(
        {
            "type": schema.type.name,
            "definition": base64.b64encode(schema.data).decode(),
            "properties": dict(schema.properties),
            "timestamp": schema.timestamp_ms,
            "deleted": schema.deleted,
        }
    )


def decode_schema(value: bytes, *, source: str) -> SchemaInfo:
    """Decode a record. Raises CorruptEntry, naming it."""
    try:
        fields = Fields.of(value)
        return SchemaInfo(
            type=_type(fields),
            data=_definition(fields),
            properties=fields.texts("properties"),
            timestamp_ms=fields.number("timestamp"),
            deleted=fields.flag("deleted"),
        )
    except InvalidValue as error:
        raise CorruptEntry(
            f"The schema at {source} cannot be read ({error}): restore the record, or delete it "
            "and let a producer bring the schema again"
        ) from error


def _type(fields: Fields) -> SchemaType:
    name = fields.text("type")
    if name not in SchemaType.__members__:
        raise fields.wrong("type", name, f"one of {', '.join(SchemaType.__members__)}")
    return SchemaType[name]


def _definition(fields: Fields) -> bytes:
    text = fields.text("definition")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise fields.wrong("definition", text, "bytes in base64") from None
