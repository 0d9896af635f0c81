"""Schemas that follow the topic's: consuming whatever there is, and producing bytes of it.

Each library is imported when the first schema comes that needs it.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from magnetar.errors import InvalidValue, UndecodableValue
from magnetar.model.schemas import SchemaInfo, SchemaType

from . import primitives
from .json import codec
from .key_value import pairs, parts_of, separated
from .schema import Encoded, Payload, Schema

PRIMITIVES: Final[dict[SchemaType, type[Schema[Any]]]] = {
    SchemaType.NONE: primitives.BytesSchema,
    SchemaType.STRING: primitives.StringSchema,
    SchemaType.BOOLEAN: primitives.BooleanSchema,
    SchemaType.INT8: primitives.Int8Schema,
    SchemaType.INT16: primitives.Int16Schema,
    SchemaType.INT32: primitives.Int32Schema,
    SchemaType.INT64: primitives.Int64Schema,
    SchemaType.FLOAT: primitives.FloatSchema,
    SchemaType.DOUBLE: primitives.DoubleSchema,
    SchemaType.DATE: primitives.DateSchema,
    SchemaType.TIME: primitives.TimeSchema,
    SchemaType.TIMESTAMP: primitives.TimestampSchema,
    SchemaType.INSTANT: primitives.InstantSchema,
    SchemaType.LOCAL_DATE: primitives.LocalDateSchema,
    SchemaType.LOCAL_TIME: primitives.LocalTimeSchema,
    SchemaType.LOCAL_DATE_TIME: primitives.LocalDateTimeSchema,
}


class AutoConsumeSchema(Schema[Any]):
    """Each message by the schema that it was sent with; bytes where there was none.

    Records of JSON and Avro are dicts, keys and values are KeyValue, and messages of protobuf have
    a class that is made of the topic's schema.
    """

    info = None
    evolves = True

    def encode(self, value: Any) -> bytes:
        raise InvalidValue("AutoConsumeSchema is for consumers; AutoProduceSchema is for producers")

    def decode(self, data: bytes) -> Any:
        return data

    def decoder(self, writer: SchemaInfo | None) -> Callable[[Encoded], Any]:
        return super().decoder(None) if writer is None else decoder_of(writer)


class AutoProduceSchema(primitives.BytesSchema):
    """Payloads that were encoded before, for a topic whose schema the producer need not know.

    The producer takes over the latest schema that the topic has when it is made, and refuses what
    is no value of it. On a topic without a schema everything goes.
    """

    def __init__(self, topic_schema: SchemaInfo | None = None) -> None:
        """``topic_schema`` is found out by the client."""
        self.info: SchemaInfo | None = topic_schema
        self._decode: Callable[[Encoded], Any] | None = None
        if topic_schema is not None and not separated(topic_schema):
            self._decode = decoder_of(topic_schema)

    def encode(self, value: bytes | bytearray | memoryview) -> bytes:
        data = super().encode(value)
        if self._decode is not None:
            try:
                self._decode(Payload(data))
            except UndecodableValue as error:
                raise InvalidValue(f"no value of the topic's schema: {error}") from None
        return data


def decoder_of(schema: SchemaInfo) -> Callable[[Encoded], Any]:
    """What decodes messages by the schema that a topic has. Raises UndecodableValue."""
    kind = schema.type
    if kind in PRIMITIVES:
        return PRIMITIVES[kind]().decoder(None)
    if kind is SchemaType.JSON:
        _, read = codec()
        return lambda message: read(message.data)
    if kind is SchemaType.KEY_VALUE:
        key, value = parts_of(schema)
        return pairs(decoder_of(key), decoder_of(value), separated(schema))
    homes = {SchemaType.AVRO: "avro", SchemaType.PROTOBUF_NATIVE: "protobuf"}
    if kind not in homes:
        raise UndecodableValue(f"messages of a schema of type {kind.name} have no values here")
    found: Callable[[SchemaInfo], Schema[Any]]
    found = import_module(f"magnetar.schemas.{homes[kind]}").of_topic
    return found(schema).decoder(None)
