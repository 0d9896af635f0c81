"""A disk that is full, or fails: who waits hears of it, nothing answered is lost, and it passes.

The broker runs in this process on a log whose disk fails on demand (``support/faults.py``); the
clients are official ones but where said otherwise. Their way to try again is to resend what was
not answered.
"""

import errno
import logging
import threading
from functools import partial

import pulsar
import pytest
from faults.folders import open_client
from pulsar import InitialPosition, MessageId
from support.faults import FaultyFiles
from support.logs import until_logged

from magnetar.client import blocking
from magnetar.errors import TimedOut, Unavailable
from magnetar.testing.local_broker import BrokerThread

pytestmark = [pytest.mark.crash, pytest.mark.timeout(120)]

SETTINGS = {
    "logSizeLimit": 128 * 1024,
    "managedLedgerCacheSizeMB": 0,
    "managedLedgerMaxEntriesPerLedger": 40,
    "managedLedgerMinLedgerRolloverTimeMinutes": 0,
}
TOPICS = [f"persistent://public/default/t{number}" for number in range(3)]
OTHER = "persistent://public/default/other"
SENDS = 150
SIZE = 2000
ANSWERED_S = 60


class Sends:
    """Numbered sends to one topic, all of which are kept; which were answered, in order."""

    def __init__(self, client, topic):
        self.topic = topic
        self.answered, self.failed = [], []
        client.subscribe(topic, "keeper", initial_position=InitialPosition.Earliest).close()
        self._producer = client.create_producer(topic, block_if_queue_full=True)
        self._sent = 0
        self._changed = threading.Condition()

    def send(self, count):
        for _ in range(count):
            number, self._sent = self._sent, self._sent + 1
            text = f"{number} ".encode().ljust(SIZE, b".")
            self._producer.send_async(
                text, lambda result, _, number=number: self._hear(result, number)
            )

    def _hear(self, result, number):
        with self._changed:
            (self.answered if result == pulsar.Result.Ok else self.failed).append(number)
            self._changed.notify_all()

    def wait(self, count):
        """Until so many were answered."""
        with self._changed:
            done = self._changed.wait_for(lambda: len(self.answered) >= count, ANSWERED_S)
        assert done, f"{len(self.answered)} of {count} answered, {len(self.failed)} failed"

    def check(self, client):
        """All are stored, the first copies in order; whatever was answered is among them."""
        reader = client.create_reader(self.topic, MessageId.earliest)
        found = []
        while reader.has_message_available():
            found.append(int(reader.read_next(5000).data().split()[0]))
        reader.close()
        assert list(dict.fromkeys(found)) == list(range(self._sent))
        assert self.answered == sorted(self.answered)


@pytest.fixture
def files():
    return FaultyFiles()


@pytest.fixture
def broker(tmp_path, files):
    with BrokerThread(tmp_path / "data", settings=SETTINGS, files=files) as broker:
        yield broker


@pytest.fixture
def client(broker):
    client = open_client(broker)
    yield client
    client.close()


@pytest.fixture
def reading(broker):
    """Another client: a send that fails costs the official one its connection.

    A reader on that is told that there is nothing, where the question was under way.
    """
    client = open_client(broker)
    yield client
    client.close()


@pytest.fixture
def other(client):
    """A topic with messages on the disk, to be read while the disk takes nothing."""
    sends = Sends(client, OTHER)
    sends.send(SENDS)
    sends.wait(SENDS)
    return sends


def started(client):
    """Producers that have got answers already."""
    all_sends = [Sends(client, topic) for topic in TOPICS]
    for sends in all_sends:
        sends.send(20)
    for sends in all_sends:
        sends.wait(20)
    return all_sends


def test_a_full_disk_costs_nothing_and_passes(client, reading, other, files, caplog):
    caplog.set_level(logging.WARNING)
    producers = started(client)
    files.space_left = 30_000
    for sends in producers:
        sends.send(SENDS)
    until_logged(caplog, "topic.write_failed")
    stuck = [len(sends.answered) for sends in producers]
    other.check(reading)  # Readers go on.
    consumer = reading.subscribe(OTHER, "s", initial_position=InitialPosition.Earliest)
    assert consumer.receive(5000).data().startswith(b"0 ")
    consumer.close()
    assert any(count < SENDS for count in stuck)
    files.repair()  # Somebody makes space.
    for sends in producers:
        sends.wait(20 + SENDS)
        assert not sends.failed, "the client should have tried again"
        sends.check(reading)
    says = next(r.getMessage() for r in caplog.records if "topic.write_failed" in r.message)
    assert "No space left on device" in says
    assert "segment-" in says
    assert "make space" in says
    assert "Traceback" not in caplog.text


def until_write_failed(caplog, producers, fault):
    """Until what was sent met a fault; how many more each producer sent for that.

    Sealing a segment may meet all faults there are: then there is another one.
    """
    more = 0
    while until_logged(caplog, "storage.write_failed", "storage.upkeep_failed") != (
        "storage.write_failed"
    ):
        caplog.clear()
        fault()
        more += 1
        for sends in producers:
            sends.send(1)
    return more


def test_our_client_says_that_the_disk_is_full_when_it_gives_up(broker, files):
    with blocking.Client(broker.service_url, backoff_first_s=0.01) as client:
        producer = client.create_producer(OTHER, send_timeout_s=1)
        producer.send(b"before")
        files.space_left, files.allocates = 0, False
        with pytest.raises(TimedOut, match=r"no receipt.*No space left on device") as given_up:
            producer.send(bytes(100_000))
        assert isinstance(given_up.value.__cause__, Unavailable)
        files.repair()
        producer.send(b"after")


@pytest.mark.parametrize(
    ("fail", "times"),
    [("fail_syncs", 1), ("fail_syncs", 5), ("fail_writes", 1), ("fail_writes", 5)],
)
def test_a_disk_that_returns_eio_costs_nothing_and_passes(  # noqa: PLR0917 - fixtures
    client, reading, other, files, caplog, fail, times
):
    producers = started(client)
    fault = partial(getattr(files, fail), errno.EIO, times=times, name="segment-")
    fault()
    for sends in producers:
        sends.send(SENDS)
    more = until_write_failed(caplog, producers, fault)
    other.check(reading)
    for sends in producers:
        sends.wait(20 + SENDS + more)
        assert not sends.failed, "the client should have tried again"
        sends.check(reading)
    assert "Input/output error" in caplog.text
    assert "check the disk" in caplog.text
    assert "Traceback" not in caplog.text


def test_a_disk_that_hangs_holds_up_who_waits_and_nobody_else(client, reading, other, files):
    producers = started(client)
    with files.hold_syncs():
        for sends in producers:
            sends.send(10)
        assert files.sync_waits.wait(ANSWERED_S)
        other.check(reading)
        assert [len(sends.answered) for sends in producers] == [20, 20, 20]
    for sends in producers:
        sends.wait(30)
        sends.check(reading)


def test_what_was_answered_before_a_failure_is_there_after_a_restart(tmp_path, caplog):
    files = FaultyFiles()
    with BrokerThread(tmp_path / "data", settings=SETTINGS, files=files) as broker:
        client = open_client(broker)
        producers, sent = started(client), 20
        for number in range(6):

            def fault(number=number):
                if number % 2:
                    files.space_left = 20_000
                else:
                    files.fail_syncs(times=2)

            fault()
            for sends in producers:
                sends.send(40)
            sent += 40 + until_write_failed(caplog, producers, fault)
            caplog.clear()
            files.repair()
            for sends in producers:
                sends.wait(sent)
        client.close()
    with BrokerThread(tmp_path / "data", settings=SETTINGS) as broker:
        client = open_client(broker)
        for sends in producers:
            sends.check(client)
        client.close()
