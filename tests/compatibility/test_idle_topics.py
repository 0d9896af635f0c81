"""A topic that nobody uses is unloaded, and the official client notices nothing of it."""

import json
import logging
from urllib.request import urlopen

import pulsar
import pytest
from compatibility.conftest import nothing_more, open_client, receive_all
from pulsar import InitialPosition
from support.elsewhere import wait_until

from magnetar.testing.local_broker import BrokerThread

pytestmark = pytest.mark.compatibility

TOPIC = "persistent://public/default/idle"
SETTINGS = {
    "topicUnloadAfterIdleSeconds": 1,
    "retentionCheckIntervalInSeconds": 1,
    "brokerDeleteInactiveTopicsEnabled": "false",  # What is to be deleted stays loaded until then.
}


@pytest.fixture
def broker(tmp_path):
    with BrokerThread(tmp_path / "data", settings=SETTINGS) as broker:
        yield broker


@pytest.fixture
def until_unloaded(caplog):
    """Waits until the broker's log says that a topic was unloaded so often."""
    caplog.set_level(logging.INFO)

    def wait(topic, times=1):
        line = f"topic.unloaded topic={topic} "
        wait_until(lambda: caplog.text.count(line) >= times, f"{topic} unloaded {times} times")

    return wait


def of_admin_api(broker, path):
    with urlopen(f"{broker.web_url}/admin/v2/persistent/public/default{path}", timeout=20) as found:
        return json.load(found)


def test_a_backlog_outlasts_it_and_more_can_be_published(broker, until_unloaded):
    client = open_client(broker.service_url)
    consumer = client.subscribe(TOPIC, "s", initial_position=InitialPosition.Earliest)
    producer = client.create_producer(TOPIC)
    for number in range(10):
        producer.send(b"%d" % number)
    receive_all(consumer, 3)
    for each in (producer, consumer):
        each.close()
    until_unloaded(TOPIC)
    assert of_admin_api(broker, "") == [TOPIC]
    stats = of_admin_api(broker, "/idle/stats")  # It is loaded again to answer this.
    assert stats["subscriptions"]["s"]["msgBacklog"] == 7
    assert stats["msgInCounter"] == 0, "counted since it was loaded"
    until_unloaded(TOPIC, 2)
    producer = client.create_producer(TOPIC)
    producer.send(b"10")
    consumer = client.subscribe(TOPIC, "s")
    assert [m.data() for m in receive_all(consumer, 8)] == [b"%d" % n for n in range(3, 11)]
    nothing_more(consumer)
    client.close()


def test_a_reader_keeps_its_topic_loaded(broker, until_unloaded, caplog):
    other = f"{TOPIC}-other"
    client = open_client(broker.service_url)
    reader = client.create_reader(TOPIC, pulsar.MessageId.earliest)
    client.subscribe(other, "s").close()
    until_unloaded(other)
    assert f"topic.unloaded topic={TOPIC} " not in caplog.text
    reader.close()
    until_unloaded(TOPIC)
    client.close()
