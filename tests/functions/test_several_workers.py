"""Several functions workers of one cluster: each function runs at one, and goes on at another."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import pulsar
import pytest
from support.broker_pair import BrokerPair
from support.elsewhere import wait_until

from magnetar.client.admin_api import AdminApi
from magnetar.errors import MagnetarError, NotReady
from magnetar.model.names import NamespaceName
from magnetar.testing.local_broker import BrokerThread
from magnetar.testing.ports import free_port
from magnetar.tools.functions.api import FunctionsApi

T = TypeVar("T")
TESTS = Path(__file__).parents[1]
KILLS = int(os.environ.get("WORKER_KILLS", "1"))
MESSAGES = 200
"""Of each function, before each kill and after it."""
NAMES = ("one", "two", "three", "four")
CODE = """
from pulsar import Function

class Counting(Function):
    def process(self, input, context):
        context.incr_counter("seen", 1)
        return input
"""
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120 + 60 * KILLS)]


class Worker:
    """A worker as a process, which functions run in as threads."""

    def __init__(self, broker: BrokerThread, folder: Path) -> None:
        self.port = free_port()
        self.id = f"magnetar-fw-127.0.0.1-{self.port}"
        self.api = FunctionsApi(AdminApi(f"http://127.0.0.1:{self.port}"))
        path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", "support.thread_worker"]
        command += [broker.service_url, broker.web_url, str(folder), str(self.port)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
        )

    def ready(self) -> "Worker":
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"ready\n"
        return self

    def get(self, path: str):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/admin/v2/worker/{path}") as said:
            return json.loads(said.read())

    @property
    def leader(self) -> str:
        return str(self.get("cluster/leader")["workerId"])

    def assigned(self) -> dict[str, str]:
        """The worker of each function."""
        found = self.get("assignments")
        return {one.rpartition(":")[0]: at for at, ones in found.items() for one in ones}

    def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        self.process.send_signal(how)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(params=["a broker", "two brokers", "bundles that move"])
def broker(request):
    if request.param == "a broker":
        with BrokerThread() as running:
            yield running
    else:
        if "WORKER_KILLS" not in os.environ:
            pytest.skip("make functions")
        unmoved = request.param == "two brokers"
        # Readers keep nothing, and what no subscription needs goes when a topic moves.
        kept = {"defaultRetentionTimeInMinutes": -1, "defaultRetentionSizeInMB": -1}
        with BrokerPair(kept, 3) as pair, pair.for_a_test(unmoved=unmoved):
            pair.divide(NamespaceName("public", "default"))
            yield pair


@pytest.fixture
def workers(broker, tmp_path):
    running = []
    for number in range(3):
        if isinstance(broker, BrokerPair):
            broker.asked = number % 2
        running.append(Worker(broker, tmp_path / str(number)))
    try:
        for each in running:
            each.ready()
        yield running
    finally:
        for each in running:
            if each.process.returncode is None:
                each.end()


def fqfn(name: str) -> str:
    return f"public/default/{name}"


def test_a_worker_that_dies_is_taken_over_by_the_others(broker, workers, tmp_path):
    file = tmp_path / "counting.py"
    file.write_text(CODE)
    lives = list(workers)
    client = pulsar.Client(
        broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    )
    for number, name in enumerate(NAMES):  # Any worker takes it.
        given = {
            "name": name,
            "py": str(file),
            "className": "counting.Counting",
            "inputs": [f"in-{name}"],
            "output": f"out-{name}",
            "processingGuarantees": "EFFECTIVELY_ONCE",
            "subscriptionPosition": "Earliest",
        }
        broker_topic(broker, f"out-{name}")
        told(partial(lives[number % 3].api.create, fqfn(name), given))
    for each in lives:
        assert sorted(told(partial(each.api.names, "public", "default"))) == sorted(NAMES)
        assert told(lambda: each.leader) == told(lambda: lives[0].leader)  # noqa: B023
        for name in NAMES:
            assert told(partial(each.api.status, fqfn(name)))["numRunning"] <= 1
    counts = list(map(list(told(lives[0].assigned).values()).count, {each.id for each in lives}))
    assert sorted(counts) == [1, 1, 2], "each worker has as many functions as the others"
    received = {name: [] for name in NAMES}
    # Readers: what a consumer acknowledged may come again where its topic moves.
    outputs = {
        name: client.create_reader(f"out-{name}", pulsar.MessageId.earliest) for name in NAMES
    }
    producers = {name: client.create_producer(f"in-{name}") for name in NAMES}
    for life in range(KILLS + 1):
        for number in range(MESSAGES * life, MESSAGES * (life + 1)):
            for each in producers.values():
                each.send_async(str(number).encode(), None)
            if life and number == MESSAGES * life + MESSAGES // 2:
                kill(lives, leader=life % 2 == 1)
        for each in producers.values():
            each.flush()
        for name, reader in outputs.items():
            while len(received[name]) < MESSAGES * (life + 1):
                received[name].append(int(reader.read_next(60_000).data()))
        if life and len(lives) < 3:
            lives.append(Worker(broker, tmp_path / f"again-{life}").ready())
            workers.append(lives[-1])
    total = MESSAGES * (KILLS + 1)
    for name in NAMES:
        assert received[name] == list(range(total)), f"{name}: lost, repeated, or out of order"
        state = told(partial(lives[0].api.state, fqfn(name), "seen"))
        assert state["numberValue"] == total
    client.close()


def told(ask: Callable[[], T]) -> T:
    """An answer, once there is a leader: while topics move it may find that it has lost its own."""

    def answered() -> list[T]:
        try:
            return [ask()]
        except (NotReady, urllib.error.HTTPError):
            return []

    return wait_until(answered, "nobody leads", timeout_s=60)[0]


def kill(lives: list[Worker], *, leader: bool) -> None:
    """End the leader, or one of the others, as by its machine: one that has functions, if any."""
    leads = told(lambda: lives[0].leader)
    having = set(told(lives[0].assigned).values())
    may_be = [each for each in lives if (each.id == leads) is leader]
    chosen = max(may_be, key=lambda each: each.id in having)
    lives.remove(chosen)
    chosen.end()
    gone = wait_until(
        lambda: after(lives, chosen.id), "nobody took its functions over", timeout_s=60
    )
    assert gone
    running = told(lambda: lives[0].get("cluster"))
    assert chosen.id not in {each["workerId"] for each in running}


def after(lives: list[Worker], gone: str) -> bool:
    try:
        found = lives[0].assigned()
        return lives[0].leader != gone and len(found) == len(NAMES) and gone not in found.values()
    except (OSError, MagnetarError):
        return False  # It has no leader yet.


def broker_topic(broker: BrokerThread, topic: str) -> None:
    """A topic that deduplicates, as effectively once wants it."""
    admin = AdminApi(broker.web_url)
    admin.send("PUT", f"/admin/v2/persistent/public/default/{topic}")
    admin.send("POST", f"/admin/v2/persistent/public/default/{topic}/deduplicationEnabled", True)


@pytest.mark.parametrize("broker", ["a broker"], indirect=True)
def test_functions_move_to_a_worker_that_came_later(broker, tmp_path):
    file = tmp_path / "same.py"
    file.write_text("def process(input):\n    return input\n")
    first = Worker(broker, tmp_path / "first").ready()
    later = None
    try:
        for name in NAMES:
            given = {"py": str(file), "className": "same", "inputs": [f"in-{name}"]}
            first.api.create(fqfn(name), {**given, "name": name})
        with pytest.raises(MagnetarError, match="Too few workers"):
            AdminApi(f"http://127.0.0.1:{first.port}").send("PUT", "/admin/v2/worker/rebalance")
        later = Worker(broker, tmp_path / "later").ready()
        assert set(later.assigned().values()) == {first.id}, "nothing moves by itself"
        AdminApi(f"http://127.0.0.1:{later.port}").send("PUT", "/admin/v2/worker/rebalance")
        assert sorted(later.assigned().values()) == sorted([first.id, later.id] * 2)
        moved = next(name for name, at in later.assigned().items() if at == later.id)
        for each in (first, later):
            wait_until(lambda: each.api.status(moved)["numRunning"], "it does not run again")  # noqa: B023
            [instance] = each.api.status(moved)["instances"]
            assert instance["status"]["workerId"] == later.id
        first.api.delete(moved)
        assert moved not in first.assigned()
    finally:
        first.end()
        if later is not None:
            later.end()
