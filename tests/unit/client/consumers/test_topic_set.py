"""Which topics a receiver has, as they come, fail and go."""

import pytest
from support.loop import until
from unit.client.peer import lose_connection, refuse

from magnetar.client.client import Client
from magnetar.client.consumers import topic_consumers
from magnetar.errors import ConsumerBusy, InvalidValue, NotAuthorized, TopicNotFound
from magnetar.model.position import LATEST_MESSAGE
from magnetar.wire.commands import BaseCommand

A, B = "persistent://public/default/a", "persistent://public/default/b"


def missing(field="partitionMetadata"):
    return refuse(field, TopicNotFound("no such topic"))


async def test_topics_that_come_together_share_the_queue(peer, client):
    peer.partitions = 2
    options = {"receiver_queue_size": 1000, "total_receiver_queue_size": 100}
    await client.subscribe(["a", "b"], "s", **options)
    flows = [await peer.saw(BaseCommand.FLOW, count) for count in range(1, 5)]
    assert {command.flow.messagePermits for command in flows} == {25}


async def test_what_comes_later_is_not_created_and_begins_at_the_first_message(peer, client):
    peer.script(BaseCommand.PARTITIONED_METADATA, missing())
    consumer = await client.subscribe(["a"], "s", topics_refresh_s=0.01)
    subscribe = (await peer.saw(BaseCommand.SUBSCRIBE)).subscribe
    assert not subscribe.force_topic_creation
    assert subscribe.initialPosition == subscribe.Earliest
    await until(lambda: consumer.topics == [A])


async def test_what_cannot_be_subscribed_is_tried_again(peer, client, caplog):
    peer.script(BaseCommand.PARTITIONED_METADATA, missing())
    peer.script(BaseCommand.SUBSCRIBE, refuse("subscribe", ConsumerBusy("taken")))
    consumer = await client.subscribe(["a"], "s", topics_refresh_s=0.01)
    await until(lambda: consumer.topics == [A])
    assert "consumer.topic_not_subscribed" in caplog.text


@pytest.mark.parametrize("several", [True, False])
async def test_a_topic_that_is_lost_ends_only_a_receiver_of_itself(peer, client, several):
    consumer = await client.subscribe(["a", "b"] if several else "a", "s")
    peer.script(BaseCommand.SUBSCRIBE, refuse("subscribe", NotAuthorized("no longer")))
    await lose_connection(peer, consumer)
    if several:
        await until(lambda: len(consumer.topics) == 1 and consumer.connected)
        assert await consumer.receive_many(1, 0.01) == []
    else:
        with pytest.raises(NotAuthorized, match="no longer"):
            await consumer.receive(5)


async def test_messages_of_a_topic_that_went_may_be_acknowledged(peer, client):
    producer = await client.create_producer("a")
    await producer.send(b"0")
    consumer = await client.subscribe(["a", "b"], "s")
    messages = await consumer.receive_many(2, 5, count_min=2)
    peer.script(BaseCommand.SUBSCRIBE, missing("subscribe"))
    await lose_connection(peer, consumer)
    await until(lambda: len(consumer.topics) == 1)
    [left] = consumer.topics
    [former] = [message for message in messages if message.topic != left]
    consumer.acknowledge([former])
    consumer.acknowledge(former)
    consumer.negative_acknowledge(former)
    await consumer.flush()
    await consumer.last_message_id()
    assert not peer.of(BaseCommand.ACK)  # Its entry is another one on the topic that is left.
    consumer.acknowledge(messages)
    await consumer.flush()
    assert len((await peer.saw(BaseCommand.ACK)).ack.message_id) == 1


async def test_so_many_topics_that_went_are_remembered(peer, client, monkeypatch):
    monkeypatch.setattr(topic_consumers, "FORMER_TOPICS_MAX", 1)
    async with client.create_producer("a") as producer:
        await producer.send(b"0")
    consumer = await client.subscribe(["a", "b", "c"], "s")
    messages = await consumer.receive_many(3, 5, count_min=3)
    for left in (2, 1):
        peer.script(BaseCommand.SUBSCRIBE, missing("subscribe"))
        await lose_connection(peer, consumer)
        await until(lambda: len(consumer.topics) == left)  # noqa: B023 - it is awaited here.
        await until(lambda: consumer.connected)
    refused = [message for message in messages if not acknowledged(consumer, message)]
    assert len(refused) == 1


def acknowledged(consumer, message):
    try:
        consumer.acknowledge(message)
    except InvalidValue:
        return False
    return True


async def test_a_partition_is_received_when_all_that_come_with_it_are_there(peer):
    peer.partitions = 1
    async with Client(peer.url, partitions_refresh_s=0.01) as client:
        async with client.create_producer("a") as producer:
            await producer.send(b"0")
        reader = await client.create_reader("a")
        assert (await reader.receive(5)).partition == 0
        held = []
        peer.script(
            BaseCommand.SUBSCRIBE,
            peer.as_always,
            lambda connection, frame: held.append((connection, frame)),
        )
        peer.partitions = 3
        await until(lambda: held)
        assert await reader.receive_many(5, 0.02) == []
        peer.as_always(*held[0])
        found = await reader.receive_many(5, 5, count_min=2)
        assert sorted(message.partition for message in found) == [1, 2]


async def test_a_reader_gets_all_of_a_partition_that_comes_later(peer):
    peer.partitions = 1
    async with Client(peer.url, partitions_refresh_s=0.01) as client:
        reader = await client.create_reader("a", LATEST_MESSAGE)
        peer.partitions = 2
        await until(lambda: len(reader.topics) == 2)
        first, second = peer.of(BaseCommand.SUBSCRIBE)
        assert first.subscribe.start_message_id.entryId == 2**63 - 1
        assert second.subscribe.start_message_id.entryId == 2**64 - 1
