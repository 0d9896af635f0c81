"""Schemas: values on both sides, and what the broker makes of them."""

import asyncio
import json
from dataclasses import dataclass, field

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from support.admin import ask

from magnetar import (
    Client,
    DeadLetterPolicy,
    InitialPosition,
    OutgoingMessage,
    SubscriptionType,
)
from magnetar.errors import IncompatibleSchema, InvalidValue, SchemaNotFound, UndecodableValue
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.schemas import (
    AutoConsumeSchema,
    AutoProduceSchema,
    AvroSchema,
    BytesSchema,
    Int32,
    Int32Schema,
    JsonSchema,
    KeyValue,
    KeyValueEncoding,
    KeyValueSchema,
    ProtobufNativeSchema,
    StringSchema,
)


async def test_values_are_sent_and_received(client, topic):
    consumer = await client.subscribe(topic, "s", schema=StringSchema())
    producer = await client.create_producer(topic, schema=StringSchema())
    await producer.send("one", key="k")
    await producer.send_many(["two", "three"])
    found = [await consumer.receive(10) for _ in range(3)]
    assert [message.value for message in found] == ["one", "two", "three"]
    assert (found[0].data, found[0].key) == (b"one", "k")


async def test_a_value_that_does_not_fit_is_refused_before_any_is_sent(client, topic):
    producer = await client.create_producer(topic, schema=Int32Schema())
    with pytest.raises(InvalidValue, match="INT32"):
        await producer.send_many([1, 2, "three"])
    with pytest.raises(InvalidValue, match="INT32"):
        await producer.send("four")
    await producer.send(5)
    reader = await client.create_reader(topic, schema=Int32Schema())
    assert (await reader.receive(10)).value == 5


class DeclaredBytes(BytesSchema):
    """What Go's client has for bytes: the broker is told of it."""

    info = SchemaInfo(SchemaType.NONE)


async def test_bytes_that_are_declared_are_a_version(broker, client, topic):
    producer = await client.create_producer(topic, schema=DeclaredBytes())
    reader = await client.create_reader(topic, schema=AutoConsumeSchema())
    await producer.send(b"some")
    message = await reader.receive(10)
    assert (message.value, message.schema_version) == (b"some", 0)
    assert await client.schema(topic) == DeclaredBytes.info
    path = f"schemas/{topic.partition('://')[2]}/schemas"
    (found,) = (await asyncio.to_thread(ask, broker, "GET", path))["getSchemaResponses"]
    assert (found["version"], found["type"], found["data"]) == (0, "NONE", "")
    with pytest.raises(IncompatibleSchema, match="exists schema type NONE"):
        await client.create_producer(topic, schema=StringSchema())


async def test_a_schema_that_clashes_is_refused(client, topic):
    await client.create_producer(topic, schema=StringSchema())
    with pytest.raises(IncompatibleSchema):
        await client.create_producer(topic, schema=Int32Schema())
    with pytest.raises(IncompatibleSchema):
        await client.subscribe(topic, "s", schema=Int32Schema())


async def test_bytes_that_are_no_value_can_be_read_all_the_same(client, topic):
    consumer = await client.subscribe(topic, "s", schema=Int32Schema())
    producer = await client.create_producer(topic)
    await producer.send(b"abc")
    message = await consumer.receive(10)
    with pytest.raises(UndecodableValue, match="3 bytes that are no INT32"):
        _ = message.value
    assert message.data == b"abc"


@dataclass
class Order:
    number: int
    note: str | None = None


@pytest.mark.parametrize("kind", [JsonSchema, AvroSchema])
async def test_records_are_sent_and_received(client, topic, kind):
    consumer = await client.subscribe(topic, "s", schema=kind(Order))
    producer = await client.create_producer(topic, schema=kind(Order))
    orders = [Order(number, "n" if number % 2 else None) for number in range(100)]
    await producer.send_many(orders)
    received = []
    while len(received) < len(orders):
        received += await consumer.receive_many(100, timeout_s=10)
    assert [message.value for message in received] == orders
    with pytest.raises(InvalidValue, match="Order: number: must be int, not str"):
        await producer.send(Order("1"))


@dataclass
class Later:
    """The record of ``Order`` in another release."""

    number: float
    customer: str = "nobody"


async def test_messages_of_other_versions_are_read(broker, client, topic):
    """The consumer has a schema that the topic never saw: it asks for those of the messages."""
    written = AvroSchema(Order)
    changed = AvroSchema(Changed, name="Order")
    for schema, values in (written, [Order(1), Order(2)]), (changed, [Changed(3, tags=["t"])]):
        producer = await client.create_producer(topic, schema=schema)
        await producer.send_many(values)
        await producer.close()
    later = AvroSchema(Later, name="Order")
    found = []
    async with Client(broker.service_url) as fresh:
        reader = await fresh.create_reader(topic)
        assert [m.schema_version for m in await reader.receive_many(2, 10)] == [0, 0]
        consumer = await fresh.subscribe(
            topic, "s", schema=later, initial_position=InitialPosition.EARLIEST
        )
        while len(found) < 3:
            found += [message.value for message in await consumer.receive_many(3, 10)]
    assert found == [Later(1.0), Later(2.0), Later(3.0)]


@dataclass
class Changed:
    number: int
    note: str | None = None
    tags: list[str] = field(default_factory=list)


async def test_json_is_read_by_names_and_defaults(client, topic):
    producer = await client.create_producer(topic, schema=JsonSchema(Changed, name="Order"))
    await producer.send(Changed(1, tags=["t"]))
    older = await client.create_reader(topic, schema=JsonSchema(Order))
    assert (await older.receive(10)).value == Order(1)


async def test_an_incompatible_version_is_refused(client, topic):
    await client.create_producer(topic, schema=AvroSchema(Order))

    @dataclass
    class Wrong:
        number: str

    with pytest.raises(IncompatibleSchema):
        await client.create_producer(topic, schema=AvroSchema(Wrong, name="Order"))
    with pytest.raises(IncompatibleSchema):
        await client.subscribe(topic, "s", schema=AvroSchema(Wrong, name="Order"))


@pytest.mark.parametrize("encoding", KeyValueEncoding)
async def test_keys_and_values_are_sent_and_received(client, topic, encoding):
    schema = KeyValueSchema(StringSchema(), AvroSchema(Order), encoding)
    consumer = await client.subscribe(topic, "s", schema=schema)
    producer = await client.create_producer(topic, schema=schema)
    sent = [KeyValue("a", Order(1)), KeyValue("b", Order(2))]
    await producer.send(sent[0])
    await producer.send_many([OutgoingMessage(sent[1], properties={"p": "q"})])
    found = [await consumer.receive(10) for _ in sent]
    assert [message.value for message in found] == sent
    separated = encoding is KeyValueEncoding.SEPARATED
    assert [message.key_bytes for message in found] == ([b"a", b"b"] if separated else [None] * 2)
    assert found[1].properties == {"p": "q"}
    if separated:
        with pytest.raises(InvalidValue, match="takes it from the value"):
            await producer.send(sent[0], key="mine")


async def test_whatever_a_topic_has_is_consumed(client, topic):
    for schema, value in (
        (AvroSchema(Order), Order(1)),
        (AvroSchema(Changed, name="Order"), Changed(2)),
    ):
        producer = await client.create_producer(topic, schema=schema)
        await producer.send(value)
    reader = await client.create_reader(topic, schema=AutoConsumeSchema())
    found = [(await reader.receive(10)).value for _ in range(2)]
    assert found == [
        {"number": 1, "note": None},
        {"number": 2, "note": None, "tags": []},
    ]


async def test_bytes_are_produced_for_the_schema_that_a_topic_has(client, topic):
    free = await client.create_producer(topic, schema=AutoProduceSchema())
    await free.send(b"anything")
    await free.close()
    await client.create_producer(topic, schema=JsonSchema(Order))
    producer = await client.create_producer(topic, schema=AutoProduceSchema())
    await producer.send(b'{"number": 7}')
    with pytest.raises(InvalidValue, match="no value of the topic's schema"):
        await producer.send(b"{")
    reader = await client.create_reader(topic, schema=JsonSchema(Order))
    assert (await reader.receive(10)).data == b"anything"
    message = await reader.receive(10)
    assert (message.value, message.schema_version) == (Order(7), 0)


async def test_messages_of_protobuf_are_sent_and_received(client, topic):
    schema = ProtobufNativeSchema(Timestamp)
    producer = await client.create_producer(topic, schema=schema)
    await producer.send(Timestamp(seconds=7))
    reader = await client.create_reader(topic, schema=schema)
    assert (await reader.receive(10)).value == Timestamp(seconds=7)
    auto = await client.create_reader(topic, schema=AutoConsumeSchema())
    assert (await auto.receive(10)).value.seconds == 7


async def test_a_payload_may_be_of_another_schema_than_its_producers(client, topic):
    changed = AvroSchema(Changed, name="Order")
    producer = await client.create_producer(topic, schema=AutoProduceSchema())
    version = await producer.register_schema(changed)
    payload = changed.encode(Changed(1, tags=["t"]))
    await producer.send(b"before")
    await producer.send(payload, schema_version=version)
    reader = await client.create_reader(topic, schema=AvroSchema(Order))
    found = [await reader.receive(10) for _ in range(2)]
    assert [message.schema_version for message in found] == [None, version]
    assert found[1].value == Order(1)
    with pytest.raises(IncompatibleSchema):
        await producer.register_schema(StringSchema())
    with pytest.raises(InvalidValue, match="no schema that a topic can have"):
        await producer.register_schema(BytesSchema())


async def test_a_dead_letter_tells_the_schema_that_it_was_sent_with(client, topic):
    """And not that of the consumer, whose class may be another."""
    producer = await client.create_producer(topic, schema=AvroSchema(Changed, name="Order"))
    await producer.send(Changed(7, "note", ["t"]))
    consumer = await client.subscribe(
        topic,
        "s",
        schema=AvroSchema(Order),
        type=SubscriptionType.SHARED,
        initial_position=InitialPosition.EARLIEST,
        negative_ack_delay_s=0.05,
        dead_letter_policy=DeadLetterPolicy(1, topic + "-dead"),
    )
    dead = await client.subscribe(topic + "-dead", "s", schema=AutoConsumeSchema())
    for _ in range(2):
        consumer.negative_acknowledge(await consumer.receive(10))
    letter = await dead.receive(10)
    assert letter.value == {"number": 7, "note": "note", "tags": ["t"]}


JAVA = {
    "type": "record",
    "name": "Order",
    "namespace": "com.shop",
    "fields": [
        {"name": "number", "type": "long"},
        {"name": "size", "type": ["null", "int"], "default": None},
        {"name": "customer", "type": ["null", "string"], "default": None},
        {"name": "paid", "type": "boolean"},
        {
            "name": "lines",
            "type": [
                "null",
                {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "Line",
                        "fields": [{"name": "price", "type": "double"}],
                    },
                    "java-class": "java.util.List",
                },
            ],
            "default": None,
        },
        {
            "name": "labels",
            "type": ["null", {"type": "map", "values": "string"}],
            "default": None,
        },
    ],
}
"""What Java's client derives for such a class, whose objects may all be null."""


@dataclass
class Line:
    price: float


@dataclass
class JavaOrder:
    number: int
    size: Int32 | None
    customer: str | None
    paid: bool
    lines: list[Line] | None
    labels: dict[str, str] | None


@pytest.mark.parametrize("kind", [JsonSchema, AvroSchema])
async def test_a_topic_of_javas_client_takes_the_same_record(broker, client, topic, kind):
    schema = kind(JavaOrder, name="com.shop.Order")
    body = {"type": schema.info.type.name, "schema": json.dumps(JAVA), "properties": {}}
    ask(broker, "POST", f"schemas/{topic.removeprefix('persistent://')}/schema", body)
    theirs = kind.from_definition(JAVA)
    sent = {
        "number": 1,
        "size": 2,
        "customer": "me",
        "paid": True,
        "lines": [{"price": 0.5}],
        "labels": None,
    }
    order = JavaOrder(1, 2, "me", True, [Line(0.5)], None)
    for producing, value in ((theirs, sent), (schema, order)):
        producer = await client.create_producer(topic, schema=producing)
        await producer.send(value)
    for reading, value in ((theirs, sent), (schema, order)):
        reader = await client.create_reader(topic, schema=reading)
        assert [(await reader.receive(10)).value for _ in range(2)] == [value, value]


async def test_a_client_is_told_of_each_version_of_a_topics_schema(client, topic):
    with pytest.raises(SchemaNotFound):
        await client.schema(topic)
    first = AvroSchema.from_definition(JAVA)
    second = AvroSchema.from_definition({**JAVA, "fields": JAVA["fields"][:-1]})
    for schema in (first, second):
        await client.create_producer(topic, schema=schema)
    assert (await client.schema(topic)).data == second.info.data
    assert (await client.schema(topic, 0)).data == first.info.data
    with pytest.raises(SchemaNotFound):
        await client.schema(topic, 2)
