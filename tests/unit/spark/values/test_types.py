import json

import pytest
from pyspark.sql.types import IntegerType, StructType

from magnetar.errors import InvalidValue
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.schemas.key_value import KeyValueSchema
from magnetar.schemas.primitives import Int64Schema, StringSchema
from magnetar.spark.values.types import PRIMITIVES, pruned, stored_form, value_type


def avro(definition, kind=SchemaType.AVRO):
    return SchemaInfo(kind, json.dumps(definition).encode())


def record(name="Order", **fields):
    described = [{"name": field, "type": each} for field, each in fields.items()]
    return {"type": "record", "name": name, "fields": described}


def logical(stored, logical_type, **more):
    return {"type": stored, "logicalType": logical_type, **more}


@pytest.mark.parametrize(
    ("definition", "spark"),
    [
        ("boolean", "boolean"),
        ("int", "int"),
        ("long", "bigint"),
        ("float", "float"),
        ("double", "double"),
        ("bytes", "binary"),
        ("string", "string"),
        ("null", "void"),
        (logical("int", "date"), "date"),
        (logical("int", "time-millis"), "time(6)"),
        (logical("long", "time-micros"), "time(6)"),
        (logical("long", "timestamp-millis"), "timestamp"),
        (logical("long", "timestamp-micros"), "timestamp"),
        (logical("long", "local-timestamp-millis"), "timestamp_ntz"),
        (logical("long", "local-timestamp-micros"), "timestamp_ntz"),
        (logical("long", "made-up"), "bigint"),
        (logical("string", "uuid"), "string"),
        (logical("bytes", "decimal", precision=9, scale=3), "decimal(9,3)"),
        (logical("fixed", "decimal", precision=4, name="F", size=2), "decimal(4,0)"),
        ({"type": "fixed", "name": "F", "size": 2}, "binary"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "string"),
        ({"type": "array", "items": ["null", "int"]}, "array<int>"),
        ({"type": "map", "values": record("In", a="int")}, "map<string,struct<a:int>>"),
        (["null", "string"], "string"),
        (["string", "null"], "string"),
        (["int", "long"], "bigint"),
        (["null", "float", "double"], "double"),
        (record("In", a="int"), "struct<a:int>"),
    ],
)
def test_types_of_avro_are_types_of_spark(definition, spark):
    for kind in (SchemaType.AVRO, SchemaType.JSON):
        found = value_type(avro(record(x=definition), kind))
        assert found.spark.simpleString() == f"struct<x:{spark}>"


def test_a_type_that_was_defined_before_is_named():
    inner = record("shop.Address", street="string")
    found = value_type(avro({**record(a=inner, b="Address"), "namespace": "shop"}))
    assert found.spark.simpleString() == "struct<a:struct<street:string>,b:struct<street:string>>"


@pytest.mark.parametrize(
    ("definition", "says"),
    [
        (record("Node", next=["null", "Node"]), r"value\.next .*is a Node inside a Node"),
        (record(a={"type": "array", "items": ["int", "string"]}), r"value\.a\[\] .*several types"),
        (record(d=logical("bytes", "decimal", precision=39)), r"value\.d .*39 digits"),
        ({"type": "object"}, "no Avro schema"),
    ],
)
def test_what_no_column_is_is_refused_by_its_name(definition, says):
    with pytest.raises(InvalidValue, match=says):
        value_type(avro(definition))


def test_every_type_of_a_schema_is_a_column_or_refused():
    for kind in SchemaType:
        if kind in PRIMITIVES:
            assert value_type(SchemaInfo(kind)) is PRIMITIVES[kind]
        else:
            with pytest.raises(InvalidValue):
                value_type(SchemaInfo(kind))


def test_a_key_with_a_value_is_a_struct():
    both = KeyValueSchema(Int64Schema(), StringSchema())
    found = value_type(both.info)
    assert found.spark.simpleString() == "struct<key:bigint,value:string>"


def test_fields_of_a_struct_are_left_out_however_deep():
    inner = record("In", a="int", b="string")
    lists = {"type": "array", "items": inner}
    found = value_type(avro(record(x="int", many=lists, named={"type": "map", "values": "In"})))
    wanted = value_type(
        avro(
            record(
                named={"type": "map", "values": record("In", b="string")},
                many={"type": "array", "items": record("In2", a="int")},
            )
        )
    ).spark
    assert pruned(found, wanted).spark == wanted
    with pytest.raises(InvalidValue, match="not struct<y:int>"):
        pruned(found, StructType().add("y", IntegerType()))


def test_of_a_definition_the_logical_types_are_taken_off():
    given = record(
        a=["null", logical("int", "date")],
        b={"type": "array", "items": logical("bytes", "decimal", precision=3)},
    )
    assert stored_form(given) == record(
        a=["null", {"type": "int"}],
        b={"type": "array", "items": {"type": "bytes", "precision": 3}},
    )
