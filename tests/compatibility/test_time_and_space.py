"""What grows old or too large, for the official client: TTL, backlog quotas, what nobody uses.

The broker looks once a second, and this is why the tests take a few.
"""

import pulsar
import pytest
from compatibility.conftest import nothing_more, open_client, receive_all, stats
from compatibility.test_policies import Namespace
from pulsar import InitialPosition
from support.elsewhere import wait_until

from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.compatibility

SETTINGS = {
    "messageExpiryCheckIntervalInMinutes": "0.005",
    "backlogQuotaCheckIntervalInSeconds": 1,
    "brokerDeleteInactiveTopicsFrequencySeconds": 1,
    "brokerDeleteInactiveTopicsMaxInactiveDurationSeconds": 3600,
}
EARLIEST = InitialPosition.Earliest


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with BrokerProcess(tmp_path_factory.mktemp("space"), settings=SETTINGS) as process:
        yield process


@pytest.fixture
def namespace(broker):
    return Namespace(broker)


@pytest.fixture
def client(broker):
    client = open_client(broker.service_url, operation_timeout_seconds=3)
    yield client
    client.close()


def backlog(broker, topic, subscription="s"):
    return stats(broker, topic)["subscriptions"][subscription]["msgBacklog"]


@pytest.mark.parametrize("level", ["namespace", "topic"])
def test_messages_older_than_the_ttl_are_gone_and_newer_ones_are_not(
    broker, namespace, client, level
):
    topic = namespace.topic()
    client.subscribe(topic, "s", initial_position=EARLIEST).close()
    producer = client.create_producer(topic)
    for number in range(5):
        producer.send(b"old %d" % number)
    if level == "namespace":
        namespace.set("messageTTL", 1)
    else:
        namespace.ask("POST", f"persistent/public/{namespace.local}/t/messageTTL?messageTTL=1")
    wait_until(
        lambda: backlog(broker, topic), "expired", met=lambda count: count == 0, timeout_s=10
    )
    shown = stats(broker, topic)["subscriptions"]["s"]
    assert shown["totalMsgExpired"] == 5
    assert shown["lastExpireTimestamp"] > 0
    if level == "namespace":
        namespace.remove("messageTTL")
    else:
        namespace.ask("DELETE", f"persistent/public/{namespace.local}/t/messageTTL")
    producer.send(b"new")
    consumer = client.subscribe(topic, "s")
    assert [message.data() for message in receive_all(consumer, 1)] == [b"new"]
    nothing_more(consumer)


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        ("producer_request_hold", pulsar.ProducerBlockedQuotaExceededError),
        ("producer_exception", pulsar.ProducerBlockedQuotaExceededException),
    ],
)
def test_no_producer_is_let_in_while_a_backlog_is_too_large(namespace, client, policy, error):
    topic = namespace.topic()
    consumer = client.subscribe(topic, "s", initial_position=EARLIEST)
    producer = client.create_producer(topic)
    for _ in range(10):
        producer.send(bytes(1000))
    namespace.set("backlogQuota", {"limitSize": 5000, "policy": policy})
    with pytest.raises(error):
        client.create_producer(topic)
    receive_all(consumer, 10)
    consumer.close()
    client.create_producer(topic).send(b"there is room again")


def test_a_producer_that_is_connected_is_sent_away(namespace, client, broker):
    topic = namespace.topic()
    client.subscribe(topic, "s", initial_position=EARLIEST)
    producer = client.create_producer(topic)
    for _ in range(10):
        producer.send(bytes(1000))
    namespace.set("backlogQuota", {"limitSize": 5000, "policy": "producer_exception"})
    wait_until(
        lambda: stats(broker, topic)["publishers"],
        "sent away",
        met=lambda publishers: not publishers,
        timeout_s=10,
    )
    assert stats(broker, topic)["backlogQuotaLimitSize"] == 5000


def test_the_oldest_messages_are_evicted(namespace, client, broker):
    topic = namespace.topic()
    consumer = client.subscribe(topic, "s", initial_position=EARLIEST, receiver_queue_size=1)
    consumer.close()
    producer = client.create_producer(topic)
    for number in range(20):
        producer.send(b"%d " % number + bytes(1000))
    namespace.set("backlogQuota", {"limitSize": 10_000, "policy": "consumer_backlog_eviction"})
    wait_until(
        lambda: stats(broker, topic)["backlogSize"],
        "evicted",
        met=lambda size: size <= 9_000,
        timeout_s=10,
    )
    producer.send(b"20 ")
    consumer = client.subscribe(topic, "s")
    left = [int(message.data().split()[0]) for message in receive_all(consumer, 9)]
    assert left == list(range(left[0], 21))
    assert 11 <= left[0] <= 13


def test_a_topic_that_nobody_uses_is_deleted_and_one_with_a_subscription_is_not(namespace, client):
    used, unused = namespace.topic("used"), namespace.topic("unused")
    client.subscribe(used, "s").close()
    client.create_producer(unused).close()
    namespace.set(
        "inactiveTopicPolicies",
        {
            "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
            "maxInactiveDurationSeconds": 1,
            "deleteWhileInactive": True,
        },
    )
    wait_until(
        lambda: namespace.ask("GET", f"persistent/public/{namespace.local}"),
        "deleted",
        met=lambda topics: topics == [used],
        timeout_s=15,
    )
    client.create_producer(unused).send(b"it is made again")
