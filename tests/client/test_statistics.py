"""What producers and consumers count, as an object and as lines of the log."""

import asyncio
import logging

import pytest
from support.admin import ask

from magnetar import Client, InitialPosition
from magnetar.client import blocking
from magnetar.client.stats_reports import log
from magnetar.errors import MessageTooLarge

EARLIEST = InitialPosition.EARLIEST


async def test_a_producer_counts_what_it_sends(client, topic):
    async with client.create_producer(topic, batch_delay_s=60) as producer:
        await producer.send_many([b"12345"] * 100)
        with pytest.raises(MessageTooLarge):
            await producer.send(bytes(6 << 20))
        producer.send_nowait(b"pending")
        stats = producer.stats
        assert (stats.messages_sent, stats.bytes_sent) == (100, 500)
        assert (stats.messages_stored, stats.messages_pending) == (100, 1)
        assert stats.messages_per_s > 0
        assert stats.bytes_per_s == pytest.approx(5 * stats.messages_per_s)
        assert stats.latency is None


async def test_a_consumer_counts_what_it_receives_and_acknowledges(broker, client, topic):
    ask(broker, "PUT", topic.replace("://", "/") + "/partitions", 2)
    async with (
        client.create_producer(topic, batching=False) as producer,
        client.subscribe(topic, "s", initial_position=EARLIEST) as consumer,
    ):
        await producer.send_many([b"x"] * 20)
        messages = await consumer.receive_many(15, 20, count_min=15)
        await consumer.acknowledge(messages)
        await consumer.flush()
        stats = consumer.stats
        assert stats.acks_sent == 15
        assert stats.messages_received >= 15
        assert stats.bytes_received > 15
        assert stats.messages_queued <= 5
        await consumer.receive_many(5, 20, count_min=5)
        assert (consumer.stats.messages_received, consumer.stats.messages_queued) == (20, 0)
        assert producer.stats.messages_stored == 20


async def test_a_line_is_logged_for_each_interval(broker, topic, caplog):
    lines = {}
    both = asyncio.Event()

    class Lines(logging.Handler):
        def emit(self, record):
            first, _, rest = record.getMessage().partition(" ")
            lines.setdefault(first, []).append(rest)
            quiet = "messages_per_s=0.0 " in " ".join(lines.get("producer.stats", ()))
            if quiet and len(lines.get("consumer.stats", ())) >= 2:
                both.set()

    handler = Lines()
    log.addHandler(handler)
    try:
        with caplog.at_level(logging.INFO, log.name):
            async with (
                Client(broker.service_url, stats_interval_s=0.05) as client,
                client.create_producer(topic, name="counted") as producer,
                client.create_reader(topic) as reader,
            ):
                await producer.send_many([b"x"] * 10)
                await reader.receive_many(10, 20, count_min=10)
                async with asyncio.timeout(20):
                    await both.wait()
                assert producer.stats.messages_stored == 10
    finally:
        log.removeHandler(handler)
    assert lines["producer.stats"][0].startswith(f"topic={topic} name=counted messages_sent=10 ")
    assert "latency_p99_ms=" in " ".join(lines["producer.stats"])
    assert " messages_received=10 " in lines["consumer.stats"][-1]


def test_the_blocking_twin_shows_the_same(broker, topic):
    with (
        blocking.Client(broker.service_url) as client,
        client.create_producer(topic) as producer,
        client.create_reader(topic) as reader,
    ):
        producer.send_many([b"x"] * 3)
        reader.receive_many(3, 20, count_min=3)
        assert producer.stats.messages_stored == reader.stats.messages_received == 3
