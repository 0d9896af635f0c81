"""Listeners: in order, one message at a time, whatever they do."""

import asyncio
import logging
import threading

import pytest

from magnetar import InitialPosition, SubscriptionType
from magnetar.client import blocking
from magnetar.errors import InvalidValue

EARLIEST = InitialPosition.EARLIEST
WITHIN_S = 20


async def test_a_listener_gets_every_message_in_order_and_one_at_a_time(client, topic):
    found, all_there, at_once = [], asyncio.Event(), []

    async def listener(source, message):
        at_once.append(None)
        await asyncio.sleep(0)
        found.append((source, message.data))
        await source.acknowledge(message)
        assert len(at_once) == 1
        at_once.clear()
        if len(found) == 300:
            all_there.set()

    async with (
        client.subscribe(topic, "s", listener=listener) as consumer,
        client.create_producer(topic) as producer,
    ):
        await producer.send_many([b"%d" % number for number in range(300)])
        async with asyncio.timeout(WITHIN_S):
            await all_there.wait()
    assert found == [(consumer, b"%d" % number) for number in range(300)]


async def test_what_a_listener_fails_at_is_logged_and_comes_again(client, topic, caplog):
    tried, done = [], asyncio.Event()

    async def listener(consumer, message):
        tried.append(message.data)
        if tried.count(b"bad") == 1 and message.data == b"bad":
            consumer.negative_acknowledge(message)
            raise ValueError("cannot be processed")
        await consumer.acknowledge(message)
        if sorted(tried) == [b"bad", b"bad", b"good"]:
            done.set()

    async with (
        client.subscribe(
            topic,
            "s",
            type=SubscriptionType.SHARED,
            negative_ack_delay_s=0.05,
            initial_position=EARLIEST,
            listener=listener,
        ),
        client.create_producer(topic, batching=False) as producer,
    ):
        bad, _ = await producer.send_many([b"bad", b"good"])
        async with asyncio.timeout(WITHIN_S):
            await done.wait()
    [record] = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert record.message == f"consumer.listener_failed topic={topic} message={bad}"
    assert "cannot be processed" in record.exc_text


async def test_a_listener_may_close_its_reader_and_goes_on_to_its_end(client, topic):
    ended = asyncio.Event()

    async def listener(reader, _):
        await reader.close()
        ended.set()

    async with client.create_producer(topic) as producer:
        await producer.send(b"x")
    await client.create_reader(topic, listener=listener)
    async with asyncio.timeout(WITHIN_S):
        await ended.wait()


async def test_a_plain_function_is_refused_with_the_remedy(client):
    with pytest.raises(InvalidValue, match=r"must be a coroutine function .*blocking takes others"):
        await client.subscribe("t", "s", listener=print)


def test_blocking_listeners_run_in_threads_of_the_client(broker, topic):
    found, lock = {}, threading.Lock()
    done, blocked, free = threading.Event(), threading.Event(), threading.Event()

    def listener(consumer, message):
        with lock:
            found.setdefault(consumer, []).append((message.data, threading.current_thread().name))
        consumer.acknowledge(message)
        if message.data == b"49":
            done.set()

    def stuck(_, __):
        blocked.set()
        free.wait(WITHIN_S)

    with (
        blocking.Client(broker.service_url, listener_threads=50) as client,
        client.create_producer(topic) as producer,
    ):
        slow = client.subscribe(topic, "slow", listener=stuck)
        threads = {client.listener_thread(slow): "slow"}
        while True:  # Until there is one whose listener has another thread.
            quick = client.subscribe(topic, "quick", listener=listener)
            if client.listener_thread(quick) not in threads:
                break
            quick.close()
        producer.send_many([b"%d" % number for number in range(50)])
        assert done.wait(WITHIN_S)
        assert blocked.wait(WITHIN_S)
        assert producer.send(b"the connection goes on")
        free.set()
    [(consumer, messages)] = found.items()
    assert consumer is quick
    assert [data for data, _ in messages][:50] == [b"%d" % number for number in range(50)]
    assert len({thread for _, thread in messages}) == 1
    assert messages[0][1].startswith("magnetar-listener-")


def test_a_blocking_listener_that_raises_anything_is_called_again(broker, topic):
    tried, done = [], threading.Event()

    def listener(_, message):
        tried.append(message.data)
        if len(tried) == 1:
            raise SystemExit(1)
        done.set()

    with (
        blocking.Client(broker.service_url) as client,
        client.create_producer(topic) as producer,
        client.create_reader(topic, listener=listener),
    ):
        producer.send_many([b"1", b"2"])
        assert done.wait(WITHIN_S)
    assert tried == [b"1", b"2"]


@pytest.mark.unmoved  # How often a message came is counted in memory.
async def test_what_a_listener_fails_at_comes_again_where_that_is_asked_for(client, topic):
    tried, done = [], asyncio.Event()

    async def listener(_, message):
        tried.append((message.data, message.redelivery_count))
        if tried == [(b"bad", 0)]:
            raise ValueError("cannot be processed")
        await message.ack()
        done.set()

    async with (
        client.subscribe(
            topic,
            "s",
            type=SubscriptionType.SHARED,
            negative_ack_delay_s=0.05,
            negative_ack_listener_errors=True,
            listener=listener,
        ),
        client.create_producer(topic) as producer,
    ):
        await producer.send(b"bad")
        async with asyncio.timeout(WITHIN_S):
            await done.wait()
    assert tried == [(b"bad", 0), (b"bad", 1)]
