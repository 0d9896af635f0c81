"""Flows whose clients come and go, with nobody there in between: what may then expire is told from
what may not, and topics at rest are unloaded.
"""

import threading
import time
from typing import Any

import pulsar

from bench.soak.flows import SUBSCRIPTION
from bench.soak.official import KINDS
from bench.soak.tally import Stream

from .feature_flow import FeatureFlow, Nobody

RECEIVE_MS = 500
UP_TO_DATE_S = 1.0
TTL_S = 5
DRAIN_S_MAX = 30.0
QUOTA_BYTES = 60_000


class Visited(FeatureFlow):
    """A consumer comes for a while, and goes when it has what there is."""

    HERE_S = 10.0
    AWAY_S = 8.0
    SETTLING_S = 0.0  # After it came, something may still be taken from under its hands.

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._sent_at: dict[tuple[str, int], float] = {}
        self._visits: list[tuple[float, float]] = []  # Everything sent between these was due.
        self._draining = threading.Event()
        self.drained = threading.Event()

    def _subscribe(self, topic: str, **options: Any) -> Any:
        """At the beginning it is there, and nobody with it."""
        super()._subscribe(topic, message_listener=None).close()
        return Nobody()

    def start(self) -> None:
        super().start()
        self._spawn(self._visit_again_and_again)

    def send_options(self, stream: Stream, number: int) -> dict[str, Any]:
        self._sent_at[stream.name, number] = time.time()
        return super().send_options(stream, number)

    def stop_sending(self) -> None:
        super().stop_sending()
        self._draining.set()

    def finish(self) -> None:
        """What went between the visits is excused."""
        if not self.drained.wait(DRAIN_S_MAX):
            self.complain("visits", f"not done {DRAIN_S_MAX:g} s after the last send")
        for (name, subscription), reading in self._tally.readings.items():
            if name.startswith(f"{self.flow.name}-") and subscription == SUBSCRIPTION:
                reading.excused |= {n for n in reading.unseen() if self._may_be_gone(name, n)}

    def _may_be_gone(self, name: str, number: int) -> bool:
        at = self._sent_at[name, number]
        return not any(began <= at <= ended for began, ended in self._visits)

    def _visit_again_and_again(self) -> None:
        while not self._closed.is_set():
            last = self._draining.is_set()
            try:
                for topic in self.flow.all_topics:
                    self._visit(topic)
            except pulsar.PulsarException as error:
                self._tally.expected(f"visit: {type(error).__name__}")
                continue
            if last:
                self.drained.set()
                return
            self._tally.did("visits")
            self._draining.wait(self.AWAY_S)

    def _visit(self, topic: str) -> None:
        consumer = self._client.subscribe(
            topic,
            SUBSCRIPTION,
            consumer_type=KINDS[self.flow.type],
            initial_position=pulsar.InitialPosition.Earliest,
        )
        began = time.time()
        published = 0.0
        try:
            while True:
                try:
                    message = consumer.receive(RECEIVE_MS)
                except pulsar.Timeout:
                    if self._draining.is_set() and time.time() > began + 3:
                        return
                    if not self._producers_are_here() and time.time() > began + self.HERE_S:
                        return
                    continue
                self._take(consumer, message)
                published = message.publish_timestamp() / 1000
                now = time.time()
                if now > began + self.HERE_S and now - published < UP_TO_DATE_S:
                    return
        finally:
            if published:
                self._visits.append((began + self.SETTLING_S, published - 0.01))
            consumer.close()

    def _producers_are_here(self) -> bool:
        return True


class Expiring(Visited):
    """A TTL that is shorter than the time between visits."""

    def prepare(self) -> None:
        self.set_policy("messageTTL", None, f"?messageTTL={TTL_S}")


class Evicted(Visited):
    """A backlog quota that the time between visits exceeds: the oldest messages go."""

    SETTLING_S = 3.0

    def prepare(self) -> None:
        quota = {"limitSize": QUOTA_BYTES, "policy": "consumer_backlog_eviction"}
        self.set_policy("backlogQuota", quota)


class Idle(Visited):
    """Producer and consumer both go: the topic is unloaded until one of them is back."""

    HERE_S = 2.0
    AWAY_S = 4.0
    SENDING_S = 2.0

    def start(self) -> None:
        super().start()
        self._spawn(self._produce_again_and_again)

    def _may_be_gone(self, name: str, number: int) -> bool:
        return False

    def _producers_are_here(self) -> bool:
        return False

    def _mend(self) -> None:
        """Nothing is missing while nobody is here."""

    def _produce_again_and_again(self) -> None:
        topic = self.flow.topic(0)
        while not self._ended.wait(self.SENDING_S):
            try:
                with self._sending:
                    producer, _ = self._producers.pop(topic, (None, None))
                if producer is not None:
                    producer.flush()
                    producer.close()
                if self._ended.wait(self._chance.uniform(1, 2) * self.AWAY_S):
                    return
                self._renew_producer(topic)
            except pulsar.PulsarException as error:
                self._tally.expected(f"idle: {type(error).__name__}")
