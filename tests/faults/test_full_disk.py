"""A small disk that is really full: a tmpfs of a few MiB, with a whole broker process on it.

Mounting one takes root; without, these tests are skipped, and ``test_failing_disk.py`` plays it.
Here the metadata feel it too: SQLite writes to the same disk.
"""

import subprocess
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pulsar
import pytest
from faults.folders import open_client
from faults.test_failing_disk import SIZE, Sends
from pulsar import InitialPosition
from support.elsewhere import wait_until
from support.logs import until_process_logged

from magnetar.testing.processes import BrokerProcess

pytestmark = [pytest.mark.crash, pytest.mark.timeout(180)]

DISK_MIB = 16
SETTINGS = {
    "logSizeLimit": 64 * 1024,
    "managedLedgerCacheSizeMB": 1,
    "managedLedgerMaxEntriesPerLedger": 50,
    "managedLedgerMinLedgerRolloverTimeMinutes": 0,
    "managedLedgerDefaultMarkDeleteRateLimit": 20,
    "retentionCheckIntervalInSeconds": 1,
}
TOPICS = [f"persistent://public/default/t{number}" for number in range(3)]
KEPT = "persistent://public/default/kept"


@pytest.fixture
def disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"a tmpfs cannot be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


class Ballast:
    """A file that takes all that is left of a disk."""

    def __init__(self, folder):
        self._path = folder / "ballast"

    def fill(self):
        with self._path.open("ab", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(64 * 1024))
            except OSError:
                pass

    def remove(self):
        self._path.unlink()


def ask(broker, method, path, body=None):
    """The status of an admin request."""
    url = f"{broker.web_url}/admin/v2/{path}"
    headers = {"Content-Type": "application/json"} if body is not None else {}
    try:
        with urlopen(Request(url, body, headers, method=method), timeout=20) as answer:
            return answer.status
    except HTTPError as refused:
        return refused.code


def subscribe_to_all(client, names):
    for name in names:
        client.subscribe(KEPT, name)


def until_metadata_fail(broker):
    """New subscriptions, each a record of the metadata, until one is refused for want of space.

    A client that gave up may just have waited for too long: then there are more.
    """
    names = (f"s-{number}-{'x' * 1000}" for number in range(6000))

    def refused():
        client = open_client(broker, operation_timeout_seconds=3)
        with pytest.raises(pulsar.PulsarException):
            subscribe_to_all(client, names)
        client.shutdown()
        return "metadata.failing" in broker.life_log()

    wait_until(refused, "a client that gives up says nothing of the disk", timeout_s=60)


LINES_MAX = 60
"""Of the log, where 986 were written in half a minute."""


def started(client):
    all_sends = [Sends(client, topic) for topic in [*TOPICS, KEPT]]
    for sends in all_sends:
        sends.send(100)
    for sends in all_sends:
        sends.wait(100)
    return all_sends


def test_a_disk_that_is_really_full(disk):
    # Takes seconds: a client tries for a while to subscribe before it gives up.
    broker = BrokerProcess(disk / "data", settings=SETTINGS, beside=disk.parent)
    ballast = Ballast(disk)
    try:
        broker.start()
        client, reading = open_client(broker), open_client(broker)
        *producers, kept = started(client)
        ballast.fill()
        for sends in producers:
            sends.send(1000)
        until_process_logged(broker, "topic.write_failed")

        # Reading goes on, and so does asking.
        kept.check(reading)
        assert ask(broker, "GET", "persistent/public/default") == 200
        # Its health is a write, too: whether the log has a little room left is chance.
        assert ask(broker, "GET", "brokers/health") in (200, 503)
        # What must write fails with an error, until it can. Each may still find a little room.
        statuses = {
            ask(broker, "PUT", f"persistent/public/default/new-{number}") for number in range(30)
        }
        assert statuses <= {204, 500, 503}
        until_metadata_fail(broker)
        assert broker.alive, broker.life_log()
        said = broker.life_log()
        assert "No space left on device" in said, said
        assert "make space" in said
        assert "Traceback" not in said, said

        ballast.remove()
        for sends in producers:
            sends.wait(1100)
            assert not sends.failed, "the client should have tried again"
            sends.check(reading)
        assert ask(broker, "GET", "brokers/health") == 200
        assert ask(broker, "PUT", "persistent/public/default/newest") == 204
        client.subscribe(TOPICS[0], "late", initial_position=InitialPosition.Earliest).close()
        reading.shutdown()
        client.shutdown()
        broker.kill()
        broker.start()
        client = open_client(broker)
        for sends in [*producers, kept]:
            sends.check(client)
        client.close()
    finally:
        if broker.running:
            broker.kill()


def test_a_full_disk_is_emptied_by_deleting_topics_and_by_acknowledging(disk):
    broker = BrokerProcess(disk / "data", settings=SETTINGS, beside=disk.parent)
    ballast = Ballast(disk)
    try:
        broker.start()
        client, reading = open_client(broker), open_client(broker)
        worker = client.subscribe(TOPICS[1], "s", initial_position=InitialPosition.Earliest)
        *producers, kept = started(client)
        big = Sends(client, "persistent://public/default/big")
        big.send(2500)
        big.wait(2500)
        ballast.fill()
        for sends in producers:
            sends.send(500)
        until_process_logged(broker, "topic.write_failed")
        # It cannot be noted in the log, and frees the space all the same: then it can.
        assert ask(broker, "DELETE", "persistent/public/default/big?force=true") == 204
        for sends in producers:
            sends.wait(600)
            sends.check(reading)
        for _ in range(600):
            message = worker.receive(10_000)
        worker.acknowledge_cumulative(message)
        kept.check(reading)
        reading.shutdown()
        client.shutdown()
        assert len(message.data()) == SIZE
        assert len(broker.life_log().splitlines()) < LINES_MAX, broker.life_log()
    finally:
        if broker.running:
            broker.kill()


def test_a_broker_starts_on_a_full_disk_or_says_why_not(disk):
    broker = BrokerProcess(disk / "data", settings=SETTINGS, beside=disk.parent)
    ballast = Ballast(disk)
    try:
        broker.start()
        client = open_client(broker)
        all_sends = started(client)
        broker.kill()
        client.shutdown()
        ballast.fill()
        refused = broker.refusal()
        if refused is not None:
            code, said = refused
            assert code == 1
            assert "make space" in said, said
            assert said.count("\n") <= 3, said
        else:
            broker.kill()
        ballast.remove()
        broker.start()
        client = open_client(broker)
        for sends in all_sends:
            sends.check(client)
        client.close()
    finally:
        if broker.running:
            broker.kill()
