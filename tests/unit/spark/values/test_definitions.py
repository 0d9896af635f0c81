import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
)

from magnetar.errors import InvalidValue
from magnetar.model.schemas import SchemaType
from magnetar.spark.values.definitions import derived
from magnetar.spark.values.types import PRIMITIVES, value_type

SIMPLE = st.sampled_from(
    [
        BooleanType(),
        IntegerType(),
        LongType(),
        FloatType(),
        DoubleType(),
        StringType(),
        BinaryType(),
        DateType(),
        TimestampType(),
        TimestampNTZType(),
        TimeType(),
        DecimalType(38, 10),
        DecimalType(3, 0),
    ]
)


def structs(inner):
    return st.lists(st.tuples(inner, st.booleans()), min_size=1, max_size=3).map(struct)


def struct(fields):
    made = StructType()
    for index, (kind, nullable) in enumerate(fields):
        made.add(f"f{index}", kind, nullable)
    return made


TYPES = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        inner.map(ArrayType), inner.map(lambda item: MapType(StringType(), item)), structs(inner)
    ),
    max_leaves=5,
)


def text_of(kind: DataType):
    return kind.simpleString()


@given(structs(TYPES), st.sampled_from([SchemaType.AVRO, SchemaType.JSON]))
def test_a_struct_becomes_a_definition_that_is_read_as_the_same_struct(kind, schema):
    assert text_of(value_type(derived(kind, schema)).spark) == text_of(kind)


def test_other_types_become_primitives_that_are_read_as_the_same():
    for kind in {text_of(found.spark): found.spark for found in PRIMITIVES.values()}.values():
        assert value_type(derived(kind)).spark == kind


def test_definitions_are_called_as_spark_calls_them():
    inside = StructType().add("price", DecimalType(12, 2), nullable=False)
    kind = StructType().add("id", ByteType(), nullable=False).add("item", inside)
    assert json.loads(derived(kind).data) == {
        "type": "record",
        "name": "topLevelRecord",
        "namespace": "",
        "fields": [
            {"name": "id", "type": "int"},
            {
                "name": "item",
                "type": [
                    {
                        "type": "record",
                        "name": "item",
                        "namespace": "topLevelRecord",
                        "fields": [
                            {
                                "name": "price",
                                "type": {
                                    "type": "fixed",
                                    "name": "topLevelRecord.item.price.fixed",
                                    "size": 6,
                                    "logicalType": "decimal",
                                    "precision": 12,
                                    "scale": 2,
                                },
                            }
                        ],
                    },
                    "null",
                ],
            },
        ],
    }


@pytest.mark.parametrize(
    ("kind", "wanted", "says"),
    [
        (ArrayType(LongType()), None, "make a struct of it"),
        (LongType(), SchemaType.AVRO, "schema=avro is for a struct"),
        (StructType().add("a b", LongType()), None, "column 'a b' is no name"),
        (StructType().add("a", DayTimeIntervalType()), None, "column 'a' is interval"),
        (StructType().add("a", MapType(LongType(), LongType())), None, "column 'a' is map<bigint"),
    ],
)
def test_what_has_no_schema_is_refused_by_name(kind, wanted, says):
    with pytest.raises(InvalidValue, match=says):
        derived(kind, wanted)
