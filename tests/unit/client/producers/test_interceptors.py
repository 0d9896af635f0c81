"""What interceptors are told of what was not sent; ``tests/client/test_interceptors.py`` sends."""

import pytest

from magnetar.client.client import Client
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.client.producers.interceptors import ProducerInterceptor
from magnetar.errors import AlreadyClosed, InvalidValue, MessageTooLarge, QueueFull


class Told(ProducerInterceptor):
    """How each message ended, by its value."""

    def __init__(self):
        self.ends = []
        self.partitions = []
        self.closed = False

    def on_send_acknowledged(self, producer, message, message_id, error):
        self.ends.append((message.value, message_id or type(error)))

    def on_partitions_change(self, topic, partitions):
        self.partitions.append(partitions)

    def close(self):
        self.closed = True


@pytest.fixture
def told():
    return Told()


async def test_what_was_refused_at_once_has_ended(client, told):
    producer = await client.create_producer(
        "t", interceptors=[told], batch_delay_s=60, max_pending_messages=1, batch_bytes_max=6 << 20
    )
    with pytest.raises(InvalidValue):
        producer.submit(b"key", key=5)
    big = bytes(6 << 20)
    with pytest.raises(MessageTooLarge):
        producer.send_nowait(big)
    producer.send_nowait(b"0")
    with pytest.raises(QueueFull):
        producer.send_nowait(b"full")
    await producer.close()
    with pytest.raises(AlreadyClosed):
        await producer.send(b"closed")
    assert [end for _, end in told.ends[:3]] == [InvalidValue, MessageTooLarge, QueueFull]
    assert told.ends[3][0] == b"0"
    assert told.ends[4] == (b"closed", AlreadyClosed)
    assert told.closed


async def test_a_list_with_one_that_cannot_be_sent_has_ended_as_a_whole(client, told):
    producer = await client.create_producer("t", interceptors=[told])
    with pytest.raises(InvalidValue):
        await producer.send_many([b"0", OutgoingMessage(b"1", key=5), b"2"])
    assert sorted(told.ends) == [(b"0", InvalidValue), (b"1", InvalidValue)]


async def test_a_router_that_fails_ends_the_message(peer, client, told):
    peer.partitions = 2
    producer = await client.create_producer("t", interceptors=[told], routing=lambda *_: 7)
    with pytest.raises(InvalidValue, match="none of the partitions"):
        await producer.send(b"0")
    assert told.ends == [(b"0", InvalidValue)]


async def test_more_partitions_are_told_of(peer, told):
    peer.partitions = 1
    async with Client(peer.url, partitions_refresh_s=0.01) as client:
        producer = await client.create_producer("t", interceptors=[told])
        peer.partitions = 3
        while producer.partitions == 1:
            await client.partitions("t")
    assert told.partitions == [3]


async def test_a_message_of_the_applications_own_is_not_touched(client, told):
    producer = await client.create_producer("t", interceptors=[told])
    message = OutgoingMessage(b"0")
    await producer.send(message)
    await producer.send_many([message])
    assert message == OutgoingMessage(b"0")
    assert len(told.ends) == 2


def test_threads_call_them_themselves_and_hear_of_every_end(blocking_client, topic, told):
    producer = blocking_client.create_producer(
        topic, interceptors=[told], max_pending_messages=2, batch_delay_s=60
    )
    producer.send(b"0")
    producer.send_nowait(b"1")
    last = producer.submit(b"2")
    with pytest.raises(QueueFull):
        producer.submit(b"3")
    producer.flush()
    assert last.result(5).batch_index == 1
    assert sorted(value for value, _ in told.ends) == [b"0", b"1", b"2", b"3"]
    assert dict(told.ends)[b"3"] is QueueFull
