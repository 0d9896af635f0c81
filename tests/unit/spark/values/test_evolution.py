import json

from pyspark.sql.types import ArrayType, LongType, StringType, StructType

from magnetar.broker.schema.compatibility import check_compatible
from magnetar.model.schemas import (
    SchemaCompatibilityStrategy,
    SchemaInfo,
    SchemaType,
    SchemaVersion,
)
from magnetar.spark.values.evolution import evolved
from magnetar.spark.values.types import value_type

ADDRESS = {
    "type": "record",
    "name": "Address",
    "namespace": "shop",
    "fields": [{"name": "street", "type": ["null", "string"], "default": None}],
}
FIELDS = [
    {"name": "id", "type": "long"},
    {"name": "address", "type": ["null", ADDRESS], "default": None},
    {"name": "kept", "type": "string", "default": "x"},
    {"name": "needed", "type": "long"},
]
THEIRS = {"type": "record", "name": "Order", "namespace": "shop", "fields": FIELDS}


def theirs(fields=FIELDS):
    return SchemaInfo(SchemaType.AVRO, json.dumps({**THEIRS, "fields": fields}).encode())


def columns(**fields):
    made = StructType()
    for name, kind in fields.items():
        made.add(name, kind)
    return made


WHOLE = {"id": LongType(), "needed": LongType()}


def test_columns_that_fit_leave_the_schema_as_it_is():
    assert evolved(columns(**WHOLE), theirs()) == theirs()


def test_fields_that_come_may_be_null_and_those_that_may_stay_do():
    address = columns(street=StringType(), number=LongType())
    value = columns(**WHOLE, address=address, tags=ArrayType(StringType()))
    found = evolved(value, theirs())
    definition = json.loads(found.data)
    assert definition["name"].endswith("Order")
    names = [field["name"] for field in definition["fields"]]
    assert names == ["id", "address", "kept", "needed", "tags"]
    assert value_type(found).spark.simpleString() == (
        "struct<id:bigint,address:struct<street:string,number:bigint>,kept:string,needed:bigint,"
        "tags:array<string>>"
    )
    check_compatible(found, [SchemaVersion(0, theirs())], SchemaCompatibilityStrategy.FULL)


def test_fields_that_columns_lack_or_have_as_another_type_change():
    found = evolved(columns(id=StringType(), more=LongType()), theirs())
    assert value_type(found).spark.simpleString() == (
        "struct<id:string,address:struct<street:string>,kept:string,more:bigint>"
    )


def test_a_type_that_goes_with_its_field_leaves_the_columns_own():
    fields = [
        {"name": "gone", "type": ADDRESS},
        {"name": "second", "type": ["null", "Address"], "default": None},
    ]
    found = evolved(columns(id=LongType()), theirs(fields))
    assert json.loads(found.data)["name"] == "topLevelRecord"
    assert evolved(LongType(), SchemaInfo(SchemaType.AVRO, b'"long"')).data == b'"long"'
