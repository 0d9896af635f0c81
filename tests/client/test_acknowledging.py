"""Acknowledgements of our client: in groups, of parts of batches, and with the broker's answer."""

import asyncio
import gc
from weakref import ref

import pytest
from support.admin import ask
from support.draining import data, drained

from magnetar import InitialPosition, SubscriptionType
from magnetar.client import blocking
from magnetar.errors import AlreadyClosed, InvalidValue, NotAllowed

SHARED, EXCLUSIVE = SubscriptionType.SHARED, SubscriptionType.EXCLUSIVE
PAYLOADS = [b"%d" % number for number in range(6)]


async def received(client, topic, *, batch=1, **options):
    options.setdefault("type", SHARED)
    consumer = await client.subscribe(topic, "s", **options)
    producer = await client.create_producer(topic, batch_messages_max=batch)
    await producer.send_many(PAYLOADS)
    return consumer, await drained(consumer, len(PAYLOADS))


async def left(client, topic):
    """What a new consumer of the subscription gets within a moment."""
    earliest = InitialPosition.EARLIEST
    async with await client.subscribe(topic, "s", type=SHARED, initial_position=earliest) as other:
        found = await other.receive_many(10, 0.3, count_min=10)
        return sorted(data({each.message_id: each for each in found}.values()))


async def test_an_awaited_acknowledgement_has_reached_the_broker(client, topic):
    options = {"ack_receipts": True, "ack_group_time_s": 60}
    consumer, messages = await received(client, topic, **options)
    await consumer.acknowledge(messages[0])
    await consumer.acknowledge(messages[1:3])
    await asyncio.gather(*map(consumer.acknowledge, messages[3:5]))
    # It is still open, and holds what it did not acknowledge: another one gets nothing.
    assert await left(client, topic) == []
    await consumer.close()
    assert await left(client, topic) == PAYLOADS[5:]


@pytest.mark.unmoved
async def test_a_cumulative_one_is_awaited_as_well(client, topic):
    consumer, messages = await received(client, topic, type=EXCLUSIVE, ack_receipts=True)
    await consumer.acknowledge_cumulative(messages[3])
    await consumer.close()
    assert await left(client, topic) == PAYLOADS[4:]


@pytest.mark.unmoved
async def test_without_receipts_awaiting_ends_at_once_and_closing_sends_what_waits(client, topic):
    consumer, messages = await received(client, topic, ack_group_time_s=60)
    await consumer.acknowledge(messages[:5])
    await consumer.close()
    assert await left(client, topic) == PAYLOADS[5:]


@pytest.mark.parametrize("receipts", [False, True])
async def test_what_is_acknowledged_of_a_batch_does_not_come_again(client, topic, receipts):
    options = {"batch_index_ack": True, "ack_receipts": receipts}
    consumer, messages = await received(client, topic, batch=6, **options)
    await consumer.acknowledge(messages[:4])
    await consumer.redeliver_unacknowledged()
    assert data(await drained(consumer, 2)) == PAYLOADS[4:]


async def test_a_seek_ends_what_is_waited_for(client, topic):
    consumer, messages = await received(client, topic, ack_receipts=True, ack_group_time_s=60)
    waiting = asyncio.ensure_future(consumer.acknowledge(messages[:3]))
    await consumer.seek(messages[0].message_id)
    await waiting
    assert data(await drained(consumer, len(PAYLOADS))) == PAYLOADS


async def test_several_topics_have_one_answer(client, topic):
    topics = [f"{topic}-{number}" for number in range(2)]
    consumer = await client.subscribe(topics, "s", type=SHARED, ack_receipts=True)
    for each in topics:
        await (await client.create_producer(each)).send_many(PAYLOADS)
    await consumer.acknowledge(await drained(consumer, 12))
    await consumer.close()
    assert [await left(client, each) for each in topics] == [[], []]


async def test_on_a_topic_that_keeps_nothing_there_is_nothing_to_wait_for(client, topic):
    topic = topic.replace("persistent://", "non-persistent://")
    consumer, messages = await received(client, topic, ack_receipts=True)
    await consumer.acknowledge(messages)
    await consumer.acknowledge(messages[0].message_id)


def test_the_blocking_client_waits_for_the_answer(broker, topic):
    with blocking.Client(broker.service_url) as client:
        consumer = client.subscribe(topic, "s", type=SHARED, ack_receipts=True, ack_group_time_s=60)
        client.create_producer(topic, batching=False).send_many(PAYLOADS)
        messages = consumer.receive_many(6, 20, count_min=6)
        assert consumer.acknowledge(messages[:5]) is None
        with client.subscribe(topic, "s", type=SHARED) as other:
            consumer.redeliver_unacknowledged()
            consumer.close()
            assert data(other.receive_many(6, 20)) == PAYLOADS[5:]


async def test_an_acknowledgement_is_answered_though_the_topic_is_unloaded(broker, client, topic):
    consumer = await client.subscribe(topic, "s", type=SHARED, ack_receipts=True)
    producer = await client.create_producer(topic, batching=False)
    await producer.send_many([b"%d" % number for number in range(200)])
    path = topic.replace("://", "/")
    unloading = asyncio.ensure_future(asyncio.to_thread(ask, broker, "PUT", f"{path}/unload"))
    seen = set()
    while len(seen) < 200 or not unloading.done():
        for message in await consumer.receive_many(1000, 0.1):
            seen.add(message.message_id)
            await consumer.acknowledge(message)
    await unloading
    await consumer.close()
    assert await left(client, topic) == []


@pytest.mark.parametrize("receipts", [False, True])
async def test_a_consumer_that_is_closed_acknowledges_nothing(client, topic, receipts):
    consumer, messages = await received(client, topic, ack_receipts=receipts)
    await consumer.close()
    for call in (
        lambda: consumer.acknowledge(messages),
        lambda: consumer.acknowledge(messages[0]),
        lambda: consumer.negative_acknowledge(messages),
    ):
        with pytest.raises(AlreadyClosed):
            call()
    with pytest.raises(AlreadyClosed):
        await consumer.reconsume_later(messages[0], 1)
    assert len(await left(client, topic)) == len(PAYLOADS)


async def test_a_message_acknowledges_itself_and_asks_for_itself_again(client, topic):
    async with client.create_producer(topic, batching=False) as producer:
        options = {"type": SHARED, "negative_ack_delay_s": 0.05}
        consumer = await client.subscribe(topic, "s", ack_receipts=True, **options)
        await producer.send_many([b"bad", b"good"])
        for message in await drained(consumer, 2):
            if message.data == b"good":
                await message.ack()
            else:
                message.nack()
        [again] = await drained(consumer, 1)
        assert (again.data, again.redelivery_count) == (b"bad", 1)
        await again.ack()
        assert await consumer.backlog() == 0
        await consumer.close()
        with pytest.raises(AlreadyClosed):
            again.ack()


async def test_a_consumer_and_a_message_that_it_is_kept_with_are_forgotten_together(client, topic):
    consumer, messages = await received(client, topic, batch=3)
    consumer.kept = messages
    gone, message = ref(consumer), messages[0]
    await consumer.close()
    del messages, consumer
    with pytest.raises(AlreadyClosed):
        message.ack()
    del message
    await asyncio.sleep(0)  # The loop lets go of what it called last.
    gc.collect()
    assert gone() is None


async def test_the_rest_of_a_batch_is_not_acknowledged_once_it_is_closed(client, topic):
    consumer, messages = await received(client, topic, batch=3)
    consumer.acknowledge(messages[0])
    consumer.acknowledge(messages[1])
    await consumer.close()
    with pytest.raises(AlreadyClosed):
        consumer.acknowledge(messages[2])
    assert len(await left(client, topic)) == len(PAYLOADS)


def test_lists_are_acknowledged_in_the_blocking_client_too(broker, topic):
    earliest = InitialPosition.EARLIEST
    with blocking.Client(broker.service_url) as client:
        with client.create_producer(topic, batch_messages_max=3) as producer:
            producer.send_many(PAYLOADS)
        with client.subscribe(topic, "s", initial_position=earliest) as consumer:
            messages = consumer.receive_many(10, 20, count_min=6)
            consumer.acknowledge(messages[:2])
            consumer.acknowledge(iter(messages[2:3]))
            consumer.acknowledge([])
            with pytest.raises(InvalidValue):
                consumer.acknowledge([messages[3], "no message"])
            consumer.flush()
            assert consumer.backlog() == 1
        with pytest.raises(AlreadyClosed):
            consumer.acknowledge(messages[3:])
        with pytest.raises(AlreadyClosed):
            consumer.acknowledge([])
        with client.subscribe(topic, "s") as again:
            assert data(again.receive_many(10, 20, count_min=3)) == PAYLOADS[3:]
        with pytest.raises(AlreadyClosed):
            again.acknowledge(messages[4])


def test_a_message_of_the_blocking_client_does_the_same(broker, topic):
    with (
        blocking.Client(broker.service_url) as client,
        client.create_producer(topic) as producer,
        client.subscribe(topic, "s", ack_receipts=True) as consumer,
        client.create_reader(topic) as reader,
    ):
        producer.send(b"x")
        message = consumer.receive(20)
        message.nack()
        assert message.ack() is None
        assert consumer.backlog() == 0
        with pytest.raises(NotAllowed, match="what readers get needs no ack"):
            reader.receive(20).ack()
