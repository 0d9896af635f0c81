"""Clients that look topics up over HTTP."""

import pytest
from compatibility.conftest import open_client, receive_all
from compatibility.test_produce_consume import make_partitioned

pytestmark = pytest.mark.compatibility


@pytest.mark.parametrize("partitions", [0, 2])
def test_a_client_with_an_http_service_url_produces_and_consumes(
    magnetar_broker, topic, partitions
):
    if partitions:
        make_partitioned(magnetar_broker, topic, partitions)
    client = open_client(magnetar_broker.web_url)
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    for number in range(10):
        producer.send(str(number).encode())
    received = {message.data() for message in receive_all(consumer, 10)}
    assert received == {str(number).encode() for number in range(10)}
    assert len(client.get_topic_partitions(topic)) == max(partitions, 1)
    client.close()
