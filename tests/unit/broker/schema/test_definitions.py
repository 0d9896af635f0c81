import json
import subprocess
import sys
from dataclasses import replace

import pytest
from unit.broker.schema.samples import A_TEXT, AB, A, avro, key_value, native, record

from magnetar.broker.schema.definitions import check_definition, is_json_schema, same
from magnetar.errors import InvalidSchema
from magnetar.model.schemas import AVRO_DEFINED, SchemaInfo, SchemaType

OLD_JSON = b'{"type":"object","id":"urn:x","properties":{"a":{"type":"integer"}}}'
WITH_DEFINITION = {
    *AVRO_DEFINED,
    SchemaType.KEY_VALUE,
    SchemaType.PROTOBUF_NATIVE,
    SchemaType.AUTO_CONSUME,
    SchemaType.NONE,
}
PRIMITIVES = sorted(set(SchemaType) - WITH_DEFINITION)


@pytest.mark.parametrize("kind", PRIMITIVES)
def test_a_primitive_has_no_definition(kind):
    for data in (b"", b"null"):
        check_definition(SchemaInfo(kind, data))
    with pytest.raises(InvalidSchema, match=f"for {kind.name.lower()} schema : 'xyz'"):
        check_definition(SchemaInfo(kind, b"xyz"))


def test_bytes_may_have_any_definition_as_in_pulsar():
    check_definition(SchemaInfo(SchemaType.NONE, b"xyz"))


@pytest.mark.parametrize("kind", sorted(AVRO_DEFINED))
def test_what_avro_defines_is_checked_by_it(kind):
    check_definition(replace(A, type=kind))
    with pytest.raises(InvalidSchema, match=f"Invalid schema definition data for {kind.name}"):
        check_definition(SchemaInfo(kind, b"{bad"))


def test_json_may_be_defined_as_old_clients_do():
    check_definition(SchemaInfo(SchemaType.JSON, OLD_JSON))
    assert is_json_schema(OLD_JSON)
    assert not is_json_schema(A.data)
    assert not is_json_schema(b"zzz")
    with pytest.raises(InvalidSchema):
        check_definition(SchemaInfo(SchemaType.AVRO, OLD_JSON))


def test_both_parts_of_key_and_value_are_checked():
    check_definition(key_value(A, AB))
    for pair in ((A, SchemaInfo(SchemaType.AVRO, b"{bad")), (SchemaInfo(SchemaType.INT8, b"x"), A)):
        with pytest.raises(InvalidSchema):
            check_definition(key_value(*pair))


def test_a_protobuf_message_is_checked():
    check_definition(native(("id", 1, "TYPE_INT32")))
    with pytest.raises(InvalidSchema, match="deserialize ProtobufNative Schema failed"):
        check_definition(SchemaInfo(SchemaType.PROTOBUF_NATIVE, b"zz"))


def test_what_only_clients_know_is_refused():
    with pytest.raises(InvalidSchema, match="AUTO_CONSUME is a client-side schema type"):
        check_definition(SchemaInfo(SchemaType.AUTO_CONSUME))


@pytest.mark.parametrize(
    "other",
    [
        replace(A, data=json.dumps(json.loads(A.data), indent=2).encode()),
        replace(A, properties={"x": "y"}),
        avro(("a", {"type": "int"})),
        avro(("a", "int"), doc="for people"),
        avro(("a", "int"), name="shop.R", namespace=None),
    ],
    ids=["spaces", "properties", "longhand", "doc", "full name"],
)
def test_the_same_written_in_another_way_is_the_same(other):
    assert same(A, other)


@pytest.mark.parametrize(
    "other",
    [
        AB,
        A_TEXT,
        replace(A, type=SchemaType.JSON),
        avro(("a", "int"), namespace="x"),
        avro(("a", "int", 1)),
        avro(("a", {"type": "int", "logicalType": "date"})),
    ],
    ids=["field", "type", "kind", "namespace", "default", "logical type"],
)
def test_what_means_something_else_is_not_the_same(other):
    assert not same(A, other)


def test_references_are_compared_by_their_full_names():
    def nested(reference):
        inner = {"type": "enum", "name": "E", "symbols": ["X"]}
        return avro(
            ("a", inner),
            ("b", {"type": "array", "items": reference}),
            ("c", {"type": "map", "values": reference}),
        )

    assert same(nested("E"), nested("shop.E"))
    assert not same(nested("E"), nested("other.E"))


def test_primitives_are_the_same_with_and_without_null():
    text = SchemaInfo(SchemaType.STRING)
    assert same(text, replace(text, data=b"null"))


def test_keys_and_values_are_compared_by_part():
    text, number = SchemaInfo(SchemaType.STRING), SchemaInfo(SchemaType.INT32)
    assert same(key_value(text, A), key_value(text, replace(A, data=A.data + b" ")))
    assert not same(key_value(text, A), key_value(text, AB))
    assert not same(key_value(text, text), key_value(number, text))


def test_messages_are_compared_by_their_descriptors():
    one = native(("id", 1, "TYPE_INT32"))
    assert same(one, replace(one, data=one.data + b" "))
    assert not same(one, native(("id", 1, "TYPE_INT64")))


def test_old_json_schemas_are_compared_as_json():
    old = SchemaInfo(SchemaType.JSON, OLD_JSON)
    assert same(old, replace(old, data=OLD_JSON + b" "))
    assert not same(old, SchemaInfo(SchemaType.JSON, record(("a", "int"))))


def test_a_broker_does_not_import_avro_before_it_needs_it():
    code = "import sys, magnetar.broker.assemble.broker; sys.exit('avro' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
