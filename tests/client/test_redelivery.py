"""Messages that our client refuses, or does not acknowledge in time, come again.

The system's clock tells that none comes early.
"""

import asyncio
import time

import pytest
from support.draining import data, drained

from magnetar import RedeliveryBackoff, SubscriptionType

pytestmark = pytest.mark.unmoved  # How often a message came is counted in memory.

SHARED, EXCLUSIVE = SubscriptionType.SHARED, SubscriptionType.EXCLUSIVE
PAYLOADS = [b"%d" % number for number in range(6)]


async def published(client, topic, *, batch, **options):
    """Consumer and messages: three entries of two messages each, or six entries."""
    consumer = await client.subscribe(topic, "s", **options)
    producer = await client.create_producer(topic, batch_messages_max=batch)
    await producer.send_many(PAYLOADS)
    return consumer, await drained(consumer, len(PAYLOADS))


async def test_a_refused_message_comes_again_and_is_counted(client, topic):
    options = {"type": SHARED, "negative_ack_delay_s": 0.1}
    consumer, messages = await published(client, topic, batch=1, **options)
    consumer.acknowledge(messages[:4])
    for count in (1, 2):
        consumer.negative_acknowledge(messages[4:])
        messages[4:] = await drained(consumer, 2)
        assert data(messages[4:]) == PAYLOADS[4:]
        assert [message.redelivery_count for message in messages[4:]] == [count, count]
    consumer.acknowledge(messages[4:])
    assert await consumer.receive_many(1, 0.2) == []


async def test_of_a_refused_batch_comes_what_is_not_acknowledged(client, topic):
    options = {"type": SHARED, "negative_ack_delay_s": 0.1}
    consumer, messages = await published(client, topic, batch=2, **options)
    consumer.acknowledge(messages[1:])
    consumer.negative_acknowledge(messages[0].message_id)
    assert data(await drained(consumer, 1)) == PAYLOADS[:1]


async def test_an_exclusive_consumer_gets_all_again_that_it_did_not_acknowledge(client, topic):
    options = {"type": EXCLUSIVE, "negative_ack_delay_s": 0.1}
    consumer, messages = await published(client, topic, batch=1, **options)
    consumer.acknowledge(messages[:2])
    consumer.negative_acknowledge(messages[4])
    again = await drained(consumer, 4)
    assert data(again) == PAYLOADS[2:]
    assert all(message.redelivered for message in again)


@pytest.mark.parametrize("kind", [SHARED, EXCLUSIVE])
async def test_what_is_not_acknowledged_in_time_comes_again(client, topic, kind):
    options = {"type": kind, "ack_timeout_s": 0.3, "ack_timeout_tick_s": 0.1}
    consumer, messages = await published(client, topic, batch=1, **options)
    consumer.acknowledge(messages[:3])
    if kind is EXCLUSIVE:
        consumer.acknowledge_cumulative(messages[4])
    else:
        consumer.acknowledge(messages[3:5])
    [again] = await drained(consumer, 1)
    assert (again.data, again.redelivered) == (PAYLOADS[5], True)
    consumer.acknowledge(again)
    assert await consumer.receive_many(1, 0.6) == []


@pytest.mark.parametrize("kind", [SHARED, EXCLUSIVE])
async def test_what_is_refused_again_and_again_comes_later_each_time(client, topic, kind):
    options = {"type": kind, "negative_ack_backoff": RedeliveryBackoff(min_s=0.1, max_s=0.4)}
    consumer, [message, *rest] = await published(client, topic, batch=1, **options)
    consumer.acknowledge(rest)
    for least_s in (0.1, 0.2, 0.4, 0.4):
        refused = time.monotonic()
        consumer.negative_acknowledge(message)
        [message] = await drained(consumer, 1)
        assert time.monotonic() - refused >= least_s


async def test_what_a_call_left_to_the_next_one_does_not_time_out(client, topic):
    options = {"type": SHARED, "ack_timeout_s": 0.2, "ack_timeout_tick_s": 0.1}
    consumer = await client.subscribe(topic, "s", **options)
    producer = await client.create_producer(topic, batching=False)
    await producer.send_many(PAYLOADS)
    [first] = await consumer.receive_many(6, 20, count_min=6, bytes_max=1)
    [again] = [each for each in await drained_one_by_one(consumer, 6) if each.redelivered]
    assert again.message_id == first.message_id


async def drained_one_by_one(consumer, count):
    """What was left, and what the broker sends again after a while."""
    await asyncio.sleep(0.4)  # It times out by the system's clock.
    return [await consumer.receive(20) for _ in range(count)]


async def test_what_waits_in_the_client_does_not_time_out(client, topic):
    options = {"type": SHARED, "ack_timeout_s": 0.2, "ack_timeout_tick_s": 0.1}
    consumer = await client.subscribe(topic, "s", **options)
    producer = await client.create_producer(topic, batching=False)
    await producer.send_many(PAYLOADS)
    first = await consumer.receive()
    [again] = [each for each in await drained(consumer, 6) if each.redelivered]
    assert again.message_id == first.message_id
