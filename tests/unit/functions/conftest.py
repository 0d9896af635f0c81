"""A client of a real broker; functions run by a thread beside it."""

import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.functions import configured

from magnetar.client import blocking
from magnetar.functions.local_run import LocalRun
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.testing.local_broker import BrokerThread

SETTINGS = {
    "brokerDeduplicationEnabled": True,
    "activeConsumerFailoverDelayTimeMillis": 0,
    "acknowledgmentAtBatchIndexLevelEnabled": True,
    "transactionCoordinatorEnabled": True,
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    """Ours, or with ``MAGNETAR_WITH_PULSAR=1`` an Apache Pulsar standalone."""
    if not os.environ.get("MAGNETAR_WITH_PULSAR"):
        with BrokerThread(settings=SETTINGS) as running:
            yield running
        return
    sys.path.insert(0, str(Path(__file__).parents[3]))
    from bench.pulsar_standalone import PulsarStandalone, fetch  # noqa: PLC0415

    settings = "".join(f"{name}={str(value).lower()}\n" for name, value in SETTINGS.items())
    folder = tmp_path_factory.mktemp("pulsar")
    with PulsarStandalone(fetch(), folder, fsync=False, settings=settings) as pulsar:
        pulsar.service_url = pulsar.url
        yield pulsar


@pytest.fixture
def client(broker):
    with blocking.Client(broker.service_url) as connected:
        yield connected


class Running:
    """A function between topics of its own."""

    def __init__(self, broker, client, name):
        self._broker, self._client = broker, client
        self.input, self.output = f"{name}-input", f"{name}-output"
        self._name = name

    def config(self, class_name, **keys):
        given = {"name": self._name, "inputs": [self.input], "output": self.output}
        return configured(class_name, **{**given, **keys})

    @contextmanager
    def run(self, config, **options):
        with LocalRun(self._client, config, admin_url=self._broker.web_url, **options) as running:
            yield running
            assert running.error is None

    def send(self, *values):
        with self._client.create_producer(self.input) as producer:
            return producer.send_many([b"%d" % value for value in values])

    def received(self, count, topic=None):
        """So many values of the output, which is there when they are."""
        topic = topic or self.output
        with self._client.create_reader(topic, EARLIEST_MESSAGE) as reader:
            found = []
            while len(found) < count:
                messages = reader.receive_many(count - len(found), 10.0)
                assert messages, f"{found} and no more"
                found += [message.data for message in messages]
        return found

    def unacknowledged(self, config, count):
        """What the function's subscription delivers next."""
        with self._client.subscribe(self.input, config.subscription) as consumer:
            return [int(consumer.receive(10.0).data) for _ in range(count)]


@pytest.fixture
def function(broker, client, request):
    return Running(broker, client, re.sub(r"[^a-z0-9-]", "-", request.node.name.lower()))
