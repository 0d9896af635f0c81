"""What people bring from other asyncio libraries holds here, too."""

import asyncio
import socket
from dataclasses import dataclass

import pytest

from magnetar import Client, InitialPosition
from magnetar.client import blocking
from magnetar.errors import (
    AlreadyClosed,
    ConnectionLost,
    InvalidValue,
    NotAllowed,
    TimedOut,
    TopicNotFound,
)
from magnetar.schemas import AvroSchema, JsonSchema, KeyValueSchema, StringSchema


async def test_what_is_made_can_be_entered_without_an_await(client, topic):
    async with (
        client.create_producer(topic) as producer,
        client.subscribe(topic, "s") as consumer,
        client.create_reader(topic) as reader,
    ):
        await producer.send(b"x")
        assert (await consumer.receive(5)).data == (await reader.receive(5)).data == b"x"
    for use in (producer.send(b"y"), consumer.receive(), reader.receive()):
        with pytest.raises(AlreadyClosed, match="closed"):
            await use


async def test_it_can_be_made_in_a_task_and_in_time(client, topic):
    async with asyncio.TaskGroup() as group:
        making = group.create_task(client.create_producer(topic))
    await making.result().close()
    consumer = await asyncio.wait_for(client.subscribe(topic, "s"), 10)
    await consumer.close()


@pytest.mark.parametrize("ending", ["consumer", "client"])
async def test_closing_ends_every_iteration_quietly(broker, topic, ending):
    async with Client(broker.service_url) as client:
        consumer = await client.subscribe(topic, "s")
        found, both = [], asyncio.Event()

        async def iterate():
            async for message in consumer:
                found.append(message.data)
                if len(found) == 2:
                    both.set()

        async with asyncio.TaskGroup() as group:
            iterating = [group.create_task(iterate()) for _ in range(2)]
            async with client.create_producer(topic) as producer:
                await producer.send_many([b"1", b"2"])
            await both.wait()
            await {"consumer": consumer, "client": client}[ending].close()
        assert all(each.done() for each in iterating)
        assert [message async for message in consumer] == []


async def test_an_iteration_goes_on_after_a_wait_that_was_given_up(client, topic):
    async with client.subscribe(topic, "s") as consumer, client.create_producer(topic) as producer:
        messages = aiter(consumer)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(messages), 0.01)
        await producer.send(b"x")
        assert (await anext(messages)).data == b"x"


async def test_errors_are_those_of_python_as_well(client, topic):
    async with client.subscribe(topic, "s") as consumer:
        with pytest.raises(TimeoutError) as timed_out:
            await consumer.receive(timeout_s=0.01)
    assert isinstance(timed_out.value, TimedOut)
    with pytest.raises(ValueError, match="data must be bytes, not str") as invalid:
        await (await client.create_producer(topic)).send("text")
    assert isinstance(invalid.value, InvalidValue)
    async with Client("pulsar://127.0.0.1:1", operation_timeout_s=0.1) as nowhere:
        with pytest.raises(ConnectionError) as lost:
            await nowhere.create_producer(topic)
    assert isinstance(lost.value, ConnectionLost)


async def test_a_timeout_of_the_application_is_told_from_ours(client, topic):
    """``asyncio.timeout`` around a call that ends by itself does not claim to have ended it."""
    async with client.subscribe(topic, "s") as consumer:
        with pytest.raises(TimedOut):
            async with asyncio.timeout(20) as limit:
                await consumer.receive(timeout_s=0.01)
        assert not limit.expired()
        with pytest.raises(TimeoutError) as ended:
            async with asyncio.timeout(0.01):
                await consumer.receive(timeout_s=20)
        assert not isinstance(ended.value, TimedOut)


async def test_payloads_may_be_buffers_and_come_from_any_iterable(client, topic):
    async with (
        client.subscribe(topic, "s", initial_position=InitialPosition.EARLIEST) as consumer,
        client.create_producer(topic) as producer,
    ):
        buffer = bytearray(b"0")
        await producer.send(buffer)
        sent = await producer.send_many(kind(b"%d" % n) for n, kind in ((1, bytearray), (2, bytes)))
        await producer.send_many({b"3": "a dict's keys"})
        producer.send_nowait(memoryview(b"-4-")[1:2])
        await producer.enqueue(iter([bytearray(b"5")]))
        await producer.flush()
        assert len(sent) == 2
        assert [(await consumer.receive(5)).data for _ in range(6)] == [b"%d" % n for n in range(6)]
        with pytest.raises(InvalidValue, match="put the bytes into a list"):
            await producer.send_many(b"one")
        with pytest.raises(InvalidValue, match="put the bytearray into a list"):
            await producer.enqueue(bytearray(b"one"))


@pytest.mark.parametrize(
    ("make", "options", "choice"),
    [
        ("subscribe", {"type": "SHARED"}, "SubscriptionType.SHARED"),
        ("subscribe", {"initial_position": "earliest"}, "InitialPosition.EARLIEST"),
        ("create_producer", {"compression": "LZ4"}, "CompressionType.LZ4"),
        ("create_producer", {"routing": "single"}, "RoutingMode.SINGLE"),
        ("create_producer", {"hashing": "MURMUR3"}, "HashingScheme.MURMUR3"),
    ],
)
async def test_the_name_of_a_choice_is_refused_with_the_choices(client, make, options, choice):
    arguments = ["t", "s"] if make == "subscribe" else ["t"]
    with pytest.raises(
        InvalidValue, match=rf"{next(iter(options))} is '.*must be one of .*{choice}"
    ):
        await getattr(client, make)(*arguments, **options)


def test_another_loop_is_refused_at_once(broker):
    client = Client(broker.service_url)

    async def first():
        async with client:
            pass

    async def second():
        await client.create_producer("t")

    asyncio.run(first())
    with pytest.raises(NotAllowed, match="another event loop, which is closed"):
        asyncio.run(second())


NO_MESSAGES = ["1:2", b"x", 5, None, 1.5, (1, 2), [7, 9, -1, -1, 0]]
"""The last is what JSON makes of an id."""


@pytest.mark.parametrize("wrong", NO_MESSAGES, ids=repr)
async def test_what_is_no_message_and_no_place_is_refused_by_name(client, topic, wrong):
    async with client.subscribe(topic, "s") as consumer:
        for take in (consumer.acknowledge, consumer.negative_acknowledge):
            with pytest.raises(InvalidValue, match="what is acknowledged must be a Message or"):
                take(wrong)
        with pytest.raises(InvalidValue, match="what is acknowledged must be a Message or"):
            consumer.acknowledge_cumulative(wrong)
        with pytest.raises(InvalidValue, match="message must be a Message"):
            await consumer.reconsume_later(wrong, 1)
        with pytest.raises(InvalidValue, match="message_id must be a MessageId"):
            await consumer.seek(wrong)
        if type(wrong) is not int:
            with pytest.raises(InvalidValue, match="publish_time_ms must be int"):
                await consumer.seek_time(wrong)
    with pytest.raises(InvalidValue, match="start must be a MessageId or Mapping"):
        await client.create_reader(topic, wrong)
    with pytest.raises(InvalidValue, match=r"start\[0\] must be a MessageId"):
        await client.create_reader(topic, {0: wrong})


async def test_a_list_with_something_else_acknowledges_nothing(client, topic):
    consumer = await client.subscribe(topic, "s")
    async with client.create_producer(topic, batching=False) as producer:
        await producer.send_many([b"1", b"2"])
    messages = await consumer.receive_many(2, 10, count_min=2)
    with pytest.raises(InvalidValue, match="not str"):
        consumer.acknowledge([*messages, "3"])
    await consumer.flush()
    assert await consumer.backlog() == 2


@pytest.mark.parametrize("count", [0, -1, 1.5, "3"])
async def test_so_many_messages_are_not_received(client, topic, count):
    async with client.subscribe(topic, "s") as consumer, client.create_reader(topic) as reader:
        for wait in (consumer.receive_many, reader.receive_many, reader.receive_entries):
            with pytest.raises(InvalidValue, match="count_max"):
                await wait(count, 0.01)


async def test_a_time_that_is_none_is_refused_at_once(client, topic):
    async with client.subscribe(topic, "s") as consumer:
        for wrong in (-1, "5", (1,)):
            with pytest.raises(InvalidValue, match="timeout_s"):
                await consumer.receive(wrong)
            with pytest.raises(InvalidValue, match="timeout_s"):
                await consumer.receive_many(5, wrong)


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (StringSchema, "schema is the class StringSchema: give an object"),
        ({"type": "object"}, "schema must be a schema of magnetar.schemas, not {'type'"),
        ("{}", "schema must be a schema of magnetar.schemas"),
        (dict, "schema must be a schema of magnetar.schemas"),
    ],
)
async def test_what_is_no_schema_is_refused_when_it_is_passed(client, topic, schema, says):
    for make in (
        client.create_producer(topic, schema=schema),
        client.subscribe(topic, "s", schema=schema),
        client.create_reader(topic, schema=schema),
        client.create_table_view(topic, schema=schema),
    ):
        with pytest.raises(InvalidValue, match=says):
            await make


async def test_a_producer_that_was_not_awaited_says_so(client, topic):
    forgotten = client.create_producer(topic)
    with pytest.raises(NotAllowed, match="await the call that makes the producer"):
        await forgotten.send(b"x", key="k")
    await (await forgotten).close()


async def test_what_does_not_exist_is_named(client, topic):
    with pytest.raises(TopicNotFound, match=f"{topic}-missing"):
        await client.partitions(f"{topic}-missing")
    with pytest.raises(TopicNotFound, match=f"{topic}-missing"):
        await client.subscribe(f"{topic}-missing", "s", create_topic=False)
    with pytest.raises(TopicNotFound, match="persistent://public/nowhere/t"):
        await client.create_reader("public/nowhere/t")


async def test_a_time_limit_is_told_with_its_figure(topic):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # It listens, and nobody answers.
        url = f"pulsar://127.0.0.1:{silent.getsockname()[1]}"
        async with Client(url, operation_timeout_s=0.25) as client:
            with pytest.raises(TimedOut, match=f"{url} did not answer within 0.25 s"):
                await client.partitions(topic)
            with pytest.raises(TimedOut, match=r"was not attached within 0.25 s|within 0.25 s"):
                await client.create_producer(topic)


async def test_what_it_is_can_be_seen_in_a_debugger(client, topic):
    wanted = [
        f"<Producer p of {topic}>",
        f"<Consumer c of {topic}, subscription s>",
        f"<Reader r of {topic}, subscription rs>",
    ]
    async with (
        client.create_producer(topic, name="p") as producer,
        client.subscribe(topic, "s", name="c") as consumer,
        client.create_reader(topic, name="r", subscription="rs") as reader,
    ):
        assert list(map(repr, (producer, consumer, reader))) == wanted


def test_what_it_is_for_threads_can_be_seen_too(broker, topic):
    with (
        blocking.Client(broker.service_url) as client,
        client.create_producer(topic, name="p") as producer,
        client.subscribe(topic, "s", name="c") as consumer,
    ):
        assert repr(client) == f"<Client of {broker.service_url}>"
        assert repr(producer) == f"<Producer p of {topic}>"
        assert repr(consumer) == f"<Consumer c of {topic}, subscription s>"


def test_a_schema_prints_as_it_is_made():
    @dataclass
    class Order:
        number: int

    text = JsonSchema.from_definition('"string"')
    for schema, printed in (
        (StringSchema(), "StringSchema()"),
        (JsonSchema(Order), "JsonSchema(Order)"),
        (AvroSchema(Order), "AvroSchema(Order)"),
        (text, "JsonSchema.from_definition(...)"),
        (KeyValueSchema(StringSchema(), text), f"KeyValueSchema(StringSchema(), {text!r})"),
    ):
        assert repr(schema) == printed
