"""Thousands of messages through every kind of topic and subscription, by the official client."""

import json
import urllib.request
from collections import defaultdict

import pulsar
import pytest
from compatibility.conftest import Inbox, Receipts
from pulsar import BatchingType, CompressionType, ConsumerType, InitialPosition

pytestmark = pytest.mark.compatibility

COUNT = 3_000
KEYS = 50
TYPES = [
    ConsumerType.Exclusive,
    ConsumerType.Failover,
    ConsumerType.Shared,
    ConsumerType.KeyShared,
]
COMPRESSIONS = [
    CompressionType.LZ4,
    CompressionType.ZLib,
    CompressionType.ZSTD,
    CompressionType.SNAPPY,
]
# Every type with every layout and batching; each compression meets both layouts and batchings.
CASES = [
    (kind, partitions, batching, COMPRESSIONS[(at + 2 * partitions + batching) % 4])
    for at, kind in enumerate(TYPES)
    for partitions in (0, 3)
    for batching in (True, False)
]


def word(value):
    return getattr(value, "name", str(value))


def make_partitioned(broker, topic, partitions):
    path = topic.replace("://", "/")
    request = urllib.request.Request(
        f"{broker.web_url}/admin/v2/{path}/partitions",
        data=json.dumps(partitions).encode(),
        method="PUT",
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        assert response.status == 204


def produce(client, topic, *, batching, compression):
    """Send COUNT numbered messages, each with one of KEYS keys; all are answered."""
    producer = client.create_producer(
        topic,
        batching_enabled=batching,
        batching_type=BatchingType.KeyBased,
        batching_max_publish_delay_ms=5,
        compression_type=compression,
        block_if_queue_full=True,
    )
    receipts = Receipts(COUNT)
    for number in range(COUNT):
        producer.send_async(
            str(number).encode() * 5, receipts.callback, partition_key=f"k{number % KEYS}"
        )
    producer.flush()
    assert len(receipts.wait()) == COUNT
    producer.close()


def subscribe(client, topic, kind, name, inbox):
    return client.subscribe(
        topic,
        "s",
        consumer_type=kind,
        consumer_name=name,
        initial_position=InitialPosition.Earliest,
        message_listener=inbox.listener,
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(word, case)))
def test_thousands_of_messages_arrive_once_and_in_order(magnetar_broker, official, topic, case):
    kind, partitions, batching, compression = case
    if partitions:
        make_partitioned(magnetar_broker, topic, partitions)
    inbox = Inbox(COUNT)
    names = ["one"] if kind is ConsumerType.Exclusive else ["one", "two"]
    consumers = [subscribe(official, topic, kind, name, inbox) for name in names]
    produce(official, topic, batching=batching, compression=compression)
    messages = inbox.wait()
    expected = sorted(str(number).encode() * 5 for number in range(COUNT))
    assert sorted(data for data, *_ in messages) == expected
    assert {count for *_, count in messages} == {0}
    numbers_by_key = defaultdict(list)
    consumers_by_key = defaultdict(set)
    for data, key, _, consumer, _ in messages:
        numbers_by_key[key].append(int(data[: len(data) // 5]))
        consumers_by_key[key].add(consumer)
    assert len(numbers_by_key) == KEYS
    if kind is not ConsumerType.Shared:
        for numbers in numbers_by_key.values():
            assert numbers == sorted(numbers)
    if kind is ConsumerType.KeyShared:
        assert all(len(owners) == 1 for owners in consumers_by_key.values())
    if kind in (ConsumerType.Shared, ConsumerType.KeyShared):
        assert {consumer for *_, consumer, _ in messages} == {"one", "two"}
    for consumer in consumers:
        consumer.close()


@pytest.mark.parametrize("compression", [CompressionType.NONE, *COMPRESSIONS])
@pytest.mark.parametrize("batching", [True, False])
def test_every_compression_is_read_back(official, topic, compression, batching):
    consumer = official.subscribe(topic, "s")
    producer = official.create_producer(
        topic, compression_type=compression, batching_enabled=batching
    )
    body = bytes(range(256)) * 400
    for number in range(20):
        producer.send_async(body + bytes([number]), None, properties={"n": str(number)})
    producer.flush()
    for number in range(20):
        message = consumer.receive(10_000)
        assert message.data() == body + bytes([number])
        assert message.properties() == {"n": str(number)}


def test_what_was_acknowledged_stays_so_and_the_rest_comes_again(official, topic):
    producer = official.create_producer(topic)
    consumer = official.subscribe(topic, "s", consumer_type=ConsumerType.Shared)
    for number in range(10):
        producer.send(str(number).encode())
    messages = [consumer.receive(10_000) for _ in range(10)]
    for message in messages[::2]:
        consumer.acknowledge(message)
    consumer.redeliver_unacknowledged_messages()
    again = [consumer.receive(10_000) for _ in range(5)]
    assert [message.data() for message in again] == [b"1", b"3", b"5", b"7", b"9"]
    assert {message.redelivery_count() for message in again} == {1}


def test_the_second_exclusive_consumer_is_refused(official, topic):
    first = official.subscribe(topic, "s")
    with pytest.raises(pulsar.ConsumerBusy):
        official.subscribe(topic, "s")
    first.close()
    official.subscribe(topic, "s").close()


def test_a_producer_name_is_taken_once(official, topic):
    first = official.create_producer(topic, producer_name="only")
    with pytest.raises(pulsar.ProducerBusy):
        official.create_producer(topic, producer_name="only")
    first.close()
    assert official.create_producer(topic, producer_name="only").producer_name() == "only"
