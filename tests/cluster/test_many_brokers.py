"""Three brokers on one cluster under load, while they are killed, stopped, drained and cut off.

``KILLS=20 ON_CLUSTER=1 pytest -s tests/cluster/test_many_brokers.py`` does each 20 times, and
prints how long publishing stood still.
"""

import os
import signal
import threading
import time
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from random import Random
from statistics import median

import pulsar
import pytest
from support.relays import Relays, silent

from magnetar.testing.processes import BrokerProcess

KILLS = int(os.environ.get("KILLS", "1"))
FAULTS = os.environ.get("FAULTS", "killed,stopped,drained").split(",")
"""``cut off`` is not among them: a broker without ZooKeeper answers lookups after 30 s only, which
holds up clients that ask it."""
SEED = int(os.environ.get("SEED", "1"))
TOPICS = [f"persistent://public/default/t{number}" for number in range(12)]
SESSION_MS = 6000
PROBE = b"probe"
QUIET = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
MORE = 50
"""So many answers of each topic are awaited between two faults."""

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(180 + 240 * KILLS)]


class Topic:
    """A producer of the official client, which publishes numbers until it is told to stop."""

    def __init__(self, client, name):
        self.name = name
        self.answered = []  # Number and time, in the order of the answers.
        self.refused = []
        self.sent = 0
        self.more = threading.Condition()
        self.producer = client.create_producer(
            name, block_if_queue_full=True, send_timeout_millis=0, batching_enabled=False
        )

    def send(self):
        number = self.sent
        self.producer.send_async(b"%d" % number, lambda result, _: self._note(number, result))
        self.sent += 1

    def _note(self, number, result):
        with self.more:
            if result == pulsar.Result.Ok:
                self.answered.append((number, time.monotonic()))
            else:
                self.refused.append((number, result))
            self.more.notify_all()

    def await_answers(self, goal, seconds):
        with self.more:
            assert self.more.wait_for(lambda: len(self.answered) >= goal, seconds), (
                f"{self.name}: {len(self.answered)} of {goal} answers after {seconds} s"
            )


class Load:
    """Producers on topics of all brokers."""

    def __init__(self, url):
        self._client = pulsar.Client(url, operation_timeout_seconds=60, logger=QUIET)
        self.topics = [Topic(self._client, name) for name in TOPICS]
        self._ending = False
        self._thread = threading.Thread(target=self._publish, daemon=True)
        self._thread.start()

    def _publish(self):
        while not self._ending:
            for topic in self.topics:
                topic.send()
            time.sleep(0.01)  # The rate of the load, which nothing announces.

    def await_more(self, seconds=90):
        for topic, goal in [(each, len(each.answered) + MORE) for each in self.topics]:
            topic.await_answers(goal, seconds)

    def pauses_with(self, fault):
        """The longest time that each topic was without an answer, in seconds, in a fault.

        A fault that knows better tells it.
        """
        starts = [max(0, len(each.answered) - 1) for each in self.topics]
        with fault as told:
            self.await_more()
            if told is not None:
                return [told]
            answers = [
                [when for _, when in topic.answered[at:]]
                for topic, at in zip(self.topics, starts, strict=True)
            ]
            return [max(after - before for before, after in pairwise(each)) for each in answers]

    def end(self):
        self._ending = True
        self._thread.join(20)
        for topic in self.topics:
            with topic.more:
                topic.more.wait_for(
                    lambda each=topic: len(each.answered) + len(each.refused) == each.sent, 60
                )

    def read(self, name):
        reader = self._client.create_reader(name, pulsar.MessageId.earliest)
        found = []
        while reader.has_message_available():
            data = reader.read_next(30_000).data()
            if data != PROBE:
                found.append(int(data))
        reader.close()
        return found

    def close(self):
        self._client.close()


def url_of(brokers):
    return "pulsar://" + ",".join(each.service_url.split("//")[1] for each in brokers)


@pytest.fixture
def relays(own_cluster):
    """One for each broker, to ZooKeeper."""
    relays = Relays()
    relays.to_zookeeper = [relays.to(own_cluster.zookeeper.port) for _ in range(3)]
    yield relays
    relays.close()


@pytest.fixture
def brokers(relays, tmp_path):
    with ExitStack() as stack:
        started = []
        for number, relay in enumerate(relays.to_zookeeper):
            settings = {
                "metadataStoreUrl": f"zk:127.0.0.1:{relay.port}",
                "metadataStoreSessionTimeoutMillis": SESSION_MS,
                "defaultRetentionTimeInMinutes": -1,
                "defaultRetentionSizeInMB": -1,
            }
            folder = tmp_path / f"b{number}" / "none"
            broker = BrokerProcess(folder, settings=settings, startup_timeout_s=60)
            started.append(stack.enter_context(broker))
        yield started


def probe(brokers):
    """Publish to every topic by a client that just came; return how long that took, in seconds."""
    began = time.monotonic()
    client = pulsar.Client(url_of(brokers), connection_timeout_ms=500, logger=QUIET)
    for name in TOPICS:
        while True:
            try:
                client.create_producer(name, send_timeout_millis=500).send(PROBE)
                break
            except (pulsar.ConnectError, pulsar.Timeout):
                assert time.monotonic() - began < 60, f"{name}: nobody serves it"
    client.close()
    return time.monotonic() - began


@contextmanager
def killed(victim, _others):
    victim.kill()
    yield None
    victim.start()


@contextmanager
def stopped(victim, others):
    """It is silent for longer than its session lives, which clients see after 30 s."""
    os.kill(victim.pid, signal.SIGSTOP)
    try:
        pause = probe(others)
        time.sleep(max(0, 3 * SESSION_MS / 1000 - pause))  # It is the fault itself.
    finally:
        os.kill(victim.pid, signal.SIGCONT)
    yield pause


@contextmanager
def drained(victim, _others):
    assert victim.terminate() == 0
    yield None
    victim.start()


def test_nothing_answered_is_lost_and_order_is_kept(brokers, relays, capsys):
    random = Random(SEED)
    load = Load(url_of(brokers))
    load.await_more()

    @contextmanager
    def cut_off(victim, _others):
        """It does not hear of ZooKeeper for longer than its session, but of bookies and clients."""
        with silent(relays, [relays.to_zookeeper[brokers.index(victim)]]):
            yield None
            time.sleep(2 * SESSION_MS / 1000)  # It is the fault itself.

    faults = {"killed": killed, "stopped": stopped, "drained": drained, "cut off": cut_off}
    turns = [name for name in FAULTS for _ in range(KILLS)]
    random.shuffle(turns)
    pauses = {name: [] for name in FAULTS}
    try:
        for name in turns:
            victim = random.choice(brokers)
            others = [each for each in brokers if each is not victim]
            pauses[name] += load.pauses_with(faults[name](victim, others))
    finally:
        load.end()
    for topic in load.topics:
        assert topic.refused == []
        found = load.read(topic.name)
        once = list(dict.fromkeys(found))
        answered = {number for number, _ in topic.answered}
        assert answered <= set(once), f"{topic.name} lost {sorted(answered - set(once))[:20]}"
        assert once == sorted(once), f"{topic.name}: not in the order of its producer"
    load.close()
    with capsys.disabled():
        print(f"\n{sum(len(each.answered) for each in load.topics)} answered, seed {SEED}")
        for name, each in pauses.items():
            half, most = median(each), sorted(each)[int(0.95 * len(each))]
            print(
                f"  {name:8} {KILLS:3} times: p50 {half:.2f}, p95 {most:.2f}, max {max(each):.2f} s"
            )
