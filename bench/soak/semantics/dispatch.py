"""Flows of which consumers use one feature each: what they get, when, and again."""

import re
import time
from datetime import timedelta
from typing import Any, ClassVar

import pulsar

from bench.soak.admin import path_of
from bench.soak.flows import SUBSCRIPTION
from bench.soak.tally import Reading, Stream

from .feature_flow import FeatureFlow, Nobody

DEAD_LETTERS = "dead-letters"
REDELIVERED_MAX = 2
DEAD_EVERY = 10
DELAY_S_MAX = 15.0
TICK_S = 0.2
ROUNDING_MS = 2  # Of our reckoning, and of the client's.


class Cumulative(FeatureFlow):
    """All messages up to one are acknowledged at once."""

    def acknowledge(self, consumer: Any, message: Any) -> None:
        consumer.acknowledge_cumulative(message)


class Pattern(FeatureFlow):
    """One consumer of all topics with such names. This client looks for new ones once a minute,
    whatever it is told; so they are there before it comes.
    """

    def prepare(self) -> None:
        for topic in self.flow.all_topics:
            self.admin.ask("PUT", path_of(topic))

    def _subscribe(self, topic: str, **options: Any) -> Any:
        if topic != self.flow.topic(0):
            return Nobody()
        pattern = re.compile(f"{topic.rpartition('-')[0]}-.*")
        return super()._subscribe(pattern, pattern_auto_discovery_period=1, **options)  # type: ignore[arg-type]


class BatchIndexes(FeatureFlow):
    """Messages of a batch are acknowledged and refused one by one."""

    def consumer_options(self) -> dict[str, Any]:
        return {"batch_index_ack_enabled": True}


class StickyRanges(FeatureFlow):
    """Key_Shared consumers that each declare a third of the slots."""

    RANGES: ClassVar = {"low": (0, 21844), "middle": (21845, 43689), "high": (43690, 65535)}

    def _subscribe(self, topic: str, **options: Any) -> Any:
        taken = [each.consumer_name() for each in self._consumers[topic]]
        name = next(each for each in self.RANGES if each not in taken)
        policy = pulsar.ConsumerKeySharedPolicy(
            pulsar.KeySharedMode.Sticky, False, [self.RANGES[name]]
        )
        return super()._subscribe(topic, consumer_name=name, key_shared_policy=policy, **options)


class DeadLetters(FeatureFlow):
    """Every tenth message is refused until its client makes it a dead letter."""

    def consumer_options(self) -> dict[str, Any]:
        policy = pulsar.ConsumerDeadLetterPolicy(
            REDELIVERED_MAX, self.dead_topic, initial_subscription_name=SUBSCRIPTION
        )
        return {"dead_letter_policy": policy}

    @property
    def dead_topic(self) -> str:
        return f"{self.flow.topic(0)}-dead"

    def new_stream(self, name: str) -> Stream:
        stream = super().new_stream(name)
        reading = Reading(stream, ordered=False, every=DEAD_EVERY)
        self._tally.readings[name, DEAD_LETTERS] = reading
        return stream

    def start(self) -> None:
        self._client.subscribe(
            self.dead_topic,
            SUBSCRIPTION,
            consumer_type=pulsar.ConsumerType.Shared,
            message_listener=self._take_dead,
        )
        super().start()

    def refuses(self, message: Any, number: int) -> bool:
        if message.redelivery_count() > REDELIVERED_MAX:
            self._tally.did("redelivery counts beyond those of dead letters")
        return number % DEAD_EVERY == 0

    def _take_dead(self, consumer: Any, message: Any) -> None:
        """A message that connections were cut under may be a dead letter unseen, too."""
        taken = self._tally.take(DEAD_LETTERS, self.data(message), self.dead_topic)
        if taken is None:
            consumer.acknowledge(message)  # It is complained of once, and would come again.
            return
        stream, number = taken
        worker = self._tally.readings[stream.name, SUBSCRIPTION]
        if not worker.was_seen(number):
            worker.on_message(number)
        worker.on_acknowledgement(number)
        consumer.acknowledge(message)
        self._tally.on_acknowledgement(DEAD_LETTERS, stream, number)


class Delayed(FeatureFlow):
    """Most messages are delayed by up to some seconds; none comes early."""

    def send_options(self, stream: Stream, number: int) -> dict[str, Any]:
        if number % 4 == 0:
            return {}
        delay_s = self._chance.uniform(0, DELAY_S_MAX)
        due_ms = int((time.time() + delay_s) * 1000)
        return {
            "deliver_after": timedelta(seconds=delay_s),
            "properties": {"due": str(due_ms)},
        }

    def data(self, message: Any) -> bytes:
        due_ms = int(message.properties().get("due", 0))
        early_ms = due_ms - time.time() * 1000
        if early_ms > TICK_S * 1000 + ROUNDING_MS:
            self.complain("early", f"by {early_ms:.0f} ms")
        return super().data(message)
