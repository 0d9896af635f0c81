"""A broker under load that is killed again and again, and what must hold after each kill.

* Every answered send is there; the first copies of each producer's messages are in order, gapless.
* What was acknowledged, and had time to be saved, is not delivered again.
* A topic whose deletion was answered is gone; any other is whole, or gone.
* In the end every subscription has seen everything, and the space of what is gone comes back.
"""

import json
import random
import time
from collections import defaultdict
from urllib.request import urlopen

from crash.moments import Victim, topics_of
from crash.workers import Sender, open_client, workers_of
from pulsar import BatchingType, InitialPosition, MessageId
from support.elsewhere import wait_until

from magnetar.testing.processes import BrokerProcess

SEGMENT_BYTES = 256 * 1024
SAVES_PER_S = 20.0
SETTINGS = {
    "logSizeLimit": SEGMENT_BYTES,
    "managedLedgerMaxEntriesPerLedger": 300,
    "managedLedgerMinLedgerRolloverTimeMinutes": 0,
    "managedLedgerDefaultMarkDeleteRateLimit": SAVES_PER_S,
    "acknowledgmentAtBatchIndexLevelEnabled": "true",
    "activeConsumerFailoverDelayTimeMillis": 50,
    "retentionCheckIntervalInSeconds": 1,
}
# An acknowledgement this old is on disk: the client groups them for 0.1 s, the broker saves a
# cursor SAVES_PER_S times a second, and the machine may be busy.
ACK_SETTLED_S = 0.1 + 1 / SAVES_PER_S + 1.0
TOPICS = [f"persistent://public/default/crash-{letter}" for letter in "abcd"]
SIZES_MAX = [3000, 1000, 3000, 100]
KEEPERS_ADVANCE = [5, 4, 3, 1000]  # Every so many lives; the last keeps all, in segments of others.
SPACE_COMES_BACK_S = 30
SEGMENTS_LEFT_MAX = 8  # Those of open ledgers, and of what is compacted next.


class Campaign:
    """One data folder and its broker, over many lives."""

    def __init__(self, data, seed):
        self.chance = random.Random(seed)
        self.data = data
        self.broker = BrokerProcess(data, settings=SETTINGS)
        self.kills = 0
        self.read_back = 0
        self._workers = workers_of(TOPICS)
        self._senders = []
        self._answered = {topic: {} for topic in TOPICS}  # By producer, all that was answered.
        self._seen = {topic: defaultdict(int) for topic in TOPICS}  # By producer, how many.
        self._verified = {}  # By topic, the id of the last message that was read back.
        self._victims = []
        self._clients = []
        self._life = 0
        self._killed = 0.0

    def begin(self):
        self.broker.start()
        self._connect()
        for topic in TOPICS:
            self._keeper(topic).close()
        self._go_on()

    def kill(self):
        """The end of a life, whatever is under way."""
        if not self._killed:
            self._killed = time.monotonic()
        if self.broker.running:
            self.broker.kill()
            self.kills += 1

    def live_and_die(self, moment):
        """One life: time for acknowledgements to settle, the moment, the kill, and all checks."""
        self._life += 1
        survive = self.chance.random() < 0.5
        time.sleep(ACK_SETTLED_S)
        moment(self)
        self.kill()
        for worker in self._workers:
            worker.end_life(self._killed, ACK_SETTLED_S)
        if not survive:
            self._disconnect()
        self._killed = 0.0
        self.broker.start()
        if survive:
            for sender in self._senders:
                sender.settle()
        else:
            self._note_answers()
            self._connect()
        self.check()
        for topic, every in zip(TOPICS, KEEPERS_ADVANCE, strict=True):
            if self._life % every == 0:
                self._advance_keeper(topic)
        self._go_on()

    def end(self):
        """Let everything be consumed; then nothing may be missing, and the space comes back."""
        for sender in self._senders:
            sender.settle()
        self.check()
        for worker in self._workers:
            worker.finish()
        for topic in TOPICS:
            self._advance_keeper(topic)
        self._await_empty_backlogs()
        for worker in self._workers:
            answered = self._answered[worker.topic]
            wanted = {f"{key}/{number}" for key, sent in answered.items() for number in sent}
            missing = wanted - worker.received
            assert not missing, f"{worker.topic} never delivered {len(missing)}: {min(missing)}"
        self._await_space()
        self._disconnect()

    def close(self):
        for client in self._clients:
            client.shutdown()
        if self.broker.running:
            self.broker.kill()

    @property
    def answered_count(self):
        return sum(len(sent) for keys in self._answered.values() for sent in keys.values())

    @property
    def settled_count(self):
        return sum(len(worker.settled) for worker in self._workers)

    def make_victim(self, messages):
        """A topic with messages and a subscription, all of it answered."""
        topic = f"persistent://public/default/victim-{len(self._victims)}"
        client = self._clients[0]
        client.subscribe(topic, "s", initial_position=InitialPosition.Earliest).close()
        producer = client.create_producer(topic)
        for number in range(messages - 1):
            producer.send_async(b"%d" % number, None)
        producer.send(b"%d" % (messages - 1))
        producer.close()
        self._victims.append(Victim(topic, self.broker.web_url, messages))
        return self._victims[-1]

    # Checks.

    def check(self):
        self._note_answers()
        for topic in TOPICS:
            self._check_topic(topic)
        self._check_victims()
        for worker in self._workers:
            again = worker.broken_promises
            assert not again, f"{worker.topic}: {len(again)} settled messages again: {again[0]}"

    def _note_answers(self):
        for sender in self._senders:
            self._answered[sender.topic][sender.key] = list(sender.answered)

    def _check_topic(self, topic):
        seen, found = self._seen[topic], self._read_on(topic)
        for key, number in found:
            assert number <= seen[key], f"{key}: {number} is stored before {seen[key]}"
            seen[key] += number == seen[key]
        for key, answered in self._answered[topic].items():
            assert answered == sorted(answered), f"{key}: answered out of order"
            last = answered[-1] if answered else -1
            assert last < seen[key], (
                f"{key}: {last} was answered, the log ends with {seen[key] - 1}"
            )

    def _read_on(self, topic):
        """What was not read back yet, in log order, as (producer, number)."""
        start = self._verified.get(topic, MessageId.earliest)
        client = open_client(self.broker)
        reader = client.create_reader(topic, start)
        found = []
        while reader.has_message_available():
            message = reader.read_next(20_000)
            key, _, number = message.data().decode().partition("|")[0].rpartition("/")
            found.append((key, int(number)))
            self._verified[topic] = message.message_id()
        client.close()
        self.read_back += len(found)
        return found

    def _check_victims(self):
        if not self._victims:
            return
        there = topics_of(self.broker.web_url)
        client = open_client(self.broker)
        for victim in self._victims:
            if victim.answer == 204:
                assert victim.topic not in there, f"{victim.topic} was deleted, and is there"
            elif victim.topic in there:
                consumer = client.subscribe(victim.topic, "s")
                found = [int(consumer.receive(5000).data()) for _ in range(victim.messages)]
                assert found == list(range(victim.messages)), f"{victim.topic} is not whole"
                consumer.close()
        client.close()

    def _await_empty_backlogs(self):
        for worker in self._workers:
            wait_until(
                lambda: self._backlog(worker.topic),  # noqa: B023 - called at once
                f"statistics of {worker.topic} are asked for, not told",
                met=lambda backlog: backlog == 0,
                timeout_s=60,
                pause_s=0.1,
            )

    def _backlog(self, topic):
        path = f"{topic.replace('://', '/')}/stats"
        with urlopen(f"{self.broker.web_url}/admin/v2/{path}", timeout=10) as answer:
            return json.load(answer)["subscriptions"]["worker"]["msgBacklog"]

    def _await_space(self):
        """What every subscription has acknowledged takes no space any more."""
        folder = self.data / "ledgers"
        wait_until(
            lambda: list(folder.glob("segment-*.log")),
            "the broker tells nobody when it deletes files of its log",
            met=lambda files: len(files) <= SEGMENTS_LEFT_MAX,
            timeout_s=SPACE_COMES_BACK_S,
            pause_s=0.1,
        )

    # Clients.

    def _connect(self):
        self._clients = [open_client(self.broker), open_client(self.broker)]
        batching = {
            "batching_enabled": True,
            "batching_max_messages": 20,
            "batching_max_publish_delay_ms": 2,
        }
        options = [{}, batching, {}, {**batching, "batching_type": BatchingType.Default}]
        self._senders = [
            Sender(self._clients[0], topic, f"{topic[-1]}-{self._life}", size_max=size, **kind)
            for topic, size, kind in zip(TOPICS, SIZES_MAX, options, strict=True)
        ]
        for sender in self._senders:
            sender.settle()
            sender.start()
        for worker in self._workers:
            worker.attach(self._clients[1])

    def _disconnect(self):
        for sender in self._senders:
            sender.end()
        for client in self._clients:
            client.shutdown()

    def _go_on(self):
        for worker in self._workers:
            worker.begin_life()
        for sender in self._senders:
            sender.go_on()

    def _keeper(self, topic):
        """It acknowledges nothing until told to, and so keeps what was not read back yet."""
        return self._clients[0].subscribe(
            topic, "keeper", initial_position=InitialPosition.Earliest
        )

    def _advance_keeper(self, topic):
        keeper = self._keeper(topic)
        keeper.acknowledge_cumulative(self._verified[topic])
        keeper.close()
