import math
from datetime import UTC, date, datetime, time, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.errors import InvalidValue, UndecodableValue
from magnetar.schemas.primitives import (
    BooleanSchema,
    BytesSchema,
    DateSchema,
    DoubleSchema,
    FloatSchema,
    InstantSchema,
    Int8Schema,
    Int16Schema,
    Int32Schema,
    Int64Schema,
    LocalDateSchema,
    LocalDateTimeSchema,
    LocalTimeSchema,
    StringSchema,
    TimeSchema,
    TimestampSchema,
    of_day,
    since_epoch,
    time_of,
)

NOON = datetime(2024, 2, 29, 12, 30, 15, 250_000, tzinfo=UTC)

# What Java's client writes for the same values.
WRITTEN = [
    (BytesSchema(), b"\x00\xff", "00ff"),
    (StringSchema(), "żółw", "c5bcc3b3c58277"),
    (BooleanSchema(), True, "01"),
    (Int8Schema(), -2, "fe"),
    (Int16Schema(), -2, "fffe"),
    (Int32Schema(), 258, "00000102"),
    (Int64Schema(), -1, "ffffffffffffffff"),
    (FloatSchema(), 1.5, "3fc00000"),
    (DoubleSchema(), -2.0, "c000000000000000"),
    (TimestampSchema(), NOON, "0000018df4d808d2"),
    (DateSchema(), NOON, "0000018df4d808d2"),
    (TimeSchema(), time(0, 0, 1, 5_000), "00000000000003ed"),
    (InstantSchema(), NOON, "0000000065e078d7" + "0ee6b280"),
    (LocalDateSchema(), date(1970, 1, 3), "0000000000000002"),
    (LocalTimeSchema(), time(0, 0, 0, 1), "00000000000003e8"),
    (
        LocalDateTimeSchema(),
        datetime.fromisoformat("1970-01-02T00:00:01"),
        "000000000000000100" + "0000003b9aca00",
    ),
]


@pytest.mark.parametrize(("schema", "value", "written"), WRITTEN)
def test_values_are_written_as_by_java(schema, value, written):
    assert schema.encode(value).hex() == written
    assert schema.decode(bytes.fromhex(written)) == value


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (BytesSchema(), "text", "must be bytes, not str"),
        (StringSchema(), b"bytes", "must be str, not bytes"),
        (StringSchema(), "\ud800", "lone surrogate"),
        (BooleanSchema(), 1, "must be bool, not int"),
        (Int8Schema(), 128, "128 is out of range for INT8"),
        (Int64Schema(), 2**63, "out of range for INT64: take a wider schema"),
        (Int32Schema(), True, "must be int, not bool"),
        (Int32Schema(), 1.0, "must be int, not float"),
        (FloatSchema(), 1e300, "take DoubleSchema"),
        (DoubleSchema(), "1", "must be float, not str"),
        (TimestampSchema(), NOON.replace(tzinfo=None), "no time zone"),
        (InstantSchema(), NOON.date(), "must be datetime, not date"),
        (TimeSchema(), time(1, tzinfo=UTC), "has a time zone"),
        (LocalDateSchema(), NOON, "take its date"),
        (LocalDateTimeSchema(), NOON, "has a time zone"),
    ],
)
def test_values_that_do_not_fit_are_refused_with_the_remedy(schema, value, text):
    with pytest.raises(InvalidValue, match=text):
        schema.encode(value)


@pytest.mark.parametrize("schema", [schema for schema, *_ in WRITTEN[3:]])
def test_other_bytes_have_no_value(schema):
    with pytest.raises(UndecodableValue, match=f"3 bytes that are no {schema.info.type.name}"):
        schema.decode(b"abc")


def test_text_that_is_not_utf8_has_no_value():
    with pytest.raises(UndecodableValue, match="UTF-8"):
        StringSchema().decode(b"\xff")


@pytest.mark.parametrize("schema", [TimestampSchema(), LocalDateSchema(), LocalTimeSchema()])
def test_times_beyond_pythons_have_no_value(schema):
    with pytest.raises(UndecodableValue):
        schema.decode(b"\x7f" + b"\xff" * 7)


@given(st.datetimes(timezones=st.just(timezone(timedelta(hours=5, minutes=45)))))
def test_instants_come_back(value):
    assert InstantSchema().decode(InstantSchema().encode(value)) == value


@given(st.datetimes())
def test_local_times_come_back(value):
    assert LocalDateTimeSchema().decode(LocalDateTimeSchema().encode(value)) == value


@given(st.floats())
def test_doubles_come_back(value):
    found = DoubleSchema().decode(DoubleSchema().encode(value))
    assert found == value or (math.isnan(found) and math.isnan(value))


def test_buffers_are_copied():
    for buffer in (bytearray(b"ab"), memoryview(b"ab")):
        data = BytesSchema().encode(buffer)
        assert (type(data), data) == (bytes, b"ab")


def test_whole_numbers_are_numbers_too():
    assert DoubleSchema().decode(DoubleSchema().encode(2)) == 2.0


def test_parts_of_times():
    assert since_epoch(datetime(1970, 1, 2, tzinfo=UTC)) == timedelta(days=1)
    assert of_day(time(1, 2, 3, 4)) == timedelta(hours=1, minutes=2, seconds=3, microseconds=4)
    assert time_of(1_500) == time(0, 0, 0, 1)
