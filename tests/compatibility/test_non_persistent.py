"""Non-persistent topics, for the official client and for ours."""

import asyncio
import re
import time
from collections import defaultdict
from datetime import timedelta

import pulsar
import pytest
from compatibility.conftest import Inbox, Receipts, nothing_more, open_client
from pulsar import ConsumerType, KeySharedMode, RegexSubscriptionMode
from pulsar.schema import AvroSchema, Integer, Record, String
from support.admin import ask
from support.draining import data, drained

import magnetar
from magnetar.testing.local_broker import BrokerThread
from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.compatibility

SETTINGS = {"retentionCheckIntervalInSeconds": 1, "topicUnloadAfterIdleSeconds": 1}
TYPES = [
    ConsumerType.Exclusive,
    ConsumerType.Failover,
    ConsumerType.Shared,
    ConsumerType.KeyShared,
]


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with BrokerProcess(tmp_path_factory.mktemp("passing"), settings=SETTINGS) as process:
        yield process


@pytest.fixture
def topic(topic):
    return f"non-{topic}"


def path_of(topic):
    return topic.replace("://", "/")


def stats(broker, topic):
    return ask(broker, "GET", f"{path_of(topic)}/stats")


def consumers(broker, topic):
    """Those of subscription ``s``; none where the topic is not there."""
    if topic not in ask(broker, "GET", "non-persistent/public/default"):
        return []
    return stats(broker, topic)["subscriptions"].get("s", {}).get("consumers", [])


def wait_until(condition, timeout_s=20):
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.02)


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
@pytest.mark.parametrize("batching", [True, False])
def test_who_is_connected_gets_everything_in_order(client, topic, kind, batching):
    producer = client.create_producer(topic, batching_enabled=batching)
    missed = producer.send(b"nobody is there")
    assert (missed.ledger_id(), missed.entry_id()) == (0, 0)
    inbox = Inbox(500)
    client.subscribe(topic, "s", consumer_type=kind, message_listener=inbox.listener)
    receipts = Receipts(500)
    for number in range(500):
        producer.send_async(b"%d" % number, receipts.callback)
    receipts.wait()
    assert [message[0] for message in inbox.wait()] == [b"%d" % number for number in range(500)]


def test_what_a_full_consumer_cannot_take_is_dropped_and_counted(broker, client, topic):
    full = client.subscribe(topic, "full", receiver_queue_size=5)
    inbox = Inbox(20)
    client.subscribe(topic, "fast", message_listener=inbox.listener)
    producer = client.create_producer(topic, batching_enabled=False)
    for number in range(20):
        producer.send(b"%d" % number)
    inbox.wait()
    shown = stats(broker, topic)
    assert shown["msgInCounter"] == 20
    assert shown["subscriptions"]["full"]["msgDropCounter"] == 15
    assert shown["subscriptions"]["fast"]["msgDropCounter"] == 0
    assert {one["msgBacklog"] for one in shown["subscriptions"].values()} == {0}
    assert [full.receive(5000).data() for _ in range(5)] == [b"%d" % n for n in range(5)]
    nothing_more(full)


def test_nothing_comes_again(client, topic):
    consumer = client.subscribe(
        topic, "s", consumer_type=ConsumerType.Shared, negative_ack_redelivery_delay_ms=100
    )
    client.create_producer(topic).send(b"once")
    message = consumer.receive(5000)
    consumer.negative_acknowledge(message)
    consumer.redeliver_unacknowledged_messages()
    nothing_more(consumer, 400)
    with pytest.raises(pulsar.PulsarException):
        consumer.seek(pulsar.MessageId.earliest)


def test_a_delay_would_mean_to_keep_it(client, topic):
    consumer = client.subscribe(topic, "s", consumer_type=ConsumerType.Shared)
    client.create_producer(topic).send(b"now", deliver_after=timedelta(hours=1))
    assert consumer.receive(5000).data() == b"now"


def test_the_next_failover_consumer_takes_over_at_once(broker, client, topic):
    consumers = {
        name: client.subscribe(topic, "s", consumer_type=ConsumerType.Failover, consumer_name=name)
        for name in ("a", "b", "c")
    }
    producer = client.create_producer(topic)
    for round_ in range(3):
        active = stats(broker, topic)["subscriptions"]["s"]["activeConsumerName"]
        producer.send(b"%d" % round_)
        consumer = consumers.pop(active)
        assert consumer.receive(5000).data() == b"%d" % round_
        consumer.close()


def test_the_messages_of_a_key_go_to_one_consumer_in_order(client, topic):
    inbox = Inbox(1000)
    for name in ("a", "b", "c"):
        client.subscribe(
            topic,
            "s",
            consumer_type=ConsumerType.KeyShared,
            consumer_name=name,
            message_listener=inbox.listener,
            key_shared_policy=pulsar.ConsumerKeySharedPolicy(KeySharedMode.AutoSplit),
        )
    producer = client.create_producer(
        topic, batching_type=pulsar.BatchingType.KeyBased, batching_enabled=True
    )
    for number in range(1000):
        producer.send_async(b"%d" % number, None, partition_key=f"key-{number % 20}")
    producer.flush()
    homes, numbers = defaultdict(set), defaultdict(list)
    for text, key, _, consumer, _ in inbox.wait():
        homes[key].add(consumer)
        numbers[key].append(int(text))
    assert len(homes) == 20
    assert all(len(home) == 1 for home in homes.values())
    assert all(found == sorted(found) for found in numbers.values())
    assert len(set().union(*homes.values())) > 1


def test_after_a_crash_the_topic_is_there_again_and_its_messages_are_not(broker, client, topic):
    producer = client.create_producer(topic)
    producer.send(b"lost")
    broker.kill()
    broker.start()
    consumer = client.subscribe(topic, "s")
    producer.send(b"after")
    assert consumer.receive(10_000).data() == b"after"


def test_an_idle_one_is_gone_and_comes_back_when_it_is_used(broker, client, topic):
    client.create_producer(topic).close()
    wait_until(lambda: topic not in ask(broker, "GET", "non-persistent/public/default"))
    assert ask(broker, "DELETE", path_of(topic)) is None
    consumer = client.subscribe(topic, "s")
    client.create_producer(topic).send(b"again")
    assert consumer.receive(5000).data() == b"again"


def test_clients_come_back_after_an_unload(broker, client, topic):
    consumer, producer = client.subscribe(topic, "s"), client.create_producer(topic)
    ask(broker, "PUT", f"{path_of(topic)}/unload")
    wait_until(lambda: consumers(broker, topic))
    producer.send(b"after")
    assert consumer.receive(5000).data() == b"after"


def test_partitions_and_patterns(broker, client, topic):
    ask(broker, "PUT", f"{path_of(topic)}/partitions", 3)
    assert len(client.get_topic_partitions(topic)) == 3
    inbox, other = Inbox(30), Inbox(30)
    client.subscribe(topic, "s", message_listener=inbox.listener)
    client.subscribe(
        re.compile(f"{topic}.*"),
        "pattern",
        regex_subscription_mode=RegexSubscriptionMode.NonPersistentOnly,
        message_listener=other.listener,
    )
    producer = client.create_producer(topic, batching_enabled=False)
    for number in range(30):
        producer.send(b"%d" % number)
    for each in (inbox, other):
        assert {int(message[0]) for message in each.wait()} == set(range(30))


class Person(Record):
    name = String()


class Thing(Record):
    size = Integer(required=True)


def test_schemas_and_owners_are_those_of_any_topic(client, topic):
    owner = client.create_producer(
        topic,
        schema=AvroSchema(Person),
        access_mode=pulsar.ProducerAccessMode.Exclusive,
    )
    with pytest.raises(pulsar.IncompatibleSchema):
        client.subscribe(topic, "s", schema=AvroSchema(Thing))
    with pytest.raises(pulsar.ProducerFenced):
        client.create_producer(
            topic, schema=AvroSchema(Person), access_mode=pulsar.ProducerAccessMode.Exclusive
        )
    consumer = client.subscribe(topic, "s", schema=AvroSchema(Person))
    owner.send(Person(name="Ada"))
    assert consumer.receive(5000).value().name == "Ada"


def test_a_chunk_is_refused(client, topic):
    producer = client.create_producer(topic, batching_enabled=False, chunking_enabled=True)
    with pytest.raises(pulsar.PulsarException):
        producer.send(b"x" * 6 * 1024 * 1024)


@pytest.mark.parametrize(
    ("setting", "domain"),
    [("enablePersistentTopics", "persistent"), ("enableNonPersistentTopics", "non-persistent")],
)
def test_a_domain_can_be_switched_off(setting, domain):
    with BrokerThread(settings={setting: False}) as broker:
        client = open_client(broker.service_url)
        with pytest.raises(pulsar.NotAllowedError):
            client.create_producer(f"{domain}://public/default/t")
        with pytest.raises(pulsar.NotAllowedError):
            client.subscribe(f"{domain}://public/default/t", "s")
        client.close()


@pytest.mark.parametrize("kind", magnetar.SubscriptionType)
async def test_our_client_acknowledges_nothing_and_misses_nothing(broker, topic, kind):
    async with magnetar.Client(broker.service_url) as ours:
        consumer = await ours.subscribe(topic, "s", type=kind)
        producer = await ours.create_producer(topic)
        texts = [b"%d" % number for number in range(300)]
        await producer.send_many(texts)
        messages = await drained(consumer, 300, acknowledge=consumer.acknowledge)
        assert data(messages) == texts
        await consumer.redeliver_unacknowledged()
        ask(broker, "PUT", f"{path_of(topic)}/unload")
        await asyncio.to_thread(wait_until, lambda: consumers(broker, topic))
        await producer.send(b"after")
        [message] = await drained(consumer, 1, acknowledge=consumer.acknowledge)
        assert message.data == b"after"


async def test_our_reader_sees_what_comes_while_it_is_there(broker, topic):
    async with magnetar.Client(broker.service_url) as ours:
        producer = await ours.create_producer(topic)
        await producer.send(b"missed")
        reader = await ours.create_reader(topic, magnetar.EARLIEST_MESSAGE)
        assert not await reader.has_message_available()
        await producer.send(b"seen")
        assert (await reader.receive()).data == b"seen"
        with pytest.raises(magnetar.errors.NotAllowed, match="keeps no messages"):
            await reader.seek(magnetar.EARLIEST_MESSAGE)
