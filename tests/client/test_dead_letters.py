"""Messages that come too often, or later, by topics of their own: dead letters and retries.

The system's clock tells that a retry waits for its delay.
"""

import asyncio
import re
import time
from dataclasses import dataclass

import pytest
from support.admin import ask
from support.draining import data, drained

from magnetar import DeadLetterPolicy, InitialPosition, ProducerAccessMode, SubscriptionType
from magnetar.errors import InvalidValue, NotAllowed, ProducerBusy
from magnetar.schemas.json import JsonSchema

pytestmark = pytest.mark.unmoved  # How often a message came is counted in memory.

SHARED, KEY_SHARED = SubscriptionType.SHARED, SubscriptionType.KEY_SHARED
EARLIEST = InitialPosition.EARLIEST
EXCLUSIVE = ProducerAccessMode.EXCLUSIVE
DELAY_S = 1.3
TICK_S = 1.1  # A broker delivers a delayed message so much earlier, and a bit.


@dataclass
class Job:
    name: str
    times: int


async def subscribed(client, topic, *, most=2, type=SHARED, **options):  # noqa: A002
    options.setdefault("dead_letter_policy", DeadLetterPolicy(most))
    options.setdefault("negative_ack_delay_s", 0.0)
    return await client.subscribe(topic, "s", type=type, **options)


async def readers(client, topic):
    return await client.subscribe(topic, "reads", initial_position=EARLIEST)


async def refused(consumer, count):
    """How often each payload comes, when ``count`` deliveries are refused."""
    seen = {}
    for _ in range(count):
        message = await consumer.receive(20)
        assert message.redelivery_count == seen.get(message.data, 0)
        seen[message.data] = seen.get(message.data, 0) + 1
        consumer.negative_acknowledge(message)
    return seen


@pytest.mark.parametrize("kind", [SHARED, KEY_SHARED])
async def test_what_is_refused_too_often_is_a_dead_letter(client, topic, kind):
    dead = await readers(client, f"{topic}-s-DLQ")
    consumer = await subscribed(client, topic, type=kind)
    producer = await client.create_producer(topic, batching=False)
    details = {"key": b"\xffk", "properties": {"a": "b"}, "event_time_ms": 5, "ordering_key": b"o"}
    origin = await producer.send(b"bad", **details)
    assert await refused(consumer, 3) == {b"bad": 3}
    letter = await dead.receive(20)
    assert letter.data == b"bad"
    assert (letter.key_bytes, letter.key_as_sent) == (b"\xffk", b"\xffk")
    assert (letter.ordering_key, letter.event_time_ms) == (b"o", 5)
    assert letter.properties == {"a": "b", "REAL_TOPIC": topic, "ORIGIN_MESSAGE_ID": str(origin)}
    await consumer.close()  # Its letter is stored, so that it is acknowledged.
    again = await client.subscribe(topic, "s", type=kind)
    assert await again.receive_many(1, 0.3) == []


async def test_of_a_batch_only_what_is_refused_is_a_dead_letter(client, topic):
    dead = await readers(client, f"{topic}-s-DLQ")
    consumer = await subscribed(client, topic, most=1)
    producer = await client.create_producer(topic, batch_messages_max=4)
    [good, *_] = await producer.send_many([b"good", b"1", b"2", b"3"])
    [first, *bad] = await drained(consumer, 4)
    consumer.acknowledge(first)
    consumer.negative_acknowledge(bad)
    consumer.negative_acknowledge(await drained(consumer, 3))
    letters = await drained(dead, 3)
    assert sorted(data(letters)) == [b"1", b"2", b"3"]
    origins = {letter.properties["ORIGIN_MESSAGE_ID"] for letter in letters}
    assert origins == {f"{good.ledger_id}:{good.entry_id}:-1:{index}" for index in (1, 2, 3)}


async def test_what_takes_too_long_too_often_is_a_dead_letter(client, topic):
    options = {"ack_timeout_s": 0.2, "ack_timeout_tick_s": 0.1}
    dead = await readers(client, f"{topic}-s-DLQ")
    consumer = await subscribed(client, topic, most=1, **options)
    await (await client.create_producer(topic)).send(b"slow")
    assert [(await consumer.receive(20)).redelivery_count for _ in range(2)] == [0, 1]
    # Nobody receives: the dead letter goes all the same.
    assert (await dead.receive(20)).data == b"slow"


async def test_the_letters_of_a_partitioned_topic_are_named_after_the_whole(broker, client, topic):
    ask(broker, "PUT", topic.replace("://", "/") + "/partitions", 2)
    dead = await readers(client, f"{topic}-s-DLQ")
    consumer = await subscribed(client, topic, most=1, enable_retry=True)
    producer = await client.create_producer(topic, batching=False)
    await producer.send_many([b"1", b"2"])
    assert await refused(consumer, 4) == {b"1": 2, b"2": 2}
    letters = await drained(dead, 2)
    assert {letter.properties["REAL_TOPIC"] for letter in letters} == {topic}
    partitions = {letter.properties["ORIGIN_MESSAGE_ID"].split(":")[2] for letter in letters}
    assert partitions == {"0", "1"}
    assert f"{topic}-s-RETRY" in consumer.topics


async def test_the_dead_letter_topic_keeps_letters_for_the_initial_subscription(client, topic):
    policy = DeadLetterPolicy(
        1, dead_letter_topic=f"{topic}-dead", initial_subscription_name="kept"
    )
    consumer = await subscribed(client, topic, dead_letter_policy=policy)
    await (await client.create_producer(topic)).send(b"bad")
    seen = await readers(client, f"{topic}-dead")
    await refused(consumer, 2)
    await seen.receive(20)
    kept = await client.subscribe(f"{topic}-dead", "kept")
    assert (await kept.receive(20)).data == b"bad"


async def test_what_the_dead_letter_topic_refuses_comes_to_the_application(client, topic, caplog):
    owner = await client.create_producer(f"{topic}-s-DLQ", access_mode=EXCLUSIVE)
    consumer = await subscribed(client, topic, most=1)
    await (await client.create_producer(topic)).send(b"bad")
    assert await refused(consumer, 3) == {b"bad": 3}
    assert "consumer.dead_letters_refused" in caplog.text
    assert "existing exclusive producer" in caplog.text
    await owner.close()
    dead = await readers(client, f"{topic}-s-DLQ")
    assert (await dead.receive(20)).data == b"bad"


async def test_a_message_comes_later_with_what_it_had_and_where_it_is_from(client, topic):
    consumer = await subscribed(client, topic, enable_retry=True)
    assert consumer.topic == topic
    producer = await client.create_producer(topic)
    origin = await producer.send(b"later", key="k", properties={"a": "b"}, event_time_ms=7)
    told = {"a": "b", "REAL_TOPIC": topic, "ORIGIN_MESSAGE_ID": str(origin), "DELAY_TIME": "1300"}
    message = await consumer.receive(20)
    sent = time.monotonic()
    await consumer.reconsume_later(message, DELAY_S, {"why": "busy"})
    message = await consumer.receive(20)
    assert time.monotonic() - sent >= DELAY_S - TICK_S
    assert message.properties == {**told, "RECONSUMETIMES": "1", "why": "busy"}
    assert message.topic == f"{topic}-s-RETRY"
    assert (message.key, message.event_time_ms, message.redelivery_count) == ("k", 7, 0)


async def test_retries_are_counted_up_to_the_dead_letter(client, topic):
    dead = await readers(client, f"{topic}-s-DLQ")
    consumer = await subscribed(client, topic, enable_retry=True)
    origin = await (await client.create_producer(topic)).send(b"later")
    for times in range(3):
        message = await consumer.receive(20)
        assert message.properties.get("RECONSUMETIMES") == (str(times) if times else None)
        await consumer.reconsume_later(message, 0)
    letter = await dead.receive(20)
    assert letter.properties == {
        "RECONSUMETIMES": "3",
        "DELAY_TIME": "0",
        "REAL_TOPIC": topic,
        "ORIGIN_MESSAGE_ID": str(origin),
    }
    assert await consumer.receive_many(1, 0.2) == []
    await consumer.close()
    for each in (topic, f"{topic}-s-RETRY"):
        left = await client.subscribe(each, "s", type=SHARED)
        assert await left.receive_many(1, 0.2) == []


async def test_a_retry_that_is_refused_raises_and_leaves_the_message(client, topic):
    policy = DeadLetterPolicy(2, retry_letter_topic=f"{topic}-again")
    consumer = await subscribed(client, topic, enable_retry=True, dead_letter_policy=policy)
    owner = await client.create_producer(f"{topic}-again", access_mode=EXCLUSIVE)
    await (await client.create_producer(topic)).send(b"later")
    message = await consumer.receive(20)
    with pytest.raises(ProducerBusy):
        await consumer.reconsume_later(message, 0)
    await owner.close()
    consumer.negative_acknowledge(message)
    message = await consumer.receive(20)
    assert (message.topic, message.redelivery_count) == (topic, 1)
    await consumer.reconsume_later(message, 0)
    assert (await consumer.receive(20)).topic == f"{topic}-again"


async def test_letters_are_for_consumers_that_share(client, topic):
    for options in ({"dead_letter_policy": DeadLetterPolicy(1)}, {"enable_retry": True}):
        with pytest.raises(InvalidValue, match="SHARED and KEY_SHARED"):
            await client.subscribe(topic, "s", **options)
        transient = topic.replace("persistent://", "non-persistent://")
        with pytest.raises(InvalidValue, match="keeps no messages"):
            await client.subscribe(transient, "s", type=SHARED, **options)
    consumer = await subscribed(client, topic)
    await (await client.create_producer(topic)).send(b"x")
    with pytest.raises(NotAllowed, match="enable_retry=True"):
        await consumer.reconsume_later(await consumer.receive(20), 1)


async def test_a_burst_of_dead_letters_is_stored_whole(client, topic):
    dead = await readers(client, f"{topic}-s-DLQ")
    consumer = await subscribed(client, topic, most=1, receiver_queue_size=100)
    producer = await client.create_producer(topic)
    sent = [b"%d" % number for number in range(1000)]
    await producer.send_many(sent)
    receiving = asyncio.ensure_future(refuse_all(consumer))
    letters = await drained(dead, len(sent))
    receiving.cancel()
    assert sorted(data(letters)) == sorted(sent)


async def refuse_all(consumer):
    while True:
        consumer.negative_acknowledge(await consumer.receive_many())


async def test_a_letter_has_the_schema_that_its_message_was_written_with(client, topic):
    schema = JsonSchema(Job)
    dead = await client.subscribe(f"{topic}-s-DLQ", "reads", schema=schema)
    consumer = await subscribed(client, topic, most=1)  # Which looks at bytes only.
    producer = await client.create_producer(topic, schema=schema)
    await producer.send(Job("sweep", 3))
    await refused(consumer, 2)
    letter = await dead.receive(20)
    assert letter.value == Job("sweep", 3)
    assert letter.schema_version is not None


async def test_dead_letters_do_not_come_back_through_a_pattern(client, topic):
    pattern = re.compile(f"{topic}.*")
    first = await client.create_producer(topic)
    consumer = await subscribed(client, pattern, most=1, topics_refresh_s=0.2)
    dead = await readers(client, f"{topic}-s-DLQ")
    await first.send(b"bad")
    await refused(consumer, 2)
    assert (await dead.receive(20)).data == b"bad"
    second = await client.create_producer(f"{topic}-more")
    await second.send(b"good")
    assert (await consumer.receive(20)).data == b"good"
    assert consumer.topics == [topic, f"{topic}-more"]


async def test_retries_of_a_list_of_topics_are_beside_the_first(client, topic):
    topics = [topic, f"{topic}-2"]
    consumer = await subscribed(client, topics, enable_retry=True)
    for each in topics:
        await (await client.create_producer(each)).send(each.encode())
    for message in await drained(consumer, 2):
        await consumer.reconsume_later(message, 0)
    again = await drained(consumer, 2)
    assert {message.topic for message in again} == {f"{topic}-s-RETRY"}
    assert {message.properties["REAL_TOPIC"] for message in again} == set(topics)


async def test_a_dead_letter_does_not_keep_one_who_waits_without_a_queue_waiting(client, topic):
    consumer = await subscribed(client, topic, most=1, receiver_queue_size=0)
    producer = await client.create_producer(topic, batching=False)
    await producer.send(b"bad")
    assert await refused(consumer, 2) == {b"bad": 2}
    receiving = asyncio.ensure_future(consumer.receive(20))
    dead = await readers(client, f"{topic}-s-DLQ")
    assert (await dead.receive(20)).data == b"bad"
    await producer.send(b"good")
    assert (await receiving).data == b"good"


async def test_a_retry_that_is_cancelled_loses_nothing(client, topic):
    consumer = await subscribed(client, topic, enable_retry=True)
    sent = [b"%d" % number for number in range(20)]
    await (await client.create_producer(topic, batching=False)).send_many(sent)
    for turns, message in enumerate(await drained(consumer, len(sent))):
        retrying = asyncio.ensure_future(consumer.reconsume_later(message, 0))
        for _ in range(turns):
            await asyncio.sleep(0)
        retrying.cancel()
        await asyncio.wait([retrying])
    await consumer.redeliver_unacknowledged()
    found = set()
    while len(found) < len(sent):
        found.add((await consumer.receive(20)).data)


async def test_a_message_without_a_value_is_a_letter_without_one(client, topic):
    dead = await readers(client, f"{topic}-s-DLQ")
    consumer = await subscribed(client, topic, most=1)
    await (await client.create_producer(topic)).send(b"", key="gone", null_value=True)
    await refused(consumer, 2)
    letter = await dead.receive(20)
    assert (letter.key, letter.null_value) == ("gone", True)
