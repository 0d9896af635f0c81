import asyncio
import gc
import weakref

import pytest
from support.loop import pass_time, until

from magnetar.client.client import Client
from magnetar.errors import AlreadyClosed, InvalidName, InvalidValue, TopicNotFound
from magnetar.testing.local_broker import LocalBroker
from magnetar.wire.commands import BaseCommand


async def test_nothing_connects_before_it_is_needed(peer):
    async with Client(peer.url):
        pass
    assert peer.commands == []


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"service_url": "nonsense"}, InvalidValue),
        ({"service_url": "ftp://h"}, InvalidValue),
        ({"service_url": "pulsar://h", "operation_timeout_s": 0}, InvalidValue),
    ],
)
async def test_bad_settings_are_refused_at_once(options, error):
    with pytest.raises(error):
        Client(**options)


async def test_names_are_checked_before_anything_is_asked(peer, client):
    for ask in (client.create_producer, client.create_reader, client.partitions):
        with pytest.raises(InvalidName):
            await ask("a/b")
    with pytest.raises(InvalidName):
        await client.subscribe(["fine", "a/b"], "s")
    with pytest.raises(InvalidValue, match="no topic"):
        await client.subscribe([], "s")
    with pytest.raises(InvalidName):
        await client.topics("public")
    assert peer.commands == []


@pytest.mark.parametrize("kind", ["non-partitioned", "partitioned"])
async def test_who_creates_no_topic_is_told_that_it_is_missing(kind):
    settings = {"allowAutoTopicCreationType": kind}
    async with LocalBroker(settings=settings) as broker, Client(broker.service_url) as client:
        for topic in ("t", "t-partition-0"):
            with pytest.raises(TopicNotFound):
                await client.create_reader(topic, create_topic=False)
            with pytest.raises(TopicNotFound):
                await client.subscribe(topic, "s", create_topic=False)
        assert await client.topics("public/default") == []
        with pytest.raises(TopicNotFound):
            await client.partitions("t")


async def test_a_broker_that_knows_no_such_question_is_told_when_subscribing(peer, client):
    await client.create_reader("t", create_topic=False)
    await client.create_reader("t")
    asked = [command.subscribe.force_topic_creation for command in peer.of(BaseCommand.SUBSCRIBE)]
    assert asked == [False, True]


async def test_closing_closes_everything_and_refuses_anything_new(peer):
    client = Client(peer.url)
    producer = await client.create_producer("t", batch_delay_s=60)
    consumer = await client.subscribe(["t", "u"], "s")
    reader = await client.create_reader("t")
    pending = producer.submit(b"x")
    await client.close()
    assert (await pending).entry_id == 0
    assert len(peer.of(BaseCommand.CLOSE_PRODUCER)) == 1
    assert len(peer.of(BaseCommand.CLOSE_CONSUMER)) == 3
    await until(lambda: not peer.connections)
    for use in (producer.ready(), consumer.receive(), reader.receive()):
        with pytest.raises(AlreadyClosed, match="closed"):
            await use
    for make in (client.create_producer("t"), client.subscribe("t", "s"), client.partitions("t")):
        with pytest.raises(AlreadyClosed, match="the client is closed"):
            await make
    await client.close()


async def test_closing_while_the_broker_is_away_ends_soon(peer):
    before = asyncio.all_tasks()
    client = Client(peer.url, operation_timeout_s=0.5, backoff_first_s=0.01)
    await client.create_producer("t")
    consumer = await client.subscribe("t", "s")
    await peer.stop()
    receiving = asyncio.ensure_future(consumer.receive())
    await pass_time(0.03)
    await client.close()
    with pytest.raises(AlreadyClosed):
        await receiving
    assert asyncio.all_tasks() == before
    await peer.start()


async def test_what_is_closed_by_itself_is_forgotten(client):
    producer = await client.create_producer("t")
    consumer = await client.subscribe("t", "s")
    closed = [weakref.ref(producer), weakref.ref(consumer)]
    await producer.close()
    await consumer.close()
    del producer, consumer
    gc.collect()
    assert [one() for one in closed] == [None, None]


async def test_ids_are_never_used_twice(peer, client):
    for _ in range(3):
        await (await client.create_producer("t")).close()
        await (await client.subscribe("t", "s")).close()
    ids = [c.producer.producer_id for c in peer.of(BaseCommand.PRODUCER)]
    ids += [c.subscribe.consumer_id for c in peer.of(BaseCommand.SUBSCRIBE)]
    assert len(set(ids)) == 6
