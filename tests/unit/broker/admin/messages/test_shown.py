"""Messages as JSON, their values by the schemas of a topic."""

import json
from base64 import b64encode

import pytest
from unit.broker.admin.messages.entries import PLACE, batch_of, entry_of
from unit.schemas.records import Item

from magnetar.broker.admin.messages import shown
from magnetar.broker.admin.messages.shown import ShownMessages
from magnetar.broker.admin.messages.stored import messages_in
from magnetar.message import metadata
from magnetar.message.entry import join
from magnetar.message.metadata import ChunkInfo, EncryptedKey
from magnetar.model.names import TopicName
from magnetar.model.schemas import SchemaCompatibilityStrategy
from magnetar.schemas.avro import AvroSchema
from magnetar.wire.schemas import version_bytes

NAME = TopicName.parse("persistent://public/default/x-partition-2")


@pytest.fixture
def showing(world):
    return ShownMessages(NAME, world.admin.topics.schema_registry)


async def test_a_value_is_read_by_the_schema_it_was_written_with(world, showing):
    schema = AvroSchema(Item)
    number = await world.admin.topics.schema_registry.add(
        NAME, schema.info, SchemaCompatibilityStrategy.ALWAYS_COMPATIBLE
    )
    small = schema.encode(Item("pen"))
    large = schema.encode(Item("p" * 20_000))
    version = version_bytes(number)
    found = await showing.all(
        message
        for payload in (small, large, b"\xff")
        for message in messages_in(PLACE, entry_of(payload, schema_version=version))
    )
    assert [each["schemaVersion"] for each in found] == [0, 0, 0]
    assert found[0]["value"] == {"name": "pen", "count": 1}
    assert found[0]["payload"] == b64encode(small).decode()
    assert len(found[1]["value"]["name"]) == 20_000
    assert found[2]["value"] is None
    assert "no such Avro" in found[2]["valueError"]
    json.dumps(found)


async def test_without_a_schema_it_is_text_or_none(showing):
    [text, odd, nothing] = await showing.all(
        message
        for entry in (entry_of(b"text"), entry_of(b"\xff"), entry_of(null_value=True))
        for message in messages_in(PLACE, entry)
    )
    assert text["value"] == "text"
    assert odd["value"] is None
    assert "no text" in odd["valueError"]
    assert (nothing["value"], nothing["nullValue"]) == (None, True)
    assert "valueError" not in nothing


async def test_a_schema_that_is_gone_is_named(showing):
    for version, said in ((version_bytes(7), "no version 7"), (b"odd", "6f6464")):
        [found] = await showing.all(messages_in(PLACE, entry_of(schema_version=version)))
        assert said in found["valueError"]


async def test_what_few_messages_have_is_there_where_they_have_it(showing):
    said = metadata.build("p", 5, 1000, deliver_at_ms=9)
    said += metadata.build_encryption([EncryptedKey("alice", b"key", {})])
    chunk = entry_of(b"part", chunk=ChunkInfo("u", 1, 3, 12))
    entries = (join(said, b"secret"), chunk, batch_of(b"a"))
    found = await showing.all(m for entry in entries for m in messages_in(PLACE, entry))
    assert found[0]["encryptionKeys"] == ["alice"]
    assert (found[0]["payload"], found[0]["deliverAt"]) == (None, 9)
    assert found[1]["chunk"] == {"uuid": "u", "index": 1, "count": 3, "totalSize": 12}
    assert found[2]["id"]["batchIndex"] == 0
    assert found[2]["id"]["partitionIndex"] == 2
    assert "chunk" not in found[2]


async def test_of_a_large_payload_the_beginning_is_shown(showing, monkeypatch):
    monkeypatch.setattr(shown, "PAYLOAD_BYTES_MAX", 3)
    [found] = await showing.all(messages_in(PLACE, entry_of(b"abcd")))
    assert (found["payload"], found["payloadTruncated"]) == ("YWJj", True)
    assert (found["value"], found["valueError"]) == (None, "4 bytes are not decoded here")
