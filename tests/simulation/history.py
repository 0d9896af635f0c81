"""What happened in one run, as those saw it who asked: for the story, and for the checks."""

from collections import defaultdict
from itertools import count
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

    def __init__(self, cluster, plan):
        self.cluster = cluster
        self.keep_alive_s = plan.keep_alive_s  # Of the clients.
        self._turns = {}  # By consumer and entry: how it has it this time, and the last of it.
        self._turn_numbers = count(1)
        self.sent = {}  # The topic and the key of each, by number.
        self.due = {}  # When those may be delivered that are late.
        self.asked = defaultdict(set)  # What anybody acknowledged, by topic and subscription.
        self.answered = {}  # When, by number.
        self.entries = defaultdict(dict)  # What has come of each entry, to anybody.
        self.sizes = {}  # How many messages each of them holds.
        self.began = {}  # When each consumer began, by its name.
        self.subscribed = {}  # When each subscription was there for certain, by topic and name.
        self.deliveries = defaultdict(list)  # By topic and subscription.
        # When, by topic and subscription, then entry, who had it together, and number.
        self.acknowledged = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
        # From when to when it was pending in each transaction not committed, by what it is.
        self.pending = defaultdict(list)
        self.committed = {}  # True, False, or None: nobody knows; by the numbers of a transaction.
        self.wrong = []  # From when to when a fault lasted.
        self.damaged = any(each.kind.startswith("flip") for each in plan.faults)  # What is read.
        self.findings = []

    @property
    def now(self):
        return self.cluster.loop.time()

    def troubles(self):
        """When something was wrong, so that what waited to be saved may not be: from, to."""
        return self.wrong + self.outages()

    def outages(self):
        """When servers were not there, also those that were still to stop at the end: from, to."""
        began, found = {}, []
        for line in self.cluster.story:
            at, who, what = line.split(maxsplit=2)
            here = who.removeprefix(f"{self.cluster.name}-")
            if not here.startswith(("broker", "bookie", "zookeeper")):
                continue
            if what.startswith(DOWN):
                began.setdefault(who, float(at) + BEGIN_S)
            elif what.startswith(UP) and who in began:
                found.append((began.pop(who), float(at) + BEGIN_S))
        return found + [(at, float("inf")) for at in began.values()]

    def note(self, who, what):
        self.cluster.note(who, what)

    def find(self, what):
        """Something is not as it must be."""
        self.note("FINDING", what)
        self.findings.append(what)

    def was_sent(self, number, topic, key, late_s):
        self.sent[number] = topic, key
        if late_s:
            self.due[number] = self.now + late_s
        self.note(number.producer, f"sends {number.number} to {topic} {key or ''}")

    def was_answered(self, number, message_id):
        self.answered[number] = self.now
        self.note(number.producer, f"is answered {number.number}: {message_id}")

    def was_delivered(self, subscribing, consumer, since, message):
        """Returns the number, and what is to be told when it is acknowledged."""
        number = number_of(message)
        entry = (message.topic, *entries_of(message))
        self.deliveries[subscribing.topic, subscribing.name].append(
            Delivery(self.now, consumer, since, number, message.topic, entry)
        )
        self.entries[entry][number] = None
        self.sizes[entry] = max(message.message_id.batch_size, 1)
        self.note(consumer, f"receives {number} {message.message_id}")
        turn, last = self._turns.get((consumer, since, entry), (0, 0))
        if turn == 0 or message.batch_index <= last:  # The entry came again.
            turn = next(self._turn_numbers)
        self._turns[consumer, since, entry] = turn, message.batch_index
        # Without indexes only who has acknowledged all of a batch has acknowledged any of it.
        return number, (entry, 0 if subscribing.indexes else turn)

    def asks(self, subscribing, number):
        """Somebody acknowledges, whatever becomes of that."""
        self.asked[subscribing.topic, subscribing.name].add(number)

    def asks_cumulatively(self, subscribing, consumer, since, message):
        last = message.topic, entries_of(message)[-1]
        for each in self.deliveries[subscribing.topic, subscribing.name]:
            if each.consumer == consumer and each.since == since:
                topic, *entries = each.entry
                if topic == last[0] and entries[-1] <= last[1]:
                    self.asks(subscribing, each.number)

    def is_pending(self, subscribing, number, what):
        """Somebody acknowledges in a transaction, and may take that back: returns from, to."""
        span = [self.now, float("inf")]
        self.pending[subscribing.topic, subscribing.name, what[0], number].append(span)
        return span

    def was_acknowledged(self, subscribing, consumer, number, what, *, in_transaction=False):
        entry, together = what
        if in_transaction and not subscribing.indexes:
            together = -together  # Of a batch it does not count with what is acknowledged without.
        known = self.acknowledged[subscribing.topic, subscribing.name][entry][together]
        known.setdefault(number, self.now)
        self.note(consumer, f"has acknowledged {number}")


DOWN = ("is killed", "loses power", "stands still", "stops", "has ended")
UP = ("serves", "goes on")


def number_of(message):
    """Which message it is."""
    producer, number = bytes(message.value).split(b"|", 1)[0].decode().split(":")
    return Number(producer, int(number))
