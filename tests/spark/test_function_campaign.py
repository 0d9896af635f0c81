"""A function is killed again and again, its driver, its worker or the broker, and adds up.

``make functions`` runs it: FUNCTION_KILLS says how often. The times of kills are chance, of a seed.
With FUNCTION_GUARANTEES=ATLEAST_ONCE nothing may be lost, and what comes again is counted. With
FUNCTION_TRANSACTIONS=1 the broker has transactions, by which each message counts once.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.functions import CODE
from support.topics import create_partitioned_topic

from magnetar.client import blocking
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.functions.config import FunctionConfig
from magnetar.functions.state_topic import read_state
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.testing.processes import BrokerProcess

KILLS = int(os.environ.get("FUNCTION_KILLS", "0"))
MESSAGES = int(os.environ.get("FUNCTION_MESSAGES", "200000"))
SEED = int(os.environ.get("FUNCTION_SEED", "1"))
GUARANTEES = os.environ.get("FUNCTION_GUARANTEES", "EFFECTIVELY_ONCE")
TRANSACTIONS = os.environ.get("FUNCTION_TRANSACTIONS") == "1"
SETTINGS = {
    "brokerDeduplicationEnabled": True,
    "transactionCoordinatorEnabled": TRANSACTIONS,
    "defaultRetentionTimeInMinutes": -1,
    "defaultRetentionSizeInMB": -1,
}
CONFIG = {
    "py": str(CODE),
    "className": "user_code.Tallying",
    "name": "tallying",
    "inputs": ["numbers"],
    "output": "results",
    "subscriptionPosition": "Earliest",
    "processingGuarantees": GUARANTEES,
    "parallelism": 2,
}
KEYS = 100
RUN_MAX_S = 300
VICTIMS = ("worker", "broker", "driver")


class Life:
    """One life of the program, its processes in a group of their own."""

    def __init__(self, broker, log):
        self._process = subprocess.Popen(
            [
                sys.executable,
                str(Path(__file__).with_name("functioning.py")),
                broker.service_url,
                broker.web_url,
                json.dumps(CONFIG),
            ],
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
        assert self._process.stdout.readline(), "the program has not begun"

    def kill_worker(self, chance):
        """One of the processes in which instances run, or are planned."""
        workers = [
            int(path.name)
            for path in Path("/proc").glob("[0-9]*")
            if int(path.name) != self._process.pid and self._is_worker(path)
        ]
        os.kill(chance.choice(workers), signal.SIGKILL)

    def _is_worker(self, path):
        try:
            program = (path / "cmdline").read_bytes().partition(b"\0")[0]
            return b"python" in program and os.getpgid(int(path.name)) == self._process.pid
        except OSError:
            return False  # It has ended.

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process.stdout.close()


def publish(client, numbers):
    with client.create_producer("numbers") as producer:
        producer.send_many([OutgoingMessage(b"%d" % n, key=f"{n % KEYS}") for n in numbers])


def reconcile(client):
    """How many results are there; how many numbers are lost, doubled, and late in their key."""
    times, last, late = bytearray(MESSAGES), dict.fromkeys(range(KEYS), -1), 0
    for index in range(3):
        with client.create_reader(f"results-partition-{index}", EARLIEST_MESSAGE) as reader:
            while reader.has_message_available():
                for message in reader.receive_many(10_000, 10.0):
                    number = int(message.data)
                    times[number] += 1
                    late += number < last[number % KEYS]
                    last[number % KEYS] = number
    return sum(times), times.count(0), sum(times) - MESSAGES + times.count(0), late


@pytest.mark.timeout(0)  # It has a limit of its own.
@pytest.mark.skipif(not KILLS, reason="set FUNCTION_KILLS, or run make functions")
def test_nothing_is_lost_or_done_twice_whatever_is_killed(tmp_path):
    chance = random.Random(SEED)
    killed = []
    with (
        BrokerProcess(tmp_path / "data", settings=SETTINGS) as broker,
        (tmp_path / "functioning.log").open("wb") as log,
    ):
        for name, partitions in (("numbers", 4), ("results", 3)):
            topic = TopicName.parse(f"persistent://public/default/{name}")
            create_partitioned_topic(broker.web_url, topic, partitions)
        life = Life(broker, log)
        try:
            step = MESSAGES // (KILLS + 1)
            for kill in range(KILLS):
                with blocking.Client(broker.service_url) as client:
                    publish(client, range(kill * step, (kill + 1) * step))
                time.sleep(chance.uniform(0.0, 1.0))
                victim = VICTIMS[kill % len(VICTIMS)]
                killed.append(victim)
                if victim == "worker":
                    life.kill_worker(chance)
                elif victim == "broker":
                    broker.kill()
                    broker.start()
                else:
                    life.end()
                    life = Life(broker, log)
            with blocking.Client(broker.service_url) as client:
                publish(client, range(KILLS * step, MESSAGES))
                begun = time.monotonic()
                found = reconcile(client)
                while found[1] and time.monotonic() - begun < RUN_MAX_S:
                    time.sleep(1.0)  # Nobody tells that a function has caught up.
                    found = reconcile(client)
                counters = read_state(client, FunctionConfig.parse(CONFIG)).counters()
        finally:
            life.end()
    _, lost, again, late = found
    print(f"\n{MESSAGES} messages, killed {killed}: {lost} lost, {again} again, {late} late")
    assert lost == 0
    if GUARANTEES == "ATLEAST_ONCE":
        return
    assert (again, late) == (0, 0)
    assert counters == {f"key {key}": len(range(key, MESSAGES, KEYS)) for key in range(KEYS)}
