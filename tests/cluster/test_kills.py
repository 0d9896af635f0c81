"""A broker on a cluster under load, while its processes are killed, and stopped for a while.

``KILLS=20 ON_CLUSTER=1 pytest -s tests/cluster/test_kills.py`` does each 20 times, and prints how
long publishing stood still.
"""

import os
import signal
import threading
import time
from contextlib import contextmanager
from itertools import pairwise
from random import Random

import pulsar
import pytest

from magnetar.testing.processes import BrokerProcess

KILLS = int(os.environ.get("KILLS", "1"))
SEED = int(os.environ.get("SEED", "1"))
TOPIC = "persistent://public/default/t"
OUTSTANDING_MAX = 200
MORE = 1000
"""So many answers are awaited between two faults."""
SILENT_S = 3.0
SESSION_MS = 4000

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(180 + 120 * KILLS)]


class Load:
    """The official client, which publishes numbers until it is told to stop."""

    def __init__(self, url):
        self._client = pulsar.Client(url, operation_timeout_seconds=60)
        self._producer = self._client.create_producer(
            TOPIC,
            block_if_queue_full=True,
            max_pending_messages=OUTSTANDING_MAX,
            send_timeout_millis=0,
            batching_enabled=True,
            batching_max_publish_delay_ms=2,
        )
        self.answered = []  # Number and time, in the order of the answers.
        self.refused = []
        self.sent = 0
        self._more = threading.Condition()
        self._ending = False
        self._thread = threading.Thread(target=self._publish, daemon=True)
        self._thread.start()

    def _publish(self):
        number = 0
        while not self._ending:
            self._producer.send_async(
                b"%d" % number + b"x" * (number % 700),
                lambda result, _, number=number: self._note(number, result),
            )
            number += 1
            self.sent = number
            time.sleep(0.0005)  # The rate of the load, which nothing announces.

    def _note(self, number, result):
        with self._more:
            if result == pulsar.Result.Ok:
                self.answered.append((number, time.monotonic()))
            else:
                self.refused.append((number, result))
            self._more.notify_all()

    def await_more(self):
        """Wait for more answers."""
        goal = len(self.answered) + MORE
        with self._more:
            assert self._more.wait_for(lambda: len(self.answered) >= goal, 90), (
                f"{goal - len(self.answered)} of {MORE} answers are missing after 90 s"
            )

    def pause_with(self, fault):
        """The longest time without an answer, in seconds, since a fault began."""
        at = max(0, len(self.answered) - 1)
        with fault:
            self.await_more()
            times = [when for _, when in self.answered[at:]]
        return max(after - before for before, after in pairwise(times))

    def end(self):
        """Publish no more, and wait for the answers."""
        self._ending = True
        self._thread.join(20)
        with self._more:
            self._more.wait_for(lambda: len(self.answered) + len(self.refused) == self.sent, 60)

    def read_all(self):
        """All numbers of the topic, in the order of delivery."""
        reader = self._client.create_reader(TOPIC, pulsar.MessageId.earliest)
        found = []
        while reader.has_message_available():
            found.append(int(reader.read_next(30_000).data().rstrip(b"x")))
        self._client.close()
        return found


@pytest.fixture
def broker(own_cluster, tmp_path):
    settings = {
        "metadataStoreUrl": f"zk:{own_cluster.zookeeper.address}",
        "metadataStoreSessionTimeoutMillis": SESSION_MS,
    }
    with BrokerProcess(tmp_path / "none", settings=settings, startup_timeout_s=60) as started:
        yield started


@contextmanager
def killed(server):
    """Kill a server, and start it again behind the block."""
    server.kill()
    yield
    server.start()
    server.await_ready(server.answers)


@contextmanager
def silent(server):
    """Let a server hear and say nothing in the block."""
    server.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.signal(signal.SIGCONT)


@contextmanager
def broker_killed(broker):
    """Nobody answers without it: it is there again before the block."""
    broker.kill()
    broker.start()
    yield


@contextmanager
def broker_stopped(broker):
    os.kill(broker.pid, signal.SIGSTOP)
    time.sleep(SILENT_S)  # It is the fault itself.
    os.kill(broker.pid, signal.SIGCONT)
    yield


def test_nothing_answered_is_lost_and_order_is_kept(own_cluster, broker, capsys):
    random = Random(SEED)
    load = Load(broker.service_url)
    load.await_more()

    def any_bookie():
        return random.choice(own_cluster.bookies)

    faults = {
        "broker killed": lambda: broker_killed(broker),
        "broker stopped": lambda: broker_stopped(broker),
        "bookie killed": lambda: killed(any_bookie()),
        "bookie stopped": lambda: silent(any_bookie()),
        "ZooKeeper killed": lambda: killed(own_cluster.zookeeper),
        "ZooKeeper stopped": lambda: silent(own_cluster.zookeeper),
    }
    turns = [name for name in faults for _ in range(KILLS)]
    random.shuffle(turns)
    pauses = {name: [] for name in faults}
    try:
        for name in turns:
            pauses[name].append(load.pause_with(faults[name]()))
            load.await_more()
    finally:
        load.end()
    assert load.refused == []
    found = load.read_all()
    once = list(dict.fromkeys(found))
    answered = {number for number, _ in load.answered}
    with capsys.disabled():
        print(f"\n{len(answered)} answered, {len(found)} read, seed {SEED}")
        for name, each in pauses.items():
            print(f"  {name:18} {len(each):3} times, pause of publishing up to {max(each):.2f} s")
    assert answered <= set(once), f"lost: {sorted(answered - set(once))[:20]}"
    assert once == sorted(once), "not in the order of their producer"
