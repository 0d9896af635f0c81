"""What every program does."""

from support.admin import ask

from magnetar import InitialPosition


async def test_what_is_sent_is_received_in_order(client, topic):
    consumer = await client.subscribe(topic, "s")
    producer = await client.create_producer(topic)
    ids = await producer.send_many([b"%d" % number for number in range(2_500)])
    received = []
    while len(received) < len(ids):
        messages = await consumer.receive_many(1000, timeout_s=20)
        assert messages
        consumer.acknowledge(messages)
        received += messages
    assert [message.message_id for message in received] == list(ids)
    assert [message.data for message in received] == [b"%d" % number for number in range(2_500)]


async def test_a_partitioned_topic_is_received_whole(broker, client, topic):
    ask(broker, "PUT", topic.replace("://", "/") + "/partitions", 3)
    producer = await client.create_producer(topic, batch_messages_max=10)
    await producer.send_many([b"%d" % number for number in range(500)])
    consumer = await client.subscribe(topic, "s", initial_position=InitialPosition.EARLIEST)
    received = set()
    while len(received) < 500:
        messages = await consumer.receive_many(1000, timeout_s=20)
        assert messages
        received.update(message.data for message in messages)
    assert {message.partition for message in messages} <= {0, 1, 2}
