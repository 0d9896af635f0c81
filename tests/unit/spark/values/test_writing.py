"""Against a real broker, in memory, in this process."""

import json
import pickle

import pyarrow as pa
import pytest
from pyspark.sql.types import IntegerType, LongType, StringType, StructType

from magnetar.errors import IncompatibleSchema, InvalidValue
from magnetar.model.schemas import SchemaType
from magnetar.schemas.avro import AvroSchema
from magnetar.schemas.key_value import KeyValueEncoding, KeyValueSchema
from magnetar.schemas.primitives import Int32Schema, Int64Schema, StringSchema
from magnetar.spark.values.writing import TypedValues
from magnetar.spark.write_options import WriteOptions


@pytest.fixture
def typed(magnetar_broker, topic):
    def typed(columns, **options):
        given = {"service.url": magnetar_broker.service_url, "topic": topic, "schema": "registry"}
        given |= options
        if given["topic"] is None:
            del given["topic"]
        made = TypedValues(WriteOptions.parse(given, streaming=False), columns)
        return pickle.loads(pickle.dumps(made))

    return typed


NUMBER = StructType().add("value", IntegerType())


def test_the_topics_schema_encodes_or_one_of_the_columns(client, typed, topic):
    rows = pa.RecordBatch.from_pydict({"value": pa.array([7], pa.int32())})
    assert typed(NUMBER).encode(rows).column("value").to_pylist() == [(7).to_bytes(4)]
    client.create_producer(topic, schema=Int64Schema()).close()
    later = typed(NUMBER)
    assert later.encode(rows).column("value").to_pylist() == [(7).to_bytes(8)]
    assert later.schema_of(f"{topic}-partition-3").info.type is SchemaType.INT64


def test_text_stays_where_it_is(client, typed, topic):
    rows = pa.RecordBatch.from_pydict({"value": ["a"]})
    text = typed(StructType().add("value", StringType()))
    assert text.encode(rows).column("value").type == pa.string()
    assert text.schema_of(topic).info.type is SchemaType.STRING
    client.create_producer(topic, schema=Int32Schema()).close()
    with pytest.raises(InvalidValue, match=f"{topic}: field 'value' is string, and int"):
        typed(StructType().add("value", StringType())).encode(rows)


def test_each_row_is_encoded_by_the_schema_of_its_topic(client, typed, topic):
    client.create_producer(f"{topic}-1", schema=Int64Schema()).close()
    rows = pa.RecordBatch.from_pydict(
        {"value": pa.array([1, 2, 3], pa.int32()), "topic": [f"{topic}-1", f"{topic}-2", None]}
    )
    made = typed(StructType().add("value", IntegerType()).add("topic", "string"), topic=None)
    assert made.encode(rows).column("value").to_pylist() == [
        (1).to_bytes(8),
        (2).to_bytes(4),
        b"",
    ]


def test_a_key_that_travels_apart_is_the_messages(client, typed, topic):
    schema = KeyValueSchema(StringSchema(), Int32Schema(), KeyValueEncoding.SEPARATED)
    client.create_producer(topic, schema=schema).close()
    pair = StructType().add("key", StringType()).add("value", IntegerType())
    values = pa.array([{"key": "k", "value": 1}], pa.struct({"key": "string", "value": "int32"}))
    rows = pa.RecordBatch.from_pydict({"value": values})
    made = typed(StructType().add("value", pair)).encode(rows)
    assert made.column("key").to_pylist() == [b"k"]
    with_key = typed(StructType().add("value", pair).add("key", StringType()))
    with pytest.raises(InvalidValue, match="leave the column of keys out"):
        with_key.encode(pa.RecordBatch.from_pydict({"value": values, "key": ["x"]}))


def test_another_version_is_made_of_the_topics_and_the_columns(client, typed, topic):
    fields = [{"name": "id", "type": "long"}]
    theirs = AvroSchema.from_definition({"type": "record", "name": "shop.Order", "fields": fields})
    client.create_producer(topic, schema=theirs).close()
    value = StructType().add("id", LongType()).add("note", StringType())
    made = typed(StructType().add("value", value), schema="avro").schema_of(topic)
    client.create_producer(topic, schema=made).close()  # The broker takes it.
    assert json.loads(made.info.data)["name"] == "shop.Order"
    as_json = typed(StructType().add("value", value), schema="json").schema_of(topic)
    assert json.loads(as_json.info.data)["name"] == "topLevelRecord"


def test_what_has_no_such_schema_is_said_before_anything_runs(typed):
    with pytest.raises(InvalidValue, match="schema=avro is for a struct"):
        typed(NUMBER, schema="avro")
    with pytest.raises(InvalidValue, match="'value' is bigint, and int in the schema"):
        typed(StructType().add("value", LongType()), schema="int32")


def test_a_refusal_tells_the_difference(client, typed, topic):
    client.create_producer(topic, schema=Int64Schema()).close()
    made = typed(NUMBER, schema="int32")
    made.schema_of(topic)
    explained = str(made.explained(IncompatibleSchema("no:\nit is not")))
    assert explained.startswith(f"{topic} has another schema: its type is INT64, and INT32 that")
    assert explained.endswith("(no: it is not)")
    same = typed(NUMBER, schema="int64")
    same.schema_of(topic)
    assert str(same.explained(IncompatibleSchema("no:\nnever"))) == f"{topic}: no: never"
