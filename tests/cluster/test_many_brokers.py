"""Three brokers on one cluster under load, while they are killed, stopped, drained and cut off.

``KILLS=20 ON_CLUSTER=1 pytest -s tests/cluster/test_many_brokers.py`` does each 20 times, and
prints how long publishing stood still; ``FAULTS`` names some of them, ``PROXY=1`` puts a proxy
before the brokers, and ``LOAD=java`` or ``LOAD=go`` has another client publish.
"""

import asyncio
import json
import os
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import median
from urllib.error import HTTPError
from urllib.request import urlopen

import pulsar
import pytest
from cluster import test_kills
from support.admin import ask
from support.relays import Relays, silent
from unit.broker import peer

from bench import other_clients
from bench.maven import Missing
from bench.proxy import proxy_process
from magnetar.testing.processes import BrokerProcess

KILLS = int(os.environ.get("KILLS", "1"))
BROKERS = ("killed", "stopped", "cut off", "drained", "rolled")
LEADERS = ("leader killed", "leader stopped", "leader cut off")
BOOKIES = ("bookie killed", "bookie stopped")
FAULTS = os.environ.get("FAULTS", ",".join(BROKERS + LEADERS + BOOKIES)).split(",")
LOAD = os.environ.get("LOAD", "python")
CLIENTS = Path(__file__).parents[1] / "compatibility" / "clients"
SEED = int(os.environ.get("SEED", "1"))
TOPICS = [f"persistent://public/default/t{number}" for number in range(12)]
SESSION_MS = 6000
PROBE = b"probe"
PINNED = b"pinned"
QUIET = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
MORE = 50
"""So many answers of each topic are awaited between two faults."""

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(180 + 240 * KILLS)]


class Answers:
    """What the producer of a topic was answered to the numbers that it publishes."""

    def __init__(self, name):
        self.name = name
        self.answered = []  # Number, time and ledger, in the order of the answers.
        self.refused = []
        self.sent = 0
        self.more = threading.Condition()

    def note(self, number, ledger, refusal=None):
        with self.more:
            if refusal is None:
                self.answered.append((number, time.monotonic(), ledger))
            else:
                self.refused.append((number, refusal))
            self.more.notify_all()

    def await_answers(self, goal, seconds):
        with self.more:
            assert self.more.wait_for(lambda: len(self.answered) >= goal, seconds), (
                f"{self.name}: {len(self.answered)} of {goal} answers after {seconds} s"
            )


class Topic(Answers):
    """A producer of the official client, which publishes numbers until it is told to stop."""

    def __init__(self, client, name):
        super().__init__(name)
        self.producer = client.create_producer(
            name, block_if_queue_full=True, send_timeout_millis=0, batching_enabled=False
        )

    def send(self):
        number = self.sent
        self.producer.send_async(b"%d" % number, lambda result, at: self._note(number, result, at))
        self.sent += 1

    def _note(self, number, result, at):
        if result == pulsar.Result.Ok:
            self.note(number, at.ledger_id())
        else:
            self.note(number, None, result)


class Load:
    """Producers on topics of all brokers."""

    def __init__(self, url):
        self._client = pulsar.Client(url, operation_timeout_seconds=60, logger=QUIET)
        self._ending = False
        self.topics = self._producing(url)
        self._thread = threading.Thread(target=self._publish, daemon=True)
        self._thread.start()

    def _producing(self, _url):
        return [Topic(self._client, name) for name in TOPICS]

    def _publish(self):
        while not self._ending:
            for topic in self.topics:
                topic.send()
            time.sleep(0.02)  # The rate of the load, which nothing announces.

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
                [when for _, when, _ in topic.answered[at:]]
                for topic, at in zip(self.topics, starts, strict=True)
            ]
            return [max(after - before for before, after in pairwise(each)) for each in answers]

    def end(self):
        """Publish no more, and wait for the answers."""
        self._ending = True
        self._thread.join(60)
        for topic in self.topics:
            with topic.more:
                topic.more.wait_for(
                    lambda each=topic: len(each.answered) + len(each.refused) == each.sent, 60
                )

    def read(self, name):
        """The numbers in a topic, and the answered ones that were pinned to its owners."""
        reader = self._client.create_reader(name, pulsar.MessageId.earliest)
        found, pinned = [], set()
        while reader.has_message_available():
            data = reader.read_next(30_000).data()
            if data.startswith(PINNED):
                pinned.add(data)
            elif data != PROBE:
                found.append(int(data))
        reader.close()
        return found, pinned

    def close(self):
        self._client.close()


class OtherLoad(Load):
    """The same by a client of another language, which runs as a process (``clients/``)."""

    def __init__(self, url, command):
        self._command = command
        super().__init__(url)

    def _producing(self, url):
        command = [*self._command, url, *TOPICS]
        self._process = subprocess.Popen(
            command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        return [Answers(name) for name in TOPICS]

    def _publish(self):
        for line in self._process.stdout:
            what, *said = line.split(" ", 3)
            if what == "S":
                for each in self.topics:
                    each.sent = int(said[0])
            elif what == "A":
                self.topics[int(said[0])].note(int(said[1]), int(said[2]))
            elif what == "R":
                self.topics[int(said[0])].note(int(said[1]), None, said[2])

    def end(self):
        self._process.stdin.close()
        super().end()
        assert self._process.wait(60) == 0
        self._process.stdout.close()


def load_by(url, tmp_path):
    """The load of the client that LOAD names: Python's, Java's or Go's."""
    try:
        if LOAD == "java":
            return OtherLoad(url, other_clients.java(CLIENTS / "Load.java"))
        if LOAD == "go":
            return OtherLoad(url, other_clients.go(CLIENTS / "go" / "load", tmp_path / "load"))
    except Missing as error:
        pytest.skip(str(error))
    return Load(url)


class Pinned:
    """A producer that stays at the broker which had its topic, and asks nobody where that is.

    By it two owners at once would be seen: the first would answer what it was sent when the other
    had answered already. Each owner has a ledger of its own.
    """

    def __init__(self, relays, broker, topic, number):
        self.name = topic.name
        self.answered = []  # When it was sent, the ledger, and the payload.
        self._topic = topic
        self._payload = PINNED + b" %d " % number
        self._relays = relays
        self._first = asyncio.Event()
        port = int(broker.service_url.rpartition(":")[2])
        self._sending = relays.do(lambda: self._begin(port))

    async def _begin(self, port):
        client = await peer.Peer.open(port)
        client.answer_pings()
        await client.produce(topic=self.name)
        sending = asyncio.create_task(self._send(client))
        await asyncio.wait_for(self._first.wait(), 10)
        return sending

    async def _send(self, client):
        sent = []
        hearing = asyncio.create_task(self._hear(client, sent))
        while not hearing.done():
            sent.append(time.monotonic())
            client.wire.send(peer.send(1, len(sent) - 1, self._payload + b"%d" % (len(sent) - 1)))
            await asyncio.sleep(0.005)  # The rate of the load.
        await hearing

    async def _hear(self, client, sent):
        """Return when the broker closes the producer, refuses a message, or hangs up."""
        while (frame := await client.wire.receive(600)) is not None:
            answer = peer.parsed(frame)
            if not answer.HasField("send_receipt"):
                return
            number, at = answer.send_receipt.sequence_id, answer.send_receipt.message_id
            self.answered.append((sent[number], at.ledgerId, self._payload + b"%d" % number))
            self._first.set()

    def check(self):
        """Nothing was answered that was sent when its successor had answered."""
        self._relays.do(lambda: asyncio.wait_for(self._sending, 15))
        newest = max(ledger for _, ledger, _ in self.answered)
        began = min(when for _, when, ledger in self._topic.answered if ledger > newest)
        late = [each for each in self.answered if each[0] >= began]
        assert late == [], f"{self.name}: two owners answered at once"


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
    """Publish to all topics at once by a client that just came, and that tries again for a minute.

    Returns how long it was until the last one was answered, in seconds.
    """
    began = time.monotonic()
    client = pulsar.Client(url_of(brokers), connection_timeout_ms=500, logger=QUIET)

    def publish(name):
        while True:
            try:
                client.create_producer(name, send_timeout_millis=500).send(PROBE)
            except (pulsar.ConnectError, pulsar.Timeout):
                assert time.monotonic() - began < 60, f"{name}: nobody serves it"
            else:
                return

    with ThreadPoolExecutor(len(TOPICS)) as threads:
        list(threads.map(publish, TOPICS))
    pause = time.monotonic() - began
    client.close()
    return pause


def answer_of(ask_once, until=(503,)):
    """What a broker answers when it has a session with ZooKeeper again, which nobody tells."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return ask_once()
        except HTTPError as error:
            if error.code not in until or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def owned_by(broker, topics):
    """The topics that a broker serves."""

    def web_url_of(topic):
        path = topic.name.replace("://", "/")
        with urlopen(f"{broker.web_url}/lookup/v2/topic/{path}") as answer:
            return json.load(answer)["httpUrl"]

    port = broker.web_url.rpartition(":")[2]
    return [each for each in topics if answer_of(partial(web_url_of, each)).endswith(f":{port}")]


def given_to(broker, other, topic):
    """Hand the bundle of a topic to a broker, by another one; it may not be in the list yet."""
    path = topic.name.replace("://", "/")
    with urlopen(f"{other.web_url}/lookup/v2/topic/{path}/bundle") as answer:
        bundle = answer.read().decode()
    name = broker.web_url.split("//")[1].replace("127.0.0.1", "localhost")
    unload = f"namespaces/public/default/{bundle}/unload?destinationBroker={name}"
    answer_of(partial(ask, other, "PUT", unload), until=(404, 503))


def leader_of(brokers):
    told = answer_of(partial(ask, brokers[0], "GET", "brokers/leaderBroker"))["serviceUrl"]
    port = told.rpartition(":")[2]
    return next(each for each in brokers if each.web_url.endswith(f":{port}"))


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


@contextmanager
def rolled(victim, others):
    """All are stopped and started again, one after the other."""
    for each in (victim, *others):
        assert each.terminate() == 0
        each.start()
    yield None


@pytest.fixture
def url(brokers, tmp_path):
    """Where clients connect."""
    if not os.environ.get("PROXY"):
        yield url_of(brokers)
        return
    with proxy_process(tmp_path, url_of(brokers)) as (port, _pid):
        yield f"pulsar://127.0.0.1:{port}"


@pytest.fixture
def load(url, tmp_path):
    load = load_by(url, tmp_path)
    load.await_more()
    return load


def test_nothing_answered_is_lost_and_order_is_kept(own_cluster, brokers, relays, load, capsys):
    random = Random(SEED)
    pinned = []

    @contextmanager
    def cut_off(victim, _others):
        """It does not hear of ZooKeeper for longer than its session, but of bookies and clients."""
        with silent(relays, [relays.to_zookeeper[brokers.index(victim)]]):
            time.sleep(2 * SESSION_MS / 1000)  # It is the fault itself.
            yield None

    @contextmanager
    def witnessed(fault, victim, others):
        """A producer is pinned to what the victim serves, where the fault leaves it alive."""
        if not (served := owned_by(victim, load.topics)):
            given_to(victim, others[0], random.choice(load.topics))
            served = owned_by(victim, load.topics)
        witness = Pinned(relays, victim, random.choice(served), len(pinned)) if served else None
        with fault(victim, others) as told:
            yield told
        if witness is not None:
            pinned.append(witness)
            witness.check()

    faults = {
        "killed": killed,
        "stopped": stopped,
        "drained": drained,
        "cut off": cut_off,
        "rolled": rolled,
    }
    bookies = {"bookie killed": test_kills.killed, "bookie stopped": test_kills.silent}
    turns = [name for name in FAULTS for _ in range(KILLS)]
    random.shuffle(turns)
    pauses = {name: [] for name in FAULTS}
    try:
        for name in turns:
            if name in bookies:
                pauses[name] += load.pauses_with(bookies[name](random.choice(own_cluster.bookies)))
                continue
            victim = leader_of(brokers) if name in LEADERS else random.choice(brokers)
            others = [each for each in brokers if each is not victim]
            fault = faults[name.removeprefix("leader ")]
            pauses[name] += load.pauses_with(witnessed(fault, victim, others))
    finally:
        load.end()
    for topic in load.topics:
        assert topic.refused == []
        found, of_pinned = load.read(topic.name)
        once = list(dict.fromkeys(found))
        answered = {number for number, _, _ in topic.answered}
        assert answered <= set(once), f"{topic.name} lost {sorted(answered - set(once))[:20]}"
        assert once == sorted(once), f"{topic.name}: not in the order of its producer"
        theirs = {
            data for each in pinned if each.name == topic.name for _, _, data in each.answered
        }
        assert theirs <= of_pinned, f"{topic.name} lost {sorted(theirs - of_pinned)[:20]}"
    load.close()
    with capsys.disabled():
        print(f"\n{sum(len(each.answered) for each in load.topics)} answered, seed {SEED}")
        print(f"  {sum(len(each.answered) for each in pinned)} of producers that were pinned")
        for name, each in pauses.items():
            half, most = median(each), sorted(each)[int(0.95 * len(each))]
            print(
                f"  {name:14} {KILLS:3} times: "
                f"p50 {half:.2f}, p95 {most:.2f}, max {max(each):.2f} s"
            )
