import pytest
from unit.broker.peer import TOPIC
from unit.broker.schema.samples import A_TEXT, AB, A

from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire.schemas import version_bytes


def sent(schema):
    return pb.Schema(
        name="s",
        schema_data=schema.data,
        type=schema.type,
        properties=[pb.KeyValue(key=key, value=value) for key, value in schema.properties.items()],
    )


async def get(peer, **values):
    return (await peer.ask("getSchema", request_id=8, topic=TOPIC, **values)).getSchemaResponse


async def get_or_create(peer, schema, topic=TOPIC):
    answer = await peer.ask("getOrCreateSchema", request_id=9, topic=topic, schema=sent(schema))
    assert answer.getOrCreateSchemaResponse.request_id == 9
    return answer.getOrCreateSchemaResponse


async def test_there_is_no_schema_to_get(peer):
    answer = await get(peer)
    assert (answer.request_id, answer.error_code) == (8, pb.TopicNotFound)
    assert answer.error_message == f"Topic not found or no-schema {TOPIC}"


async def test_a_schema_is_made_and_got(peer):
    await peer.produce(1)
    schema = SchemaInfo(SchemaType.AVRO, A.data, {"k": "v"})
    assert (await get_or_create(peer, schema)).schema_version == version_bytes(0)
    assert (await get_or_create(peer, AB)).schema_version == version_bytes(1)
    assert (await get_or_create(peer, A)).schema_version == version_bytes(0)
    answer = await get(peer)
    assert answer.schema_version == version_bytes(1)
    answer = await get(peer, schema_version=version_bytes(0))
    assert answer.schema.name == "public/default/t"
    assert (answer.schema.type, answer.schema.schema_data) == (pb.Schema.Avro, A.data)
    assert answer.schema.properties[0].key == "k"


async def test_a_schema_that_clashes_is_refused(peer):
    await peer.produce(1, schema=sent(A))
    answer = await get_or_create(peer, A_TEXT)
    assert answer.error_code == pb.IncompatibleSchema
    assert "field a is string" in answer.error_message


async def test_bytes_are_answered_without_a_version(peer):
    """The Java client's dead-letter and retry producers wait for this answer."""
    await peer.produce(1)
    answer = await get_or_create(peer, SchemaInfo(SchemaType.NONE))
    assert answer.HasField("schema_version")
    assert (answer.schema_version, answer.HasField("error_code")) == (b"", False)
    assert (await get(peer)).error_code == pb.TopicNotFound


async def test_a_producer_that_declares_bytes_is_told_their_version(peer):
    await peer.ask("lookupTopic", topic=TOPIC, request_id=1)
    schema = pb.Schema(name="", schema_data=b"", type=pb.Schema.NoSchema)
    answer = await peer.ask("producer", topic=TOPIC, producer_id=1, request_id=5, schema=schema)
    assert answer.producer_success.schema_version == version_bytes(0)
    for version in ({}, {"schema_version": version_bytes(0)}):
        found = await get(peer, **version)
        assert (found.schema.type, found.schema_version) == (schema.type, version_bytes(0))
    assert (await get_or_create(peer, SchemaInfo(SchemaType.NONE))).schema_version == b""


async def test_a_topic_that_does_not_exist_gets_no_schema(peer):
    await peer.ask("lookupTopic", topic=TOPIC, request_id=1)
    answer = await get_or_create(peer, A)
    assert (answer.error_code, answer.error_message) == (
        pb.TopicNotFound,
        f"Topic not found {TOPIC}",
    )


async def test_versions_that_are_none_are_refused(peer, other):
    answer = await get(peer, schema_version=b"")
    assert (answer.error_code, answer.error_message) == (
        pb.IncompatibleSchema,
        "Empty schema version",
    )
    assert (await get(peer, schema_version=version_bytes(7))).error_code == pb.TopicNotFound
    other.tell("getSchema", request_id=8, topic=TOPIC, schema_version=b"\1")
    assert await other.hung_up_on()


async def test_a_producer_is_told_its_version_again(peer):
    await peer.ask("lookupTopic", topic=TOPIC, request_id=1)
    for _ in range(2):
        answer = await peer.ask(
            "producer", topic=TOPIC, producer_id=1, request_id=5, schema=sent(A)
        )
        assert answer.producer_success.schema_version == version_bytes(0)


@pytest.mark.parametrize("field", ["producer", "subscribe"])
async def test_a_client_whose_schema_clashes_is_refused(peer, field):
    await peer.produce(7, schema=sent(A))
    values = {"producer": {"producer_id": 1}, "subscribe": {"consumer_id": 1, "subType": 0}}[field]
    if field == "subscribe":
        values["subscription"] = "s"
    answer = await peer.ask(field, topic=TOPIC, request_id=5, schema=sent(A_TEXT), **values)
    assert answer.error.error == pb.IncompatibleSchema
    assert "field a" in answer.error.message
