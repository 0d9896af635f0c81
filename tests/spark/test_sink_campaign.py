"""A stream is killed again and again, its driver, a worker or the broker, and adds up at the end.

``make sink`` runs it: SINK_KILLS times when chance says so, of a seed; and then between every two
steps of a micro-batch. ``test_sink_faults.py`` has what needs no driver of its own.
"""

import contextlib
import os
import random
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from spark.faulty import STEPS, STEPS_OF_TRANSACTIONS, Faults
from support.topics import create_partitioned_topic

from magnetar.client import blocking
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.spark.transactional_writer import TRANSACTION_S
from magnetar.testing.processes import BrokerProcess

KILLS = int(os.environ.get("SINK_KILLS", "0"))
MESSAGES = int(os.environ.get("SINK_MESSAGES", "1000000"))
SEED = int(os.environ.get("SINK_SEED", "1"))
SETTINGS = {
    "brokerDeduplicationEnabled": True,
    "transactionCoordinatorEnabled": True,
    "defaultRetentionTimeInMinutes": -1,
    "defaultRetentionSizeInMB": -1,
}
TOPIC = "persistent://public/default/numbers"
KEYS = 100
END = b"end"
RUN_MAX_S = 300
VICTIMS = ("broker", "worker", "driver")


class Copying:
    """One life of the program, its processes in a group of their own, from its first micro-batch.

    It may have ended before that.
    """

    def __init__(self, broker, folder, log, delivery, *, under_way=True):
        program = [sys.executable, str(Path(__file__).with_name("copying.py"))]
        self._process = subprocess.Popen(
            [*program, broker.service_url, broker.web_url, TOPIC, str(folder), delivery],
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if under_way:
                assert selector.select(RUN_MAX_S), "the program has not begun"

    def ends_within(self, seconds):
        try:
            return self._process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return False

    @property
    def running(self):
        return self._process.poll() is None

    def kill_worker(self, chance):
        """One of the processes in which tasks, plans or commits run."""
        workers = [
            int(path.name)
            for path in Path("/proc").glob("[0-9]*")
            if int(path.name) != self._process.pid and self._is_worker(path)
        ]
        if workers:
            os.kill(chance.choice(workers), signal.SIGKILL)

    def _is_worker(self, path):
        try:
            command = (path / "cmdline").read_bytes()
            return b"python" in command and os.getsid(int(path.name)) == self._process.pid
        except OSError:
            return False  # It has ended.

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process.stdout.close()


def publish(client):
    with client.create_producer(TOPIC) as producer:
        for first in range(0, MESSAGES, 20_000):
            numbers = range(first, min(first + 20_000, MESSAGES))
            producer.send_many([OutgoingMessage(b"%d" % n, key=f"{n % KEYS}") for n in numbers])


def reconcile(client):
    """How many are lost, how many come again, and how many come before one of their key."""
    times = bytearray(MESSAGES)
    last = dict.fromkeys(range(KEYS), -1)
    disordered = 0
    for index in range(client.partitions(f"{TOPIC}-copy")):
        name = f"{TOPIC}-copy-partition-{index}"
        with client.create_producer(name) as producer:
            end = producer.send(END)  # It is seen when no transaction before it is open.
        with client.create_reader(name, EARLIEST_MESSAGE) as reader:
            messages = [None]
            while messages[-1] is None or messages[-1].message_id != end:
                messages = reader.receive_many(10_000, 2 * TRANSACTION_S)
                for number in (int(each.data) for each in messages if each.data != END):
                    times[number] += 1
                    disordered += number < last[number % KEYS]
                    last[number % KEYS] = number
    return times.count(0), sum(times) - MESSAGES + times.count(0), disordered


@contextlib.contextmanager
def campaign(tmp_path):
    """A broker with the messages, and a list for who was killed; it adds up at the end."""
    killed = []
    with BrokerProcess(tmp_path / "data", settings=SETTINGS) as broker:
        for name, partitions in ((TOPIC, 2), (f"{TOPIC}-copy", 3)):
            create_partitioned_topic(broker.web_url, TopicName.parse(name), partitions)
        with blocking.Client(broker.service_url) as client:
            publish(client)
        begun = time.monotonic()
        yield broker, killed
        with blocking.Client(broker.service_url) as client:
            lost, again, disordered = reconcile(client)
    took_s = time.monotonic() - begun
    print(f"\n{MESSAGES} messages, {len(killed)} kills in {took_s:.0f} s: {', '.join(killed)}")
    print(f"{lost} lost, {again} again, {disordered} late")
    assert (lost, again, disordered) == (0, 0, 0)


@pytest.mark.parametrize("delivery", ["direct", "transaction"])
@pytest.mark.timeout(0)  # It has a limit of its own.
@pytest.mark.skipif(not KILLS, reason="set SINK_KILLS, or run make sink")
def test_nothing_is_lost_or_written_twice_whatever_is_killed_at_any_time(tmp_path, delivery):
    chance = random.Random(SEED)
    begun = time.monotonic()
    with campaign(tmp_path) as (broker, killed), (tmp_path / "copying.log").open("wb") as log:
        done = False
        while not done:
            assert time.monotonic() - begun < RUN_MAX_S + 60 * KILLS
            copying = Copying(broker, tmp_path, log, delivery)
            try:
                wait_s = chance.uniform(0.0, 5.0) if len(killed) < KILLS else RUN_MAX_S
                done = copying.ends_within(wait_s)
                while not done and len(killed) < KILLS:
                    victim = VICTIMS[len(killed) % len(VICTIMS)]
                    killed.append(victim)
                    if victim == "worker":
                        copying.kill_worker(chance)
                    elif victim == "broker":
                        broker.kill()
                        broker.start()
                    else:
                        break
                    done = copying.ends_within(chance.uniform(1.0, 5.0))
            finally:
                copying.end()


@pytest.mark.parametrize("delivery", ["direct", "transaction"])
@pytest.mark.timeout(0)  # It has a limit of its own.
@pytest.mark.skipif(not KILLS, reason="set SINK_KILLS, or run make sink")
def test_nothing_is_lost_or_written_twice_whoever_is_killed_between_any_two_steps(
    tmp_path, delivery
):
    faults = Faults(tmp_path)
    steps = STEPS_OF_TRANSACTIONS if delivery == "transaction" else STEPS
    asked = [(step, who) for who in ("broker", "worker", "driver") for step in steps]
    begun = time.monotonic()
    with campaign(tmp_path) as (broker, killed), (tmp_path / "copying.log").open("wb") as log:
        faults.ask(*asked)
        faults.tell("broker", broker.pid)
        done = False
        while not done:
            copying = Copying(broker, tmp_path, log, delivery, under_way=False)
            try:
                while not (done := copying.ends_within(0.1)) and copying.running:
                    assert time.monotonic() - begun < RUN_MAX_S + 60 * len(asked)
                    if not broker.alive:
                        broker.kill()
                        broker.start()
                        faults.tell("broker", broker.pid)
            finally:
                copying.end()
        if not broker.alive:  # The last step needed none.
            broker.kill()
            broker.start()
        assert not faults.left
        killed += [f"{who} when {step}" for step, who in asked]
