"""Data folders of brokers that were killed or stopped, to be damaged; and what is left in them.

``examine`` starts a broker by the real command. Either it refuses in one line, with exit code 1,
or it serves; then every message is looked for, and those that are gone must have been named.
"""

import json
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

import pulsar
from pulsar import InitialPosition
from support.elsewhere import wait_until

from magnetar.testing.processes import BrokerProcess

SETTINGS = {
    "logSizeLimit": 64 * 1024,
    "managedLedgerMaxEntriesPerLedger": 25,
    "managedLedgerMinLedgerRolloverTimeMinutes": 0,
    "managedLedgerDefaultMarkDeleteRateLimit": 50,
}
TOPICS = [f"persistent://public/default/{name}" for name in ("red", "green", "blue")]
MESSAGES = 60  # In each topic: about 180 KB, so several segments and several ledgers.
ACKNOWLEDGED = 20  # The first of each topic, on the subscription "s".
STALLED_S = 10.0  # A read that brings nothing for so long, while nothing is said, is a failure.


def open_client(broker, **options):
    quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    return pulsar.Client(broker.service_url, logger=quiet, **options)


@dataclass
class Filled:
    """A data folder, and what was answered while it was filled."""

    data: Path
    ports: dict[str, int]
    """Of its broker. Another would have to wait until what that one owned is given up."""
    ids: dict[str, list[pulsar.MessageId]] = field(default_factory=dict)

    @property
    def ledgers(self):
        return self.data / "ledgers"

    @property
    def segments(self):
        return sorted(self.ledgers.glob("segment-*.log"))

    def copy(self, to):
        """The same, to be damaged."""
        shutil.copytree(self.data, to)
        return Filled(to, self.ports, {topic: list(ids) for topic, ids in self.ids.items()})


def payload(topic, number):
    return f"{topic} {number} ".encode().ljust(3000, b".")


def fill(data, *, kill):
    """A folder with messages that were each answered before the next was sent.

    Where the broker is stopped, its ledgers are sealed; where it is killed, each topic has one that
    is open, so that only the log knows how far it goes.
    """
    with BrokerProcess(data, settings=SETTINGS) as broker:
        filled = Filled(data, {"port": broker.port, "web_port": broker.web_port})
        client = open_client(broker)
        consumers = {topic: subscribe(client, topic) for topic in TOPICS}
        producers = {topic: client.create_producer(topic) for topic in TOPICS}
        filled.ids = {topic: [] for topic in TOPICS}
        for number in range(MESSAGES):
            for topic, producer in producers.items():
                filled.ids[topic].append(producer.send(payload(topic, number)))
        for topic, consumer in consumers.items():
            for _ in range(ACKNOWLEDGED):
                message = consumer.receive(5000)
            consumer.acknowledge_cumulative(message)
            consumer.close()
            _await_mark(broker, topic)
        if kill:
            broker.kill()
        else:
            broker.terminate()
        client.shutdown()
    return filled


def subscribe(client, topic):
    return client.subscribe(topic, "s", initial_position=InitialPosition.Earliest)


def _await_mark(broker, topic):
    """Until the acknowledgement has arrived, and time enough has passed for it to be saved."""
    wait_until(
        lambda: _statistics(broker, topic)["cursors"]["s"]["markDeletePosition"],
        "the client sends acknowledgements a while later",
        met=lambda mark: not mark.endswith(":-1"),
    )
    time.sleep(5 / SETTINGS["managedLedgerDefaultMarkDeleteRateLimit"])  # Nobody says when.


def _statistics(broker, topic):
    url = f"{broker.web_url}/admin/v2/{topic.replace('://', '/')}/internalStats"
    with urlopen(url, timeout=10) as answer:
        return json.load(answer)


def flip(path, at):
    """Turn one bit of the byte at ``at``, counted from the end where it is negative."""
    data = bytearray(path.read_bytes())
    data[at] ^= 4
    path.write_bytes(data)


@dataclass
class Found:
    """What a start on a damaged folder showed."""

    refusal: str = ""  # What it said instead of serving; empty: it served.
    log: str = ""  # What it said while it started.
    missing: dict[str, list[int]] = field(default_factory=dict)  # By topic, messages that are gone.
    delivered: dict[str, list[int]] = field(default_factory=dict)  # By topic, to subscription "s".


def examine(filled):
    """Start on the folder, and look for everything that ``filled.ids`` has."""
    broker = BrokerProcess(filled.data, settings=SETTINGS, **filled.ports)
    refused = broker.refusal()
    if refused is not None:
        code, said = refused
        assert code == 1, said
        assert "Traceback" not in said, said
        complaints = [line for line in said.splitlines() if line.startswith("magnetar: ")]
        assert len(complaints) == 1, said
        return Found(refusal=complaints[0], log=said)
    found = Found(log=broker.life_log())
    try:
        client = open_client(broker)
        for topic, ids in filled.ids.items():
            found.missing[topic] = _missing(broker, client, topic, ids)
            found.delivered[topic] = _delivered(broker, client, topic, len(ids))
        client.shutdown()
        broker.terminate()
    finally:
        if broker.running:
            broker.kill()
    assert "Traceback" not in broker.life_log(), broker.life_log()
    return found


def _missing(broker, client, topic, ids):
    """Messages that no reader gets, wherever it starts. What it gets must be what was sent."""
    numbers = {_key(each): number for number, each in enumerate(ids)}
    missing, at = [], 0
    while at < len(ids):
        reader = client.create_reader(topic, ids[at], start_message_id_inclusive=True)
        while at < len(ids):
            ledger_id, entry_id = _key(ids[at])
            message = _next(broker, reader.read_next, f"position={ledger_id}:{entry_id} ")
            if message is None:
                missing.append(at)
                at += 1
                break
            number = numbers[_key(message.message_id())]
            assert message.data() == payload(topic, number), f"{topic} {number} is another"
            assert number == at, f"{topic} {number} was delivered instead of {at}"
            at += 1
        reader.close()
    return missing


def _delivered(broker, client, topic, count):
    """What the subscription still gets, up to what it cannot read."""
    consumer = subscribe(client, topic)
    numbers = []
    while not numbers or numbers[-1] < count - 1:
        message = _next(broker, consumer.receive, "cursor=s ")
        if message is None:
            break
        numbers.append(int(message.data().split()[1]))
    consumer.close()
    return numbers


def _next(broker, receive, complaint):
    """The next message; None once the broker has said that it cannot be read."""
    give_up = time.monotonic() + STALLED_S
    while time.monotonic() < give_up:
        try:
            return receive(50)
        except pulsar.Timeout:
            complaints = broker.life_log().splitlines()
            if any("read_failed" in line and complaint in line for line in complaints):
                return None
    raise AssertionError(f"nothing comes, and nothing is said of {complaint}")


def _key(message_id):
    return message_id.ledger_id(), message_id.entry_id()
