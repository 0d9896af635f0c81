"""A schema of theirs as our client takes it."""

from collections.abc import Callable
from typing import Any, Final

from magnetar.compat.enums import SchemaType
from magnetar.errors import UndecodableValue
from magnetar.model.schemas import SchemaInfo as OurSchemaInfo
from magnetar.model.schemas import SchemaType as OurSchemaType
from magnetar.schemas.schema import Encoded
from magnetar.schemas.schema import Schema as OurSchema

from .schema import Schema
from .schema_avro import AvroSchema

_NOTHING: Final = (SchemaType.BYTES, SchemaType.NONE)


class Registered(OurSchema[Any]):
    """Takes values that are encoded already: theirs are by ``send``."""

    def __init__(self, theirs: Schema, info: OurSchemaInfo) -> None:
        self.info = info
        self._theirs = theirs

    def encode(self, value: Any) -> bytes:
        assert isinstance(value, bytes)
        return value

    def decode(self, data: bytes) -> Any:
        return self._theirs.decode(data)


class RegisteredAvro(Registered):
    """Reads each message by the schema that it was written with."""

    evolves = True

    def __init__(self, theirs: AvroSchema, info: OurSchemaInfo) -> None:
        super().__init__(theirs, info)
        self._avro = theirs

    def decoder(self, writer: OurSchemaInfo | None) -> Callable[[Encoded], Any]:
        if writer is None:
            return super().decoder(None)
        if writer.type is not OurSchemaType.AVRO:
            raise UndecodableValue(f"it was written with a schema of type {writer.type.name}")
        decode = self._avro.decoder(writer.data)
        return lambda message: decode(message.data)


def registered(schema: Schema) -> Registered | None:
    """The schema that the topic is to have; None for bytes. Raises ValueError for other types."""
    info = schema.schema_info()
    if info.schema_type() in _NOTHING:
        return None
    kind = OurSchemaType(info.schema_type().value)
    told = OurSchemaInfo(kind, info.schema().encode())
    if isinstance(schema, AvroSchema):
        return RegisteredAvro(schema, told)
    return Registered(schema, told)
