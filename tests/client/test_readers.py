"""Readers of partitioned topics and of several, and where they begin."""

import json

import pulsar
import pytest
from support.admin import ask
from support.loop import until

from magnetar import LATEST_MESSAGE, Client, InitialPosition, MessageId
from magnetar.errors import InvalidName, InvalidValue


async def put(client, topic, *payloads):
    async with client.create_producer(topic, batching=False) as producer:
        return await producer.send_many(payloads)


def partitioned(broker, topic, count):
    ask(broker, "PUT", topic.replace("://", "/") + "/partitions", count)


async def everything(reader):
    found = []
    while await reader.has_message_available():
        found += [message.data for message in await reader.receive_many(100, 10)]
    return sorted(found)


async def test_a_list_is_read_from_its_beginning(broker, client, topic):
    plain, divided = f"{topic}-plain", f"{topic}-divided"
    partitioned(broker, divided, 3)
    await put(client, plain, b"a", b"b")
    await put(client, divided, b"c", b"d", b"e")
    async with client.create_reader([plain, divided]) as reader:
        assert len(reader.topics) == 4
        assert await everything(reader) == [b"a", b"b", b"c", b"d", b"e"]
        assert not await reader.has_message_available()
        await put(client, divided, b"f")
        assert await reader.has_message_available()
        assert await everything(reader) == [b"f"]


async def test_it_goes_on_where_another_was(broker, client, topic):
    """What ``last_message_ids`` says is a start: by full names."""
    topics = [f"{topic}-{name}" for name in "ab"]
    partitioned(broker, topics[1], 2)
    for each in topics:
        await put(client, each, b"0", b"1")
    async with client.create_reader(topics) as reader:
        ids = await reader.last_message_ids()
    assert sorted(ids) == [topics[0], f"{topics[1]}-partition-0", f"{topics[1]}-partition-1"]
    for each in topics:
        await put(client, each, b"2", b"3")
    after = await client.create_reader(topics, ids)
    assert await everything(after) == [b"2", b"2", b"3", b"3"]
    withal = await client.create_reader(topics, ids, inclusive=True)
    assert len(await everything(withal)) == 7


async def test_an_id_that_was_kept_is_where_a_reader_begins(client, topic):
    """Of a chunked message, too; its numbers alone, as JSON keeps them, are another id."""
    async with client.create_producer(topic, chunking=True) as producer:
        await producer.send(b"before")
        large = b"l" * 6_000_000
        sent = await producer.send(large)
        await producer.send(b"behind")
    consumer = await client.subscribe(topic, "s", initial_position=InitialPosition.EARLIEST)
    received = (await consumer.receive_many(3, 30, count_min=3))[1].message_id
    assert sent == received
    for kept in (
        MessageId.from_bytes(received.to_bytes()),
        MessageId.from_text(received.to_text()),
        MessageId.from_bytes(pulsar.MessageId.deserialize(sent.to_bytes()).serialize()),
    ):
        assert kept == sent
        async with client.create_reader(topic, kept, inclusive=True) as reader:
            assert (await reader.receive(30)).data == large
        async with client.create_reader(topic, kept) as reader:
            assert (await reader.receive(30)).data == b"behind"
    assert MessageId(*json.loads(json.dumps(sent))) != sent


async def test_a_place_of_one_topic_is_none_of_several(client, topic):
    [first] = await put(client, topic, b"0")
    with pytest.raises(InvalidValue, match="a start for each"):
        await client.create_reader([topic, f"{topic}-b"], first)
    with pytest.raises(InvalidName):
        await client.create_reader([topic], {"x://y": first})


async def test_it_begins_some_time_ago(client, topic):
    await put(client, topic, b"0", b"1")
    recent = await client.create_reader(topic, start_rollback_s=3600)
    assert await everything(recent) == [b"0", b"1"]
    now = await client.create_reader(topic, start_rollback_s=0)
    assert await everything(now) == []
    with pytest.raises(InvalidValue, match="leave one out"):
        await client.create_reader(topic, LATEST_MESSAGE, start_rollback_s=1)
    with pytest.raises(InvalidValue, match="start_rollback_s"):
        await client.create_reader(topic, start_rollback_s=-1)


async def test_each_topic_can_be_sought_by_itself(client, topic):
    topics = [f"{topic}-{name}" for name in "ab"]
    ids = {each: await put(client, each, b"0", b"1", b"2") for each in topics}
    consumer = await client.subscribe(topics, "s", initial_position=InitialPosition.EARLIEST)
    await consumer.receive_many(6, 10, count_min=6)
    await consumer.seek_each(lambda name: ids[name][2] if name == topics[0] else 0)
    messages = await consumer.receive_many(4, 10, count_min=4)
    found = sorted((message.topic, message.data) for message in messages)
    assert found == [(topics[0], b"2")] + [(topics[1], b"%d" % number) for number in range(3)]


async def test_its_subscription_has_the_name_that_was_given(broker, client, topic):
    reader = await client.create_reader(topic, subscription="me")
    path = topic.replace("://", "/")
    assert list(ask(broker, "GET", f"{path}/stats")["subscriptions"]) == ["me"]
    await reader.close()
    assert list(ask(broker, "GET", f"{path}/stats")["subscriptions"]) == []


async def test_a_partition_that_comes_later_is_read_from_its_first_message_on(broker, topic):
    partitioned(broker, topic, 1)
    async with Client(broker.service_url, partitions_refresh_s=0.1) as client:
        reader = await client.create_reader(topic, LATEST_MESSAGE)
        ask(broker, "POST", topic.replace("://", "/") + "/partitions", 3)
        await put(client, f"{topic}-partition-2", b"0")
        assert (await reader.receive(10)).data == b"0"
        await until(lambda: len(reader.topics) == 3)


async def test_a_reader_from_the_end_gets_only_what_comes(client, topic):
    await put(client, topic, b"old", b"older")
    reader = await client.create_reader(topic, LATEST_MESSAGE)
    assert not await reader.has_message_available()
    await put(client, topic, b"new")
    assert (await reader.receive(10)).data == b"new"


async def test_the_broker_counts_what_a_subscription_has_still_to_acknowledge(client, topic):
    ids = await put(client, topic, *(b"%d" % number for number in range(10)))
    consumer = await client.subscribe(topic, "s", initial_position=InitialPosition.EARLIEST)
    assert await consumer.backlog() == 10
    await consumer.acknowledge_cumulative(ids[3])
    await consumer.flush()
    assert await consumer.backlog() == 6
    reader = await client.create_reader(topic, ids[7], inclusive=True, start_paused=True)
    assert await reader.backlog() == 3
