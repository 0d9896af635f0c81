import pyarrow as pa
import pytest
from pyspark.sql.types import IntegerType, LongType, StringType, StructType

from magnetar.errors import InvalidValue
from magnetar.spark.values.columns import WrittenColumns


def columns(schema, *, topic="t", pulsar_spark=False):
    return WrittenColumns.of(schema, topic=topic, pulsar_spark=pulsar_spark)


def test_the_value_is_a_column_of_any_type_beside_those_of_a_message():
    inside = StructType().add("id", LongType())
    found = columns(StructType().add("key", StringType()).add("value", inside))
    assert found.value == inside
    assert dict(found.others) == {"key": "key"}
    rows = pa.RecordBatch.from_pydict({"key": ["k"], "value": [{"id": 1}]})
    assert found.value_of(rows).to_pylist() == [{"id": 1}]


def test_of_streamnatives_columns_those_without_underlines_are_fields():
    schema = StructType().add("id", LongType()).add("__key", StringType()).add("n", IntegerType())
    found = columns(schema.add("__topic", StringType()), topic=None, pulsar_spark=True)
    assert found.value.simpleString() == "struct<id:bigint,n:int>"
    assert dict(found.others) == {"key": "__key", "topic": "__topic"}
    rows = pa.RecordBatch.from_pydict({"id": [1], "__key": ["k"], "n": [2], "__topic": ["t"]})
    assert found.value_of(rows.slice(0)).to_pylist() == [{"id": 1, "n": 2}]


def test_one_of_them_alone_is_the_value_unless_it_is_a_struct():
    assert columns(StructType().add("n", LongType()), pulsar_spark=True).value == LongType()
    inside = StructType().add("id", LongType())
    found = columns(StructType().add("n", inside), pulsar_spark=True)
    assert found.value.simpleString() == "struct<n:struct<id:bigint>>"


@pytest.mark.parametrize(
    ("schema", "pulsar_spark", "says"),
    [
        (StructType().add("id", LongType()), False, "column 'id' is no part of a message"),
        (StructType().add("key", StringType()), False, "no column 'value'"),
        (StructType().add("__key", StringType()), True, "no column beside __key"),
        (
            StructType().add("id", LongType()).add("__eventTime", LongType()),
            True,
            "'event_time' is bigint: cast it to timestamp .*__eventTime",
        ),
    ],
)
def test_rows_that_are_no_messages_are_refused(schema, pulsar_spark, says):
    with pytest.raises(InvalidValue, match=says):
        columns(schema, pulsar_spark=pulsar_spark)


def test_rows_have_to_say_where_to():
    for pulsar_spark in (True, False):
        with pytest.raises(InvalidValue, match="where to"):
            columns(StructType().add("value", LongType()), topic=None, pulsar_spark=pulsar_spark)
