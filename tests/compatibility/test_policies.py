"""A policy set over REST acts on topics that are in use, for the official client."""

from contextlib import contextmanager
from itertools import count

import pulsar
import pytest
from compatibility.conftest import nothing_more, open_client, receive_all
from pulsar import ConsumerType, InitialPosition
from support.admin import ask

from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.compatibility

LEDGER_SIZE = 5
SETTINGS = {
    "managedLedgerMaxEntriesPerLedger": LEDGER_SIZE,
    "managedLedgerMinLedgerRolloverTimeMinutes": 0,
    "managedLedgerDefaultMarkDeleteRateLimit": 100,
    "retentionCheckIntervalInSeconds": 1,
}
NAMES = count()
STORED_FOR_EVER = {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1}


class Namespace:
    """A namespace of one test's own, and what its administrator does."""

    def __init__(self, broker):
        self._broker = broker
        self.local = f"ns{next(NAMES)}"
        self.ask("PUT", f"namespaces/public/{self.local}")

    def ask(self, method, path, value=None):
        return ask(self._broker, method, path, value)

    def set(self, policy, value):
        self.ask("POST", f"namespaces/public/{self.local}/{policy}", value)

    def remove(self, policy):
        self.ask("DELETE", f"namespaces/public/{self.local}/{policy}")

    def set_for_topic(self, policy, value, name="t"):
        self.ask("POST", f"persistent/public/{self.local}/{name}/{policy}", value)

    def topic(self, name="t"):
        return f"persistent://public/{self.local}/{name}"

    def stored(self, name="t"):
        stats = self.ask("GET", f"persistent/public/{self.local}/{name}/internalStats")
        return stats["numberOfEntries"]


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with BrokerProcess(tmp_path_factory.mktemp("policies"), settings=SETTINGS) as process:
        yield process


@pytest.fixture
def namespace(broker):
    return Namespace(broker)


@contextmanager
def limited(namespace, policy, value=1):
    """While the block runs, a topic that is in use has this policy."""
    namespace.set(policy, value)
    try:
        yield
    finally:
        namespace.remove(policy)


def test_producers_of_a_topic_in_use_are_limited_and_let_in_again(namespace, client):
    first = client.create_producer(namespace.topic())
    with limited(namespace, "maxProducersPerTopic"):
        with pytest.raises(pulsar.ProducerBusy):
            client.create_producer(namespace.topic())
        first.send(b"who is there stays")
    client.create_producer(namespace.topic())


@pytest.mark.parametrize("policy", ["maxConsumersPerTopic", "maxConsumersPerSubscription"])
def test_consumers_of_a_topic_in_use_are_limited_and_let_in_again(namespace, client, policy):
    def subscribe(name="s"):
        return client.subscribe(namespace.topic(), name, consumer_type=ConsumerType.Shared)

    subscribe()
    with limited(namespace, policy):
        with pytest.raises(pulsar.ConsumerBusy):
            subscribe()
        if policy == "maxConsumersPerSubscription":
            subscribe("another")
    subscribe()


def test_subscriptions_of_a_topic_in_use_are_limited_and_let_in_again(namespace, client):
    client.subscribe(namespace.topic(), "a")
    with limited(namespace, "maxSubscriptionsPerTopic"):
        with pytest.raises(pulsar.NotAllowedError):
            client.subscribe(namespace.topic(), "b")
        client.create_reader(namespace.topic(), pulsar.MessageId.earliest).close()
    client.subscribe(namespace.topic(), "b")


def test_types_of_subscriptions_are_switched_off_and_on(namespace, client):
    client.subscribe(namespace.topic(), "a", consumer_type=ConsumerType.Shared)
    with limited(namespace, "subscriptionTypesEnabled", ["Exclusive", "Failover"]):
        with pytest.raises(pulsar.NotAllowedError):
            client.subscribe(namespace.topic(), "a", consumer_type=ConsumerType.Shared)
        client.subscribe(namespace.topic(), "b", consumer_type=ConsumerType.Failover)
        namespace.set_for_topic("subscriptionTypesEnabled", ["Shared"])
        client.subscribe(namespace.topic(), "a", consumer_type=ConsumerType.Shared)
        with pytest.raises(pulsar.NotAllowedError):
            client.subscribe(namespace.topic(), "b", consumer_type=ConsumerType.Failover)
        namespace.set_for_topic("subscriptionTypesEnabled", [])
        client.subscribe(namespace.topic(), "b", consumer_type=ConsumerType.Failover)
    client.subscribe(namespace.topic(), "a", consumer_type=ConsumerType.Shared)


def test_topics_of_a_namespace_are_limited_and_let_in_again(namespace, client):
    client.create_producer(namespace.topic("a"))
    with limited(namespace, "maxTopicsPerNamespace"), pytest.raises(pulsar.NotAllowedError):
        client.create_producer(namespace.topic("b"))
    client.create_producer(namespace.topic("b"))


@pytest.mark.parametrize(
    "policy", ["maxUnackedMessagesPerConsumer", "maxUnackedMessagesPerSubscription"]
)
def test_unacknowledged_messages_of_connected_consumers_are_limited_and_let_go(
    namespace, client, policy
):
    producer = client.create_producer(namespace.topic(), batching_enabled=False)
    consumer = client.subscribe(namespace.topic(), "s", consumer_type=ConsumerType.Shared)
    with limited(namespace, policy, 3):
        for number in range(10):
            producer.send(str(number).encode())
        held = [consumer.receive(20_000) for _ in range(3)]
        nothing_more(consumer)
    held += [consumer.receive(20_000) for _ in range(7)]
    assert {message.data() for message in held} == {str(number).encode() for number in range(10)}


def test_topics_are_made_by_using_them_as_the_namespace_says(namespace, client):
    off = {"allowAutoTopicCreation": False}
    with limited(namespace, "autoTopicCreation", off), pytest.raises(pulsar.TopicNotFound):
        client.create_producer(namespace.topic("a"))
    override = {
        "allowAutoTopicCreation": True,
        "topicType": "partitioned",
        "defaultNumPartitions": 3,
    }
    with limited(namespace, "autoTopicCreation", override):
        client.create_producer(namespace.topic("p")).send(b"one")
        assert len(client.get_topic_partitions(namespace.topic("p"))) == 3
    client.create_producer(namespace.topic("plain"))
    assert client.get_topic_partitions(namespace.topic("plain")) == [namespace.topic("plain")]


def test_subscriptions_are_made_by_using_them_as_the_namespace_says(broker, namespace, client):
    producer = client.create_producer(namespace.topic())
    client.subscribe(namespace.topic(), "present").close()
    off = {"allowAutoSubscriptionCreation": False}
    with limited(namespace, "autoSubscriptionCreation", off):
        # The client tries again as long as it may, in case an administrator makes it meanwhile.
        hasty = open_client(broker.service_url, operation_timeout_seconds=1)
        with pytest.raises(pulsar.Timeout):
            hasty.subscribe(namespace.topic(), "new")
        hasty.close()
        consumer = client.subscribe(namespace.topic(), "present")
        producer.send(b"one")
        assert consumer.receive(20_000).data() == b"one"
    client.subscribe(namespace.topic(), "new")


@pytest.mark.parametrize("whose", ["namespaces/public/{}", "persistent/public/{}/t"])
def test_messages_of_a_topic_in_use_are_kept_as_long_as_a_policy_says(namespace, client, whose):
    path = f"{whose.format(namespace.local)}/retention"
    producer = client.create_producer(namespace.topic(), batching_enabled=False)
    consumer = client.subscribe(namespace.topic(), "s", initial_position=InitialPosition.Earliest)
    namespace.ask("POST", path, STORED_FOR_EVER)
    for number in range(4 * LEDGER_SIZE):
        producer.send(str(number).encode())
    receive_all(consumer, 4 * LEDGER_SIZE)
    consumer.close()  # What it acknowledged is on its way no longer.
    namespace.ask("PUT", f"persistent/public/{namespace.local}/t/unload")  # As a restart would.
    reader = client.create_reader(namespace.topic(), pulsar.MessageId.earliest)
    kept = [int(reader.read_next(20_000).data()) for _ in range(4 * LEDGER_SIZE)]
    assert kept == list(range(4 * LEDGER_SIZE))
    reader.close()

    namespace.ask("DELETE", path)
    while namespace.stored() >= LEDGER_SIZE:  # The next check, within a second, lets them go.
        pass


def test_a_topic_in_use_has_policies_of_its_own(namespace, client):
    first = client.create_producer(namespace.topic())
    namespace.set_for_topic("maxProducers", 1)
    with pytest.raises(pulsar.ProducerBusy):
        client.create_producer(namespace.topic())
    first.send(b"who is there stays")
    for _ in range(2):
        client.create_producer(namespace.topic("other"))
    namespace.set_for_topic("maxProducers", 2)
    client.create_producer(namespace.topic())


def test_a_topic_in_use_takes_messages_of_its_own_size(namespace, client):
    producer = client.create_producer(namespace.topic(), batching_enabled=False)
    producer.send(b"x" * 2000)
    namespace.set_for_topic("maxMessageSize", 1000)
    with pytest.raises(pulsar.PulsarException):
        producer.send(b"x" * 2000)
    producer.send(b"x" * 900)
    namespace.set_for_topic("maxMessageSize", 3000)
    producer.send(b"x" * 2000)
    assert namespace.stored() == 3


def test_policies_outlive_a_kill(tmp_path):
    with BrokerProcess(tmp_path / "data") as broker:
        namespace = Namespace(broker)
        namespace.ask("PUT", f"persistent/public/{namespace.local}/t")
        namespace.set("maxProducersPerTopic", 1)
        namespace.set("retention", STORED_FOR_EVER)
        namespace.set_for_topic("maxProducers", 2)
        broker.kill()
        broker.start()
        shown = namespace.ask("GET", f"namespaces/public/{namespace.local}")
        assert shown["retention_policies"] == STORED_FOR_EVER
        client = open_client(broker.service_url)
        for name, producers in (("other", 1), ("t", 2)):
            for _ in range(producers):
                client.create_producer(namespace.topic(name))
            with pytest.raises(pulsar.ProducerBusy):
                client.create_producer(namespace.topic(name))
        client.close()
