from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest
from google.protobuf.api_pb2 import Method
from google.protobuf.timestamp_pb2 import Timestamp
from unit.schemas.records import Item

from magnetar.errors import InvalidValue, UndecodableValue
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.schemas.avro import AvroSchema
from magnetar.schemas.json import JsonSchema
from magnetar.schemas.key_value import KeyValueEncoding, KeyValueSchema
from magnetar.schemas.plain import DEPTH_MAX, plain, shower_of, writer_of
from magnetar.schemas.primitives import (
    BooleanSchema,
    DoubleSchema,
    InstantSchema,
    Int32Schema,
    LocalDateSchema,
    LocalTimeSchema,
    StringSchema,
)
from magnetar.schemas.protobuf import ProtobufNativeSchema
from magnetar.schemas.schema import Payload

PEN = {"name": "pen", "count": 1}
BOTH_WAYS = [
    (None, "text"),
    (StringSchema(), "text"),
    (BooleanSchema(), True),
    (Int32Schema(), -7),
    (DoubleSchema(), 1.5),
    (DoubleSchema(), "nan"),
    (InstantSchema(), "2026-11-22T16:00:00.000001+00:00"),
    (LocalDateSchema(), "2026-11-22"),
    (LocalTimeSchema(), "16:00:00"),
    (JsonSchema(Item), PEN),
    (AvroSchema(Item), PEN),
    (KeyValueSchema(StringSchema(), JsonSchema(Item)), {"key": "k", "value": PEN}),
    (
        KeyValueSchema(StringSchema(), Int32Schema(), KeyValueEncoding.SEPARATED),
        {"key": "k", "value": 5},
    ),
]


@pytest.mark.parametrize(("schema", "value"), BOTH_WAYS)
def test_what_is_written_is_shown_the_same(schema, value):
    info = None if schema is None else schema.info
    assert shower_of(info)(writer_of(info)(value)) == value


def test_messages_of_protobuf_are_objects():
    info = ProtobufNativeSchema(Method).info
    value = {"name": "m", "request_type_url": "u"}
    assert shower_of(info)(writer_of(info)(value)) == value
    with pytest.raises(InvalidValue, match="no field named"):
        writer_of(info)({"nothing": 1})
    with pytest.raises(InvalidValue, match="is an object"):
        writer_of(info)("text")
    assert plain(Timestamp(seconds=0)) == "1970-01-01T00:00:00Z"


def test_bytes_are_text_where_they_are_and_base64_elsewhere():
    show = shower_of(None)
    assert show(Payload("Grüße\n".encode())) == "Grüße\n"
    assert show(Payload(b"\xff\x00")) == "/wA="
    assert show(Payload(b"\x00")) == "AA=="


def test_without_a_schema_anything_else_is_written_as_json():
    assert writer_of(None)({"a": [1]}).data == b'{"a":[1]}'


def test_odd_values_are_shown_as_text():
    assert plain(Decimal("1.10")) == "1.10"
    assert plain([float("inf"), (1, b"x"), {1: {2}}]) == ["inf", [1, "x"], {"1": [2]}]
    assert plain(datetime(2026, 1, 2, tzinfo=UTC)) == "2026-01-02T00:00:00+00:00"
    assert plain([date(2026, 1, 2), time(1, 2)]) == ["2026-01-02", "01:02:00"]
    deep = None
    for _ in range(DEPTH_MAX + 5):
        deep = [deep]
    assert "None" in str(plain(deep))


def test_a_value_that_does_not_fit_is_refused():
    for schema, value in (
        (Int32Schema(), "x"),
        (LocalDateSchema(), "yesterday"),
        (JsonSchema(Item), {"name": 1}),
        (AvroSchema(Item), {"count": 1}),
        (KeyValueSchema(StringSchema(), StringSchema()), "no pair"),
    ):
        with pytest.raises(InvalidValue):
            writer_of(schema.info)(value)
    with pytest.raises(InvalidValue, match="in base64"):
        writer_of(SchemaInfo(SchemaType.PROTOBUF, b"{}"))


def test_what_is_no_such_value_is_said_to_be_none():
    with pytest.raises(UndecodableValue):
        shower_of(Int32Schema.info)(Payload(b"abc"))
