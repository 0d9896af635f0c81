"""Typed columns as messages, by the registry's schemas: what Spark writes, others read."""

from datetime import UTC, date, datetime

import pulsar
import pytest
from pulsar.schema import (
    Array,
    AvroSchema,
    Boolean,
    Integer,
    JsonSchema,
    Long,
    Map,
    Record,
    String,
)
from pyspark.errors import PySparkException

from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.model.schemas import SchemaType
from magnetar.schemas import auto, key_value, primitives
from magnetar.spark.schema import OWN_NAMES

ROWS = "id bigint, customer string, paid boolean, address struct<number: int>, tags array<string>"
ORDERS = [
    (1 << 40, "grün", True, (7,), ["a", "b"]),
    (2, None, False, None, []),
]


class Address(Record):
    number = Integer()


class Order(Record):
    id = Long()
    customer = String()
    paid = Boolean()
    address = Address()
    tags = Array(String())
    counts = Map(Integer())


@pytest.fixture
def official(broker):
    connected = pulsar.Client(broker.service_url)
    yield connected
    connected.close()


@pytest.fixture
def write(broker, topic):
    def write(rows, **options):
        writer = (
            rows.write.format("pulsar").mode("append").option("service.url", broker.service_url)
        )
        writer.options(**{"topic": topic, **options}).save()

    return write


@pytest.fixture
def orders(spark):
    return spark.createDataFrame(ORDERS, ROWS).coalesce(1)


@pytest.fixture
def read(spark, broker, topic):
    def read(name=topic):
        reader = spark.read.format("pulsar").option("service.url", broker.service_url)
        return reader.options(topic=name, columns="pulsar-spark").load()

    return read


@pytest.fixture
def received(official, topic):
    """What a consumer of the official client gets, which is there before."""
    opened = []

    def subscribe(schema):
        opened.append(official.subscribe(topic, "all", schema=schema))
        return lambda count: [opened[-1].receive(10_000) for _ in range(count)]

    return subscribe


@pytest.mark.parametrize("schema", [AvroSchema, JsonSchema])
def test_rows_are_written_by_the_schema_that_the_topic_has(orders, received, write, schema):
    receive = received(schema(Order))
    write(orders.selectExpr("struct(*) as value", "'k' as key"), schema="registry")
    first, second = receive(2)
    assert first.partition_key() == "k"
    values = [first.value(), second.value()]
    assert [value.id for value in values] == [1 << 40, 2]
    assert [value.customer for value in values] == ["grün", None]
    assert [value.paid for value in values] == [True, False]
    assert values[0].address.number == 7
    assert values[1].address is None
    assert [value.tags for value in values] == [["a", "b"], []]
    assert values[0].counts is None


@pytest.mark.parametrize("kind", ["registry", "json"])
def test_a_topic_without_a_schema_gets_that_of_the_columns(orders, read, write, kind):
    more = orders.selectExpr(
        "*",
        "timestamp '2026-05-17 09:30:00.123456Z' as time",
        "timestamp_ntz '2026-05-17 09:30:00' as local",
        "date '1969-07-20' as day",
        "cast(-1234.56 as decimal(12,2)) as price",
        "map('x', 1L, 'y', null) as counts",
        "cast('ab' as binary) as bytes",
        "cast(0.5 as float) as half",
    )
    write(more, schema=kind, columns="pulsar-spark")
    found = read().drop(*OWN_NAMES)
    assert found.schema.simpleString() == more.schema.simpleString()
    assert found.collect() == more.collect()


def test_a_column_alone_is_a_primitive_value(client, spark, write, topic):
    write(spark.createDataFrame([(7, "k")], "number int, __key string"), columns="pulsar-spark")
    assert client.schema(topic).type is SchemaType.INT32
    write(spark.createDataFrame([(8,)], "value smallint"), schema="registry")
    with client.create_reader(topic, EARLIEST_MESSAGE, schema=auto.AutoConsumeSchema()) as reader:
        assert [reader.receive(10).value for _ in range(2)] == [7, 8]


@pytest.mark.parametrize("encoding", key_value.KeyValueEncoding)
def test_a_struct_is_a_key_with_a_value_where_the_topic_has_those(
    client, spark, write, topic, encoding
):
    schema = key_value.KeyValueSchema(primitives.StringSchema(), primitives.DateSchema(), encoding)
    with client.create_reader(topic, EARLIEST_MESSAGE, schema=schema) as reader:
        rows = spark.createDataFrame(
            [(("k", date(2026, 5, 17)),)], "value struct<key: string, value: date>"
        )
        write(rows, schema="registry")
        message = reader.receive(10)
    assert message.value == key_value.KeyValue("k", datetime(2026, 5, 17, tzinfo=UTC))
    separated = encoding is key_value.KeyValueEncoding.SEPARATED
    assert message.key_bytes == (b"k" if separated else None)


def test_each_topic_has_its_own_schema(client, spark, topic, broker):
    client.create_producer(f"{topic}-int", schema=primitives.Int64Schema()).close()
    rows = spark.createDataFrame(
        [(f"{topic}-int", 1), (f"{topic}-none", 2)], "topic string, value int"
    )
    rows.write.format("pulsar").mode("append").options(
        **{"service.url": broker.service_url, "schema": "registry"}
    ).save()
    assert client.schema(f"{topic}-int").type is SchemaType.INT64
    assert client.schema(f"{topic}-none").type is SchemaType.INT32
    with client.create_reader(f"{topic}-int", EARLIEST_MESSAGE) as reader:
        assert reader.receive(10).data == (1).to_bytes(8)


def test_what_does_not_fit_the_topics_schema_is_refused_by_name(orders, official, write, topic):
    official.create_producer(topic, schema=AvroSchema(Order)).close()
    with pytest.raises(PySparkException, match=r"'value\.price' is not in the topic's schema"):
        write(orders.selectExpr("struct(id, 1 as price) as value"), schema="registry")


def test_the_broker_decides_whether_another_schema_may_come(orders, official, write, topic):
    official.create_producer(topic, schema=AvroSchema(Order)).close()
    with pytest.raises(PySparkException) as refused:
        write(orders.selectExpr("struct(string(id) as id) as value"), schema="avro")
    (first, *_) = str(refused.value).split("\n\n")
    assert (
        f"{topic} has another schema: field 'value.id' is bigint, and string in the rows" in first
    )


def test_columns_become_another_version_of_the_topics_schema(orders, official, read, write, topic):
    official.create_producer(topic, schema=AvroSchema(Order)).send(Order(id=1))
    write(orders.selectExpr("struct(id, customer, 'x' as note) as value"), schema="avro")
    found = read().select("id", "customer", "counts", "note").collect()
    assert [tuple(row) for row in found] == [
        (1, None, None, None),
        (1 << 40, "grün", None, "x"),
        (2, None, None, "x"),
    ]


def test_a_null_where_the_schema_has_none_is_named(spark, official, write, topic):
    class Strict(Record):
        id = Long(required=True)
        when = Long(required=True)

    official.create_producer(topic, schema=AvroSchema(Strict)).close()
    rows = spark.createDataFrame([((1, None),)], "value struct<id: bigint, when: bigint>")
    with pytest.raises(PySparkException, match=rf"{topic}: .*when"):
        write(rows, schema="registry")


def test_a_stream_copies_typed_values_once(orders, read, write, broker, tmp_path):
    write(orders, columns="pulsar-spark")
    topic = read().first()["__topic"]
    connection = {"service.url": broker.service_url, "columns": "pulsar-spark"}
    stream = orders.sparkSession.readStream.format("pulsar").options(
        **connection, startingOffsets="earliest"
    )
    sink = stream.option("topic", topic).load().writeStream.format("pulsar").options(**connection)
    query = (
        sink.options(topic=f"{topic}-copy", guarantee="exactly-once")
        .option("admin.url", broker.web_url)
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    assert read(f"{topic}-copy").select(*orders.columns).collect() == orders.collect()


def test_bytes_and_text_need_no_schema(spark, client, write, topic):
    write(spark.createDataFrame([("text",)], "value string"), columns="pulsar-spark", schema="none")
    with client.create_reader(topic, EARLIEST_MESSAGE) as reader:
        assert reader.receive(10).data == b"text"
