"""Clients of a broker that lets other machines in, and was not told what to call itself."""

import pytest
from compatibility.conftest import open_client

from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.compatibility


def test_a_client_stays_at_the_address_it_knows(tmp_path, topic):
    # The name that this machine has need not lead here from wherever the client is.
    settings = {"bindAddress": "0.0.0.0", "storageInMemory": True}
    with BrokerProcess(tmp_path / "data", settings=settings) as broker:
        client = open_client(broker.service_url)
        consumer = client.subscribe(topic, "s")
        client.create_producer(topic).send(b"hello")
        assert consumer.receive(30_000).data() == b"hello"
        client.close()
