"""A client is installed alone: it needs nothing of what the broker and the commands bring."""

import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from magnetar.extras import BROKER, check_broker
from magnetar.testing.local_broker import BrokerThread

pytestmark = pytest.mark.slow

WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({BROKER}))\n"
"""Python as it is where only the client was installed."""

CLIENT = """
import importlib
import magnetar, magnetar.schemas, magnetar.compat
from magnetar.client import blocking

for name in magnetar.__all__:
    getattr(magnetar, name)
for name in magnetar.schemas.__all__:
    getattr(magnetar.schemas, name)
importlib.import_module("magnetar.client.tracing")
url, web_url = sys.argv[1:]
for service_url in (url, web_url):
    with blocking.Client(service_url) as client:
        consumer = client.subscribe("alone", "s")
        options = {"compression": magnetar.CompressionType.LZ4}
        client.create_producer("alone", schema=magnetar.schemas.StringSchema(), **options).send("x")
        consumer.receive(10).ack()
        consumer.close()
print(magnetar.AdminApi(web_url).get("/admin/v2/tenants"))
"""
PROCESS = """
from pathlib import Path
from magnetar.testing.processes import BrokerProcess
BrokerProcess(Path("none")).start()
"""
CONNECTOR = """
import pkgutil, magnetar.spark, importlib
for module in pkgutil.walk_packages(magnetar.spark.__path__, "magnetar.spark."):
    importlib.import_module(module.name)
"""


def run(program, *arguments):
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + program, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_client_needs_nothing_of_the_broker():
    with BrokerThread() as broker:
        done = run(CLIENT, broker.service_url, broker.web_url)
    assert done.returncode == 0, done.stderr
    assert "'public'" in done.stdout


def test_neither_does_the_connector():
    done = run(CONNECTOR)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "program",
    [
        "from magnetar.tools.entry import main; main()",
        "from magnetar.testing.local_broker import BrokerThread; BrokerThread().__enter__()",
        PROCESS,
    ],
    ids=["a command", "a broker in this process", "a broker in its own"],
)
def test_what_is_missing_is_said_in_a_line(program):
    done = run(program)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1
    assert "need avro, bcrypt, click, jwt" in last
    assert "pip install 'magnetar[broker]'" in last
    assert len(done.stderr.splitlines()) == 1 or "entry" not in program


def test_the_extra_is_what_is_looked_for():
    check_broker()
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    brings = {name.partition(">")[0] for name in project["optional-dependencies"]["broker"]}
    found = packages_distributions()
    there = {each.lower().replace("_", "-") for name in BROKER for each in found[name]}
    assert there >= brings
    assert len(BROKER) == len(brings)
