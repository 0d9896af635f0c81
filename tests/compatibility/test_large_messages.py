"""Messages as large as allowed, and larger ones in chunks, by the official client."""

import random

import pulsar
import pytest
from pulsar import CompressionType, ConsumerType

pytestmark = pytest.mark.compatibility

MIB = 1024 * 1024
LARGEST = 5 * MIB - 1024  # The official client counts the message's metadata in.


def body_of(size, seed):
    return random.Random(seed).randbytes(size)


@pytest.mark.parametrize("kind", [ConsumerType.Exclusive, ConsumerType.Shared])
def test_the_largest_message_goes_through_whole(official, topic, kind):
    consumer = official.subscribe(topic, "s", consumer_type=kind)
    producer = official.create_producer(topic)
    bodies = [body_of(LARGEST, seed) for seed in range(3)]
    for body in bodies:
        producer.send(body)
    for body in bodies:
        message = consumer.receive(20_000)
        assert message.data() == body
        consumer.acknowledge(message)


def test_a_larger_message_is_refused_before_it_is_sent(official, topic):
    producer = official.create_producer(topic)
    with pytest.raises(pulsar.MessageTooBig):
        producer.send(bytes(5 * MIB + 1))
    assert producer.send(b"small") is not None


@pytest.mark.parametrize("compression", [CompressionType.NONE, CompressionType.LZ4])
@pytest.mark.parametrize("kind", [ConsumerType.Exclusive, ConsumerType.Shared])
def test_twenty_mebibytes_go_through_in_chunks(official, topic, kind, compression):
    consumer = official.subscribe(topic, "s", consumer_type=kind)
    producer = official.create_producer(
        topic, chunking_enabled=True, batching_enabled=False, compression_type=compression
    )
    body = body_of(20 * MIB, 1)
    producer.send(body)
    producer.send(b"and a small one behind it")
    message = consumer.receive(30_000)
    assert message.data() == body
    consumer.acknowledge(message)
    message = consumer.receive(20_000)
    assert message.data() == b"and a small one behind it"
    consumer.acknowledge(message)
