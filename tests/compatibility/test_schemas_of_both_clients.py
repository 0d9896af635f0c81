"""Values between our client and the official one, which derive the same definitions."""

import json
from dataclasses import dataclass, field
from enum import Enum
from itertools import count

import pulsar.schema as official
import pytest
from compatibility.conftest import receive_all
from google.protobuf.timestamp_pb2 import Timestamp
from support.admin import ask

from magnetar import Client, InitialPosition
from magnetar.schemas import (
    AvroSchema,
    Float32,
    Int32,
    JsonSchema,
    ProtobufNativeSchema,
    StringSchema,
)
from magnetar.testing.local_broker import BrokerThread

pytestmark = pytest.mark.compatibility
NAMES = count()


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclass
class Item:
    name: str
    count: Int32


@dataclass
class Order:
    number: Int32
    size: int
    price: float
    weight: Float32
    paid: bool
    note: str | None
    colour: Colour
    main: Item
    items: list[Item] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)


class TheirItem(official.Record):
    name = official.String(required=True)
    count = official.Integer(required=True)


class TheirOrder(official.Record):
    number = official.Integer(required=True)
    size = official.Long(required=True)
    price = official.Double(required=True)
    weight = official.Float(required=True)
    paid = official.Boolean(required=True)
    note = official.String()
    colour = official.CustomEnum(Colour, required=True)
    main = TheirItem(required=True)
    items = official.Array(TheirItem(), required=True)
    labels = official.Map(official.String(), required=True)


TheirItem.__name__ = "Item"
TheirOrder.__name__ = "Order"

OURS = Order(
    1, 1 << 40, 0.1, 0.5, True, "żółw", Colour.BLUE, Item("pen", 1), [Item("ink", 2)], {"a": "b"}
)
THEIRS = TheirOrder(
    number=1,
    size=1 << 40,
    price=0.1,
    weight=0.5,
    paid=True,
    note="żółw",
    colour=Colour.BLUE,
    main=TheirItem(name="pen", count=1),
    items=[TheirItem(name="ink", count=2)],
    labels={"a": "b"},
)


@dataclass
class Pair:
    """The same schema and the same value, ours and theirs."""

    schema: object
    value: object
    their_schema: object
    their_value: object


PAIRS = {
    "string": Pair(StringSchema(), "żółw", official.StringSchema(), "żółw"),
    "json": Pair(JsonSchema(Order), OURS, official.JsonSchema(TheirOrder), THEIRS),
    "avro": Pair(AvroSchema(Order), OURS, official.AvroSchema(TheirOrder), THEIRS),
    "protobuf": Pair(
        ProtobufNativeSchema(Timestamp),
        Timestamp(seconds=5),
        official.ProtobufNativeSchema(Timestamp),
        Timestamp(seconds=5),
    ),
}
both = pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)


@pytest.fixture(scope="module")
def broker():
    with BrokerThread() as ours:
        yield ours


@pytest.fixture
def topic():
    return f"persistent://public/default/both-{next(NAMES)}"


@both
async def test_they_read_what_we_write(broker, client, topic, pair):
    consumer = client.subscribe(topic, "s", schema=pair.their_schema)
    async with Client(broker.service_url) as ours:
        producer = await ours.create_producer(topic, schema=pair.schema)
        await producer.send(pair.value)
    [message] = receive_all(consumer, 1)
    assert message.value() == pair.their_value


@both
async def test_we_read_what_they_write(broker, client, topic, pair):
    client.create_producer(topic, schema=pair.their_schema).send(pair.their_value)
    async with Client(broker.service_url) as ours:
        consumer = await ours.subscribe(
            topic, "s", schema=pair.schema, initial_position=InitialPosition.EARLIEST
        )
        message = await consumer.receive(10)
    assert message.value == pair.value


@both
async def test_a_topic_takes_both(broker, client, topic, pair):
    """Neither is a change that the strategy of the namespace, FULL, would refuse."""
    async with Client(broker.service_url) as ours:
        await ours.create_producer(topic, schema=pair.schema)
        client.create_producer(topic, schema=pair.their_schema)
        await ours.create_producer(topic, schema=pair.schema)
    name = topic.removeprefix("persistent://")
    found = ask(broker, "GET", f"schemas/{name}/schemas")["getSchemaResponses"]
    if len(found) == 1:
        assert found[0]["type"] in ("STRING", "PROTOBUF_NATIVE")
    else:
        mine, theirs = (json.loads(each["data"]) for each in found)  # Ours has defaults.
        assert without_defaults(mine) == without_defaults(theirs)


def without_defaults(node):
    if isinstance(node, list):
        return [without_defaults(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {key: without_defaults(each) for key, each in node.items() if key != "default"}
