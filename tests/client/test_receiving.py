"""How much is received at once, and when the broker sends it."""

import asyncio

import pytest
from support.admin import ask
from support.loop import until

from magnetar import InitialPosition, KeySharedPolicy, SubscriptionType
from magnetar.errors import ConsumerAssignFailed, InvalidValue, TimedOut

HALVES = [
    KeySharedPolicy(sticky_ranges=[(0, 32_767)]),
    KeySharedPolicy(sticky_ranges=[(32_768, 65_535)]),
]


async def subscribe(client, topic, **options):
    return await client.subscribe(topic, "s", initial_position=InitialPosition.EARLIEST, **options)


async def put(client, topic, *payloads, **options):
    async with await client.create_producer(topic, **options) as producer:
        await producer.send_many(payloads)


def data(messages):
    return [message.data for message in messages]


async def test_who_receives_without_a_pause_lets_the_loop_ask_for_more(client, topic):
    consumer = await subscribe(client, topic, receiver_queue_size=100)
    await put(client, topic, *(b"%d" % number for number in range(100)))
    await until(lambda: consumer.stats.messages_queued == 100)
    await consumer.receive()
    received, ran = 1, []
    asyncio.get_running_loop().call_soon(lambda: ran.append(received))
    for received in range(1, 100):
        assert (await consumer.receive()).data == b"%d" % received
    assert len(ran) == 1
    assert ran[0] >= 50, "that many have to be consumed before the broker is asked"


async def test_a_list_that_is_cancelled_while_the_loop_asks_for_more_comes_next(client, topic):
    consumer = await subscribe(client, topic, receiver_queue_size=10)
    await put(client, topic, *(b"%d" % number for number in range(10)))
    await until(lambda: consumer.stats.messages_queued == 10)
    waiting = asyncio.ensure_future(consumer.receive_many(8))
    asyncio.get_running_loop().call_soon(waiting.cancel)
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert data(await consumer.receive_many(8)) == [b"%d" % number for number in range(8)]


async def test_a_list_is_complete_when_it_has_enough_messages(client, topic):
    consumer = await subscribe(client, topic)
    await put(client, topic, b"0", b"1")
    waiting = asyncio.ensure_future(consumer.receive_many(4, 10, count_min=4))
    await put(client, topic, b"2", b"3", b"4", batching=False)
    assert data(await waiting) == [b"0", b"1", b"2", b"3"]
    assert data(await consumer.receive_many(5, 10)) == [b"4"]


async def test_when_the_time_is_up_a_list_is_what_there_is(client, topic):
    consumer = await subscribe(client, topic)
    await put(client, topic, b"0", b"1")
    found = []
    async with asyncio.timeout(10):
        while len(found) < 2:
            found += data(await consumer.receive_many(5, 0.05, count_min=5))
    assert found == [b"0", b"1"]


async def test_a_list_is_complete_when_it_has_enough_bytes(client, topic):
    consumer = await subscribe(client, topic)
    await put(client, topic, b"aaaa", b"bbbb", b"cccc", b"d" * 50, b"e")
    lists = [await consumer.receive_many(10, 10, count_min=10, bytes_max=9) for _ in range(3)]
    assert [data(each) for each in lists] == [[b"aaaa", b"bbbb"], [b"cccc"], [b"d" * 50]]
    assert (await consumer.receive(10)).data == b"e"
    with pytest.raises(InvalidValue, match="bytes_max"):
        await consumer.receive_many(10, bytes_max=0)


async def test_a_list_that_is_given_up_leaves_its_messages_to_the_next_call(client, topic):
    consumer = await subscribe(client, topic)
    await put(client, topic, b"0", b"1")
    waiting = asyncio.ensure_future(consumer.receive_many(5, count_min=5))
    await put(client, topic, b"2")
    await asyncio.sleep(0.05)  # It has taken some of them by then.
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert data(await consumer.receive_many(5, 10, count_min=3)) == [b"0", b"1", b"2"]


async def test_without_a_queue_a_message_comes_to_who_waits(client, topic):
    """Two consumers: the second gets what the first has not asked for."""
    options = {"type": SubscriptionType.SHARED, "receiver_queue_size": 0}
    busy = await subscribe(client, topic, **options)
    free = await subscribe(client, topic, **options)
    await put(client, topic, *(b"%d" % number for number in range(6)), batching=False)
    assert (await busy.receive(10)).data == b"0"
    assert [(await free.receive(10)).data for _ in range(5)] == [b"%d" % n for n in range(1, 6)]
    with pytest.raises(TimedOut):
        await busy.receive(0.05)


async def test_without_a_queue_batches_are_received_whole(client, topic):
    await put(client, topic, *(b"%d" % number for number in range(7)), batch_messages_max=3)
    consumer = await subscribe(client, topic, receiver_queue_size=0)
    assert [(await consumer.receive(10)).data for _ in range(7)] == [b"%d" % n for n in range(7)]
    await put(client, topic, b"7")
    assert (await consumer.receive(10)).data == b"7"


async def test_without_a_queue_there_is_one_topic(broker, client, topic):
    ask(broker, "PUT", topic.replace("://", "/") + "/partitions", 2)
    for topics in (topic, [f"{topic}-a", f"{topic}-b"]):
        with pytest.raises(InvalidValue, match="receiver_queue_size=0"):
            await subscribe(client, topics, receiver_queue_size=0)


async def test_nothing_comes_to_a_consumer_that_is_paused(client, topic):
    await put(client, topic, b"0", b"1", b"2", batching=False)
    consumer = await subscribe(client, topic, start_paused=True, receiver_queue_size=1)
    assert await consumer.receive_many(5, 0.1) == []
    consumer.resume()
    assert (await consumer.receive(10)).data == b"0"
    consumer.pause()
    sent_ahead = data(await consumer.receive_many(5, 0.1, count_min=5))
    assert sent_ahead in ([], [b"1"])
    consumer.resume()
    rest = data(await consumer.receive_many(2 - len(sent_ahead), 10, count_min=2))
    assert sent_ahead + rest == [b"1", b"2"]


async def test_the_consumer_with_the_lower_level_is_served_first(client, topic):
    options = {"type": SubscriptionType.SHARED, "priority_level": 1}
    second = await subscribe(client, topic, **options)
    first = await subscribe(client, topic, **{**options, "priority_level": 0})
    await put(client, topic, *(b"%d" % number for number in range(10)), batching=False)
    assert len(await first.receive_many(10, 10, count_min=10)) == 10
    assert await second.receive_many(10, 0.05) == []


async def test_keys_go_to_the_consumers_that_declared_their_slots(client, topic):
    consumers = [
        await subscribe(client, topic, type=SubscriptionType.KEY_SHARED, key_shared_policy=policy)
        for policy in HALVES
    ]
    producer = await client.create_producer(topic, batching=False)
    for number in range(20):
        await producer.send(b"%d" % number, key=f"k{number % 10}")
    found = [[], []]
    async with asyncio.timeout(10):
        while len(found[0]) + len(found[1]) < 20:
            for received, consumer in zip(found, consumers, strict=True):
                received.extend(await consumer.receive_many(20, 0.02))
    first, second = ({message.key for message in received} for received in found)
    assert first | second == {f"k{number}" for number in range(10)}
    assert first
    assert second
    assert not first & second


async def test_a_slot_that_is_taken_is_refused(client, topic):
    options = {"type": SubscriptionType.KEY_SHARED}
    await subscribe(client, topic, key_shared_policy=HALVES[0], **options)
    with pytest.raises(ConsumerAssignFailed):
        await subscribe(
            client, topic, key_shared_policy=KeySharedPolicy(sticky_ranges=[(5, 9)]), **options
        )


@pytest.mark.unmoved  # It ends with the broker that has it.
async def test_a_subscription_that_is_not_durable_ends_with_its_consumers(broker, client, topic):
    stats = topic.replace("://", "/") + "/stats"
    await put(client, topic, *(b"%d" % number for number in range(4)), batching=False)
    options = {"type": SubscriptionType.SHARED, "durable": False, "negative_ack_delay_s": 0.05}
    one = await subscribe(client, topic, **options)
    messages = await one.receive_many(4, 10, count_min=4)
    assert data(messages) == [b"0", b"1", b"2", b"3"]
    await one.acknowledge(messages[1:])
    one.negative_acknowledge(messages[0])
    assert (await one.receive(10)).redelivery_count == 1
    two = await subscribe(client, topic, **options)
    subscriptions = ask(broker, "GET", stats)["subscriptions"]
    assert [(name, found["isDurable"]) for name, found in subscriptions.items()] == [("s", False)]
    await one.close()
    assert data([await two.receive(10)]) == [b"0"]
    await two.close()
    assert ask(broker, "GET", stats)["subscriptions"] == {}


async def test_settings_for_several_clusters_are_taken(client, topic):
    """A broker of one cluster has nobody to tell."""
    consumer = await subscribe(client, topic, replicate_subscription_state=True)
    await put(client, topic, b"0")
    assert (await consumer.receive(10)).data == b"0"
