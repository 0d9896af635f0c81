"""The same program where Spark is elsewhere: behind Spark Connect, and on a standalone cluster.

And topics in a project of Spark Declarative Pipelines. Each starts Sparks of its own, which takes
minutes on two cores: `make spark-places` runs them.
"""

import json
import os
import re
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from documents.snippets import snippets

from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.spark.session import SETTINGS, prepare
from magnetar.spark.spark_home import INSTALLED
from magnetar.testing.ports import free_port

pytestmark = [
    pytest.mark.skipif(not os.environ.get("SPARK_PLACES"), reason="it takes minutes"),
    pytest.mark.timeout(600),
]
PROGRAM = Path(__file__).with_name("everywhere.py")
WAIT_S = 240


@pytest.fixture
def environment(tmp_path):
    """As for a Spark of this machine, whose workers are in this Python."""
    found = dict(os.environ)
    prepare(found)
    return {**found, "TMPDIR": str(tmp_path)}


@contextmanager
def started(command, port, environment, log):
    """A process of Spark, from when it listens."""
    with log.open("wb") as file:
        process = subprocess.Popen(command, env=environment, stdout=file, stderr=file)
    try:
        for _ in range(WAIT_S * 5):
            assert process.poll() is None, log.read_text()
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            threading.Event().wait(0.2)
        yield process
    finally:
        process.terminate()
        process.wait(60)


def run(broker, place, folder, environment, *, with_connector=False):
    arguments = json.dumps([broker.service_url, place, str(folder), with_connector])
    done = subprocess.run(
        [sys.executable, PROGRAM, arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["copied"] == list(range(100))
    assert found["counted"] == {"0": 34, "1": 33, "2": 33}
    assert "did you mean 'startingOffsets'?" in found["said"][0]
    assert found["said"][1].startswith("magnetar.errors.")
    return found["connector"], done.stderr


@pytest.fixture
def broker():
    """One for each test: the program has topics of the same names in every place."""
    from magnetar.testing.local_broker import BrokerThread  # noqa: PLC0415 - the fixture's

    with BrokerThread() as running:
        yield running


def test_a_connect_server_of_this_machine(broker, environment, tmp_path):
    _, said = run(broker, {"remote": "local[2]"}, tmp_path, environment)
    assert "Failed to set" not in said


def test_a_connect_server_elsewhere(broker, environment, tmp_path):
    port = free_port()
    settings = {
        **SETTINGS,
        "spark.connect.grpc.binding.port": str(port),
        "spark.master": "local[2]",
    }
    given = [word for item in settings.items() for word in ("--conf", "=".join(item))]
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    command = [INSTALLED / "bin" / "spark-submit", *given, "--class", server, "spark-internal"]
    with started(command, port, environment, tmp_path / "server.log"):
        client = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
        run(broker, {"remote": f"sc://127.0.0.1:{port}"}, tmp_path, client)


def test_a_standalone_cluster_whose_workers_are_sent_the_connector(broker, environment, tmp_path):
    port = free_port()
    spark_class = INSTALLED / "bin" / "spark-class"
    master = f"spark://127.0.0.1:{port}"
    at = ["--host", "127.0.0.1", "--webui-port", "0"]
    parts = {
        "master": ["master.Master", *at, "--port", str(port)],
        "worker": ["worker.Worker", *at, "--cores", "2", "--memory", "1g", master],
    }
    commands = {
        name: [spark_class, f"org.apache.spark.deploy.{part[0]}", *part[1:]]
        for name, part in parts.items()
    }
    environment["SPARK_WORKER_DIR"] = str(tmp_path / "work")
    place = {
        "master": master,
        "python": sys.executable,
        "settings": {"spark.driver.host": "127.0.0.1"},
    }
    with (
        started(commands["master"], port, environment, tmp_path / "master.log"),
        started(commands["worker"], port, environment, tmp_path / "worker.log"),
    ):
        connector, _ = run(broker, place, tmp_path, dict(os.environ), with_connector=True)
    assert "magnetar_connector.zip" in connector


def test_a_project_of_spark_declarative_pipelines(broker, client, environment, tmp_path):
    # Topics that nobody uses would be deleted in a minute, with what is in them.
    orders = client.create_producer("orders")
    long_orders = client.create_reader("long-orders", EARLIEST_MESSAGE)
    for snippet in snippets("docs/pipelines.md"):
        if snippet.file.startswith("sdp/"):
            file = tmp_path / snippet.file
            file.parent.mkdir(parents=True, exist_ok=True)
            text = snippet.text.replace("pulsar://localhost:6650", broker.service_url)
            file.write_text(text.replace("/var/lib/", f"{tmp_path}/"))
    command = [Path(sys.executable).with_name("spark-pipelines"), "run", "--spec"]
    command += ["sdp/spark-pipeline.yml", "--conf", "spark.sql.catalogImplementation=hive"]
    for expected in (b"a long order", b"another long order"):
        orders.send_many([expected, b"short"])
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert re.search("COMPLETED", done.stdout + done.stderr)
        assert long_orders.receive(timeout_s=10).data == expected
        assert not long_orders.has_message_available()
