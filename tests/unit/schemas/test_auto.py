from types import SimpleNamespace

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from unit.schemas.records import Item

from magnetar.errors import InvalidValue, UndecodableValue
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.schemas.auto import AutoConsumeSchema, AutoProduceSchema, decoder_of
from magnetar.schemas.avro import AvroSchema
from magnetar.schemas.json import JsonSchema
from magnetar.schemas.key_value import KeyValue, KeyValueEncoding, KeyValueSchema
from magnetar.schemas.primitives import Int64Schema, StringSchema
from magnetar.schemas.protobuf import ProtobufNativeSchema

PAIRS = KeyValueSchema(StringSchema(), JsonSchema(Item))
SEPARATED = KeyValueSchema(StringSchema(), StringSchema(), KeyValueEncoding.SEPARATED)
WRITTEN = [
    (StringSchema(), "text", "text"),
    (Int64Schema(), 5, 5),
    (JsonSchema(Item), Item("pen"), {"name": "pen", "count": 1}),
    (AvroSchema(Item), Item("pen"), {"name": "pen", "count": 1}),
    (PAIRS, KeyValue("k", Item("pen")), KeyValue("k", {"name": "pen", "count": 1})),
    (SEPARATED, KeyValue("k", "v"), KeyValue("k", "v")),
]


def message(data, key=None):
    return SimpleNamespace(data=data, key_bytes=key)


@pytest.mark.parametrize(("schema", "value", "found"), WRITTEN)
def test_everything_is_consumed_by_the_schema_of_the_topic(schema, value, found):
    sent = message(schema.encode(value), schema.encode_key(value))
    assert AutoConsumeSchema().decoder(schema.info)(sent) == found


def test_messages_of_protobuf_have_a_class_of_the_topics_definition():
    schema = ProtobufNativeSchema(Timestamp)
    found = decoder_of(schema.info)(message(schema.encode(Timestamp(seconds=5))))
    assert found.seconds == 5


def test_without_a_schema_it_is_bytes():
    assert AutoConsumeSchema().decoder(None)(message(b"x")) == b"x"
    assert decoder_of(SchemaInfo(SchemaType.NONE))(message(b"x")) == b"x"
    with pytest.raises(InvalidValue, match="for consumers"):
        AutoConsumeSchema().encode("x")


@pytest.mark.parametrize(
    "schema",
    [
        SchemaInfo(SchemaType.PROTOBUF, b"{}"),
        SchemaInfo(SchemaType.AVRO, b"{"),
        SchemaInfo(SchemaType.KEY_VALUE, b"\0"),
    ],
)
def test_schemas_that_cannot_be_read_have_no_values(schema):
    with pytest.raises(UndecodableValue):
        decoder_of(schema)


@pytest.mark.parametrize(("schema", "value"), [each[:2] for each in WRITTEN])
def test_bytes_of_the_topics_schema_are_produced(schema, value):
    auto = AutoProduceSchema(schema.info)
    data = schema.encode(value)
    assert auto.encode(data) == data
    assert auto.decode(data) == data
    assert auto.info == schema.info


def test_bytes_of_another_schema_are_refused():
    with pytest.raises(InvalidValue, match="no value of the topic's schema: 1 bytes"):
        AutoProduceSchema(Int64Schema().info).encode(b"x")
    assert AutoProduceSchema().encode(b"x") == b"x"
