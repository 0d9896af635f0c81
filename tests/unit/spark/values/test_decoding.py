import json
from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_type

from magnetar.errors import UndecodableValue
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.schemas import primitives
from magnetar.schemas.avro import AvroSchema, Definition
from magnetar.schemas.key_value import (
    KeyValue,
    KeyValueEncoding,
    KeyValueSchema,
    joined_payload,
    split,
)
from magnetar.spark.values.arrays import binary_array
from magnetar.spark.values.decoding import bytes_of, decoder
from magnetar.spark.values.types import pruned, value_type


def record(**fields):
    described = [{"name": name, "type": each} for name, each in fields.items()]
    return {"type": "record", "name": "Order", "fields": described}


def info(definition, kind=SchemaType.AVRO):
    return SchemaInfo(kind, json.dumps(definition).encode())


def decoded(reader, payloads, writer=None, *, keys=None, only=None):
    kind = value_type(reader)
    if only is not None:
        kind = pruned(kind, only)
    decode = decoder(reader, kind, to_arrow_type(kind.spark, timezone="UTC"), writer or reader)
    made = decode(binary_array(payloads), keys)
    made.validate(full=True)
    return made.to_pylist()


@given(st.lists(st.binary(max_size=4)), st.integers(0, 5), st.integers(0, 5))
def test_rows_of_bytes_are_taken_from_any_part_of_an_array(rows, start, count):
    assert bytes_of(binary_array(rows).slice(start, count)) == rows[start : start + count]


VALUES = {
    primitives.StringSchema: st.text(),
    primitives.BooleanSchema: st.booleans(),
    primitives.Int8Schema: st.integers(-128, 127),
    primitives.Int16Schema: st.integers(-(1 << 15), (1 << 15) - 1),
    primitives.Int32Schema: st.integers(-(1 << 31), (1 << 31) - 1),
    primitives.Int64Schema: st.integers(-(1 << 63), (1 << 63) - 1),
    primitives.DoubleSchema: st.floats(allow_nan=False),
    primitives.TimestampSchema: st.datetimes(timezones=st.just(UTC)).map(
        lambda when: when.replace(microsecond=when.microsecond // 1000 * 1000)
    ),
    primitives.InstantSchema: st.datetimes(timezones=st.just(UTC)),
    primitives.LocalDateSchema: st.dates(),
    primitives.LocalTimeSchema: st.times(),
    primitives.LocalDateTimeSchema: st.datetimes(),
}


@pytest.mark.parametrize("schema", VALUES, ids=lambda schema: schema.__name__)
def test_primitive_values_are_what_the_client_encodes(schema):
    @given(st.lists(VALUES[schema], max_size=4))
    def check(values):
        assert decoded(schema.info, [schema().encode(value) for value in values]) == values

    check()


def test_a_date_of_java_is_its_day_in_utc():
    late = datetime(1969, 7, 20, 23, 59, tzinfo=UTC)
    assert decoded(primitives.DateSchema.info, [primitives.DateSchema().encode(late)]) == [
        date(1969, 7, 20)
    ]
    assert decoded(primitives.TimeSchema.info, [primitives.TimeSchema().encode(time(23, 59))]) == [
        time(23, 59)
    ]


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (SchemaType.STRING, b"\xff"),
        (SchemaType.INT32, b"12345"),
        (SchemaType.INT32, b""),
        (SchemaType.LOCAL_DATE, (1 << 40).to_bytes(8)),
        (SchemaType.TIMESTAMP, (1 << 62).to_bytes(8)),
        (SchemaType.LOCAL_TIME, (1 << 62).to_bytes(8)),
        (SchemaType.INSTANT, (1 << 62).to_bytes(8) + bytes(4)),
        (SchemaType.LOCAL_DATE_TIME, (1 << 40).to_bytes(8) + bytes(8)),
    ],
)
def test_bytes_that_are_no_value_are_told_from_others(kind, payload):
    with pytest.raises(UndecodableValue):
        decoded(SchemaInfo(kind), [payload])


AVRO = record(a="long", b=["null", "string"], c={"type": "array", "items": "int"}, d="double")


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "a": st.integers(-(1 << 63), (1 << 63) - 1),
                "b": st.none() | st.text(),
                "c": st.lists(st.integers(-(1 << 31), (1 << 31) - 1)),
                "d": st.floats(allow_nan=False),
            }
        ),
        max_size=4,
    )
)
def test_records_are_what_was_encoded(rows):
    schema = AvroSchema.from_definition(AVRO)
    assert decoded(schema.info, [schema.encode(row) for row in rows]) == rows
    as_json = [json.dumps(row).encode() for row in rows if abs(row["d"]) != float("inf")]
    assert decoded(info(AVRO, SchemaType.JSON), as_json) == [
        row for row in rows if abs(row["d"]) != float("inf")
    ]


def test_what_was_written_with_another_version_is_read_as_the_readers():
    old = record(a="int", gone="string")
    new = record(a="long", came=["null", "string"])
    new["fields"][1]["default"] = None
    payload = Definition.of(old).write({"a": 7, "gone": "x"})
    assert decoded(info(new), [payload], info(old)) == [{"a": 7, "came": None}]
    renamed = {**old, "name": "Purchase"}
    assert decoded(info(new), [payload], info(renamed)) == [{"a": 7, "came": None}]


def test_a_version_that_cannot_be_read_says_so():
    with pytest.raises(UndecodableValue):
        decoded(info(record(a="long")), [b"\x02x"], info(record(a="string")))
    with pytest.raises(UndecodableValue, match="written as STRING, not as AVRO"):
        decoded(info(record(a="long")), [b"\x02x"], primitives.StringSchema.info)
    with pytest.raises(UndecodableValue, match="that it was written with"):
        decoded(info(record(a="long")), [b"\x02x"], SchemaInfo(SchemaType.AVRO, b"{}"))


def test_fields_that_are_not_asked_for_are_not_in_the_column():
    only = value_type(info(record(d="double", a="long"))).spark
    row = {"a": 1, "b": "x", "c": [], "d": 0.5}
    payload = Definition.of(AVRO).write(row)
    assert decoded(info(AVRO), [payload], only=only) == [{"d": 0.5, "a": 1}]
    assert decoded(info(AVRO, SchemaType.JSON), [json.dumps(row).encode()], only=only) == [
        {"d": 0.5, "a": 1}
    ]


JSON = record(
    n=["null", "int"],
    price={"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2},
    when={"type": "long", "logicalType": "timestamp-millis"},
    data="bytes",
    many={"type": "map", "values": "int"},
)


def test_json_may_leave_out_fields_and_have_others():
    found = decoded(
        info(JSON, SchemaType.JSON),
        [
            b'{"price": 123456789012345678.25, "when": 1, "data": "YWI=", "many": {"x": 1}}',
            b'{"z": 0, "n": null, "price": "1.5", "when": "1970-01-01T00:00:00.001Z"}',
        ],
    )
    when = datetime(1970, 1, 1, 0, 0, 0, 1000, tzinfo=UTC)
    assert found == [
        {
            "n": None,
            "price": Decimal("123456789012345678.25"),
            "when": when,
            "data": b"ab",
            "many": [("x", 1)],
        },
        {"n": None, "price": Decimal("1.50"), "when": when, "data": None, "many": None},
    ]


@pytest.mark.parametrize(
    "payload",
    [b"", b"{", b"[]", b'{"n": 2147483648}', b'{"n": 1.5}', b'{"data": "*"}', b'{"n": "1"}'],
)
def test_json_of_another_type_is_no_value(payload):
    with pytest.raises(UndecodableValue):
        decoded(info(JSON, SchemaType.JSON), [payload])


@pytest.mark.parametrize("encoding", KeyValueEncoding)
def test_a_key_with_a_value_is_a_struct(encoding):
    schema = KeyValueSchema(primitives.StringSchema(), primitives.Int32Schema(), encoding)
    pair = KeyValue("k", 7)
    keys = binary_array([schema.encode_key(pair)]) if schema.encode_key(pair) else None
    assert decoded(schema.info, [schema.encode(pair)], keys=keys) == [{"key": "k", "value": 7}]


def test_a_part_of_a_pair_may_be_missing():
    pair = (primitives.StringSchema(), primitives.Int32Schema())
    separated = KeyValueSchema(*pair, KeyValueEncoding.SEPARATED).info
    keys = binary_array([b"a", None, b"b"])
    assert decoded(separated, [bytes(4)] * 3, keys=keys) == [
        {"key": "a", "value": 0},
        {"key": None, "value": 0},
        {"key": "b", "value": 0},
    ]
    assert decoded(separated, [None] * 2, keys=keys.slice(1)) == [
        {"key": None, "value": None},
        {"key": "b", "value": None},
    ]
    inline = KeyValueSchema(*pair).info
    none = (-1).to_bytes(4, signed=True)
    assert decoded(inline, [none + none, (1).to_bytes(4) + b"k" + none]) == [
        {"key": None, "value": None},
        {"key": "k", "value": None},
    ]
    assert decoded(inline, [None]) == [None]


def test_a_pair_of_odd_bytes_is_no_value():
    inline = KeyValueSchema(primitives.StringSchema(), primitives.Int32Schema())
    with pytest.raises(UndecodableValue):
        decoded(inline.info, [b"\x00"])


@given(st.binary(), st.binary())
def test_both_parts_of_a_payload_are_cut_where_they_were_joined(key, value):
    assert split(joined_payload(key, value)) == (key, value)
