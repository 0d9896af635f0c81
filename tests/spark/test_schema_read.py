"""Values as columns, by the registry's schemas: what the official client sends, Spark reads."""

import uuid
from datetime import UTC, date, datetime, time
from decimal import Decimal

import pulsar
import pytest
from pulsar.schema import (
    Array,
    AvroSchema,
    Boolean,
    Double,
    Integer,
    JsonSchema,
    Long,
    Map,
    Record,
    String,
)
from pyspark.errors import PySparkException

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.schemas import avro, key_value, primitives


class Address(Record):
    street = String()
    number = Integer()


class Order(Record):
    id = Long(required=True)
    customer = String()
    amount = Double()
    paid = Boolean()
    address = Address()
    tags = Array(String())
    counts = Map(Integer())


def version(**fields):
    """A version of one and the same record."""
    return type(Record)("Purchase", (Record,), fields)


OLD = version(id=Integer(required=True), customer=String())
NEW = version(id=Integer(required=True), note=String(required_default=True), customer=String())


EVERYTHING = {
    "type": "record",
    "name": "Everything",
    "namespace": "shop",
    "fields": [
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "millis", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "micros", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "clock", "type": {"type": "int", "logicalType": "time-millis"}},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2},
        },
        {"name": "uuid", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "suit", "type": {"type": "enum", "name": "Suit", "symbols": ["RED", "BLACK"]}},
        {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 4}},
        {"name": "wide", "type": ["null", "int", "long"]},
        {"name": "class", "type": {"type": "array", "items": ["null", "Hash"]}},
    ],
}


@pytest.fixture
def official(broker):
    connected = pulsar.Client(broker.service_url)
    yield connected
    connected.close()


@pytest.fixture
def read(spark, broker, topic):
    def read(only=None, **options):
        reader = spark.read.format("pulsar").option("service.url", broker.service_url)
        topics = {} if "topics" in options else {"topic": topic}
        reader = reader.options(**topics, schema="registry", **options)
        return (reader if only is None else reader.schema(only)).load()

    return read


@pytest.fixture
def stream(spark, broker, topic):
    def stream(**options):
        reader = spark.readStream.format("pulsar").option("service.url", broker.service_url)
        reader = reader.options(topic=topic, schema="registry", startingOffsets="earliest")
        return reader.options(**options).load()

    return stream


def orders(count):
    return [
        Order(
            id=number,
            customer=None if number % 2 else f"cüstomer-{number}",
            amount=number / 2,
            paid=number % 3 == 0,
            address=Address(street="Main Street", number=number) if number % 4 else None,
            tags=["a", "b"][: number % 3],
            counts={"x": number},
        )
        for number in range(count)
    ]


def send(official, topic, schema, values):
    producer = official.create_producer(topic, schema=schema)
    for value in values:
        producer.send_async(value, None)
    producer.flush()
    producer.close()


@pytest.mark.parametrize("schema", [AvroSchema, JsonSchema])
def test_records_become_structs(official, read, topic, schema):
    send(official, topic, schema(Order), orders(100))
    rows = read()
    assert rows.schema["value"].dataType.simpleString() == (
        "struct<id:bigint,customer:string,amount:double,paid:boolean,"
        "address:struct<street:string,number:int>,tags:array<string>,counts:map<string,int>>"
    )
    found = [row.value.asDict(recursive=True) for row in rows.collect()]
    assert found == [
        {
            "id": number,
            "customer": None if number % 2 else f"cüstomer-{number}",
            "amount": number / 2,
            "paid": number % 3 == 0,
            "address": {"street": "Main Street", "number": number} if number % 4 else None,
            "tags": ["a", "b"][: number % 3],
            "counts": {"x": number},
        }
        for number in range(100)
    ]


def test_their_fields_are_columns_as_streamnatives_connector_has_them(official, read, topic):
    send(official, topic, AvroSchema(Order), orders(3))
    rows = read(columns="pulsar-spark")
    assert rows.columns[:3] == ["id", "customer", "amount"]
    assert rows.columns[7:9] == ["__key", "__topic"]
    assert [row.id for row in rows.where("amount > 0").collect()] == [1, 2]
    assert rows.select("address").first().address is None


def test_messages_of_two_versions_are_read_as_the_latest_is(official, read, topic):
    send(official, topic, AvroSchema(OLD), [OLD(id=1, customer="ann")])
    send(official, topic, AvroSchema(NEW), [NEW(id=2, customer="bob", note="x")])
    rows = read()
    assert rows.schema["value"].dataType.names == ["id", "note", "customer"]
    assert [tuple(row.value) for row in rows.collect()] == [
        (1, None, "ann"),
        (2, "x", "bob"),
    ]


def test_a_version_may_come_while_a_stream_is_read(official, spark, stream, topic, tmp_path):
    send(official, topic, AvroSchema(OLD), [OLD(id=1, customer="ann")])
    sink = stream().select("value.*").writeStream.format("memory").queryName("purchases")
    query = sink.option("checkpointLocation", str(tmp_path)).start()
    query.processAllAvailable()
    send(official, topic, AvroSchema(NEW), [NEW(id=2, customer="bob", note="x")])
    query.processAllAvailable()
    query.stop()
    assert [tuple(row) for row in spark.table("purchases").collect()] == [(1, "ann"), (2, "bob")]


def test_of_a_struct_the_fields_that_are_asked_for_are_read(official, read, topic):
    send(official, topic, JsonSchema(Order), orders(3))
    rows = read(only="value struct<address: struct<number: int>, id: bigint>, partition int")
    assert [(row.value.id, row.value.address) for row in rows.collect()] == [
        (0, None),
        (1, (1,)),
        (2, (2,)),
    ]
    only_id = read(only="id bigint, __topic string", columns="pulsar-spark")
    assert [row.id for row in only_id.collect()] == [0, 1, 2]
    with pytest.raises(PySparkException, match="there is no column 'value struct<price:int>'"):
        read(only="value struct<price: int>").collect()


WHEN = datetime(2026, 5, 17, 9, 30, 15, 250000, tzinfo=UTC)
PRIMITIVES = [
    (primitives.StringSchema(), ["grün", ""]),
    (primitives.TimeSchema(), [time(9, 30, 15, 250000)]),
    (primitives.TimestampSchema(), [WHEN]),
    (primitives.LocalTimeSchema(), [time(23, 59, 59, 999999)]),
    (primitives.LocalDateTimeSchema(), [WHEN.replace(tzinfo=None)]),
]


@pytest.mark.parametrize("primitive", PRIMITIVES, ids=lambda pair: type(pair[0]).__name__)
def test_primitive_values_are_columns(client, read, topic, primitive):
    schema, values = primitive
    with client.create_producer(topic, schema=schema) as producer:
        producer.send_many(values)
    found = [row.value for row in read().select("value").collect()]
    if isinstance(schema, primitives.TimestampSchema):
        found = [when.astimezone(UTC) for when in found]  # PySpark shows them in local time.
    assert found == values


def test_a_topic_without_a_schema_has_bytes_as_ever(client, read, topic):
    with client.create_producer(topic) as producer:
        producer.send(b"\x00\xff")
    assert [bytes(row.value) for row in read().collect()] == [b"\x00\xff"]


@pytest.mark.parametrize("encoding", key_value.KeyValueEncoding)
def test_keys_and_values_are_a_struct(client, read, topic, encoding):
    value = avro.AvroSchema.from_definition(EVERYTHING)
    fields = {
        "day": date(2026, 5, 17),
        "millis": WHEN,
        "micros": None,
        "local": WHEN.replace(tzinfo=None),
        "clock": time(9, 30),
        "price": Decimal("-1234.56"),
        "uuid": uuid.UUID(int=7),
        "suit": "BLACK",
        "hash": b"abcd",
        "wide": 1 << 40,
        "class": [None, b"1234"],
    }
    schema = key_value.KeyValueSchema(primitives.StringSchema(), value, encoding)
    with client.create_producer(topic, schema=schema) as producer:
        producer.send(key_value.KeyValue("grün", fields))
        producer.send(OutgoingMessage(b"", key="gone", null_value=True))
    row, gone = read().collect()
    separated = encoding is key_value.KeyValueEncoding.SEPARATED
    assert gone.value == (("gone", None) if separated else None)
    assert row.value.key == "grün"
    found = row.value.value.asDict()
    assert found == {
        **fields,
        "millis": WHEN.astimezone().replace(tzinfo=None),  # PySpark shows it in local time.
        "uuid": str(uuid.UUID(int=7)),
        "hash": bytearray(b"abcd"),
        "class": [None, bytearray(b"1234")],
    }


def test_a_null_value_is_null(client, read, topic):
    schema = avro.AvroSchema.from_definition(EVERYTHING | {"fields": EVERYTHING["fields"][7:8]})
    with client.create_producer(topic, schema=schema) as producer:
        producer.send_many(
            [
                {"suit": "RED"},
                OutgoingMessage(b"", key="k", null_value=True),
                {"suit": "BLACK"},
            ]
        )
    assert [row.value and row.value.suit for row in read().collect()] == ["RED", None, "BLACK"]
    flat = read(columns="pulsar-spark").collect()
    assert [row.suit for row in flat] == ["RED", None, "BLACK"]


BAD = b"no such number"


@pytest.fixture
def with_bad_ones(client, topic):
    """Numbers, and among them what is none: from a producer without a schema."""
    with client.create_producer(topic, schema=primitives.Int32Schema()) as producer:
        producer.send_many([1, 2, 3])
    with client.create_producer(topic) as producer:
        producer.send(OutgoingMessage(BAD, key="k", properties={"from": "a test"}))
    with client.create_producer(topic, schema=primitives.Int32Schema()) as producer:
        producer.send_many([4])


@pytest.mark.usefixtures("with_bad_ones")
def test_a_query_fails_at_a_bad_message_and_names_it(read, topic):
    with pytest.raises(PySparkException) as failed:
        read().collect()
    said = str(failed.value)
    assert topic in said
    assert "not of 4 bytes, as INT32 is" in said
    assert "deadLetterTopic" in said


@pytest.mark.usefixtures("with_bad_ones")
def test_a_bad_message_is_null_where_that_is_wanted(read):
    rows = read(mode="permissive", columnNameOfCorruptRecord="bad").select("value", "bad").collect()
    assert [row.value for row in rows] == [1, 2, 3, None, 4]
    assert [row.bad and bytes(row.bad) for row in rows] == [None, None, None, BAD, None]
    assert [row.value for row in read(only="value int", mode="PERMISSIVE").collect()] == [
        row.value for row in rows
    ]


@pytest.mark.usefixtures("with_bad_ones")
def test_a_bad_message_goes_where_dead_letters_go(spark, client, stream, topic, tmp_path):
    dead = f"{topic}-DLQ"
    query = (
        stream(deadLetterTopic=dead)
        .writeStream.format("memory")
        .queryName("numbers")
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    numbers = [row.value for row in spark.table("numbers").orderBy("value").collect()]
    assert numbers == [1, 2, 3, 4]
    with client.create_reader(dead, EARLIEST_MESSAGE) as reader:
        letter = reader.receive(10)
        assert not reader.has_message_available()
    assert letter.data == BAD
    assert letter.key == "k"
    assert letter.properties["from"] == "a test"
    assert letter.properties["REAL_TOPIC"] == topic
    ledger, entry = letter.properties["ORIGIN_MESSAGE_ID"].split(":")[:2]
    assert int(ledger) >= 0
    assert int(entry) == 1  # The three before it are one entry.


def test_what_spark_has_no_type_for_is_refused_by_name(client, read, topic):
    node = {
        "type": "record",
        "name": "Node",
        "fields": [{"name": "next", "type": ["null", "Node"]}],
    }
    with client.create_producer(topic, schema=avro.AvroSchema.from_definition(node)) as producer:
        producer.send({"next": None})
    with pytest.raises(
        PySparkException, match=r"value\.next of the schema is a Node inside a Node"
    ):
        read()


def test_topics_of_different_types_are_not_read_together(client, read, topic):
    for number, schema in enumerate([primitives.Int32Schema(), primitives.StringSchema()]):
        client.create_producer(f"{topic}-{number}", schema=schema).close()
    with pytest.raises(PySparkException, match="have values of different types"):
        read(topics=f"{topic}-0,{topic}-1")
