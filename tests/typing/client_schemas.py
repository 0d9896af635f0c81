"""What an application writes with schemas: the type of the values follows the schema's."""

from dataclasses import dataclass
from typing import Any, assert_type

from magnetar import Client, Consumer, Message, MessageId, OutgoingMessage, Producer, Reader
from magnetar.client import blocking
from magnetar.schemas import (
    AvroSchema,
    Int64Schema,
    JsonSchema,
    KeyValue,
    KeyValueSchema,
    Schema,
    StringSchema,
)


@dataclass
class Order:
    number: int


async def records(client: Client) -> None:
    producer = await client.create_producer("orders", schema=JsonSchema(Order))
    assert_type(producer, Producer[Order])
    await producer.send(Order(1))
    await producer.send({"number": 1})  # type: ignore[arg-type]
    consumer = await client.subscribe("orders", "s", schema=AvroSchema(Order))
    assert_type((await consumer.receive()).value.number, int)
    pairs = KeyValueSchema(StringSchema(), JsonSchema(Order))
    reader = await client.create_reader("pairs", schema=pairs)
    assert_type((await reader.receive()).value, KeyValue[str, Order])
    assert_type((await reader.receive()).value.value.number, int)
    assert_type(AvroSchema.from_definition("{}"), Schema[dict[str, Any]])


async def infer(client: Client) -> None:
    producer = await client.create_producer("texts", schema=StringSchema())
    assert_type(producer, Producer[str])
    assert_type(await producer.send("one", key="k"), MessageId)
    await producer.send_many(["two", OutgoingMessage("three", key="k")])
    await producer.send(b"four")  # type: ignore[arg-type]
    consumer = await client.subscribe("numbers", "s", schema=Int64Schema())
    assert_type(consumer, Consumer[int])
    async for message in consumer:
        assert_type(message, Message[int])
        assert_type(message.value, int)
        assert_type(message.data, bytes)
        consumer.acknowledge(message)
    reader = await client.create_reader("texts", schema=StringSchema())
    assert_type(await reader.receive_many(), list[Message[str]])


async def without(client: Client) -> None:
    assert_type(await client.create_producer("orders"), Producer[bytes])
    assert_type(await client.create_reader("orders"), Reader[bytes])
    consumer = await client.subscribe("orders", "s")
    assert_type((await consumer.receive()).value, bytes)


def annotate(producer: Producer, message: Message[object], texts: Message[str]) -> Message[object]:
    """Without a type they are of bytes; a message of texts is one of objects, too."""
    assert_type(producer, Producer[bytes])
    return texts if message.data else message


def block(client: blocking.Client) -> None:
    with client.create_producer("texts", schema=StringSchema()) as producer:
        assert_type(producer, blocking.Producer[str])
        producer.send("one")
    for message in client.subscribe("texts", "s", schema=StringSchema()):
        assert_type(message.value, str)
