"""Clients and administrators know one port each, whichever process serves what they ask for."""

import asyncio
import json
from urllib.request import urlopen

import pulsar
import pytest
from processes.conftest import ManyProcesses, admin_request, client_of

from magnetar.client.client import Client

TOPICS = [f"persistent://public/default/t-{number}" for number in range(50)]


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with ManyProcesses(tmp_path_factory.mktemp("two") / "data", 2) as started:
        yield started


@pytest.fixture(scope="module")
def published(broker):
    """A message in each of 50 topics, from the official client, and their subscriptions."""
    client = client_of(broker.service_url)
    for topic in TOPICS:
        client.subscribe(topic, "s").close()
        client.create_producer(topic).send(topic.encode())
    yield TOPICS
    client.close()


def owners(broker, topics):
    """Which broker serves each topic, as any of them answers."""
    return {
        topic: broker.admin(f"lookup/v2/topic/{topic.replace('://', '/')}")["brokerUrl"]
        for topic in topics
    }


def test_the_topics_are_shared_out(broker, published):
    counts = list(owners(broker, published).values())
    assert len(set(counts)) == 2
    assert min(map(counts.count, set(counts))) >= 10


def test_the_official_client_receives_what_was_published(broker, published):
    client = client_of(broker.service_url)
    for topic in published:
        consumer = client.subscribe(topic, "official", initial_position=EARLIEST)
        message = consumer.receive(30_000)
        assert message.data() == topic.encode()
        consumer.acknowledge(message)
    client.close()


EARLIEST = pulsar.InitialPosition.Earliest


async def test_our_client_publishes_and_receives(broker, published):
    async with Client(broker.service_url) as client:

        async def talk(topic):
            async with (
                client.subscribe(topic, "ours") as consumer,
                client.create_producer(topic) as producer,
            ):
                await producer.send(b"from ours")
                message = await consumer.receive()
                assert message.data == b"from ours"
                await consumer.acknowledge(message)

        await asyncio.gather(*map(talk, published))


def test_each_topic_is_looked_at_by_one_port(broker, published):
    for topic in published:
        stats = broker.admin(f"admin/v2/{topic.replace('://', '/')}/stats")
        assert stats["msgInCounter"] >= 1
    assert len(broker.admin("admin/v2/brokers/standalone")) == 2
    assert set(published) <= set(broker.admin("admin/v2/persistent/public/default"))


def test_each_topic_is_changed_by_one_port(broker, published):
    for topic in published:
        path = f"admin/v2/{topic.replace('://', '/')}/subscription/made"
        admin_request(broker, "PUT", path)
        assert "made" in broker.admin(f"admin/v2/{topic.replace('://', '/')}/subscriptions")
        admin_request(broker, "DELETE", path)


def test_a_message_is_looked_at_with_its_properties(broker):
    client = client_of(broker.service_url)
    for number in range(8):
        topic = f"persistent://public/default/seen-{number}"
        consumer = client.subscribe(topic, "s")
        client.create_producer(topic).send(b"x", properties={"key": "value"})
        consumer.receive(30_000)
        path = f"admin/v2/{topic.replace('://', '/')}/subscription/s/position/1"
        with urlopen(f"{broker.web_url}/{path}") as answer:
            assert answer.read() == b"x"
            assert json.loads(answer.headers["X-Pulsar-PROPERTY"]) == {"key": "value"}
    client.close()


def test_metrics_are_of_all_processes_and_each_stands_once(broker, published):
    with urlopen(f"{broker.web_url}/metrics/") as answer:
        lines = answer.read().decode().splitlines()
    heads = [line for line in lines if line.startswith("# TYPE")]
    assert len(heads) == len(set(heads))
    samples = [line.rpartition(" ")[0] for line in lines if line and line[0] != "#"]
    assert len(samples) == len(set(samples))
    for topic in published:
        its = [each for each in samples if f'topic="{topic}"' in each]
        assert sum(each.startswith("pulsar_in_messages_total{") for each in its) == 1
    for number in range(2):
        assert any(
            line.startswith("process_cpu_seconds_total{") and f'process="{number}"' in line
            for line in samples
        )


def test_partitions_of_one_topic_are_served_by_both(broker):
    client = client_of(broker.service_url)
    admin_request(broker, "PUT", "admin/v2/persistent/public/default/parts/partitions", b"8")
    topic = "persistent://public/default/parts"
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic, batching_enabled=False)
    for number in range(80):
        producer.send(b"%d" % number)
    received = set()
    while len(received) < 80:
        message = consumer.receive(30_000)
        received.add(int(message.data()))
        consumer.acknowledge(message)
    stats = broker.admin("admin/v2/persistent/public/default/parts/partitioned-stats")
    assert stats["msgInCounter"] == 80
    client.close()
