"""What a message carries, and how messages share entries.

Time passes in one test: a broker may deliver a delayed message up to a second early.
"""

import pytest

from magnetar import CompressionType, InitialPosition, OutgoingMessage, SubscriptionType
from magnetar.errors import InvalidValue


async def received(consumer, count):
    messages = []
    while len(messages) < count:
        messages += await consumer.receive_many(count - len(messages), timeout_s=20)
        assert messages
    return messages


@pytest.mark.parametrize("compression", CompressionType)
async def test_batches_by_key_have_one_key_each(client, topic, compression):
    consumer = await client.subscribe(topic, "s")
    producer = await client.create_producer(topic, batch_by_key=True, compression=compression)
    keys = ["a", "b", b"\xff", None]
    sent = [OutgoingMessage(b"%d" % n * 50, key=keys[n % 4]) for n in range(200)]
    await producer.send_many(sent)
    messages = await received(consumer, 200)
    entries = {}
    for message in messages:
        entries.setdefault(message.message_id.position, set()).add(message.key)
    assert all(len(found) == 1 for found in entries.values())
    assert max(message.message_id.batch_size for message in messages) > 1
    for key in keys:
        wanted = [message.value for message in sent if message.key == key]
        bare = key.encode() if isinstance(key, str) else key
        assert [message.data for message in messages if message.key_bytes == bare] == wanted


@pytest.mark.parametrize("batching", [True, False])
async def test_a_message_keeps_all_its_details(client, topic, batching):
    consumer = await client.subscribe(topic, "s")
    producer = await client.create_producer(topic, name=f"by-{batching}", batching=batching)
    await producer.send(
        b"0",
        key="k",
        ordering_key=b"\x00\xff",
        properties={"a": "1", "ü": "é"},
        event_time_ms=5,
        sequence_id=70,
    )
    await producer.send_many([b"1", OutgoingMessage(b"2", sequence_id=90), b"3"])
    first, *others = await received(consumer, 4)
    assert (first.key, first.ordering_key, first.event_time_ms) == ("k", b"\x00\xff", 5)
    assert first.properties == {"a": "1", "ü": "é"}
    assert first.producer_name == producer.name
    assert [message.sequence_id for message in (first, *others)] == [70, 71, 90, 91]
    assert producer.last_sequence_id == 91


@pytest.mark.unmoved
async def test_a_delayed_message_comes_when_it_is_due(client, topic):
    consumer = await client.subscribe(topic, "s", type=SubscriptionType.SHARED)
    producer = await client.create_producer(topic)
    await producer.send_many([OutgoingMessage(b"later", deliver_after_s=1.3), b"now"])
    first, second = await received(consumer, 2)
    assert (first.data, second.data) == (b"now", b"later")


async def test_clusters_are_told_outside_batches(client, topic):
    consumer = await client.subscribe(topic, "s", initial_position=InitialPosition.EARLIEST)
    producer = await client.create_producer(topic)
    await producer.send_many([b"0", OutgoingMessage(b"1", replication_clusters=[]), b"2"])
    messages = await received(consumer, 3)
    assert [message.data for message in messages] == [b"0", b"1", b"2"]
    assert messages[1].message_id.batch_index == -1
    with pytest.raises(InvalidValue, match="put the one into a list"):
        await producer.send(b"3", replication_clusters="east")
