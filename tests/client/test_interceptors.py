"""Interceptors of producers and consumers."""

import pytest

from magnetar import ConsumerInterceptor, OutgoingMessage, ProducerInterceptor


class Stamps(ProducerInterceptor):
    """Adds its name to a property; notes what was stored."""

    def __init__(self, name):
        self.name = name
        self.stored = {}

    def before_send(self, producer, message):
        stamp = {**(message.properties or {})}
        stamp["by"] = stamp.get("by", "") + self.name
        return OutgoingMessage(message.value, key=message.key, properties=stamp)

    def on_send_acknowledged(self, producer, message, message_id, error):
        assert error is None
        self.stored[message.value] = message_id


class Notes(ConsumerInterceptor):
    """Changes the payload, and notes what is acknowledged."""

    def __init__(self):
        self.acknowledged = []
        self.cumulative = []
        self.closed = False

    def before_consume(self, consumer, message):
        return message._replace(data=message.data.upper())

    def on_acknowledge(self, consumer, message_id):
        self.acknowledged.append(message_id)

    def on_acknowledge_cumulative(self, consumer, message_id):
        self.cumulative.append(message_id)

    def close(self):
        self.closed = True


class Fails(ProducerInterceptor, ConsumerInterceptor):
    """Fails in everything."""

    def fail(self, *_):
        raise ZeroDivisionError

    before_send = on_send_acknowledged = before_consume = on_acknowledge = close = fail


async def test_every_way_of_sending_goes_through_them_in_order(client, topic):
    first, second, notes = Stamps("1"), Stamps("2"), Notes()
    consumer = await client.subscribe(topic, "s", interceptors=[notes])
    async with await client.create_producer(topic, interceptors=[first, second]) as producer:
        ids = {b"a": await producer.send(b"a", key="k", properties={"p": "q"})}
        submitted = producer.submit(b"b")
        producer.send_nowait(b"c")
        await producer.enqueue([b"d"])
        ids[b"e"], ids[b"f"] = await producer.send_many([b"e", OutgoingMessage(b"f", key="k")])
        ids[b"b"] = await submitted
        await producer.flush()
    messages = [await consumer.receive(20), *await consumer.receive_many(5, timeout_s=20)]
    while len(messages) < 6:
        messages += await consumer.receive_many(5, timeout_s=20)
    assert [message.data for message in messages] == [b"A", b"B", b"C", b"D", b"E", b"F"]
    assert {message.properties["by"] for message in messages} == {"12"}
    assert messages[0].properties["p"] == "q"
    assert [message.key for message in messages] == ["k", None, None, None, None, "k"]
    assert first.stored == second.stored
    assert {key: first.stored[key] for key in ids} == ids
    assert [first.stored[m.data.lower()] for m in messages] == [m.message_id for m in messages]
    consumer.acknowledge(messages[0])
    consumer.acknowledge(messages[1:3])
    consumer.acknowledge_cumulative(messages[-1])
    await consumer.close()
    assert notes.acknowledged == [message.message_id for message in messages[:3]]
    assert notes.cumulative == [messages[-1].message_id]
    assert notes.closed


@pytest.mark.parametrize("batching", [True, False])
async def test_one_that_fails_loses_no_message(client, topic, caplog, batching):
    consumer = await client.subscribe(topic, "s", interceptors=[Fails()])
    producer = await client.create_producer(topic, batching=batching, interceptors=[Fails()])
    await producer.send_many([b"%d" % number for number in range(100)])
    messages = []
    while len(messages) < 100:
        messages += await consumer.receive_many(100, timeout_s=20)
    assert [message.data for message in messages] == [b"%d" % number for number in range(100)]
    consumer.acknowledge(messages)
    await consumer.close()
    await producer.close()
    assert "interceptor.failed" in caplog.text


async def test_a_reader_has_them_too(client, topic):
    producer = await client.create_producer(topic)
    await producer.send_many([b"a", b"b"])
    reader = await client.create_reader(topic, interceptors=[Notes()])
    assert [(await reader.receive(20)).data for _ in range(2)] == [b"A", b"B"]
