"""Bundles are unloaded, handed over and split while the official client publishes and consumes.

``MOVES=100 SPLITS=20 ON_CLUSTER=1 pytest -s tests/cluster/test_moves.py`` prints how long topics
stood still; ``make test`` has a few of either.
"""

import json
import os
import threading
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import cycle
from random import Random
from statistics import quantiles
from urllib.request import urlopen

import pulsar
import pytest
from cluster.test_many_brokers import Load, url_of
from support.admin import ask

from magnetar.testing.processes import BrokerProcess

MOVES = int(os.environ.get("MOVES", "2"))
SPLITS = int(os.environ.get("SPLITS", "2"))
SEED = int(os.environ.get("SEED", "1"))
NAMESPACE = "public/default"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120 + 3 * (MOVES + SPLITS))]


class Listener:
    """A consumer of the official client, which acknowledges what it receives, and counts it."""

    def __init__(self, client, name):
        self.failures = []
        self.numbers = set()
        self._ending = threading.Event()
        self._consumer = client.subscribe(
            name,
            "moved",
            pulsar.ConsumerType.Shared,
            initial_position=pulsar.InitialPosition.Earliest,
        )
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self):
        while not self._ending.is_set():
            try:
                message = self._consumer.receive(100)
                self.numbers.add(int(message.data()))
                self._consumer.acknowledge(message)
            except pulsar.Timeout:
                continue
            except pulsar.PulsarException as error:
                self.failures.append(error)

    def end(self):
        self._ending.set()
        self._thread.join(20)


@pytest.fixture
def brokers(cluster, tmp_path):
    """Three, on a part of the stores."""
    with ExitStack() as stack:
        started = []
        for number in range(3):
            settings = {
                "metadataStoreUrl": f"zk:{cluster.zookeeper.address}/{tmp_path.name}",
                "bookkeeperMetadataServiceUri": cluster.metadata_service_uri,
                "defaultRetentionTimeInMinutes": -1,
                "defaultRetentionSizeInMB": -1,
            }
            broker = BrokerProcess(tmp_path / f"b{number}", settings=settings, startup_timeout_s=60)
            started.append(stack.enter_context(broker))
        yield started


class Bundles:
    """The bundles of the namespace, as an administrator sees them."""

    def __init__(self, brokers):
        self._brokers = brokers
        self.names = {
            each.web_url.split("//")[1].replace("127.0.0.1", "localhost"): each for each in brokers
        }

    def of(self, topic):
        path = topic.name.replace("://", "/")
        with urlopen(f"{self._brokers[0].web_url}/lookup/v2/topic/{path}/bundle") as answer:
            return answer.read().decode()

    def owner(self, topic):
        path = topic.name.replace("://", "/")
        with urlopen(f"{self._brokers[0].web_url}/lookup/v2/topic/{path}") as answer:
            return json.load(answer)["httpUrl"].split("//")[1]

    def change(self, what, bundle, to=""):
        ask(self._brokers[0], "PUT", f"namespaces/{NAMESPACE}/{bundle}/{what}{to}")


@contextmanager
def done(change):
    change()
    yield None


def test_clients_notice_moves_and_splits_by_a_short_pause_alone(brokers, capsys):
    random = Random(SEED)
    load = Load(url_of(brokers))
    client = pulsar.Client(url_of(brokers), logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    listeners = [Listener(client, each.name) for each in load.topics]
    load.await_more()
    bundles = Bundles(brokers)
    algorithms = cycle(["range_equally_divide", "topic_count_equally_divide"])
    turns = ["unloaded", "handed over"] * (MOVES // 2) + ["split"] * SPLITS
    random.shuffle(turns)
    pauses = {name: [] for name in turns}
    for name in turns:
        topic = random.choice(load.topics)
        bundle = bundles.of(topic)
        others = sorted(set(bundles.names) - {bundles.owner(topic)})
        what, to = {
            "unloaded": ("unload", ""),
            "handed over": ("unload", f"?destinationBroker={random.choice(others)}"),
            "split": ("split", f"?unload=true&splitAlgorithmName={next(algorithms)}"),
        }[name]
        change = partial(bundles.change, what, bundle, to)
        hit = [each for each in load.topics if bundles.of(each) == bundle]
        told = load.pauses_with(done(change))
        pauses[name] += [told[load.topics.index(each)] for each in hit]
    load.end()
    for topic, listener in zip(load.topics, listeners, strict=True):
        assert topic.refused == []
        answered = {number for number, _, _ in topic.answered}
        deadline = time.monotonic() + 30
        while not answered <= listener.numbers and time.monotonic() < deadline:
            time.sleep(0.05)  # The consumer is the official client's, which tells of nothing else.
        listener.end()
        assert listener.failures == []
        assert answered <= listener.numbers, f"{topic.name}: not received"
        once = list(dict.fromkeys(load.read(topic.name)[0]))
        assert answered <= set(once)
        assert once == sorted(once), f"{topic.name}: not in the order of its producer"
    client.close()
    load.close()
    with capsys.disabled():
        print(f"\n{sum(len(each.answered) for each in load.topics)} answered, seed {SEED}")
        for name, each in pauses.items():
            parts = quantiles(each, n=100, method="inclusive") if len(each) > 1 else each * 99
            print(
                f"  {name:11} {turns.count(name):3} times, {len(each)} pauses: "
                f"p50 {parts[49]:.3f}, p95 {parts[94]:.3f}, p99 {parts[98]:.3f}, "
                f"max {max(each):.3f} s"
            )
