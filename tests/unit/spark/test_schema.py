import pytest
from pyspark.sql.types import ArrayType, MapType, StringType, StructType

from magnetar.errors import InvalidValue
from magnetar.spark.schema import KAFKA_SCHEMA, READ_SCHEMA, check_read, check_write


def columns(text):
    """``"key binary, value string"`` as a schema; Spark's own parser would need a JVM."""
    schema = StructType()
    for column in text.split(", "):
        schema.add(*column.split(" "))
    return schema


def test_any_columns_of_a_message_may_be_asked_for_in_any_order():
    wanted = columns("event_time timestamp, value binary")
    assert check_read(wanted) == wanted
    assert check_read(READ_SCHEMA) == READ_SCHEMA


@pytest.mark.parametrize("ddl", ["payload binary", "value string", "message_id string"])
def test_a_column_that_no_message_has_is_refused_with_those_it_has(ddl):
    with pytest.raises(InvalidValue, match="publish_time"):
        check_read(columns(ddl))


def test_what_was_read_can_be_written():
    written = [
        field for field in READ_SCHEMA if field.name in ("key", "value", "event_time", "topic")
    ]
    check_write(StructType(written), topic=None)


def test_rows_of_sparks_source_for_kafka_can_be_written():
    headers = ArrayType(StructType().add("key", "string", False).add("value", "binary"), False)
    rows = StructType([*KAFKA_SCHEMA]).add("headers", headers)
    check_write(rows, topic=None)
    with pytest.raises(InvalidValue, match="'properties' and 'headers' say the same"):
        check_write(rows.add("properties", MapType(StringType(), StringType())), topic=None)


def test_a_map_without_null_values_is_as_good():
    schema = StructType().add("value", "string")
    schema.add("properties", MapType(StringType(), StringType(), valueContainsNull=False))
    check_write(schema, topic="x")


@pytest.mark.parametrize(
    ("ddl", "says"),
    [
        ("key string", "no column 'value'"),
        ("value integer", "cast it to binary or string"),
        ("value string, price double", "to_json"),
        ("value string, event_time long", "cast it to timestamp"),
    ],
)
def test_rows_that_are_no_messages_are_refused_with_the_remedy(ddl, says):
    with pytest.raises(InvalidValue, match=says):
        check_write(columns(ddl), topic="x")


def test_rows_have_to_say_where_to_when_the_options_do_not():
    with pytest.raises(InvalidValue, match="where to"):
        check_write(columns("value string"), topic=None)
    check_write(columns("value string, topic string"), topic=None)
