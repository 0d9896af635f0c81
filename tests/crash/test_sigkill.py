"""A broker killed in the middle of its work loses nothing it has answered for.

Producers keep a bounded number of sends under way and note which were answered; a consumer notes
when it acknowledged what. The kill comes at a random moment, given by a seed that is printed. What
the process had written reaches the disk without it: SIGKILL ends a process, not a machine.
"""

import os
import random
import threading
import time
from collections import defaultdict

import pulsar
import pytest
from pulsar import InitialPosition, MessageId

from magnetar.testing.processes import BrokerProcess

pytestmark = [pytest.mark.crash, pytest.mark.timeout(300)]

KILLS = 5
TOPICS = ["persistent://public/default/crash-a", "persistent://public/default/crash-b"]
PRODUCERS_PER_TOPIC = 2
UNDER_WAY_MAX = 40  # Sends of one producer that are not answered yet.
SAVES_PER_S = 5.0
# An acknowledgement this old is on disk: the client groups them for 0.1 s, the broker saves
# a cursor SAVES_PER_S times a second, and the machine may be busy.
ACK_SETTLED_S = 0.1 + 1 / SAVES_PER_S + 1.0


def open_client(broker):
    quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    return pulsar.Client(broker.service_url, logger=quiet)


class Sender(threading.Thread):
    """Sends numbered messages until told to stop; remembers which were answered, in order."""

    def __init__(self, client, topic, name, life):
        super().__init__(name=f"{topic}-{name}")
        self.topic, self.key = topic, f"{name}/{life}"
        self._producer = client.create_producer(
            topic, batching_enabled=life % 2 == 1, batching_max_publish_delay_ms=2
        )
        self._room = threading.BoundedSemaphore(UNDER_WAY_MAX)
        self._ended = threading.Event()
        self.answered = []

    def run(self):
        number = 0
        while not self._ended.is_set():
            if not self._room.acquire(timeout=0.05):
                continue
            try:
                self._producer.send_async(f"{self.key}/{number}".encode(), self._answer(number))
            except pulsar.PulsarException:
                return
            number += 1

    def end(self):
        self._ended.set()
        self.join()

    def _answer(self, number):
        def callback(result, _):
            if result == pulsar.Result.Ok and not self._ended.is_set():
                self.answered.append(number)
            self._room.release()

        return callback


class Acknowledger:
    """Acknowledges everything it gets, and remembers when."""

    def __init__(self, client, topic):
        self.acknowledged = {}
        self._consumer = client.subscribe(
            topic, "worker", initial_position=InitialPosition.Earliest, message_listener=self._take
        )

    def _take(self, consumer, message):
        consumer.acknowledge(message)
        self.acknowledged[message.data().decode()] = time.monotonic()


def read_back(client, topic):
    """Every message of a topic, in log order."""
    reader = client.create_reader(topic, MessageId.earliest)
    found = []
    while reader.has_message_available():
        found.append(reader.read_next(20_000).data().decode())
    reader.close()
    return found


def check_answered(found, answered):
    """Every answered send is there; each producer's messages are in its order, without gaps."""
    numbers = defaultdict(list)
    for text in found:
        key, _, number = text.rpartition("/")
        numbers[key].append(int(number))
    for key, sent in answered.items():
        assert numbers[key] == list(range(len(numbers[key]))), f"{key}: out of order or torn"
        assert sent == list(range(len(sent))), f"{key}: answered out of order"
        missing = set(sent) - set(numbers[key])
        assert not missing, f"{key}: {len(missing)} answered sends are gone, {min(missing)} first"


def delivered_now(client, topic, backlog):
    """What the subscription still has to deliver, unacknowledged."""
    consumer = client.subscribe(topic, "worker", initial_position=InitialPosition.Earliest)
    last = backlog[-1] if backlog else None
    found = []
    while last is not None:
        try:
            found.append(consumer.receive(2000).data().decode())
        except pulsar.Timeout:
            break
        if found[-1] == last:
            break
    consumer.close()
    return found


def test_five_kills_lose_nothing_that_was_answered(tmp_path):
    seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"SEED={seed}")
    chance = random.Random(seed)
    answered = {topic: {} for topic in TOPICS}
    settled = {topic: set() for topic in TOPICS}
    settings = {"managedLedgerDefaultMarkDeleteRateLimit": SAVES_PER_S}
    with BrokerProcess(tmp_path / "data", settings=settings) as broker:
        client = open_client(broker)
        for topic in TOPICS:  # A subscription that acknowledges nothing keeps everything.
            client.subscribe(topic, "keeper", initial_position=InitialPosition.Earliest).close()
        for life in range(KILLS):
            workers = {topic: Acknowledger(client, topic) for topic in TOPICS}
            senders = [
                Sender(client, topic, f"p{number}", life)
                for topic in TOPICS
                for number in range(PRODUCERS_PER_TOPIC)
            ]
            for sender in senders:
                sender.start()
            delay_s = ACK_SETTLED_S + chance.uniform(0.2, 1.5)
            time.sleep(delay_s)  # The kill may come at any moment: there is no event to await.
            broker.kill()
            killed = time.monotonic()
            for sender in senders:
                sender.end()
                answered[sender.topic][sender.key] = list(sender.answered)
                assert sender.answered, f"{sender.name} had no answer before the kill"
            client.shutdown()
            for topic, worker in workers.items():
                settled[topic] |= {
                    text for text, at in worker.acknowledged.items() if at < killed - ACK_SETTLED_S
                }
            broker.start()
            client = open_client(broker)
            for topic in TOPICS:
                found = read_back(client, topic)
                check_answered(found, answered[topic])
                again = settled[topic] & set(delivered_now(client, topic, found))
                assert not again, f"{len(again)} acknowledged messages came again: {min(again)}"
            count = sum(len(sent) for keys in answered.values() for sent in keys.values())
            print(f"kill {life + 1} after {delay_s:.2f} s: {count} answered sends read back")
            assert any(settled.values()), "nothing was acknowledged long enough before the kill"
        client.close()
