"""What a consumer acknowledges, has delivered again and deletes, on a real broker."""

import pytest
from support.draining import data, drained
from unit.client.local import PARTITIONS, put, subscribe

from magnetar.errors import AlreadyClosed, InvalidValue, NotAllowed
from magnetar.model.position import MessageId
from magnetar.model.subscriptions import InitialPosition, SubscriptionType


async def test_acknowledgements_go_where_the_messages_came_from(local_client):
    await put(local_client, "a", b"a0", b"a1", b"a2")
    await put(local_client, "b", b"b0", b"b1")
    consumer = await subscribe(local_client, "a", "b")
    by_data = {message.data: message for message in await drained(consumer, 5)}
    consumer.acknowledge(iter([by_data[b"a0"], by_data[b"b1"], by_data[b"a2"]]))
    consumer.acknowledge_cumulative(by_data[b"b0"])
    await consumer.close()
    consumer = await subscribe(local_client, "a", "b")
    assert data(await drained(consumer, 1)) == [b"a1"]
    assert await consumer.receive_many(5, 0.05) == []


async def test_an_id_goes_to_its_partition(partitioned_client):
    await put(partitioned_client, "p", *[b"%d" % n for n in range(10)])
    consumer = await subscribe(partitioned_client, "p")
    messages = await drained(consumer, 10)
    assert {message.partition for message in messages} == set(range(PARTITIONS))
    consumer.acknowledge([message.message_id for message in messages[1:]])
    await consumer.close()
    consumer = await subscribe(partitioned_client, "p")
    assert data(await drained(consumer, 1)) == [messages[0].data]
    with pytest.raises(InvalidValue, match="pass the message itself"):
        consumer.acknowledge(MessageId(1, 2, 7))


async def test_an_id_of_several_topics_is_refused(local_client):
    consumer = await subscribe(local_client, "a", "b")
    with pytest.raises(InvalidValue, match="which of 2 topics"):
        consumer.acknowledge(MessageId(1, 2))


async def test_a_message_of_another_consumer_is_refused(local_client):
    await put(local_client, "elsewhere", b"x")
    other = await subscribe(local_client, "elsewhere")
    consumer = await subscribe(local_client, "a")
    with pytest.raises(InvalidValue, match="does not come from this consumer"):
        consumer.acknowledge(await other.receive(5))


@pytest.mark.parametrize("kind", [SubscriptionType.SHARED, SubscriptionType.KEY_SHARED])
async def test_nothing_cumulative_where_messages_are_shared(local_client, kind):
    consumer = await subscribe(local_client, "a", type=kind)
    with pytest.raises(NotAllowed, match=f"{kind.name} subscription"):
        consumer.acknowledge_cumulative(MessageId(1, 2))


async def test_what_is_not_acknowledged_comes_again_from_every_topic(local_client):
    await put(local_client, "a", b"a0", b"a1")
    await put(local_client, "b", b"b0")
    consumer = await subscribe(local_client, "a", "b")
    messages = await drained(consumer, 3)
    consumer.acknowledge([message for message in messages if message.data == b"a0"])
    await consumer.redeliver_unacknowledged()
    again = await drained(consumer, 2)
    assert sorted(data(again)) == [b"a1", b"b0"]
    assert all(message.redelivered for message in again)


async def test_single_messages_come_again_where_they_are_shared(local_client):
    await put(local_client, "a", b"a0", b"a1")
    await put(local_client, "b", b"b0", b"b1")
    consumer = await subscribe(local_client, "a", "b", type=SubscriptionType.SHARED)
    messages = await drained(consumer, 4)
    await consumer.redeliver_unacknowledged(m for m in messages if m.data in {b"a1", b"b0"})
    again = await drained(consumer, 2)
    assert sorted(data(again)) == [b"a1", b"b0"]
    assert {message.redelivery_count for message in again} == {1}
    assert await consumer.receive_many(5, 0.05) == []


async def test_unsubscribing_forgets_every_place_and_closes(local_client):
    await put(local_client, "a", b"a0")
    await put(local_client, "b", b"b0")
    consumer = await subscribe(local_client, "a", "b")
    await consumer.unsubscribe()
    with pytest.raises(AlreadyClosed, match="closed"):
        await consumer.receive()
    latest = await subscribe(local_client, "a", "b", initial_position=InitialPosition.LATEST)
    assert await latest.receive_many(5, 0.05) == []
