"""Producers and consumers of a kill campaign, and what each of them knows for certain.

They are official clients, with threads of their own. A client may outlive the broker: what it had
under way when the broker died it sends again, so a message may be stored twice, but the first
copies of a producer's messages are in its order, without gaps.
"""

import os
import random
import threading
import time
from collections import deque

import pulsar
from pulsar import ConsumerType, InitialPosition
from support.elsewhere import wait_until

UNDER_WAY_MAX = 60  # Sends of one producer that are not answered yet.
BURST = 10
BETWEEN_BURSTS_S = 0.0 if os.environ.get("KILLS") else 0.02
"""A load; ``make crash`` takes all that the machine can bear."""
SETTLE_TIMEOUT_S = 60


def open_client(broker, **options):
    quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    return pulsar.Client(broker.service_url, logger=quiet, **options)


class Sender(threading.Thread):
    """Sends numbered messages until told to stop; remembers which were answered, in order."""

    def __init__(self, client, topic, key, *, size_max, **options):
        super().__init__(name=key, daemon=True)
        self.topic, self.key = topic, key
        self.answered = []
        self.sent = 0
        self._padding = "." * size_max
        self._producer = client.create_producer(topic, block_if_queue_full=True, **options)
        self._room = threading.BoundedSemaphore(UNDER_WAY_MAX)
        self._running = threading.Event()
        self._running.set()
        self._ended = False
        self._chance = random.Random(key)

    def run(self):
        resting = threading.Event()
        while not self._ended:
            self._running.wait()
            if self.sent % BURST == 0:
                resting.wait(BETWEEN_BURSTS_S)
            if not self._room.acquire(timeout=0.05):
                continue
            number, self.sent = self.sent, self.sent + 1
            padding = self._padding[: self._chance.randrange(len(self._padding))]
            try:
                self._producer.send_async(
                    f"{self.key}/{number}|{padding}".encode(),
                    self._answer(number),
                    partition_key=str(number % 17),
                )
            except pulsar.PulsarException:
                return  # The client was shut down: the broker it knew is dead.

    def settle(self):
        """Send nothing more for now, and wait until all that was sent is answered."""
        self._running.clear()
        give_up = time.monotonic() + SETTLE_TIMEOUT_S
        for taken in range(UNDER_WAY_MAX):
            left_s = max(give_up - time.monotonic(), 0)
            assert self._room.acquire(timeout=left_s), (
                f"{self.key}: {UNDER_WAY_MAX - taken} sends are not answered "
                f"{SETTLE_TIMEOUT_S} s after the broker came back"
            )
        for _ in range(UNDER_WAY_MAX):
            self._room.release()

    def go_on(self):
        self._running.set()

    def end(self):
        """Send no more; answers that come from now on do not count."""
        self._ended = True
        self._running.set()
        self.join()

    def _answer(self, number):
        def callback(result, _):
            if result == pulsar.Result.Ok and not self._ended:
                self.answered.append(number)
            self._room.release()

        return callback


class Worker:
    """The consumers of one subscription. Knows what was received, and acknowledged when.

    Acknowledgements are known by place, since a message that was sent again has two.

    ``how``: "one" acknowledges each message but a few, which it leaves for a later life;
    "cumulative" acknowledges all up to a message, now and then.
    """

    def __init__(self, topic, kind, *, how, consumers, left_share=0.0):
        self.topic, self.kind, self.how = topic, kind, how
        self.consumers_wanted, self.left_share = consumers, left_share
        self.received = set()
        self.settled = set()  # Acknowledged so long before a kill that it must be on disk.
        self.broken_promises = []
        self._acknowledged = {}
        self._since = 0.0
        self._waiting = deque()  # Received, to be acknowledged with a later one.
        self._left = []  # Received and left for another life.
        self._chance = random.Random(f"{topic} {kind}")
        self._lock = threading.Lock()
        self._consumers = []

    def attach(self, client):
        """Consume through a new client."""
        with self._lock:
            self._waiting.clear()
            self._left.clear()
        self._consumers = [
            client.subscribe(
                self.topic,
                "worker",
                consumer_type=self.kind,
                initial_position=InitialPosition.Earliest,
                message_listener=self._take,
                batch_index_ack_enabled=True,
                receiver_queue_size=200,
            )
            for _ in range(self.consumers_wanted)
        ]

    def begin_life(self):
        """The broker serves, and the consumers are connected: from now on it hears of acks."""
        wait_until(
            lambda: all(consumer.is_connected() for consumer in self._consumers),
            f"the official client tells nobody when it is connected to {self.topic} again",
            timeout_s=SETTLE_TIMEOUT_S,
        )
        self._since = time.monotonic()

    def end_life(self, killed, settle_s):
        """What was acknowledged in this life, and must not come again in a later one."""
        with self._lock:
            self.settled |= {
                place
                for place, at in self._acknowledged.items()
                if self._since < at < killed - settle_s
            }
            self._acknowledged.clear()

    def finish(self):
        """From now on leave nothing over; acknowledge what was left."""
        with self._lock:
            self.left_share = 0.0
            left, self._left = self._left, []
            waiting, self._waiting = list(self._waiting), deque()
        for consumer, message in [*left, *waiting]:
            consumer.acknowledge(message)

    def _take(self, consumer, message):
        place = _place(message)
        try:
            with self._lock:
                self.received.add(_text(message))
                if place in self.settled:
                    self.broken_promises.append((place, _text(message)))
                self._acknowledge(consumer, message, place)
        except pulsar.PulsarException:
            pass  # The broker is dead: nobody was told.

    def _acknowledge(self, consumer, message, place):
        if self.how == "one":
            if self._chance.random() < self.left_share:
                self._left.append((consumer, message))
                return
            consumer.acknowledge(message)
            self._acknowledged[place] = time.monotonic()
            return
        self._waiting.append((consumer, message))
        if self._chance.random() < 0.05 or not self.left_share:
            consumer.acknowledge_cumulative(message)
            now = time.monotonic()
            for _, earlier in self._waiting:
                self._acknowledged[_place(earlier)] = now
            self._waiting.clear()


def _text(message):
    return message.data().decode().partition("|")[0]


def _place(message):
    where = message.message_id()
    return where.ledger_id(), where.entry_id(), where.batch_index()


def workers_of(topics):
    """Every subscription type, and every way to acknowledge."""
    return [
        Worker(topics[0], ConsumerType.Exclusive, how="cumulative", consumers=1, left_share=1.0),
        Worker(topics[1], ConsumerType.Shared, how="one", consumers=2, left_share=0.02),
        Worker(topics[2], ConsumerType.KeyShared, how="one", consumers=2, left_share=0.01),
        Worker(topics[3], ConsumerType.Failover, how="one", consumers=2, left_share=0.02),
    ]
