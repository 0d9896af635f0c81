"""What happened in one run, as those saw it who asked: for the story, and for the checks."""

from collections import defaultdict
from typing import NamedTuple

from magnetar.client.message import entries_of
from magnetar.testing.simulation.loop import BEGIN_S


class Number(NamedTuple):
    """A message, by who published it."""

    producer: str
    number: int

    def __str__(self):
        return f"{self.producer}:{self.number}"


class Delivery(NamedTuple):
    """A message that an application received."""

    at: float
    consumer: str
    since: float  # When this consumer began.
    number: Number
    topic: str
    entry: tuple


class History:
    """What was sent, answered, delivered and acknowledged."""

    def __init__(self, cluster, keep_alive_s):
        self.cluster = cluster
        self.keep_alive_s = keep_alive_s  # Of the clients.
        self.sent = {}  # The topic and the key of each, by number.
        self.answered = {}  # When, by number.
        self.entries = defaultdict(dict)  # What each entry holds.
        self.began = {}  # When each consumer began, by its name.
        self.deliveries = defaultdict(list)  # By topic and subscription.
        self.acknowledged = defaultdict(
            dict
        )  # When, by topic and subscription, then entry, number.
        self.committed = {}  # True, False, or None: nobody knows; by the numbers of a transaction.
        self.findings = []

    @property
    def now(self):
        return self.cluster.loop.time()

    def failures(self):
        """When something failed, so that what waited to be saved may not be."""
        lines = [line.split(maxsplit=2) for line in self.cluster.story]
        return [float(at) + BEGIN_S for at, who, what in lines if _is_failure(who, what)]

    def note(self, who, what):
        self.cluster.note(who, what)

    def find(self, what):
        """Something is not as it must be."""
        self.note("FINDING", what)
        self.findings.append(what)

    def was_sent(self, number, topic, key):
        self.sent[number] = topic, key
        self.note(number.producer, f"sends {number.number} to {topic} {key or ''}")

    def was_answered(self, number, message_id):
        self.answered[number] = self.now
        self.note(number.producer, f"is answered {number.number}: {message_id}")

    def was_delivered(self, subscribing, consumer, since, message):
        number = number_of(message)
        entry = (message.topic, *entries_of(message))
        self.deliveries[subscribing.topic, subscribing.name].append(
            Delivery(self.now, consumer, since, number, message.topic, entry)
        )
        self.entries[entry][number] = None
        self.note(consumer, f"receives {number} {message.message_id}")
        return number, entry

    def was_acknowledged(self, subscribing, consumer, number, entry):
        known = self.acknowledged[subscribing.topic, subscribing.name]
        known.setdefault(entry, {}).setdefault(number, self.now)
        self.note(consumer, f"has acknowledged {number}")


FAILURES = (
    *("is killed", "loses", "stands still", "goes on", "cannot reach", "is slow"),
    *("has a disk", "reads wrong", "answers nothing", "takes no", "cannot begin"),
)


def _is_failure(who, what):
    return who.startswith(("broker", "bookie", "zookeeper")) and what.startswith(FAILURES)


def number_of(message):
    """Which message it is."""
    producer, number = bytes(message.value).split(b"|", 1)[0].decode().split(":")
    return Number(producer, int(number))
