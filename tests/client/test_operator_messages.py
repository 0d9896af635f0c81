"""What an operator does with messages over HTTP, beside clients on a real broker."""

import asyncio
import json
from dataclasses import dataclass
from urllib.error import HTTPError

import pytest
from aiohttp import ClientSession
from support.admin import ask

from magnetar.client.client import Client
from magnetar.schemas import AvroSchema, StringSchema
from magnetar.testing.local_broker import LocalBroker

ALL = "persistent/public/default"


@dataclass
class Item:
    name: str
    count: int = 1


@pytest.fixture
async def broker():
    async with LocalBroker() as local:
        yield local


@pytest.fixture
async def client(broker):
    async with Client(broker.service_url) as connected:
        yield connected


async def asked(broker, method, path, value=None):
    return await asyncio.to_thread(ask, broker, method, f"{ALL}/{path}", value)


async def refused(broker, path, value):
    with pytest.raises(HTTPError) as caught:
        await asked(broker, "POST", path, value)
    with caught.value as error:
        return error.code, error.read().decode()


async def test_a_client_gets_what_was_published_over_http(broker, client):
    await client.create_producer("items", schema=AvroSchema(Item))
    consumer = await client.subscribe("items", "s", schema=AvroSchema(Item))
    sent = {"value": {"name": "pen", "count": 3}, "key": "k", "properties": {"a": "b"}}
    answer = await asked(broker, "POST", "items/messages", {"messages": [sent]})
    message = await consumer.receive()
    assert (message.value, message.key, message.properties) == (Item("pen", 3), "k", {"a": "b"})
    [result] = answer["results"]
    assert result["id"]["entryId"] == message.message_id.entry_id
    status, reason = await refused(
        broker, "items/messages", {"messages": [{"value": {"name": 5, "count": 3}}]}
    )
    assert (status, "messages[0]: the value does not fit" in reason) == (400, True)


async def test_a_topic_is_made_where_there_is_none_and_keys_choose_partitions(broker, client):
    await asked(broker, "PUT", "parts/partitions", 3)
    keyed = [{"value": "x", "key": f"k{index % 2}"} for index in range(6)]
    answer = await asked(broker, "POST", "parts/messages", {"messages": keyed})
    partitions = [each["id"]["partitionIndex"] for each in answer["results"]]
    producer = await client.create_producer("parts")
    sent = [(await producer.send(b"x", key=f"k{index}")).partition for index in range(2)]
    assert partitions == sent * 3
    answer = await asked(broker, "POST", "fresh/messages", {"messages": [{"value": "x"}]})
    assert answer["results"][0]["id"]["entryId"] == 0


async def test_what_was_stored_before_is_not_stored_again(broker):
    await asked(broker, "POST", "once/messages", {"messages": [{"value": "x"}]})
    await asked(broker, "POST", "once/deduplicationEnabled", value=True)
    twice = {"producerName": "me", "messages": [{"value": "y", "sequenceId": 5}]}
    first = await asked(broker, "POST", "once/messages", twice)
    again = await asked(broker, "POST", "once/messages", twice)
    assert first["results"][0]["id"]["entryId"] == 1
    assert again["results"] == [{"id": None, "duplicate": True}]


async def test_pulsar_s_rest_producer_is_answered_as_by_pulsar(broker, client):
    consumer = await client.subscribe("rest", "s")
    sent = {"producerName": "rp", "messages": [{"key": "k", "payload": "hello"}]}
    url = f"{broker.web_url}/topics/persistent/public/default/rest"
    async with ClientSession() as session, session.post(url, json=sent) as response:
        answer = await response.json()
    message = await consumer.receive()
    place = message.message_id
    assert (message.data, message.key, message.producer_name) == (b"hello", "k", "rp")
    assert answer == {
        "messagePublishResults": [
            {
                "messageId": f"{place.ledger_id}:{place.entry_id}:-1",
                "errorCode": 0,
                "schemaVersion": 0,
            }
        ],
        "schemaVersion": 0,
    }


async def test_what_is_published_is_told_as_it_happens(broker, client):
    await asked(broker, "PUT", "told/partitions", 2)
    producer = await client.create_producer("told", schema=StringSchema())
    await producer.send("before")
    url = f"{broker.web_url}/admin/v2/{ALL}/told/messages/tail?filter=wanted"
    async with ClientSession() as session, session.get(url) as response:
        events = told_by(response)
        began = await anext(events)
        assert began[0] == "began"
        for number in range(4):
            await producer.send(f"wanted {number}", key=f"k{number}")
            await producer.send("passed over")
        found = [await anext(events) for _ in range(4)]
        assert {name for name, _ in found} == {"message"}
        assert sorted(shown["value"] for _, shown in found) == [f"wanted {n}" for n in range(4)]
    stats = await asked(broker, "GET", "told/partitioned-stats")
    assert stats["subscriptions"] == {}


async def told_by(response):
    """The events of an answer: their names and what they say."""
    name = ""
    async for line in response.content:
        text = line.decode().rstrip("\n")
        if text.startswith("event: "):
            name = text.removeprefix("event: ")
        elif text.startswith("data: "):
            yield name, json.loads(text.removeprefix("data: "))
