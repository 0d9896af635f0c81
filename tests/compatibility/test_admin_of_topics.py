"""What an administrator does to topics and subscriptions, as the official client sees it."""

import json
from contextlib import suppress
from http.client import HTTPConnection
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pulsar
import pytest
from compatibility.conftest import nothing_more, open_client, receive_all
from pulsar import ConsumerType, InitialPosition, MessageId
from support.admin import ask

from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.compatibility

COUNT = 10


@pytest.fixture
def written(official, topic):
    producer = official.create_producer(topic)
    return topic, [producer.send(b"%d" % number) for number in range(COUNT)]


@pytest.fixture
def admin(magnetar_broker):
    """Asks for something of a topic."""

    def ask_it(method, topic, path, value=None):
        return ask(magnetar_broker, method, f"{topic.replace('://', '/')}/{path}", value)

    return ask_it


def numbers(messages):
    return [int(message.data()) for message in messages]


def peeked(broker, topic, subscription, number):
    """The body of a message in a backlog, and its properties."""
    http = HTTPConnection(urlsplit(broker.web_url).netloc)
    path = f"/admin/v2/{topic.replace('://', '/')}/subscription/{subscription}/position/{number}"
    http.request("GET", path)
    answer = http.getresponse()
    body = answer.read()
    http.close()
    return body, json.loads(answer.headers["X-Pulsar-PROPERTY"])


def test_a_producer_of_a_topic_that_ended_is_refused(official, admin, written):
    topic, ids = written
    producer = official.create_producer(topic)
    last = admin("POST", topic, "terminate")
    assert (last["ledgerId"], last["entryId"]) == (ids[-1].ledger_id(), ids[-1].entry_id())
    with pytest.raises(pulsar.PulsarException):
        producer.send(b"late")
    with pytest.raises(pulsar.TopicTerminated):
        official.create_producer(topic)


def test_consumers_and_readers_get_to_the_end_and_no_further(official, admin, written):
    topic, _ = written
    admin("POST", topic, "terminate")
    consumer = official.subscribe(topic, "s", initial_position=InitialPosition.Earliest)
    assert numbers(receive_all(consumer, COUNT)) == list(range(COUNT))
    nothing_more(consumer)
    reader = official.create_reader(topic, MessageId.earliest)
    read = []
    while reader.has_message_available():
        read.append(reader.read_next(10_000))
    assert numbers(read) == list(range(COUNT))


def test_a_topic_that_ended_has_ended_after_a_kill(tmp_path):
    topic = "persistent://public/default/ended"
    path = "persistent/public/default/ended"
    with BrokerProcess(tmp_path / "data") as broker:
        client = open_client(broker.service_url)
        producer = client.create_producer(topic)
        for number in range(COUNT):
            producer.send(b"%d" % number)
        ask(broker, "PUT", f"{path}/subscription/s", "earliest")
        last = ask(broker, "POST", f"{path}/terminate")
        broker.kill()
        with suppress(pulsar.NotConnected):  # Its producer's close cannot be told to anybody.
            client.close()

        broker.start()
        client = open_client(broker.service_url)
        with pytest.raises(pulsar.TopicTerminated):
            client.create_producer(topic)
        assert numbers(receive_all(client.subscribe(topic, "s"), COUNT)) == list(range(COUNT))
        assert ask(broker, "POST", f"{path}/terminate") == last
        client.close()


def test_to_peek_takes_nothing_away(official, admin, magnetar_broker, topic):
    producer = official.create_producer(topic)
    for number in range(3):
        producer.send(b"%d" % number, properties={"n": str(number)})
    admin("PUT", topic, "subscription/s", "earliest")
    found = [peeked(magnetar_broker, topic, "s", number) for number in (1, 2, 3)]
    assert found == [(b"%d" % n, {"n": str(n)}) for n in range(3)]
    consumer = official.subscribe(topic, "s")
    assert numbers(receive_all(consumer, 3)) == [0, 1, 2]


@pytest.mark.parametrize("kind", [ConsumerType.Exclusive, ConsumerType.Shared])
def test_a_reset_brings_connected_consumers_back_to_a_message_or_a_time(
    official, admin, written, kind
):
    topic, ids = written
    consumer = official.subscribe(
        topic, "s", consumer_type=kind, initial_position=InitialPosition.Earliest
    )
    # Acknowledgements that leave after the reset would count again, so there are none.
    messages = [consumer.receive(20_000) for _ in range(COUNT)]
    at = {"ledgerId": ids[7].ledger_id(), "entryId": ids[7].entry_id()}
    admin("POST", topic, "subscription/s/resetcursor", at)
    assert numbers(consumer.receive(20_000) for _ in range(3)) == [7, 8, 9]
    admin("POST", topic, f"subscription/s/resetcursor/{messages[0].publish_timestamp()}")
    assert numbers(consumer.receive(20_000) for _ in range(COUNT)) == list(range(COUNT))


def test_what_is_skipped_or_expired_is_not_delivered(official, admin, written):
    topic, ids = written
    admin("PUT", topic, "subscription/s", "earliest")
    admin("POST", topic, "subscription/s/skip/2")
    at = {"ledgerId": ids[4].ledger_id(), "entryId": ids[4].entry_id()}
    admin("POST", topic, "subscription/s/expireMessages", at)
    consumer = official.subscribe(topic, "s")
    assert numbers(receive_all(consumer, 1)) == [5]
    consumer.close()
    admin("POST", topic, "subscription/s/skip_all")
    with pytest.raises(HTTPError, match="409"):
        admin("POST", topic, "subscription/s/expireMessages/1")
    consumer = official.subscribe(topic, "s")
    nothing_more(consumer)
