"""Consumers of several topics, some of which come later."""

import pytest
from support.admin import ask
from support.loop import until

from magnetar import Client, InitialPosition
from magnetar.errors import ConsumerBusy, TopicNotFound

SOON = {"topics_refresh_s": 0.1}


async def put(client, topic, *payloads):
    async with await client.create_producer(topic, batching=False) as producer:
        await producer.send_many(payloads)


async def drained(consumer, count):
    messages = await consumer.receive_many(count, 10, count_min=count)
    consumer.acknowledge(messages)
    return sorted(message.data for message in messages)


async def test_a_topic_of_a_list_is_subscribed_when_it_appears(client, topic):
    here, later = f"{topic}-here", f"{topic}-later"
    await put(client, here, b"0")
    options = {"create_topic": False, "initial_position": InitialPosition.EARLIEST}
    consumer = await client.subscribe([here, later], "s", **options, **SOON)
    assert consumer.topics == [here]
    assert await drained(consumer, 1) == [b"0"]
    await put(client, later, b"1")
    assert await drained(consumer, 1) == [b"1"]
    assert set(consumer.topics) == {here, later}


async def test_nothing_of_what_comes_before_the_subscription_is_missed(client, topic):
    """A new subscription begins at the end, but not on a topic that came later."""
    consumer = await client.subscribe([topic], "s", create_topic=False, **SOON)
    assert consumer.topics == []
    assert not consumer.reached_end
    await put(client, topic, b"0", b"1")
    assert await drained(consumer, 2) == [b"0", b"1"]


async def test_a_partitioned_topic_may_appear_too(broker, client, topic):
    consumer = await client.subscribe([topic], "s", create_topic=False, **SOON)
    ask(broker, "PUT", topic.replace("://", "/") + "/partitions", 3)
    await until(lambda: len(consumer.topics) == 3)
    await put(client, topic, *(b"%d" % number for number in range(9)))
    assert await drained(consumer, 9) == [b"%d" % number for number in range(9)]


async def test_a_topic_that_the_broker_lets_nobody_create_may_appear_too(broker, client, caplog):
    namespace = "public/made-by-administrators"
    ask(broker, "PUT", f"namespaces/{namespace}")
    policy = {"allowAutoTopicCreation": False}
    ask(broker, "POST", f"namespaces/{namespace}/autoTopicCreation", policy)
    topic = f"persistent://{namespace}/t"
    async with client.subscribe([topic], "s", **SOON) as consumer:
        assert consumer.topics == []
        ask(broker, "PUT", f"persistent/{namespace}/t")
        await put(client, topic, b"0")
        assert await drained(consumer, 1) == [b"0"]
    assert caplog.text.count(f"consumer.topic_missing topic={topic}") == 1


async def test_one_topic_alone_must_be_there(client, topic):
    with pytest.raises(TopicNotFound):
        await client.subscribe(topic, "s", create_topic=False)


async def test_a_topic_that_refuses_keeps_the_others_from_opening(client, topic):
    """As in Pulsar: the application hears of it at once, and nothing is left behind."""
    await client.subscribe(f"{topic}-taken", "s")
    with pytest.raises(ConsumerBusy):
        await client.subscribe([f"{topic}-taken", f"{topic}-free"], "s")
    await client.subscribe(f"{topic}-free", "s")


async def test_a_topic_that_is_deleted_leaves_the_others_working(broker, client, topic):
    kept, gone = f"{topic}-kept", f"{topic}-gone"
    for each in (kept, gone):
        await put(client, each, b"first")
    options = {"create_topic": False, "initial_position": InitialPosition.EARLIEST}
    consumer = await client.subscribe([kept, gone], "s", **options, **SOON)
    messages = await consumer.receive_many(2, 10, count_min=2)
    ask(broker, "DELETE", gone.replace("://", "/") + "?force=true")
    await until(lambda: consumer.topics == [kept])
    consumer.acknowledge(messages)  # Of the one that is gone, to no effect.
    await put(client, kept, b"second")
    assert await drained(consumer, 1) == [b"second"]
    await put(client, gone, b"again")
    assert await drained(consumer, 1) == [b"again"]


@pytest.mark.unmoved  # What is not acknowledged comes again from where a topic is moved to.
async def test_a_list_of_partitioned_and_plain_topics_grows(broker, topic):
    path = topic.replace("://", "/") + "/partitions"
    ask(broker, "PUT", path, 1)
    async with Client(broker.service_url, partitions_refresh_s=0.1) as client:
        consumer = await client.subscribe([topic, f"{topic}-plain"], "s")
        ask(broker, "POST", path, 3)
        await until(lambda: len(consumer.topics) == 4)
        await put(client, topic, *(b"%d" % number for number in range(6)))
        await put(client, f"{topic}-plain", b"6")
        assert await drained(consumer, 7) == [b"%d" % number for number in range(7)]
