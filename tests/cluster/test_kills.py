"""A broker on a cluster under load, while its processes are killed, and stopped for a while.

``KILLS=20 ON_CLUSTER=1 pytest -s tests/cluster/test_kills.py`` does each 20 times, and prints how
long publishing stood still.
"""

import os
import signal
import threading
import time
from itertools import pairwise
from random import Random

import pulsar
import pytest
from support.clusters import only_on_request

from bench.bookkeeper_cluster import BookKeeperCluster
from bench.maven import Missing
from magnetar.testing.processes import BrokerProcess

KILLS = int(os.environ.get("KILLS", "1"))
SEED = int(os.environ.get("SEED", "1"))
TOPIC = "persistent://public/default/t"
OUTSTANDING_MAX = 200
MORE = 1000
"""So many answers are awaited between two faults."""
SILENT_S = 3.0
SESSION_S = 4.0

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

    def await_more(self, count=MORE, at=None):
        """Wait for more answers; the longest time without one since that many, in seconds."""
        goal = len(self.answered) + count
        at = len(self.answered) if at is None else at
        with self._more:
            assert self._more.wait_for(lambda: len(self.answered) >= goal, 90), (
                f"{goal - len(self.answered)} of {count} answers are missing after 90 s"
            )
            times = [when for _, when in self.answered[max(0, at - 1) :]]
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
def own_cluster(tmp_path):
    """A cluster of its own, which others would miss."""
    only_on_request()
    try:
        made = BookKeeperCluster(tmp_path / "cluster")
    except Missing as error:
        pytest.skip(str(error))
    with made:
        yield made


@pytest.fixture
def broker(own_cluster, tmp_path):
    settings = {
        "metadataStoreUrl": f"zk:{own_cluster.zookeeper.address}",
        "metadataStoreSessionTimeoutMillis": int(SESSION_S * 1000),
    }
    with BrokerProcess(tmp_path / "none", settings=settings, startup_timeout_s=60) as started:
        yield started


def stopped(process):
    """Let a process hear and say nothing for a while."""
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(SILENT_S)  # It is the fault itself.
    os.kill(process.pid, signal.SIGCONT)


def killed(process, load):
    """Kill a server, await answers without it, and start it again; the pause of publishing."""
    at = len(load.answered)
    process.kill()
    pause = load.await_more(at=at)
    process.start()
    process.await_ready(process.answers)
    return pause


def silent(process, load):
    """The same with one that hears and says nothing for a while."""
    at = len(load.answered)
    os.kill(process.pid, signal.SIGSTOP)
    try:
        return load.await_more(at=at)
    finally:
        os.kill(process.pid, signal.SIGCONT)


def test_nothing_answered_is_lost_and_order_is_kept(own_cluster, broker, capsys):
    random = Random(SEED)
    load = Load(broker.service_url)
    load.await_more()

    def any_bookie():
        return random.choice(own_cluster.bookies)

    def broker_killed():
        at = len(load.answered)
        broker.kill()
        broker.start()
        return load.await_more(at=at)

    def broker_stopped():
        at = len(load.answered)
        stopped(broker)
        return load.await_more(at=at)

    faults = {
        "broker killed": broker_killed,
        "broker stopped": broker_stopped,
        "bookie killed": lambda: killed(any_bookie(), load),
        "bookie stopped": lambda: silent(any_bookie(), load),
        "ZooKeeper killed": lambda: killed(own_cluster.zookeeper, load),
        "ZooKeeper stopped": lambda: silent(own_cluster.zookeeper, load),
    }
    turns = [name for name in faults for _ in range(KILLS)]
    random.shuffle(turns)
    pauses = {name: [] for name in faults}
    try:
        for name in turns:
            pauses[name].append(faults[name]())
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
