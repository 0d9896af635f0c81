"""Topics that have ended, as our client sees them; Apache Pulsar ends them in the same way."""

import asyncio

import pytest
from support.admin import ask
from support.loop import until

from magnetar import InitialPosition, OutgoingMessage, SubscriptionType
from magnetar.errors import TopicTerminated

EARLIEST = InitialPosition.EARLIEST


async def end(broker, topic):
    path = f"{topic.replace('://', '/')}/terminate"
    return await asyncio.to_thread(ask, broker, "POST", path)


async def test_everything_sent_before_the_end_is_there_and_nothing_after(broker, client, topic):
    producer = await client.create_producer(topic)
    consumer = await client.subscribe(topic, "s", initial_position=EARLIEST)
    receipts = await producer.send_many([OutgoingMessage(b"%d" % n) for n in range(10)])
    last = await end(broker, topic)
    assert last["entryId"] == receipts[-1].entry_id
    with pytest.raises(TopicTerminated):
        await producer.send(b"late")
    with pytest.raises(TopicTerminated):
        await client.create_producer(topic)
    for number in range(10):
        assert not consumer.reached_end
        message = await consumer.receive(5)
        assert message.data == b"%d" % number
        await consumer.acknowledge(message)
    await until(lambda: consumer.reached_end)
    assert await end(broker, topic) == last


@pytest.mark.parametrize("kind", [SubscriptionType.SHARED, SubscriptionType.KEY_SHARED])
async def test_all_consumers_of_a_subscription_hear_of_the_end(broker, client, topic, kind):
    producer = await client.create_producer(topic)
    consumers = [await client.subscribe(topic, "s", type=kind) for _ in range(2)]
    await producer.send(b"only", key="k")
    await end(broker, topic)
    receiving = [asyncio.ensure_future(each.receive(5)) for each in consumers]
    done, waiting = await asyncio.wait(receiving, return_when=asyncio.FIRST_COMPLETED)
    for each in waiting:
        each.cancel()
    [received] = done
    await consumers[receiving.index(received)].acknowledge(received.result())
    await until(lambda: all(each.reached_end for each in consumers))


async def test_a_reader_reads_to_the_end_and_knows_it(broker, client, topic):
    producer = await client.create_producer(topic)
    await producer.send_many([OutgoingMessage(b"%d" % n) for n in range(3)])
    await end(broker, topic)
    reader = await client.create_reader(topic)
    assert [(await reader.receive(5)).data for _ in range(3)] == [b"0", b"1", b"2"]
    assert not await reader.has_message_available()
    await until(lambda: reader.reached_end)


async def test_who_comes_to_read_nothing_hears_of_the_end_at_once(broker, client, topic):
    await (await client.create_producer(topic)).send(b"before")
    await end(broker, topic)
    consumer = await client.subscribe(topic, "late")
    await until(lambda: consumer.reached_end)


async def test_who_goes_back_has_not_reached_the_end_any_more(broker, client, topic):
    producer = await client.create_producer(topic)
    await producer.send(b"again")
    consumer = await client.subscribe(topic, "s", initial_position=EARLIEST)
    await end(broker, topic)
    for _ in range(2):
        message = await consumer.receive(5)
        assert not consumer.reached_end
        await consumer.acknowledge(message)
        await until(lambda: consumer.reached_end)
        await consumer.seek(message.message_id)
        await until(lambda: not consumer.reached_end)
