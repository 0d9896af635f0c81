"""Several processes on one data folder, and load on many topics of theirs."""

import json
import os
import threading
import time
from itertools import pairwise
from pathlib import Path
from urllib.request import Request, urlopen

import pulsar
import pytest

from magnetar.testing.processes import BrokerProcess

OUTSTANDING_MAX = 20
"""Of each topic."""


class ManyProcesses(BrokerProcess):
    """``magnetar standalone --processes N``."""

    def __init__(self, folder, count, **settings):
        super().__init__(folder, settings={"processes": count, **settings}, startup_timeout_s=60)

    def workers(self):
        """The numbers of the processes that serve, in the order in which they began."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        return [int(each) for each in children.read_text().split()]

    def admin(self, path):
        with urlopen(f"{self.web_url}/{path}") as answer:
            return json.load(answer)


def admin_request(broker, method, path, body=None):
    headers = {"Content-Type": "application/json"}
    urlopen(Request(f"{broker.web_url}/{path}", body, headers, method=method)).close()


def client_of(url):
    quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    return pulsar.Client(url, operation_timeout_seconds=60, logger=quiet)


class Load:
    """The official client, which publishes numbers to many topics until it is told to stop."""

    def __init__(self, url, topics):
        self._client = client_of(url)
        self._producers = {
            topic: self._client.create_producer(
                topic,
                block_if_queue_full=True,
                max_pending_messages=OUTSTANDING_MAX,
                send_timeout_millis=0,
                batching_enabled=False,
            )
            for topic in topics
        }
        self.answered = {topic: [] for topic in topics}  # Number and time, as they came.
        self.refused = []
        self.sent = 0
        self._count = 0
        self._more = threading.Condition()
        self._ending = False
        self._threads = [
            threading.Thread(target=self._publish, args=each, daemon=True)
            for each in self._producers.items()
        ]
        for each in self._threads:
            each.start()

    def _publish(self, topic, producer):
        number = 0
        while not self._ending:
            with self._more:
                self.sent += 1
            producer.send_async(
                b"%d" % number,
                lambda result, _, number=number: self._note(topic, number, result),
            )
            number += 1
            time.sleep(0.005)  # The rate of the load, which nothing announces.

    def _note(self, topic, number, result):
        with self._more:
            if result == pulsar.Result.Ok:
                self.answered[topic].append((number, time.monotonic()))
                self._count += 1
            else:
                self.refused.append((topic, number, result))
            self._more.notify_all()

    def await_more(self, count=20):
        """Wait until each topic has had more answers."""
        goals = {topic: len(its) + count for topic, its in self.answered.items()}
        with self._more:
            assert self._more.wait_for(lambda: not self._missing(goals), 90), self._missing(goals)

    def _missing(self, goals):
        return [topic for topic, goal in goals.items() if len(self.answered[topic]) < goal]

    def pause_with(self, fault):
        """The longest time without an answer of any topic, in seconds, since a fault began."""
        before = {topic: len(its) - 1 for topic, its in self.answered.items()}
        fault()
        self.await_more()
        return max(
            after - earlier
            for topic, its in self.answered.items()
            for earlier, after in pairwise(when for _, when in its[before[topic] :])
        )

    def end(self):
        """Publish no more, and wait for the answers."""
        self._ending = True
        for each in self._threads:
            each.join(60)
        with self._more:
            assert self._more.wait_for(lambda: self._count + len(self.refused) == self.sent, 60)
        self._client.close()


def read_all(url, topic):
    """All messages of a topic, in the order of delivery."""
    client = client_of(url)
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    found = []
    while reader.has_message_available():
        found.append(reader.read_next(30_000).data())
    client.close()
    return found


def check_kept(url, load):
    """Nothing that was answered is lost, and each producer's order is kept."""
    assert load.refused == []
    for topic, its in load.answered.items():
        once = list(dict.fromkeys(map(int, read_all(url, topic))))
        lost = {number for number, _ in its} - set(once)
        assert not lost, f"{topic}: {sorted(lost)[:20]}"
        assert once == sorted(once), f"{topic}: not in the order of its producer"


@pytest.fixture
def start(tmp_path):
    """Starts processes on the folder of the test; they end with it."""
    started = []

    def start(count, **settings):
        broker = ManyProcesses(tmp_path / "data", count, **settings)
        started.append(broker)
        broker.start()
        return broker

    yield start
    for each in started:
        if each.running:
            each.kill()


KILLS = int(os.environ.get("KILLS", "1"))
