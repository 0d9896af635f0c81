"""Publishing over HTTP: what is refused, and how. With clients: tests/client."""

import json

import pytest

from magnetar.model.names import TopicName
from magnetar.model.policies import ROWS
from magnetar.model.schemas import SchemaCompatibilityStrategy, SchemaInfo, SchemaType
from magnetar.schemas.primitives import Int32Schema

ALL = "/admin/v2/persistent/public/default"
TEXT = json.dumps({"type": "STRING", "schema": "", "properties": {}})


@pytest.fixture
async def numbers(world):
    topic = await world.topic("persistent://public/default/numbers")
    await world.admin.topics.schema_registry.add(
        topic.name, Int32Schema.info, SchemaCompatibilityStrategy.ALWAYS_COMPATIBLE
    )
    return topic


@pytest.mark.usefixtures("numbers")
@pytest.mark.parametrize(
    ("sent", "status", "said"),
    [
        ({}, 400, "send"),
        ({"messages": [{"value": "x"}]}, 400, "messages[0]: a value of INT32 must be int"),
        ({"messages": [{"payload": "eA=="}]}, 400, "no value of the topic's schema"),
        ({"messages": [{"value": 1}], "ttl": 5}, 400, "ttl is none of messages, producerName"),
        ({"messages": [{"value": 1}], "producerName": ""}, 400, "producerName is not a text"),
        ([], 400, "not an object"),
    ],
)
async def test_what_does_not_fit_is_refused_before_anything_is_sent(world, sent, status, said):
    answer = await world.ask("POST", f"{ALL}/numbers/messages", sent)
    assert (answer.status, said in answer.reason) == (status, True), answer.text
    assert (await world.topic("persistent://public/default/numbers")).message_count == 0


async def test_values_and_payloads_of_a_schema_are_stored_with_its_version(world, numbers):
    sent = {"messages": [{"value": 7}, {"payload": "AAAACA=="}]}
    answer = await world.ask("POST", f"{ALL}/numbers/messages", sent)
    assert [each["id"]["entryId"] for each in answer.json["results"]] == [0, 1]
    shown = (await world.ask("GET", f"{ALL}/numbers/messages?from=earliest")).json["messages"]
    assert [(each["value"], each["schemaVersion"]) for each in shown] == [(7, 0), (8, 0)]
    assert numbers.message_count == 2


async def test_a_payload_of_a_schema_that_has_no_values_is_taken_as_it_is(world):
    topic = await world.topic("persistent://public/default/proto")
    definition = b'{"type": "record", "name": "R", "fields": []}'
    await world.admin.topics.schema_registry.add(
        topic.name,
        SchemaInfo(SchemaType.PROTOBUF, definition),
        SchemaCompatibilityStrategy.ALWAYS_COMPATIBLE,
    )
    path = f"{ALL}/proto/messages"
    assert (await world.ask("POST", path, {"messages": [{"payload": "/w=="}]})).status == 200
    answer = await world.ask("POST", path, {"messages": [{"value": {}}]})
    assert (answer.status, "send the payload in base64" in answer.reason) == (400, True)


async def test_what_is_too_large_is_named(world):
    world.admin.messages.message_size_max = 100
    sent = {"messages": [{"value": "x"}, {"value": "x" * 200}]}
    answer = await world.ask("POST", f"{ALL}/x/messages", sent)
    assert "messages[1] has 2" in answer.reason
    name = TopicName.parse("persistent://public/default/x")
    assert not await world.admin.topics.owners.access.exists(name)


async def test_one_refusal_does_not_hide_what_was_stored(world):
    assert ROWS["message_size_max"].acts
    await world.topic("persistent://public/default/x")
    await world.ask("POST", f"{ALL}/x/maxMessageSize", 100)
    sent = {"messages": [{"value": "x"}, {"value": "x" * 200}]}
    results = (await world.ask("POST", f"{ALL}/x/messages", sent)).json["results"]
    assert results[0]["id"]["entryId"] == 0
    assert results[1] == {"reason": "Exceed maximum message size", "status": 405}
    answer = await world.ask("POST", f"{ALL}/x/messages", {"messages": sent["messages"][1:]})
    assert (answer.status, answer.reason) == (405, "Exceed maximum message size")


async def test_a_topic_that_keeps_nothing_passes_on(world):
    path = "/admin/v2/non-persistent/public/default/x/messages"
    answer = await world.ask("POST", path, {"messages": [{"value": "x"}]})
    assert answer.json["results"] == [{"id": None, "duplicate": False}]


async def test_sequence_ids_are_for_one_partition(world):
    await world.ask("PUT", f"{ALL}/p/partitions", 2)
    sent = {"messages": [{"value": "x", "sequenceId": 1}]}
    assert (await world.ask("POST", f"{ALL}/p/messages", sent)).status == 405
    assert (await world.ask("POST", f"{ALL}/p-partition-1/messages", sent)).status == 200


@pytest.mark.usefixtures("numbers")
async def test_pulsar_s_rest_producer(world):
    path = "/topics/persistent/public/default"
    answer = await world.ask("POST", f"{path}/numbers", {"messages": [{"payload": "7"}]})
    assert answer.json["messagePublishResults"][0]["errorCode"] == 0
    answer = await world.ask("POST", f"{path}/numbers", {"messages": [{"payload": "x"}]})
    assert (answer.status, "is not JSON" in answer.reason) == (412, True)
    sent = {"valueSchema": TEXT, "messages": [{"payload": "7"}]}
    assert (await world.ask("POST", f"{path}/numbers", sent)).status == 409
    assert (await world.ask("POST", f"{path}/fresh", sent)).json["schemaVersion"] == 0
    for odd in ("STRING", '{"type": "STRING", "properties": [1]}'):
        sent["valueSchema"] = odd
        assert (await world.ask("POST", f"{path}/fresh", sent)).status == 400
    await world.ask("POST", f"{ALL}/fresh/maxMessageSize", 20)
    answer = await world.ask("POST", f"{path}/fresh", {"messages": [{"payload": "x" * 50}]})
    [result] = answer.json["messagePublishResults"]
    assert (result["errorCode"], result["error"]) == (405, "Exceed maximum message size")
