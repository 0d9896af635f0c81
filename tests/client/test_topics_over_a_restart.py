"""What follows many topics goes on when the broker comes back. With our broker only."""

import re
import socket

import pytest
from support.loop import until

from magnetar import Client, InitialPosition, OutgoingMessage
from magnetar.testing.local_broker import LocalBroker


@pytest.fixture
def broker(tmp_path):
    """Makes one broker after the other, in the same place."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    return lambda: LocalBroker(tmp_path, settings={"brokerServicePort": port})


@pytest.fixture
async def client(broker):
    async with broker() as first:
        url = first.service_url
    async with Client(url, backoff_first_s=0.01, backoff_max_s=0.1) as client:
        yield client


async def test_a_table_view_keeps_what_it_has_and_hears_what_is_new(broker, client):
    async with broker():
        producer = await client.create_producer("prices")
        await producer.send_many([OutgoingMessage(b"0", key=key) for key in "ab"])
        table = await client.create_table_view("prices")
        changes = []
        table.listen(lambda key, value: changes.append((key, value)))
    assert dict(table) == {"a": b"0", "b": b"0"}
    async with broker():
        await producer.send(b"1", key="a")
        await table.refresh(10)
        assert dict(table) == {"a": b"1", "b": b"0"}
        assert changes == [("a", b"1")]


async def test_a_pattern_has_what_came_while_its_watch_was_away(broker, client):
    async with broker():
        consumer = await client.subscribe(
            re.compile("seen-.*"),
            "s",
            topics_refresh_s=0,
            initial_position=InitialPosition.EARLIEST,
        )
        async with client.create_producer("seen-a") as producer:
            await producer.send(b"0")
        first = await consumer.receive(10)
        await consumer.acknowledge(first)
        assert first.data == b"0"
    await until(lambda: not consumer.connected)
    async with broker() as again, Client(again.service_url) as another:
        for topic in ("seen-a", "seen-b"):
            async with another.create_producer(topic) as producer:
                await producer.send(topic.encode())
        messages = await consumer.receive_many(2, 10, count_min=2)
        assert sorted(message.data for message in messages) == [b"seen-a", b"seen-b"]
        await client.close()
