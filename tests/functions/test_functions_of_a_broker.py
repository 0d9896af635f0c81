"""A standalone broker, its functions worker, and the Spark of that.

Functions run only with WORKER_KILLS in the environment, as `make functions` has it: it takes long.
"""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pulsar
import pytest
from support.elsewhere import wait_until

from magnetar.testing.processes import BrokerProcess

KILLS = int(os.environ.get("WORKER_KILLS", "0"))
pytestmark = pytest.mark.timeout(300 + 60 * KILLS)
YAML = """
name: double
className: double
py: double.py
inputs: [persistent://public/default/numbers]
output: persistent://public/default/doubled
subscriptionPosition: Earliest
"""
DOUBLE = "def process(input):\n    return str(int(input) * 2)\n"


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("functions") / "data"
    with BrokerProcess(folder, settings={"functionsWorkerEnabled": True}) as running:
        yield running
        running.stop()


def functions(broker, *args: str, cwd: Path | None = None, code: int = 0) -> str:
    """A command against the broker, as a process; what it prints."""
    command = [sys.executable, "-m", "magnetar.tools.cli", "functions", *args]
    env = {**os.environ, "PULSAR_ADMIN_URL": broker.web_url}
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=cwd, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def status(broker) -> dict:
    url = f"{broker.web_url}/admin/v3/functions/public/default/double/0/status"
    with urllib.request.urlopen(url) as answer:
        return json.loads(answer.read())


def worker_pid(broker) -> int | None:
    """The process of the worker; None: it is not ready."""
    ready = broker.log_file.parent / "data" / "functions" / "worker.ready"
    try:
        return int(json.loads(ready.read_text())["pid"])
    except FileNotFoundError:
        return None


def test_the_broker_starts_a_worker_when_it_is_asked_and_again_when_it_dies(broker):
    folder = broker.log_file.parent / "data" / "functions"
    assert not folder.exists(), "a worker was started that nobody needs"
    assert json.loads(functions(broker, "list", "-o", "json")) == []
    first = worker_pid(broker)
    os.kill(first, signal.SIGKILL)
    wait_until(
        lambda: worker_pid(broker) not in {None, first},
        "the worker was not started again",
    )
    with urllib.request.urlopen(f"{broker.web_url}/admin/v2/worker/cluster") as answer:
        assert len(json.loads(answer.read())) == 1
    assert not (folder / "spark.log").exists(), "Spark was started for no function"


@pytest.mark.skipif(not KILLS, reason="takes minutes: make functions")
def test_a_function_from_yaml_goes_on_over_kills(broker, tmp_path):
    (tmp_path / "function.yaml").write_text(YAML)
    (tmp_path / "double.py").write_text(DOUBLE)
    create = ("create", "--function-config-file", "function.yaml")
    functions(broker, *create, cwd=tmp_path)
    assert "already exists" in functions(broker, *create, cwd=tmp_path, code=1)

    client = pulsar.Client(broker.service_url)
    producer = client.create_producer("persistent://public/default/numbers")
    doubled = client.subscribe(
        "persistent://public/default/doubled",
        "test",
        initial_position=pulsar.InitialPosition.Earliest,
    )

    def answer() -> bytes:
        message = doubled.receive(120_000)
        doubled.acknowledge(message)
        return message.data()

    producer.send(b"21")
    assert answer() == b"42"
    assert functions(broker, "trigger", "--name", "double", "--trigger-value", "4") == "8\n"
    assert answer() == b"8"
    wait_until(lambda: status(broker)["numSuccessfullyProcessed"] == 2, "two were not counted")
    assert re.search(r"0 +yes +0 +2 +2 +0", functions(broker, "status", "--name", "double"))

    (tmp_path / "double.py").write_text(DOUBLE.replace("* 2", "* 20"))
    functions(broker, "update", *create[1:], cwd=tmp_path)
    producer.send(b"1")
    assert answer() == b"20"
    for number in range(2, KILLS + 2):  # The broker starts it again, and it goes on.
        os.kill(worker_pid(broker), signal.SIGKILL)
        producer.send(str(number).encode())
        assert answer() == str(number * 20).encode()
    functions(broker, "delete", "--name", "double")
    assert json.loads(functions(broker, "list", "-o", "json")) == []
    client.close()
