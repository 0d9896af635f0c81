"""Apache Pulsar's own ``pulsar-admin`` operates our broker, verb by verb, in one JVM.

`make pulsar-admin` fetches it from Maven Central and runs this; where nobody did that it is
skipped. It takes some seconds, most of them Java's.
"""

import json
import shlex
from pathlib import Path

import pytest

from magnetar.client import blocking
from magnetar.testing.local_broker import BrokerThread

admin = pytest.importorskip("bench.pulsar_admin", reason="pulsar-admin is run through py4j")

HERE = Path(__file__).parent
WALK = [
    line
    for line in (HERE / "pulsar_admin.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]


@pytest.fixture(scope="module")
def broker():
    with BrokerThread() as broker:
        yield broker


@pytest.fixture(scope="module")
def pulsar_admin(broker):
    try:
        jars = admin.jars()
    except admin.Missing as error:
        pytest.skip(str(error))
    with admin.PulsarAdmin(jars, broker.web_url) as running:
        yield running


def test_it_drives_the_broker_verb_by_verb(pulsar_admin, broker, tmp_path):
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"type": "STRING", "schema": "", "properties": {}}))
    wrong = []
    for line in WALK:
        command, _, expected = (part.strip() for part in line.partition("->"))
        if command.startswith("topics stats "):
            publish(broker.service_url, "acme/orders/plain", 10)
        words = [str(schema) if word == "SCHEMA" else word for word in shlex.split(command)]
        done, said = pulsar_admin.run(*words)
        refused, shown = expected.startswith("!"), expected.removeprefix("!")
        if done is refused or plain(shown) not in plain(said):
            wrong.append(f"{command}\n    {said.strip()[:300]}")
    assert not wrong, f"{len(wrong)} of {len(WALK)}:\n" + "\n".join(wrong)


def publish(service_url, topic, count):
    with blocking.Client(service_url) as client:
        producer = client.create_producer(f"persistent://{topic}")
        for number in range(count):
            producer.send(f"value-{number}".encode())


def plain(text):
    return "".join(text.split())
