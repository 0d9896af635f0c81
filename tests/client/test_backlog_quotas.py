"""A backlog beyond its quota keeps producers out: they come back when it is gone."""

import asyncio
import threading
from contextlib import suppress

import pulsar as official
import pytest
from support.admin import ask

from magnetar import compat
from magnetar.client import blocking
from magnetar.errors import BacklogQuotaExceeded, BacklogQuotaHeld, TimedOut

pytestmark = pytest.mark.unmoved  # What is held is known when it is looked at again.

HOLD, EXCEPTION = "producer_request_hold", "producer_exception"


def set_quota(broker, topic, policy):
    quota = {"limitSize": 4096, "policy": policy}
    ask(broker, "POST", f"{topic.replace('://', '/')}/backlogQuota", quota)


def check_quotas(broker):
    for each in getattr(broker, "brokers", [broker]):  # Each looks at its own topics.
        ask(each, "GET", "brokers/backlog-quota-check")


async def checked(broker, topic, policy):
    await asyncio.to_thread(set_quota, broker, topic, policy)
    await asyncio.to_thread(check_quotas, broker)


async def filled(client, topic):
    """A consumer that has a backlog beyond the quota, and a producer that made it.

    The sizes of backlogs are estimated by the average of entries: these are all alike.
    """
    consumer = await client.subscribe(topic, "s")
    producer = await client.create_producer(topic, batching=False)
    await producer.send_many([b"x" * 1024] * 8)
    return consumer, producer


async def drained(consumer, count=8):
    while count:
        messages = await consumer.receive_many(count)
        await consumer.acknowledge(messages)
        count -= len(messages)


async def sent(producer, value):
    """Send a message until it is taken."""
    while True:
        with suppress(BacklogQuotaExceeded, TimedOut):
            return await producer.send(value)


async def test_held_producers_wait_and_go_on(broker, client, topic):
    consumer, busy = await filled(client, topic)
    idle = await client.create_producer(topic)
    await checked(broker, topic, HOLD)
    sends = [asyncio.ensure_future(busy.send(b"%d" % number)) for number in range(3)]
    opening = asyncio.ensure_future(client.create_producer(topic))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(sends[0]), 0.5)
    assert not any(each.done() for each in [*sends, opening])
    assert not idle.connected
    await drained(consumer)
    await asyncio.gather(*sends)
    await (await opening).send(b"3")
    await idle.send(b"4")
    values = [(await consumer.receive(timeout_s=10)).data for _ in range(5)]
    assert values == [b"0", b"1", b"2", b"3", b"4"]


async def test_a_held_message_waits_no_longer_than_its_send_timeout(broker, client, topic, caplog):
    consumer, _ = await filled(client, topic)
    producer = await client.create_producer(topic, send_timeout_s=0.5)
    await checked(broker, topic, HOLD)
    with pytest.raises(TimedOut, match="backlog quota") as told:
        await producer.send(b"too long")
    assert isinstance(told.value.__cause__, BacklogQuotaHeld)
    assert "producer.kept_out" in caplog.text
    await drained(consumer)
    await sent(producer, b"again")


async def test_where_the_policy_is_an_exception_sends_fail_until_the_backlog_is_gone(
    broker, client, topic
):
    consumer, producer = await filled(client, topic)
    await checked(broker, topic, EXCEPTION)
    with pytest.raises(BacklogQuotaExceeded):
        await client.create_producer(topic)
    for _ in range(2):
        with pytest.raises(BacklogQuotaExceeded):
            await producer.send(b"refused")
    producer.send_nowait(b"refused, too")
    with pytest.raises(BacklogQuotaExceeded):
        await producer.flush()
    await drained(consumer)
    await sent(producer, b"taken")
    assert (await consumer.receive(timeout_s=10)).data == b"taken"


@pytest.mark.parametrize("policy", [HOLD, EXCEPTION])
def test_a_blocking_producer_outlives_a_backlog(broker, topic, policy):
    with blocking.Client(broker.service_url) as client:
        consumer = client.subscribe(topic, "s")
        producer = client.create_producer(topic)
        producer.send_many([b"x" * 1024] * 8)
        set_quota(broker, topic, policy)
        check_quotas(broker)
        if policy == EXCEPTION:
            with pytest.raises(BacklogQuotaExceeded):
                producer.send(b"refused")
        draining = threading.Timer(0.5, lambda: consumer.acknowledge(consumer.receive_many(8)))
        draining.start()
        sent = False
        while not sent:
            try:
                producer.send(b"taken")
                sent = True
            except BacklogQuotaExceeded:
                assert policy == EXCEPTION
        draining.join()
        assert consumer.receive(timeout_s=10).data == b"taken"


@pytest.mark.compatibility
@pytest.mark.parametrize("pulsar", [official, compat], ids=["official", "ours"])
def test_programs_for_the_official_client_outlive_it_as_there(broker, topic, pulsar):
    quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    client = pulsar.Client(broker.service_url, logger=quiet)
    try:
        consumer = client.subscribe(topic, "s")
        producer = client.create_producer(topic)
        idle = client.create_producer(topic)
        for _ in range(8):
            producer.send(b"x" * 1024)
        set_quota(broker, topic, EXCEPTION)
        check_quotas(broker)
        with pytest.raises(pulsar.ProducerBlockedQuotaExceededException):
            client.create_producer(topic)
        with pytest.raises(pulsar.ProducerBlockedQuotaExceededException):
            producer.send(b"refused")
        set_quota(broker, topic, HOLD)
        held = []
        sending = threading.Thread(target=lambda: held.append(producer.send(b"held")))
        sending.start()
        sending.join(0.5)
        assert sending.is_alive()
        for _ in range(8):
            consumer.acknowledge(consumer.receive(10_000))
        sending.join(20)
        idle.send(b"idle")
        assert held
        assert [consumer.receive(10_000).data() for _ in range(2)] == [b"held", b"idle"]
    finally:
        client.close()
