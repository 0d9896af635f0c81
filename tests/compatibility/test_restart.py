"""A broker that stops and starts again, as the official client sees it."""

import pytest
from compatibility.conftest import open_client, receive_all
from pulsar import ConsumerType, InitialPosition

from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.compatibility

TOPIC = "persistent://public/default/restarted"


def numbers(messages):
    return [int(message.data()) for message in messages]


@pytest.mark.parametrize("kind", [ConsumerType.Exclusive, ConsumerType.Shared])
def test_messages_and_cursors_outlive_a_clean_restart(tmp_path, kind):
    with BrokerProcess(tmp_path / "data") as broker:
        client = open_client(broker.service_url)
        producer = client.create_producer(TOPIC)
        consumer = client.subscribe(
            TOPIC, "s", consumer_type=kind, initial_position=InitialPosition.Earliest
        )
        for number in range(100):
            producer.send(str(number).encode())
        assert numbers(receive_all(consumer, 40)) == list(range(40))
        client.close()
        assert broker.terminate() == 0

        broker.start()
        client = open_client(broker.service_url)
        consumer = client.subscribe(TOPIC, "s", consumer_type=kind)
        assert numbers(receive_all(consumer, 60)) == list(range(40, 100))
        client.create_producer(TOPIC).send(b"100")
        assert numbers(receive_all(consumer, 1)) == [100]
        client.close()


def test_a_client_lives_through_a_restart(tmp_path):
    with BrokerProcess(tmp_path / "data") as broker:
        client = open_client(broker.service_url)
        producer = client.create_producer(TOPIC)
        consumer = client.subscribe(TOPIC, "s", initial_position=InitialPosition.Earliest)
        producer.send(b"0")
        assert numbers(receive_all(consumer, 1)) == [0]
        broker.kill()
        broker.start()
        producer.send(b"1")
        message = consumer.receive(20_000)
        while message.data() == b"0":  # Its acknowledgement may have been lost with the broker.
            message = consumer.receive(20_000)
        assert message.data() == b"1"
        client.close()
