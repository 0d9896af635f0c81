"""What a broker is told of schemas."""

from types import SimpleNamespace

import pytest

from magnetar.compat.enums import SchemaType
from magnetar.compat.schema import AvroSchema, BytesSchema, JsonSchema, Record, Schema, String
from magnetar.compat.schema.registered import registered
from magnetar.errors import UndecodableValue
from magnetar.model.schemas import SchemaType as OurSchemaType


class Person(Record):
    name = String()


def test_bytes_are_no_schema():
    assert registered(BytesSchema()) is None


def test_a_definition_is_passed_on_as_it_is():
    schema = JsonSchema(Person)
    ours = registered(schema)
    assert ours.info.type is OurSchemaType.JSON
    assert ours.info.data == schema.schema_info().schema().encode()
    assert not ours.evolves
    data = schema.encode(Person(name="x"))
    assert ours.encode(data) == data
    assert ours.decode(data) == Person(name="x")


def test_avro_is_read_by_the_schema_it_was_written_with():
    class Old(Record):
        name = String()

    class New(Record):
        name = String()
        more = String(default="new", required_default=True)

    ours, data = registered(AvroSchema(New)), AvroSchema(Old).encode(Old(name="x"))
    assert ours.evolves
    message = SimpleNamespace(data=data)
    old = registered(AvroSchema(Old)).info
    assert ours.decoder(old)(message) == New(name="x", more="new")
    message.data = AvroSchema(New).encode(New(name="y"))
    assert ours.decoder(None)(message) == New(name="y", more="new")
    with pytest.raises(UndecodableValue, match="JSON"):
        ours.decoder(registered(JsonSchema(Person)).info)


def test_what_no_topic_can_have_is_refused():
    with pytest.raises(ValueError, match="-4"):
        registered(Schema(bytes, SchemaType.AUTO_PUBLISH, None, "AUTO"))
