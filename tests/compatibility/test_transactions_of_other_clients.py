"""Transactions by the official clients of Java and Go, which Python's official client lacks.

Each runs as one program that goes through all steps (``clients/``); what came of them is looked at
by the official Python client. `make other-clients` fetches what they need;
where nobody did that they are skipped.
"""

import subprocess
from pathlib import Path

import pulsar
import pytest
from transactions.enabled import SETTINGS

from bench import other_clients
from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.timeout(other_clients.BUILD_TIMEOUT_S + 120)
"""Go builds its program first, which takes minutes where nothing was built before."""

QUIET = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
HERE = Path(__file__).parent / "clients"
SAID = {
    "java": {
        "commit": "COMMITTED",
        "abort": "ABORTED",
        "batched": "COMMITTED",
        "chunked": "COMMITTED",
        "ten topics": "done",
        "acknowledged": "COMMITTED",
        "given back": "ABORTED",
        "cumulative": "COMMITTED",
        "part of a batch": "done",
        "conflict": "TransactionConflictException",
        "time out": "last InvalidTxnStatusException",
        "moved": "20 ended",
        "reconnect": "COMMITTED",
    },
    "go": {
        "commit": "done",
        "abort": "done",
        "batched": "done",
        "chunked": "done",
        "ten topics": "done",
        "acknowledged": "done",
        "given back": "done",
        "conflict": "refused",
        "time out": "last refused",
        "moved": "20 ended",
        "reconnect": "done",
    },
}


def numbers(*few):
    return [str(number).encode() for number in few]


SEEN = {
    "commit": [*numbers(*range(10)), b"last"],
    "abort": [b"last"],
    "batched": [*numbers(*range(25)), b"last"],
    "chunked": [bytes(20_000)],
    **{f"ten-{number}": [b"true"] for number in range(10)},
    "late": [b"last"],
    "to": numbers(*range(100)),
    "reconnect": numbers(*range(10)),
}
"""By topic, all that is there to be read, in order."""
LEFT = {
    "acknowledged": numbers(*range(5, 10)),
    "given-back": numbers(*range(10)),
    "cumulative": numbers(*range(5, 10)),
    "part": numbers(1, 3, 5, 7, 9),
    "conflict": [],
    "from": [],
}
"""By topic, what its subscription still delivers."""
LACKS = {"java": (), "go": ("cumulative", "part")}
"""What a client cannot do in a transaction: Go's has no cumulative acknowledgement there."""


class Ran:
    """A program that has ended, and the broker that it used."""

    def __init__(self, language, broker, said):
        self.language, self.broker, self.said = language, broker, said

    def topic(self, name):
        return f"persistent://public/default/{self.language}-{name}"


def commands(language, folder):
    if language == "java":
        return other_clients.java(HERE / "Transactions.java")
    return other_clients.go(HERE / "go", folder / "transactions")


@pytest.fixture(scope="module", params=SAID)
def ran(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    try:
        command = commands(request.param, folder)
    except other_clients.Missing as error:
        pytest.skip(str(error))
    with BrokerProcess(folder / "data", settings=SETTINGS) as broker:
        yield Ran(request.param, broker, dict(run(command, broker, folder)))


def run(command, broker, folder):
    with (
        (folder / "stderr").open("w") as errors,
        subprocess.Popen(
            [*command, broker.service_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as program,
    ):
        try:
            for line in program.stdout:
                if line.strip() == "restart":
                    broker.kill()
                    broker.start()
                    program.stdin.write("\n")
                    program.stdin.flush()
                else:
                    name, _, outcome = line.strip().partition(": ")
                    yield name, outcome
        finally:
            program.kill()


def test_each_step_ends_as_it_must(ran):
    assert ran.said == SAID[ran.language]


def test_only_what_was_committed_is_read_and_in_order(ran):
    client = pulsar.Client(ran.broker.service_url, logger=QUIET)
    found = {}
    for name in SEEN:
        reader = client.create_reader(ran.topic(name), pulsar.MessageId.earliest)
        found[name] = []
        while reader.has_message_available():
            found[name].append(reader.read_next(30_000).data())
    client.close()
    found["to"].sort(key=int)  # A shared subscription hands them over, some twice.
    assert found == SEEN


def test_only_what_was_not_acknowledged_comes_again(ran):
    client = pulsar.Client(ran.broker.service_url, logger=QUIET)
    left = {name: LEFT[name] for name in LEFT if name not in LACKS[ran.language]}
    found = {}
    for name, still in left.items():
        consumer = client.subscribe(ran.topic(name), "s", consumer_type=pulsar.ConsumerType.Shared)
        found[name] = [consumer.receive(30_000).data() for _ in still]
        with pytest.raises(pulsar.Timeout):
            consumer.receive(100)
    client.close()
    assert found == left
