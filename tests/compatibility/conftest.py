"""The official client, and ways to watch it without waiting blindly.

With ``MAGNETAR_COMPAT=1`` the programs here run with ``magnetar.compat`` in its place.
"""

import json
import os
import threading
from itertools import count
from urllib.request import urlopen

import pytest

if os.environ.get("MAGNETAR_COMPAT"):
    from magnetar.compat.stand_in import stand_in

    stand_in()
import pulsar

NAMES = count()


@pytest.fixture
def topic(request):
    """A topic nobody used before."""
    return f"persistent://public/default/{request.node.originalname}-{next(NAMES)}"


@pytest.fixture
def official(magnetar_broker):
    """The official client, connected to a broker of ours in this process."""
    client = open_client(magnetar_broker.service_url)
    yield client
    client.close()


@pytest.fixture
def client(broker):
    """The official client, connected to the broker of the file's own fixture."""
    client = open_client(broker.service_url)
    yield client
    client.close()


def open_client(service_url, **options):
    quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    return pulsar.Client(service_url, logger=quiet, **options)


def stats(broker, topic, query="", kind="stats"):
    """What an administrator is told of a topic."""
    path = topic.replace("://", "/")
    url = f"{broker.web_url}/admin/v2/{path}/{kind}{query}"
    with urlopen(url) as answer:
        return json.load(answer)


class Inbox:
    """Takes messages as a listener does; whoever waits is woken when enough have come."""

    def __init__(self, expected):
        self.expected = expected
        self.messages = []
        self._enough = threading.Event()

    def listener(self, consumer, message):
        self.messages.append(
            (
                message.data(),
                message.partition_key(),
                message.message_id(),
                consumer.consumer_name(),
                message.redelivery_count(),
            )
        )
        consumer.acknowledge(message)
        if len(self.messages) >= self.expected:
            self._enough.set()

    def wait(self, timeout_s=60):
        assert self._enough.wait(timeout_s), (
            f"{len(self.messages)} of {self.expected} messages came in {timeout_s} s"
        )
        return self.messages


class Receipts:
    """Counts answered sends, and keeps what was answered."""

    def __init__(self, expected):
        self.expected = expected
        self.ids = []
        self.failures = []
        self._done = threading.Event()

    def callback(self, result, message_id):
        if result == pulsar.Result.Ok:
            self.ids.append(message_id)
        else:
            self.failures.append(result)
        if len(self.ids) + len(self.failures) >= self.expected:
            self._done.set()

    def wait(self, timeout_s=60):
        assert self._done.wait(timeout_s), (
            f"{len(self.ids)} of {self.expected} sends were answered in {timeout_s} s"
        )
        assert not self.failures, self.failures[0]
        return self.ids


def receive_all(consumer, expected, timeout_ms=20_000):
    """Receive and acknowledge so many messages."""
    messages = []
    for _ in range(expected):
        message = consumer.receive(timeout_ms)
        consumer.acknowledge(message)
        messages.append(message)
    return messages


def nothing_more(consumer, wait_ms=200):
    with pytest.raises(pulsar.Timeout):
        consumer.receive(wait_ms)
