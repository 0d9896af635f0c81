"""Transactions of our client at a broker: what others see of them, and when.

``make test-pulsar`` runs the same against Apache Pulsar.
"""

import asyncio
import random
from contextlib import suppress

import pytest
from support.admin import ask
from support.apache_pulsar import WITH_PULSAR
from support.draining import data, drained

from magnetar import (
    EARLIEST_MESSAGE,
    Client,
    CompressionType,
    InitialPosition,
    SubscriptionType,
    TransactionState,
)
from magnetar.client import blocking
from magnetar.errors import CommitUnknown, ConnectionLost, TransactionAborted, TransactionConflict
from magnetar.schemas import StringSchema

SHARED, EXCLUSIVE = SubscriptionType.SHARED, SubscriptionType.EXCLUSIVE
TOPICS = 10


async def subscribe(client, topic, kind=SHARED, **options):
    options = {"initial_position": InitialPosition.EARLIEST, **options}
    return await client.subscribe(topic, "s", type=kind, **options)


async def everything(client, topic):
    """All that a reader of the topic gets, from its first message to its last visible one."""
    found = []
    async with client.create_reader(topic, EARLIEST_MESSAGE) as reader:
        while await reader.has_message_available():
            found += await reader.receive_many(timeout_s=20)
    return data(found)


def cut(client):
    """Break all its connections, as a network would."""
    for connection in list(client._pool._open.values()):
        connection.abort(ConnectionLost("cut by the test"))


@pytest.mark.parametrize("batching", [True, False])
async def test_messages_are_delivered_when_it_is_committed(client, topic, batching):
    producer = await client.create_producer(topic, batching=batching)
    consumer = await subscribe(client, topic)
    before = await producer.send(b"before")
    async with client.transaction() as txn:
        await producer.send(b"one", txn=txn)
        await producer.send_many([b"two", b"three"], txn=txn)
        await producer.enqueue([b"four"], txn=txn)
        await producer.send(b"plain")
        assert (await consumer.last_message_id()).position == before.position
        assert data(await drained(consumer, 1)) == [b"before"]
    sent = [b"one", b"two", b"three", b"four", b"plain"]
    assert data(await drained(consumer, 5)) == sent
    assert await everything(client, topic) == [b"before", *sent]


async def test_messages_of_an_aborted_one_never_are(client, topic):
    producer = await client.create_producer(topic)
    consumer = await subscribe(client, topic)
    async with client.transaction() as txn:
        await producer.send_many([b"a", b"b"], txn=txn)
        await txn.abort()
    await producer.send(b"after")
    assert data(await drained(consumer, 1)) == [b"after"]
    assert await everything(client, topic) == [b"after"]


@pytest.mark.parametrize("kind", [SHARED, EXCLUSIVE, SubscriptionType.KEY_SHARED])
async def test_acknowledgements_count_when_it_is_committed(client, topic, kind):
    producer = await client.create_producer(topic, batching=False)
    consumer = await subscribe(client, topic, kind)
    await producer.send_many([b"%d" % n for n in range(4)])
    async with client.transaction() as txn:
        for message in await drained(consumer, 3):
            consumer.acknowledge(message, txn=txn)
    assert await consumer.backlog() == 1
    await consumer.close()
    again = await subscribe(client, topic, kind)
    assert data(await drained(again, 1)) == [b"3"]


@pytest.mark.parametrize("kind", [SHARED, EXCLUSIVE])
@pytest.mark.parametrize("batching", [True, False])
async def test_after_an_abort_messages_come_again(client, topic, kind, batching):
    producer = await client.create_producer(topic, batching=batching)
    consumer = await subscribe(client, topic, kind)
    await producer.send_many([b"%d" % n for n in range(4)])
    txn = await client.transaction()
    await consumer.acknowledge((await drained(consumer, 4))[1:3], txn=txn)
    await txn.abort()
    wanted = {b"1", b"2"}
    while wanted:  # Others of the same batch may come as well.
        wanted.discard((await consumer.receive(20)).data)


async def test_messages_of_one_batch_in_two_transactions(client, topic):
    producer = await client.create_producer(topic)
    consumer = await subscribe(client, topic)
    await producer.send_many([b"%d" % n for n in range(6)])
    messages = await drained(consumer, 6)
    async with client.transaction() as one, client.transaction() as other:
        await consumer.acknowledge(messages[:2], txn=one)
        await consumer.acknowledge(messages[2:4], txn=other)
        with pytest.raises(TransactionConflict):
            async with client.transaction() as third:
                await consumer.acknowledge(messages[3], txn=third)
    await consumer.close()
    again = await subscribe(client, topic)
    assert data(await drained(again, 2)) == [b"4", b"5"]
    async with client.transaction() as txn:
        await again.acknowledge(messages[4:], txn=txn)
    assert await again.backlog() == 0


async def test_what_is_taken_back_of_a_batch_comes_again_whoever_acknowledges_the_rest(
    client, topic
):
    consumer = await client.subscribe(topic, "sub", type=SubscriptionType.SHARED, ack_receipts=True)
    producer = await client.create_producer(topic, batch_delay_s=0.2)
    await asyncio.gather(*(producer.send(each) for each in (b"a", b"b", b"c")))
    first, second, third = [await consumer.receive() for _ in range(3)]
    one, two = await client.transaction(), await client.transaction()
    await consumer.acknowledge(first, txn=one)
    await consumer.acknowledge(second, txn=two)
    third_done = asyncio.ensure_future(consumer.acknowledge(third))
    await one.abort()
    again = await consumer.receive()
    while again.value != b"a":
        again = await consumer.receive()
    await asyncio.gather(consumer.acknowledge(again), third_done)
    await two.abort()
    await consumer.close()
    consumer = await client.subscribe(topic, "sub", type=SubscriptionType.SHARED)
    while (await consumer.receive(timeout_s=10)).value != b"b":
        pass


async def test_who_was_given_a_batch_in_part_does_not_acknowledge_what_it_was_not_given(
    client, topic
):
    consumer = await client.subscribe(topic, "sub", type=SubscriptionType.SHARED, ack_receipts=True)
    producer = await client.create_producer(topic, batch_delay_s=0.2)
    await asyncio.gather(*(producer.send(each) for each in (b"a", b"b", b"c")))
    first, second, third = [await consumer.receive() for _ in range(3)]
    one, two = await client.transaction(), await client.transaction()
    await consumer.acknowledge(first, txn=one)
    await consumer.acknowledge(second, txn=two)
    done = [consumer.acknowledge(third)]
    await one.abort()
    again = await consumer.receive()
    assert again.value == b"a"
    await two.abort()
    done.append(consumer.acknowledge(again))
    while (again := await consumer.receive(timeout_s=10)).value != b"b":
        done.append(consumer.acknowledge(again))
    await asyncio.gather(*done, consumer.acknowledge(again))
    while await consumer.backlog():
        await consumer.acknowledge(await consumer.receive(timeout_s=10))


async def test_cumulative_acknowledgements(client, topic):
    producer = await client.create_producer(topic)
    consumer = await subscribe(client, topic, EXCLUSIVE)
    await producer.send_many([b"%d" % n for n in range(3)])
    await producer.send_many([b"%d" % n for n in range(3, 6)])
    messages = await drained(consumer, 6)
    txn = await client.transaction()
    await consumer.acknowledge_cumulative(messages[5], txn=txn)
    await txn.abort()
    assert data(await drained(consumer, 6)) == [b"%d" % n for n in range(6)]
    async with client.transaction() as txn:
        await consumer.acknowledge_cumulative(messages[3], txn=txn)
    await consumer.close()
    again = await subscribe(client, topic, EXCLUSIVE)
    assert data(await drained(again, 2)) == [b"4", b"5"]


async def test_cumulative_acknowledgements_go_on_within_a_batch(client, topic):
    producer = await client.create_producer(topic)
    consumer = await subscribe(client, topic, EXCLUSIVE)
    await producer.send_many([b"%d" % n for n in range(6)])
    messages = await drained(consumer, 6)
    async with client.transaction() as txn:
        await consumer.acknowledge_cumulative(messages[1], txn=txn)
        await consumer.acknowledge_cumulative(messages[3], txn=txn)
    await consumer.close()
    again = await subscribe(client, topic, EXCLUSIVE)
    assert data(await drained(again, 2)) == [b"4", b"5"]


async def test_what_two_transactions_acknowledge_is_a_conflict(client, topic):
    producer = await client.create_producer(topic, batching=False)
    consumer = await subscribe(client, topic)
    await producer.send(b"one")
    message = await consumer.receive(20)
    one = await client.transaction()
    await consumer.acknowledge(message, txn=one)
    with pytest.raises(TransactionAborted) as aborted:
        async with client.transaction() as other:
            consumer.acknowledge(message, txn=other)
    assert isinstance(aborted.value.__cause__, TransactionConflict)
    await one.commit()
    assert await consumer.backlog() == 0


async def test_a_broker_ends_what_takes_too_long(client, topic):
    producer = await client.create_producer(topic)
    consumer = await subscribe(client, topic)
    txn = await client.transaction(timeout_s=0.5)
    await producer.send(b"late", txn=txn)
    await producer.send(b"after")
    assert data(await drained(consumer, 1)) == [b"after"]  # Since the broker has aborted it.
    with pytest.raises(TransactionAborted, match=r"not committed within 0\.5 s"):
        await txn.commit()


async def test_many_topics_and_partitions(broker, client, topic):
    ask(broker, "PUT", f"{topic.replace('://', '/')}/partitions", 4)
    topics = [topic, *(f"{topic}-{n}" for n in range(TOPICS - 1))]
    producers = [await client.create_producer(name) for name in topics]
    consumer = await subscribe(client, topics)
    for outcome in ("aborted", "committed"):
        async with client.transaction() as txn:
            await asyncio.gather(
                *(
                    each.send_many([f"{outcome}-{n}".encode() for n in range(8)], txn=txn)
                    for each in producers
                )
            )
            if outcome == "aborted":
                await txn.abort()
    messages = await drained(consumer, 8 * TOPICS)
    assert {message.data.partition(b"-")[0] for message in messages} == {b"committed"}
    async with client.transaction() as txn:
        consumer.acknowledge(messages, txn=txn)
    assert await consumer.backlog() == 0


async def test_read_process_write(client, topic):
    source, results = await client.create_producer(topic), f"{topic}-results"
    producer = await client.create_producer(results)
    consumer = await subscribe(client, topic)
    await source.send_many([b"%d" % n for n in range(100)])
    chance = random.Random(3)
    left = 100
    while left:
        try:
            async with client.transaction() as txn:
                messages = await consumer.receive_many(17, timeout_s=20)
                consumer.acknowledge(messages, txn=txn)
                await producer.send_many([b"=" + each.data for each in messages], txn=txn)
                if chance.random() < 0.4:
                    await txn.abort()
        except TransactionAborted:
            pass  # A batch came again as a whole, with messages that were acknowledged before.
        if txn.state is TransactionState.COMMITTED:
            left -= len(messages)
    assert sorted(await everything(client, results)) == sorted(b"=%d" % n for n in range(100))


async def test_what_a_message_can_be_it_can_be_in_a_transaction(client, topic):
    producers = [
        await client.create_producer(topic, compression=CompressionType.ZSTD),
        await client.create_producer(topic, batching=False, chunking=True),
    ]
    consumer = await subscribe(client, topic)
    big = random.Random(5).randbytes(6 << 20)
    async with client.transaction() as txn:
        await producers[0].send(b"x", key="k", properties={"a": "b"}, event_time_ms=5, txn=txn)
        await producers[1].send(big, txn=txn)
    small, large = sorted(await drained(consumer, 2), key=lambda message: len(message.data))
    assert (small.data, small.key, small.properties, small.event_time_ms) == (
        b"x",
        "k",
        {"a": "b"},
        5,
    )
    assert large.data == big
    async with client.transaction() as txn:
        consumer.acknowledge([small, large], txn=txn)
    assert await consumer.backlog() == 0


async def test_values_of_schemas(client, topic):
    producer = await client.create_producer(topic, schema=StringSchema())
    consumer = await client.subscribe(topic, "s", schema=StringSchema())
    async with client.transaction() as txn:
        await producer.send("one", txn=txn)
        await producer.send_many(["two", "three"], txn=txn)
    assert [each.value for each in await drained(consumer, 3)] == ["one", "two", "three"]


async def test_connections_break_in_mid_transaction(client, topic):
    producer = await client.create_producer(topic, batching=False)
    consumer = await subscribe(client, topic)
    await producer.send_many([b"in-1", b"in-2"])
    one, two = await drained(consumer, 2)
    async with client.transaction() as txn:
        await producer.send(b"out-1", txn=txn)
        await consumer.acknowledge(one, txn=txn)
        cut(client)
        await producer.send(b"out-2", txn=txn)
        await consumer.acknowledge(two, txn=txn)
        cut(client)
    wanted = [b"out-1", b"out-2"]
    while wanted:  # What comes in again was on its way when a connection broke.
        message = await consumer.receive(20)
        assert message.data in {b"in-1", b"in-2", wanted[0]}
        wanted = [each for each in wanted if each != message.data]
    assert await everything(client, topic) == [b"in-1", b"in-2", b"out-1", b"out-2"]


async def test_a_commit_of_which_the_answer_is_lost_is_asked_for_again(broker, client, topic):
    """Apache Pulsar's coordinators have forgotten by then how it ended."""
    producer = await client.create_producer(topic)
    txn = await client.transaction()
    await producer.send(b"in it", txn=txn)
    async with Client(broker.service_url) as observer:
        consumer = await subscribe(observer, topic)
        for connection in client._pool._open.values():
            connection._transport.pause_reading()
        commit = asyncio.ensure_future(txn.commit())
        assert data(await drained(consumer, 1)) == [b"in it"]  # It is committed.
    cut(client)
    if WITH_PULSAR:
        with pytest.raises(CommitUnknown):
            await commit
    else:
        await commit
        assert txn.state is TransactionState.COMMITTED


async def test_topics_are_unloaded_in_mid_transaction(broker, client, topic):
    producer = await client.create_producer(topic, batching=False)
    consumer = await subscribe(client, topic)
    await producer.send(b"in")
    message = await consumer.receive(20)
    for outcome in ("aborted", "committed"):
        txn = await client.transaction()
        await consumer.acknowledge(message, txn=txn)
        await producer.send(f"{outcome}-1".encode(), txn=txn)
        ask(broker, "PUT", f"{topic.replace('://', '/')}/unload")
        await producer.send(f"{outcome}-2".encode(), txn=txn)
        await (txn.abort() if outcome == "aborted" else txn.commit())
    assert await everything(client, topic) == [b"in", b"committed-1", b"committed-2"]
    await consumer.close()
    assert data(await drained(await subscribe(client, topic), 2)) == [
        b"committed-1",
        b"committed-2",
    ]


async def test_a_commit_whose_answer_is_lost_happens_once(broker, topic):
    """Connections are cut at every moment of a commit. Apache Pulsar may not say that it was."""
    chance = random.Random(7)
    backoff = {"backoff_first_s": 0.01, "backoff_max_s": 0.05}
    async with Client(broker.service_url, **backoff) as client:
        producer = await client.create_producer(topic)
        for number in range(30):
            txn = await client.transaction()
            await producer.send(b"%d" % number, txn=txn)
            commit = asyncio.ensure_future(txn.commit())
            asyncio.get_running_loop().call_later(chance.random() * 0.01, cut, client)
            with suppress(CommitUnknown):
                await commit
            assert WITH_PULSAR or txn.state is TransactionState.COMMITTED
        assert await everything(client, topic) == [b"%d" % number for number in range(30)]


async def test_transactions_at_the_same_time(client, topic):
    producer = await client.create_producer(topic)
    consumer = await subscribe(client, topic)

    async def work(number):
        txn = await client.transaction()
        await producer.send_many([b"%d-%d" % (number, n) for n in range(5)], txn=txn)
        await (txn.commit() if number % 3 else txn.abort())

    await asyncio.gather(*(work(number) for number in range(30)))
    expected = sorted(b"%d-%d" % (each, n) for each in range(30) if each % 3 for n in range(5))
    assert sorted(data(await drained(consumer, len(expected)))) == expected
    assert sorted(await everything(client, topic)) == expected


def test_the_same_for_threads(broker, topic):
    with blocking.Client(broker.service_url) as client:
        producer = client.create_producer(topic)
        consumer = client.subscribe(topic, "s", type=SHARED)
        with client.transaction() as txn:
            producer.send(b"one", txn=txn)
        message = consumer.receive(20)
        with client.transaction() as txn:
            consumer.acknowledge(message, txn=txn)
            producer.send(b"two", txn=txn)
            txn.abort()
        again = consumer.receive(20)
        with client.transaction() as txn:
            consumer.acknowledge(again, txn=txn)
            producer.send(b"three", txn=txn)
        assert [message.data, again.data, consumer.receive(20).data] == [b"one", b"one", b"three"]
