import json
import re
from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    ByteType,
    DateType,
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
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.schemas.key_value import KeyValueEncoding, KeyValueSchema
from magnetar.schemas.primitives import Int32Schema, StringSchema
from magnetar.spark.values.arrays import binary_array
from magnetar.spark.values.decoding import decoder
from magnetar.spark.values.definitions import derived
from magnetar.spark.values.encoding import differences, encoder
from magnetar.spark.values.types import value_type

ROW = (
    StructType()
    .add("small", ByteType())
    .add("id", LongType())
    .add("name", StringType())
    .add("data", BinaryType())
    .add("price", DecimalType(12, 2))
    .add("day", DateType())
    .add("when", TimestampType())
    .add("local", TimestampNTZType())
    .add("clock", TimeType())
    .add("half", FloatType())
    .add("counts", MapType(StringType(), DateType()))
    .add("inside", ArrayType(StructType().add("at", TimestampType())))
)
MOMENTS = st.datetimes(timezones=st.just(UTC))
ROWS = st.fixed_dictionaries(
    {
        "small": st.integers(-128, 127),
        "id": st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
        "name": st.none() | st.text(),
        "data": st.none() | st.binary(),
        "price": st.none() | st.decimals(-(10**9), 10**9, places=2),
        "day": st.none() | st.dates(),
        "when": st.none() | MOMENTS,
        "local": st.none() | st.datetimes(),
        "clock": st.none() | st.times(),
        "half": st.none() | st.floats(width=32, allow_nan=False, allow_infinity=False),
        "counts": st.none()
        | st.dictionaries(st.text(), st.none() | st.dates()).map(
            lambda counts: list(counts.items())
        ),
        "inside": st.none() | st.lists(st.none() | st.fixed_dictionaries({"at": MOMENTS})),
    }
)


def record(*fields):
    return {"type": "record", "name": "Order", "fields": list(fields)}


def avro(*fields):
    return SchemaInfo(SchemaType.AVRO, json.dumps(record(*fields)).encode())


def there_and_back(schema, given, values):
    encoded = encoder(schema, given)(values)
    kind = value_type(schema)
    decode = decoder(schema, kind, to_arrow_type(kind.spark, timezone="UTC"), schema)
    keys = None if encoded.keys is None else binary_array(encoded.keys)
    return decode(binary_array(encoded.payloads), keys).to_pylist()


@given(st.lists(ROWS, max_size=3), st.sampled_from([SchemaType.AVRO, SchemaType.JSON]))
def test_rows_come_back_as_they_were_written(rows, kind):
    assert there_and_back(derived(ROW, kind), ROW, rows) == rows


@pytest.mark.parametrize(
    ("kind", "given_type", "value"),
    [
        (SchemaType.INT64, ByteType(), -3),
        (SchemaType.DOUBLE, IntegerType(), 3),
        (SchemaType.DOUBLE, FloatType(), 0.5),
        (SchemaType.DATE, DateType(), date(1969, 7, 20)),
        (SchemaType.TIME, TimeType(), time(1, 2, 3, 4000)),
        (SchemaType.TIMESTAMP, TimestampType(), datetime(1969, 7, 20, tzinfo=UTC)),
        (SchemaType.LOCAL_DATE_TIME, TimestampNTZType(), datetime.fromisoformat("1969-07-20")),
        (SchemaType.BOOLEAN, derived, True),
    ],
)
def test_primitives_may_be_wider_than_the_column(kind, given_type, value):
    given_type = value_type(SchemaInfo(kind)).spark if given_type is derived else given_type
    assert there_and_back(SchemaInfo(kind), given_type, [value]) == [value]


def test_null_stays_null():
    assert encoder(SchemaInfo(SchemaType.INT32), IntegerType())([1, None]).payloads == [
        b"\x00\x00\x00\x01",
        None,
    ]


@pytest.mark.parametrize("encoding", KeyValueEncoding)
def test_a_key_with_a_value_goes_where_its_schema_says(encoding):
    schema = KeyValueSchema(StringSchema(), Int32Schema(), encoding).info
    given_type = StructType().add("key", StringType()).add("value", IntegerType())
    rows = [{"key": "k", "value": 7}]
    assert there_and_back(schema, given_type, rows) == rows
    assert encoder(schema, given_type)([None]).payloads == [None]
    with pytest.raises(InvalidValue, match=r"'value\.key' is null"):
        encoder(schema, given_type)([{"key": None, "value": 7}])
    gone = [{"key": "k", "value": None}]  # Where the key travels apart, it can be alone.
    if encoding is KeyValueEncoding.SEPARATED:
        assert encoder(schema, given_type)(gone) == ([None], [b"k"])
    else:
        with pytest.raises(InvalidValue, match=r"'value\.value' is null"):
            encoder(schema, given_type)(gone)


def test_fields_that_are_missing_take_their_default_or_null():
    schema = avro(
        {"name": "a", "type": "long"},
        {"name": "b", "type": ["null", "string"]},
        {"name": "c", "type": ["string", "null"], "default": "x"},
    )
    assert there_and_back(schema, StructType().add("a", IntegerType()), [{"a": 1}]) == [
        {"a": 1, "b": None, "c": "x"}
    ]


LONG_ID = {"name": "id", "type": "long"}


@pytest.mark.parametrize(
    ("given_type", "says"),
    [
        (
            StructType().add("id", LongType()).add("b", LongType()),
            "'value.b' is not in the topic's",
        ),
        (StructType(), "'value.id' is missing: the topic's schema has it as bigint"),
        (StructType().add("id", StringType()), "'value.id' is string, and bigint in the schema"),
        (StructType().add("id", DoubleType()), "'value.id' is double, and bigint"),
        (LongType(), "'value' is bigint, and struct<id:bigint> in the schema"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(given_type, says):
    with pytest.raises(InvalidValue, match=re.escape(says)):
        encoder(avro(LONG_ID), given_type)


@pytest.mark.parametrize(
    ("given_type", "wanted"),
    [
        (LongType(), SchemaType.INT32),
        (LongType(), SchemaType.DOUBLE),
        (DoubleType(), SchemaType.FLOAT),
        (StringType(), SchemaType.INT32),
        (TimestampType(), SchemaType.LOCAL_DATE_TIME),
    ],
)
def test_nothing_is_narrowed(given_type, wanted):
    with pytest.raises(InvalidValue, match="cast it"):
        encoder(SchemaInfo(wanted), given_type)


def test_values_that_the_schema_has_not_are_refused_by_name_on_one_line():
    suit = {"type": "enum", "name": "Suit", "symbols": ["RED"]}
    given_type = StructType().add("suit", StringType())
    with pytest.raises(InvalidValue, match=r"suit is <BLACK>") as refused:
        encoder(avro({"name": "suit", "type": suit}), given_type)([{"suit": "BLACK"}])
    assert "\n" not in str(refused.value)
    with pytest.raises(InvalidValue, match="id"):
        encoder(avro(LONG_ID), StructType().add("id", LongType()))([{"id": None}])
    not_a_number = derived(StructType().add("x", DoubleType()), SchemaType.JSON)
    with pytest.raises(InvalidValue, match="JSON has no nan"):
        encoder(not_a_number, StructType().add("x", DoubleType()))([{"x": float("nan")}])


def test_decimals_may_have_more_digits_in_the_schema():
    stored = {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 4}
    schema = avro({"name": "price", "type": stored})
    given_type = StructType().add("price", DecimalType(5, 2))
    assert there_and_back(schema, given_type, [{"price": Decimal("-1.25")}]) == [
        {"price": Decimal("-1.2500")}
    ]
    with pytest.raises(InvalidValue, match="cast it"):
        encoder(schema, StructType().add("price", DecimalType(18, 0)))


def test_types_differ_field_by_field():
    theirs = StructType().add("id", LongType()).add("gone", StringType())
    ours = StructType().add("id", StringType()).add("came", StringType())
    assert list(differences(theirs, ours)) == [
        "field 'value.id' is bigint, and string in the rows",
        "field 'value.gone' is missing in the rows",
        "field 'value.came' is new",
    ]
    assert not list(differences(ours, ours))
