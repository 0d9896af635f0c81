"""What was asked for again, and what is acknowledged of a batch, after the broker was killed."""

import json
from contextlib import contextmanager
from urllib.request import Request, urlopen

import pytest
from compatibility.conftest import nothing_more, open_client
from pulsar import ConsumerDeadLetterPolicy, ConsumerType, InitialPosition
from support.elsewhere import wait_until

from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.compatibility

BATCH = 10


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    settings = {"acknowledgmentAtBatchIndexLevelEnabled": True}
    with BrokerProcess(tmp_path_factory.mktemp("redelivery") / "data", settings=settings) as broker:
        yield broker


def ask(broker, topic, what, method="GET"):
    path = topic.replace("://", "/")
    request = Request(f"{broker.web_url}/admin/v2/{path}/{what}", method=method)
    with urlopen(request, timeout=20) as response:
        return json.loads(response.read() or b"null")


def subscription(broker, topic):
    return ask(broker, topic, "stats")["subscriptions"]["s"]


def kill(broker, topic):
    """Kill the broker and start it again. Before that the topic saves what it knows."""
    ask(broker, topic, "unload", "PUT")
    broker.kill()
    broker.start()


@contextmanager
def subscribed(broker, topic, kind=ConsumerType.Shared, **options):
    """A consumer whose client closes, and so sends its acknowledgements, when the block ends."""
    client = open_client(broker.service_url)
    yield client.subscribe(
        topic, "s", consumer_type=kind, initial_position=InitialPosition.Earliest, **options
    )
    client.close()


def test_a_message_is_dead_lettered_though_consumers_and_the_broker_crash(broker, topic):
    options = {
        "negative_ack_redelivery_delay_ms": 100,
        "dead_letter_policy": ConsumerDeadLetterPolicy(3, f"{topic}-DLQ", "kept"),
    }

    def receive(consumer, count):
        message = consumer.receive(20_000)
        assert (message.data(), message.redelivery_count()) == (b"poison", count)
        return message

    for count in (0, 1):
        with subscribed(broker, topic, **options) as consumer:
            if count == 0:
                client = open_client(broker.service_url)
                client.create_producer(topic).send(b"poison")
                client.close()
            consumer.negative_acknowledge(receive(consumer, count))
            receive(consumer, count + 1)
        kill(broker, topic)
    with subscribed(broker, topic, **options) as consumer:
        for count in (2, 3):
            consumer.negative_acknowledge(receive(consumer, count))
        with subscribed(broker, f"{topic}-DLQ") as dead_letters:
            assert dead_letters.receive(20_000).data() == b"poison"
        wait_until(
            lambda: subscription(broker, topic)["msgBacklog"] == 0,
            "the client acknowledges what it has sent to the dead letter topic",
        )


@pytest.mark.parametrize("kind", [ConsumerType.Shared, ConsumerType.Exclusive])
def test_only_the_rest_of_a_batch_comes_again_after_a_crash(broker, topic, kind):
    client = open_client(broker.service_url)
    producer = client.create_producer(topic, batching_enabled=True)
    with subscribed(broker, topic, kind, batch_index_ack_enabled=True) as consumer:
        for number in range(BATCH):
            producer.send_async(str(number).encode(), None)
        producer.flush()
        messages = [consumer.receive(20_000) for _ in range(BATCH)]
        if kind is ConsumerType.Shared:
            for number in (1, 5, 9):
                consumer.acknowledge(messages[number])
            left = [0, 2, 3, 4, 6, 7, 8]
        else:
            consumer.acknowledge_cumulative(messages[3])
            left = [4, 5, 6, 7, 8, 9]
    client.close()
    kill(broker, topic)
    with subscribed(broker, topic, kind, batch_index_ack_enabled=True) as consumer:
        rest = [consumer.receive(20_000) for _ in left]
        assert [int(message.data()) for message in rest] == left
        told = subscription(broker, topic)
        unacked = len(left) if kind is ConsumerType.Shared else 0
        assert (told["msgBacklog"], told["unackedMessages"]) == (1, unacked)
        nothing_more(consumer)
        for message in rest:
            consumer.acknowledge(message)
    assert subscription(broker, topic)["msgBacklog"] == 0
