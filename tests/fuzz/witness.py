"""A well-behaved client, the official one, on topics of its own: it must notice nothing.

Every message is sent, answered, received and acknowledged before the next one, on each topic in
turn, so each must come once, in order, and soon. Now and then many are sent at once.
"""

import threading
import time
from dataclasses import dataclass, field

import pulsar
from pulsar import ConsumerType, InitialPosition

KINDS = (ConsumerType.Exclusive, ConsumerType.Shared, ConsumerType.KeyShared, ConsumerType.Failover)
RECEIVE_TIMEOUT_MS = 30_000
COMPLAINTS_MAX = 20
MANY = 50
PAUSE_S = 0.01  # Between rounds: it is to notice, not to be a load itself.
MANY_EVERY = 20  # rounds


@dataclass(slots=True)
class Testimony:
    """What it saw."""

    messages: int = 0
    slowest_s: float = 0.0  # From send to receive, of a message alone.
    complaints: list[str] = field(default_factory=list)


class Witness(threading.Thread):
    """Uses the broker from ``start`` to ``end``."""

    def __init__(self, service_url: str) -> None:
        super().__init__(name="witness")
        self.seen = Testimony()
        self._ended = threading.Event()
        quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
        self._client = pulsar.Client(service_url, logger=quiet, operation_timeout_seconds=30)
        self._lines = [_Line(self._client, kind, self.seen) for kind in KINDS]

    def run(self) -> None:
        rounds = 0
        try:
            while not self._ended.is_set() and len(self.seen.complaints) < COMPLAINTS_MAX:
                for line in self._lines:
                    line.one()
                    if rounds % MANY_EVERY == 0:
                        line.many()
                rounds += 1
                self._ended.wait(PAUSE_S)
        except pulsar.PulsarException as error:
            self.seen.complaints.append(f"round {rounds}: {error!r}")

    def end(self) -> Testimony:
        """Stop, and say what was seen."""
        self._ended.set()
        self.join()
        self._client.close()
        return self.seen


class _Line:
    """One topic, its producer and its consumer."""

    def __init__(self, client: pulsar.Client, kind: ConsumerType, seen: Testimony) -> None:
        self._topic = f"persistent://public/default/witness-{kind.name}"
        self._consumer = client.subscribe(
            self._topic, "witness", consumer_type=kind, initial_position=InitialPosition.Earliest
        )
        self._producer = client.create_producer(self._topic, batching_enabled=False)
        self._seen = seen
        self._sent = 0
        self._received = 0

    def one(self) -> None:
        began = time.monotonic()
        self._producer.send(str(self._sent).encode())
        self._sent += 1
        self._receive()
        self._seen.slowest_s = max(self._seen.slowest_s, time.monotonic() - began)

    def many(self) -> None:
        for _ in range(MANY):
            self._producer.send_async(str(self._sent).encode(), self._answered)
            self._sent += 1
        for _ in range(MANY):
            self._receive()

    def _answered(self, result: pulsar.Result, _: pulsar.MessageId) -> None:
        if result != pulsar.Result.Ok:
            self._seen.complaints.append(f"{self._topic}: a send failed: {result}")

    def _receive(self) -> None:
        message = self._consumer.receive(RECEIVE_TIMEOUT_MS)
        self._consumer.acknowledge(message)
        number, expected = int(message.data()), self._received
        if number != expected:
            self._seen.complaints.append(f"{self._topic}: {number} came instead of {expected}")
        self._received = max(expected, number + 1)
        self._seen.messages += 1
