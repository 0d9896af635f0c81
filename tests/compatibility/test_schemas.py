"""The official client's schemas: kept with versions, compared, refused with what clashes."""

import json
from itertools import count
from urllib.error import HTTPError

import pulsar
import pytest
from compatibility.conftest import open_client, receive_all
from pulsar.schema import AvroSchema, Float, Integer, JsonSchema, Record, String, StringSchema
from support.admin import ask

from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.compatibility
NAMES = count()


class Order(Record):
    _avro_namespace = "shop"
    number = Integer(required=True)
    note = String()


def order_with(**fields):
    """The same record in another release of the application."""
    return type("Order", (Record,), {"_avro_namespace": "shop", **fields})


Optional = order_with(
    number=Integer(required=True), note=String(), price=Float(required_default=True)
)
Priced = order_with(number=Integer(required=True), note=String(), price=Float(required=True))
Renumbered = order_with(number=String(required=True), note=String())


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with BrokerProcess(tmp_path_factory.mktemp("schemas")) as process:
        yield process


@pytest.fixture
def namespace(broker):
    name = f"schemas{next(NAMES)}"
    ask(broker, "PUT", f"namespaces/public/{name}")
    return name


@pytest.fixture
def topic(namespace):
    return f"persistent://public/{namespace}/orders"


def versions(broker, namespace):
    found = ask(broker, "GET", f"schemas/public/{namespace}/orders/schemas")
    return [(each["version"], each["type"]) for each in found["getSchemaResponses"]]


@pytest.mark.parametrize("kind", [AvroSchema, JsonSchema])
def test_records_come_back_as_they_were_sent(broker, client, namespace, topic, kind):
    consumer = client.subscribe(topic, "s", schema=kind(Order))
    producer = client.create_producer(topic, schema=kind(Order))
    for number in range(3):
        producer.send(Order(number=number, note="n"))
    received = receive_all(consumer, 3)
    assert [message.value().number for message in received] == [0, 1, 2]
    name = {AvroSchema: "AVRO", JsonSchema: "JSON"}[kind]
    assert versions(broker, namespace) == [(0, name)]


def test_texts_come_back_as_they_were_sent(broker, client, namespace, topic):
    consumer = client.subscribe(topic, "s", schema=StringSchema())
    client.create_producer(topic, schema=StringSchema()).send("żółw")
    assert receive_all(consumer, 1)[0].value() == "żółw"
    assert versions(broker, namespace) == [(0, "STRING")]
    with pytest.raises(pulsar.IncompatibleSchema):
        client.create_producer(topic, schema=AvroSchema(Order))


def test_a_topic_takes_what_goes_with_what_it_has(broker, client, namespace, topic):
    client.create_producer(topic, schema=AvroSchema(Order)).send(Order(number=1))
    client.create_producer(topic, schema=AvroSchema(Optional)).send(Optional(number=2, price=3.0))
    client.create_producer(topic, schema=AvroSchema(Order)).send(Order(number=3))
    assert versions(broker, namespace) == [(0, "AVRO"), (1, "AVRO")]
    for record in (Renumbered, Priced):
        with pytest.raises(pulsar.IncompatibleSchema):
            client.create_producer(topic, schema=AvroSchema(record))
    with pytest.raises(pulsar.IncompatibleSchema):
        client.subscribe(topic, "s", schema=AvroSchema(Renumbered))
    client.subscribe(topic, "s", schema=AvroSchema(Optional))


def test_what_clashes_is_named_over_rest(broker, client, namespace, topic):
    client.create_producer(topic, schema=AvroSchema(Order))
    body = {"type": "AVRO", "schema": json.dumps(Renumbered.schema()), "properties": {}}
    with pytest.raises(HTTPError) as refused:
        ask(broker, "POST", f"schemas/public/{namespace}/orders/compatibility", body)
    reason = json.load(refused.value)["reason"]
    assert "field number is string for the reader and int in the data" in reason


def test_the_strategy_of_the_namespace_decides(broker, client, namespace, topic):
    client.create_producer(topic, schema=AvroSchema(Order))
    policy = f"namespaces/public/{namespace}/schemaCompatibilityStrategy"
    ask(broker, "PUT", policy, "FORWARD")
    client.create_producer(topic, schema=AvroSchema(Priced))
    ask(broker, "PUT", policy, "ALWAYS_COMPATIBLE")
    client.create_producer(topic, schema=AvroSchema(Renumbered))
    ask(broker, "POST", f"namespaces/public/{namespace}/isAllowAutoUpdateSchema", False)
    with pytest.raises(pulsar.IncompatibleSchema):
        client.create_producer(topic, schema=AvroSchema(Optional))
    assert len(versions(broker, namespace)) == 3


def test_the_names_of_records_are_not_compared_as_pulsar_does_not(broker, client, namespace, topic):
    for name in ("User1", "User3"):  # By FULL.
        nullable = type(name, (Record,), {"name": String(), "age": Integer()})
        client.create_producer(topic, schema=AvroSchema(nullable))
    second = type("User2", (Record,), {"name": String(), "age": Integer(required=True)})
    with pytest.raises(pulsar.IncompatibleSchema):
        client.create_producer(topic, schema=AvroSchema(second))
    policy = f"namespaces/public/{namespace}/schemaCompatibilityStrategy"
    ask(broker, "PUT", policy, "FORWARD")
    client.create_producer(topic, schema=AvroSchema(second))
    assert len(versions(broker, namespace)) == 3


def test_a_namespace_may_ask_for_schemas(broker, client, namespace, topic):
    client.create_producer(topic, schema=AvroSchema(Order))
    client.create_producer(topic)
    ask(broker, "POST", f"namespaces/public/{namespace}/schemaValidationEnforced", True)
    with pytest.raises(pulsar.IncompatibleSchema):
        client.create_producer(topic)
    client.create_producer(topic, schema=AvroSchema(Order))


def test_schemas_and_their_versions_outlive_the_broker(tmp_path):
    topic = "persistent://public/default/orders"
    with BrokerProcess(tmp_path) as process:
        for record in (Order, Optional):
            client = open_client(process.service_url)
            client.create_producer(topic, schema=AvroSchema(record)).send(record(number=1))
            client.close()
            process.kill()
            process.start()
        assert versions(process, "default") == [(0, "AVRO"), (1, "AVRO")]
        client = open_client(process.service_url)
        with pytest.raises(pulsar.IncompatibleSchema):
            client.create_producer(topic, schema=AvroSchema(Renumbered))
        client.close()
