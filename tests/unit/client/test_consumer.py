"""One consumer over several topics and partitions of a real broker in this process."""

import asyncio
import itertools

import pytest

from magnetar.client import consumer as room
from magnetar.client.client import Client
from magnetar.errors import InvalidValue, NotAllowed, TimedOut
from magnetar.model.position import EARLIEST_MESSAGE, LATEST_MESSAGE, MessageId
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.testing.local_broker import LocalBroker

NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def partitioned():
    """Topics made on demand have two partitions."""
    return {"allowAutoTopicCreationType": "partitioned", "defaultNumPartitions": 2}


@pytest.fixture
async def client():
    async with LocalBroker() as broker, Client(broker.service_url) as client:
        yield client


@pytest.fixture
async def of_partitions(partitioned):
    async with LocalBroker(settings=partitioned) as broker, Client(broker.service_url) as client:
        yield client


async def put(client, topic, *payloads):
    """Each payload as an entry of its own."""
    async with await client.create_producer(topic, batching=False) as producer:
        return await producer.send_many(payloads)


async def settled(consumer, count):
    """Wait until ``count`` messages have arrived at the client."""
    arrived = asyncio.Event()
    parts = consumer._topics.values()

    def there():
        return sum(len(part._queue._arrived) for part in parts) >= count

    for part in parts:
        put = part._queue.put

        def counted(frame, put=put):
            put(frame)
            if there():
                arrived.set()

        part._queue.put = counted
    if not there():
        await asyncio.wait_for(arrived.wait(), 10)


async def subscribe(client, *topics, **options):
    options = {"initial_position": InitialPosition.EARLIEST, **options}
    return await client.subscribe(list(topics), "s", **options)


def data(messages):
    return [message.data for message in messages]


async def drained(consumer, count):
    found = []
    while len(found) < count:
        messages = await consumer.receive_many(count - len(found), 5)
        assert messages, f"only {found} came"
        found += messages
    return found


async def test_it_says_what_it_is(client):
    consumer = await subscribe(client, "a", "b", name="me")
    assert consumer.topic == "persistent://public/default/a,persistent://public/default/b"
    assert consumer.topics == consumer.topic.split(",")
    assert (consumer.subscription, consumer.name) == ("s", "me")
    assert consumer.connected
    assert consumer.active
    assert not consumer.reached_end


async def test_every_topic_has_its_turn(client, monkeypatch):
    monkeypatch.setattr(room, "MESSAGES_PER_TOPIC_MAX", 2)
    await put(client, "a", *[b"a%d" % n for n in range(5)])
    await put(client, "b", b"b0", b"b1", b"b2")
    consumer = await subscribe(client, "a", "b")
    await settled(consumer, 8)
    turns = "".join(message.data.decode()[0] for message in await consumer.receive_many(100))
    assert turns in {"aabbaaba", "bbaabaaa"}


async def test_single_messages_take_turns_too(client):
    await put(client, "a", b"a0", b"a1")
    await put(client, "b", b"b0", b"b1")
    consumer = await subscribe(client, "a", "b")
    await settled(consumer, 4)
    found = data([await consumer.receive(5) for _ in range(4)])
    assert {data[:1] for data in found[:2]} == {b"a", b"b"}
    assert sorted(found[2:]) == [b"a1", b"b1"]


async def test_several_who_wait_get_one_each(client):
    consumer = await subscribe(client, "a", "b")
    waiting = [asyncio.ensure_future(consumer.receive(5)) for _ in range(3)]
    await put(client, "a", b"a0", b"a1")
    await put(client, "b", b"b0")
    assert sorted(data(await asyncio.gather(*waiting))) == [b"a0", b"a1", b"b0"]


async def test_time_runs_out(client):
    consumer = await subscribe(client, "a")
    with pytest.raises(TimedOut, match=r"no message from .*/a within 0\.01 s"):
        await consumer.receive(0.01)
    assert await consumer.receive_many(5, 0.01) == []


async def test_a_cancelled_receive_loses_nothing(client):
    consumer = await subscribe(client, "a")
    waiting = asyncio.ensure_future(consumer.receive())
    await asyncio.sleep(0)
    await put(client, "a", b"a0")
    waiting.cancel()
    if not waiting.done():
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert data(await consumer.receive_many(5, 5)) == [b"a0"]


async def test_iterating_ends_with_the_consumer(client):
    await put(client, "a", b"a0", b"a1")
    consumer = await subscribe(client, "a")
    found = []
    async for message in consumer:
        found.append(message.data)
        if len(found) == 2:
            await consumer.close()
    assert found == [b"a0", b"a1"]


async def test_acknowledgements_go_where_the_messages_came_from(client):
    await put(client, "a", b"a0", b"a1", b"a2")
    await put(client, "b", b"b0", b"b1")
    consumer = await subscribe(client, "a", "b")
    by_data = {message.data: message for message in await drained(consumer, 5)}
    consumer.acknowledge(iter([by_data[b"a0"], by_data[b"b1"], by_data[b"a2"]]))
    consumer.acknowledge_cumulative(by_data[b"b0"])
    await consumer.close()
    consumer = await subscribe(client, "a", "b")
    assert data(await drained(consumer, 1)) == [b"a1"]
    assert await consumer.receive_many(5, 0.05) == []


async def test_an_id_goes_to_its_partition(of_partitions):
    await put(of_partitions, "p", *[b"%d" % n for n in range(10)])
    consumer = await subscribe(of_partitions, "p")
    messages = await drained(consumer, 10)
    assert {message.partition for message in messages} == {0, 1}
    consumer.acknowledge([message.message_id for message in messages[1:]])
    await consumer.close()
    consumer = await subscribe(of_partitions, "p")
    assert data(await drained(consumer, 1)) == [messages[0].data]
    with pytest.raises(InvalidValue, match="pass the message itself"):
        consumer.acknowledge(MessageId(1, 2, 7))


async def test_an_id_of_several_topics_is_refused(client):
    consumer = await subscribe(client, "a", "b")
    with pytest.raises(InvalidValue, match="which of 2 topics"):
        consumer.acknowledge(MessageId(1, 2))


async def test_a_message_of_another_consumer_is_refused(client):
    await put(client, "elsewhere", b"x")
    other = await subscribe(client, "elsewhere")
    consumer = await subscribe(client, "a")
    with pytest.raises(InvalidValue, match="does not come from this consumer"):
        consumer.acknowledge(await other.receive(5))


@pytest.mark.parametrize("kind", [SubscriptionType.SHARED, SubscriptionType.KEY_SHARED])
async def test_nothing_cumulative_where_messages_are_shared(client, kind):
    consumer = await subscribe(client, "a", type=kind)
    with pytest.raises(NotAllowed, match=f"{kind.name} subscription"):
        consumer.acknowledge_cumulative(MessageId(1, 2))


async def test_what_is_not_acknowledged_comes_again_from_every_topic(client):
    await put(client, "a", b"a0", b"a1")
    await put(client, "b", b"b0")
    consumer = await subscribe(client, "a", "b")
    messages = await drained(consumer, 3)
    consumer.acknowledge([message for message in messages if message.data == b"a0"])
    await consumer.redeliver_unacknowledged()
    again = await drained(consumer, 2)
    assert sorted(data(again)) == [b"a1", b"b0"]
    assert all(message.redelivered for message in again)


async def test_single_messages_come_again_where_they_are_shared(client):
    await put(client, "a", b"a0", b"a1")
    await put(client, "b", b"b0", b"b1")
    consumer = await subscribe(client, "a", "b", type=SubscriptionType.SHARED)
    messages = await drained(consumer, 4)
    await consumer.redeliver_unacknowledged(m for m in messages if m.data in {b"a1", b"b0"})
    again = await drained(consumer, 2)
    assert sorted(data(again)) == [b"a1", b"b0"]
    assert {message.redelivery_count for message in again} == {1}
    assert await consumer.receive_many(5, 0.05) == []


async def test_the_ends_move_every_partition_and_an_id_its_own(of_partitions):
    ids = await put(of_partitions, "p", *[b"%d" % n for n in range(10)])
    consumer = await subscribe(of_partitions, "p")
    first = {message.data for message in await drained(consumer, 10)}
    await consumer.seek(EARLIEST_MESSAGE)
    assert {message.data for message in await drained(consumer, 10)} == first
    last_of_one = max(found for found in ids if found.partition == 1)
    await consumer.seek(last_of_one)
    assert (await consumer.receive(5)).message_id == last_of_one
    assert await consumer.receive_many(5, 0.05) == []
    await consumer.seek_time(0)
    assert {message.data for message in await drained(consumer, 10)} == first
    await consumer.seek(LATEST_MESSAGE)
    assert await consumer.receive_many(5, 0.05) == []
    await consumer.seek_last()
    assert {message.partition for message in await drained(consumer, 2)} == {0, 1}


async def test_the_last_message_is_the_greatest(of_partitions):
    consumer = await subscribe(of_partitions, "p")
    assert await consumer.last_message_id() is None
    assert not await consumer.has_message_available()
    ids = await put(of_partitions, "p", *[b"%d" % n for n in range(5)])
    assert await consumer.last_message_id() == max(ids)
    assert await consumer.has_message_available()
    await drained(consumer, 5)
    assert not await consumer.has_message_available()


async def test_unsubscribing_forgets_every_place_and_closes(client):
    await put(client, "a", b"a0")
    await put(client, "b", b"b0")
    consumer = await subscribe(client, "a", "b")
    await consumer.unsubscribe()
    with pytest.raises(NotAllowed, match="closed"):
        await consumer.receive()
    latest = await subscribe(client, "a", "b", initial_position=InitialPosition.LATEST)
    assert await latest.receive_many(5, 0.05) == []


async def test_closing_wakes_who_waits_and_drops_what_is_left(client):
    consumer = await subscribe(client, "a", "b")
    waiting = asyncio.ensure_future(consumer.receive())
    await asyncio.sleep(0)
    async with consumer:
        pass
    with pytest.raises(NotAllowed, match="closed"):
        await waiting
    await put(client, "a", b"a0")
    other = await subscribe(client, "a")
    await settled(other, 1)
    await other.close()
    with pytest.raises(NotAllowed, match="closed"):
        await other.receive_many()
    assert not other.connected
