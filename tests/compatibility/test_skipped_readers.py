"""A reader does not hold back deletion: while it stands still, what it has not read may go."""

import json
import logging
import threading
import urllib.request

import pytest
from pulsar import InitialPosition, MessageId

from magnetar.testing.local_broker import BrokerThread

pytestmark = pytest.mark.compatibility

TOPIC = "persistent://public/default/passed-over"
STATS = "/admin/v2/persistent/public/default/passed-over/internalStats"
COUNT = 50
ENTRIES_PER_LEDGER = 10
SETTINGS = {
    "managedLedgerMaxEntriesPerLedger": ENTRIES_PER_LEDGER,
    "managedLedgerMinLedgerRolloverTimeMinutes": 0,
    "managedLedgerDefaultMarkDeleteRateLimit": 20,
}


class Heard(logging.Handler):
    """Keeps the log lines that begin with a word, and wakes who waits for the first."""

    def __init__(self, word):
        super().__init__()
        self.lines = []
        self._word = word
        self._first = threading.Event()

    def emit(self, record):
        if record.getMessage().startswith(self._word):
            self.lines.append(record.getMessage())
            self._first.set()

    def wait(self):
        assert self._first.wait(10), f"nobody says {self._word}"


@pytest.fixture
def skipped():
    heard, root = Heard("cursor.skipped"), logging.getLogger("magnetar")
    root.addHandler(heard)
    yield heard
    root.removeHandler(heard)


@pytest.fixture
def broker(tmp_path):
    with BrokerThread(tmp_path / "data", settings=SETTINGS) as broker:
        yield broker


def publish(client):
    producer = client.create_producer(TOPIC, batching_enabled=False)
    for number in range(COUNT):
        producer.send(str(number).encode())
    return producer


def entries_stored(broker):
    with urllib.request.urlopen(broker.web_url + STATS) as answer:
        return json.load(answer)["numberOfEntries"]


def test_a_reader_that_stands_still_does_not_hold_back_deletion(client, broker, skipped):
    consumer = client.subscribe(TOPIC, "s", initial_position=InitialPosition.Earliest)
    reader = client.create_reader(TOPIC, MessageId.earliest, receiver_queue_size=1)
    publish(client)
    for _ in range(COUNT):
        last = consumer.receive(5000)
    consumer.acknowledge_cumulative(last)
    skipped.wait()
    read = []
    while reader.has_message_available():
        read.append(int(reader.read_next(5000).data()))
    stored = entries_stored(broker)
    assert stored == ENTRIES_PER_LEDGER, "only the ledger that takes entries is left"
    held = [number for number in read if number < COUNT - stored]
    assert len(held) < ENTRIES_PER_LEDGER, "only what had been delivered comes from before"
    assert read[len(held) :] == list(range(COUNT - stored, COUNT))
    assert len(skipped.lines) == 1
    for said in ("name=public/default/persistent/passed-over", "cursor=", "from=", "to="):
        assert said in skipped.lines[0]


def test_a_topic_that_is_only_read_keeps_the_ledger_that_takes_entries(client, skipped):
    reader = client.create_reader(TOPIC, MessageId.earliest, receiver_queue_size=1)
    producer = publish(client)
    skipped.wait()
    reader.seek(MessageId.latest)
    producer.send(b"more")
    assert reader.read_next(5000).data() == b"more"
