"""What people bring from other asyncio libraries holds here, too."""

import asyncio

import pytest

from magnetar import Client, InitialPosition
from magnetar.errors import AlreadyClosed, ConnectionLost, InvalidValue, NotAllowed, TimedOut


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
