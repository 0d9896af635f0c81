"""Functions of a standalone broker, in Spark: from YAML to the end.

With WORKER_KILLS in the environment the worker is killed so often (`make functions`): each start of
Spark takes long. test_killed_worker.py has a kill without Spark.
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

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

KILLS = int(os.environ.get("WORKER_KILLS", "0"))
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
    # The test is over before better compiled code would pay for its compilation.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        yield from running_broker(folder)


def running_broker(folder: Path):
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


def worker_pid(folder: Path) -> int:
    return int(json.loads((folder / "data" / "functions" / "worker.ready").read_text())["pid"])


def test_a_function_from_yaml_to_its_end(broker, tmp_path):
    folder = broker.log_file.parent
    assert not (folder / "data" / "functions").exists(), "a worker was started that nobody needs"
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
        os.kill(worker_pid(folder), signal.SIGKILL)
        producer.send(str(number).encode())
        assert answer() == str(number * 20).encode()

    functions(broker, "delete", "--name", "double")
    assert json.loads(functions(broker, "list", "-o", "json")) == []
    client.close()
