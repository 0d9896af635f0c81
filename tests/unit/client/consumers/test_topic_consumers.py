"""Several topics and partitions of one receiver, of a real broker in this process."""

import pytest
from support.draining import drained
from unit.client.local import PARTITIONS, put, subscribe

from magnetar.client.message import TopicMessageId
from magnetar.errors import InvalidValue
from magnetar.model.position import EARLIEST_MESSAGE, LATEST_MESSAGE


async def test_the_ends_move_every_partition_and_an_id_its_own(partitioned_client):
    ids = await put(partitioned_client, "p", *[b"%d" % n for n in range(10)])
    consumer = await subscribe(partitioned_client, "p")
    first = {message.data for message in await drained(consumer, 10)}
    await consumer.seek(EARLIEST_MESSAGE)
    assert {message.data for message in await drained(consumer, 10)} == first
    last_of_one = max(found for found in ids if found.partition == 1)
    await consumer.seek(last_of_one)
    assert (await consumer.receive(5)).message_id == last_of_one
    assert await consumer.receive_many(5, 0.05) == []
    await consumer.seek_time(0)
    assert {message.data for message in await drained(consumer, 10)} == first
    await consumer.seek(LATEST_MESSAGE)
    assert await consumer.receive_many(5, 0.05) == []
    await consumer._seek_last()
    assert {message.partition for message in await drained(consumer, PARTITIONS)} == set(
        range(PARTITIONS)
    )


async def test_the_last_message_is_the_greatest(partitioned_client):
    consumer = await subscribe(partitioned_client, "p")
    assert await consumer.last_message_id() is None
    assert not await consumer.has_message_available()
    ids = await put(partitioned_client, "p", *[b"%d" % n for n in range(5)])
    assert await consumer.last_message_id() == max(ids)
    assert await consumer.has_message_available()
    await drained(consumer, 5)
    assert not await consumer.has_message_available()


async def test_an_id_may_say_which_topic_it_is_of(local_client):
    consumer = await subscribe(local_client, "a", "b")
    await put(local_client, "a", b"a0")
    message = await consumer.receive(5)
    with pytest.raises(InvalidValue, match="TopicMessageId"):
        consumer.acknowledge(message.message_id)
    named = TopicMessageId.of(message.message_id, message.topic)
    assert (named, str(named)) == (message.message_id, str(message.message_id))
    consumer.acknowledge(named)
    await consumer.seek(named)
    assert (await consumer.receive(5)).data == b"a0"
    with pytest.raises(InvalidValue, match="does not come from"):
        consumer.acknowledge(TopicMessageId.of(message.message_id, "persistent://p/d/other"))
