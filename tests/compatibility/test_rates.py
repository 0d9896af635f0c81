"""Limits on rates, for the official client: set and removed while it works, also shared ones.

What came is compared with what the limit lets through in the time that it took: other processes
run beside, and make that longer.
"""

import time

import pulsar
import pytest
from compatibility.conftest import open_client, receive_all, stats
from compatibility.test_policies import Namespace
from pulsar import ConsumerType, InitialPosition

from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.compatibility

EARLIEST = InitialPosition.Earliest
A_WHILE_S = 1.0


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with BrokerProcess(tmp_path_factory.mktemp("rates")) as process:
        yield process


@pytest.fixture
def namespace(broker):
    return Namespace(broker)


def publish_rate(messages):
    return {"publishThrottlingRateInMsg": messages, "publishThrottlingRateInByte": -1}


def dispatch_rate(messages):
    return {
        "dispatchThrottlingRateInMsg": messages,
        "dispatchThrottlingRateInByte": -1,
        "ratePeriodInSecond": 1,
    }


def published(*producers, least=0):
    """How many sends are answered, one after the other, and in how many seconds.

    It goes on for a while, and until there are ``least``: a busy machine takes longer.
    """
    began, count = time.monotonic(), 0
    while time.monotonic() < began + A_WHILE_S or count < least:
        producers[count % len(producers)].send(b"m")
        count += 1
    return count, time.monotonic() - began


def received(*consumers, least):
    """The same for messages that come."""
    began, count = time.monotonic(), 0
    while time.monotonic() < began + A_WHILE_S or count < least:
        assert time.monotonic() < began + 30, f"{count} of {least} came"
        for consumer in consumers:
            try:
                consumer.acknowledge(consumer.receive(timeout_millis=20))
                count += 1
            except pulsar.Timeout:
                pass
    return count, time.monotonic() - began


def most(rate, seconds):
    """What a limit lets through: a second's worth at once, the rate, what was under way."""
    return rate * (seconds + 1.75)


def fill(client, topic, count=500):
    client.subscribe(topic, "s", initial_position=EARLIEST).close()
    producer = client.create_producer(topic, block_if_queue_full=True)
    for number in range(count):
        producer.send_async(b"%d" % number, None)
    producer.flush()
    return producer


@pytest.mark.parametrize("domain", ["persistent", "non-persistent"])
def test_publishing_is_held_to_the_rate_while_there_is_one(broker, namespace, client, domain):
    topic = namespace.topic().replace("persistent", domain)
    producer = client.create_producer(topic)
    namespace.set("publishRate", publish_rate(20))
    count, seconds = published(producer, least=20)
    assert count <= most(20, seconds)
    assert stats(broker, topic)["publishRateLimitedTimes"] > 0
    namespace.remove("publishRate")
    producer.send(b"the wait is over")
    count, seconds = published(producer, least=200)
    assert count > most(20, seconds)


def test_a_topic_s_own_rate_of_publishing_counts_bytes_too(namespace, client):
    producer = client.create_producer(namespace.topic())
    namespace.set_for_topic("publishRate", {"publishThrottlingRateInByte": 20_000})
    before = time.monotonic()
    for _ in range(4):
        producer.send(bytes(10_000))
    assert 0.5 <= time.monotonic() - before < 5


@pytest.mark.parametrize(
    ("policy", "limit"),
    [
        ("namespaces/public/{}/dispatchRate", "topic"),
        ("namespaces/public/{}/subscriptionDispatchRate", "subscription"),
        ("persistent/public/{}/t/s/dispatchRate", "subscription"),
    ],
)
def test_deliveries_are_held_to_the_rate_while_there_is_one(
    broker, namespace, client, policy, limit
):
    topic, path = namespace.topic(), policy.format(namespace.local)
    fill(client, topic)
    namespace.ask("POST", path, dispatch_rate(20))
    consumer = client.subscribe(topic, "s", consumer_type=ConsumerType.Shared)
    count, seconds = received(consumer, least=20)
    assert count <= most(20, seconds)
    shown = stats(broker, topic)["subscriptions"]["s"]
    assert shown[f"dispatchThrottledMsgEventsBy{limit.title()}Limit"] > 0
    assert shown["blockedReason"] == f"the dispatch rate of the {limit} is used up for the moment"
    namespace.ask("DELETE", path)
    receive_all(consumer, 400)


def test_a_consumer_that_comes_back_too_often_is_refused(broker, namespace, client):
    def subscribe():
        """As a new process does it: name and id are the same each time."""
        other = open_client(broker.service_url)
        try:
            other.subscribe(namespace.topic(), "s", consumer_name="c")
        finally:
            other.close()

    rate = {"subscribeThrottlingRatePerConsumer": 1, "ratePeriodInSecond": 60}
    namespace.set("subscribeRate", rate)
    subscribe()
    with pytest.raises(pulsar.NotAllowedError):
        subscribe()
    client.subscribe(namespace.topic(), "s", consumer_name="another").close()
    namespace.remove("subscribeRate")
    subscribe()


def test_a_resource_group_is_shared_by_its_namespaces(broker, client):
    first, second = Namespace(broker), Namespace(broker)
    group = f"group-{first.local}"
    first.ask("PUT", f"resourcegroups/{group}", {"publishRateInMsgs": 20, "dispatchRateInMsgs": 40})
    for each in (first, second):
        each.ask("POST", f"namespaces/public/{each.local}/resourcegroup/{group}")
    producers = [client.create_producer(each.topic()) for each in (first, second)]
    count, seconds = published(*producers, least=20)
    assert count <= most(20, seconds)
    first.ask("PUT", f"resourcegroups/{group}", {"publishRateInMsgs": 1_000_000})
    for each in (first, second):
        fill(client, each.topic(), 200)
    consumers = [client.subscribe(each.topic(), "s") for each in (first, second)]
    count, seconds = received(*consumers, least=40)
    assert count <= most(40, seconds)
    for each in (first, second):
        each.ask("DELETE", f"namespaces/public/{each.local}/resourcegroup")
    for consumer in consumers:
        receive_all(consumer, 100)
