"""Flows of the official client that use one feature each, and check what it promises."""

import re
import time
from datetime import timedelta
from itertools import count
from typing import Any, ClassVar

import pulsar
from pulsar.schema import AvroSchema, JsonSchema, Record, String

from bench.soak.admin import Admin, Away, path_of
from bench.soak.flows import SUBSCRIPTION, Flow
from bench.soak.official import OfficialFlow
from bench.soak.tally import Reading, Stream, Tally

DEAD_LETTERS = "dead-letters"
REDELIVERED_MAX = 2
DEAD_EVERY = 10
DELAY_S_MAX = 15.0
TICK_S = 0.2
RESENT_SHARE = 0.05
RESENT_MAX = 20
COMPACTION_S_MAX = 60.0
COMPACTION_LOOK_S = 0.2


class FeatureFlow(OfficialFlow):
    """``prepare`` sets policies before the load, ``finish`` looks once more after it."""

    def __init__(self, flow: Flow, url: str, web_url: str, tally: Tally, seed: int) -> None:
        super().__init__(flow, url, tally, seed)
        self.admin = Admin(web_url)

    def prepare(self) -> None:
        """Nothing, by default."""

    def finish(self) -> None:
        """Nothing, by default."""

    def set_policy(self, name: str, value: Any, query: str = "") -> None:
        """Raises Away."""
        for topic in self.flow.all_topics:
            self.admin.ask("PUT", path_of(topic))
            status, answer = self.admin.ask("POST", f"{path_of(topic)}/{name}{query}", value)
            if status not in range(200, 300):
                raise Away(f"{name} for {topic}: {status} {answer!r}")

    def complain(self, kind: str, what: str) -> None:
        self._tally.complaints.add(kind, f"{self.flow.name}: {what}")


class Cumulative(FeatureFlow):
    """All messages up to one are acknowledged at once."""

    def acknowledge(self, consumer: Any, message: Any) -> None:
        consumer.acknowledge_cumulative(message)


class Pattern(FeatureFlow):
    """One consumer of all topics with such names, which are made after it has come."""

    def _subscribe(self, topic: str, **options: Any) -> Any:
        if topic != self.flow.topic(0):
            return Nobody()
        pattern = re.compile(f"{topic.rpartition('-')[0]}-.*")
        return super()._subscribe(pattern, pattern_auto_discovery_period=1, **options)  # type: ignore[arg-type]


class Nobody:
    """In the place of a consumer that is not there."""

    def close(self) -> None:
        """It is gone."""

    def consumer_name(self) -> str:
        return ""


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
        if early_ms > TICK_S * 1000:
            self.complain("early", f"by {early_ms:.0f} ms")
        return super().data(message)


class Deduplicated(FeatureFlow):
    """A producer sends some messages again with their sequence ids, and all that it has left
    unanswered or was the last when another takes its place under its name: each is stored once.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._places: dict[int, str] = {}

    def prepare(self) -> None:
        self.set_policy("deduplicationEnabled", True)

    def producer_options(self) -> dict[str, Any]:
        return {"producer_name": f"{self.flow.name}-producer"}

    def send_options(self, stream: Stream, number: int) -> dict[str, Any]:
        return {"sequence_id": number}

    def _renew_producer(self, topic: str) -> None:
        old = self._producers.get(topic)
        super()._renew_producer(topic)
        if old is not None:
            self._producers[topic] = self._producers[topic][0], old[1]
            self._send_again(topic, RESENT_MAX)

    def new_stream(self, name: str) -> Stream:
        return next(
            (each for each in self._streams() if each.name.startswith(self.flow.name)),
            None,
        ) or super().new_stream(name)

    def _streams(self) -> list[Stream]:
        return [stream for _, stream in self._producers.values()] or [
            stream
            for name, stream in self._tally.streams.items()
            if name.startswith(f"{self.flow.name}-")
        ]

    def _send(self, topic: str) -> bool:
        sent = super()._send(topic)
        if sent and self._chance.random() < RESENT_SHARE:
            self._send_again(topic, self._chance.randint(1, RESENT_MAX))
        return sent

    def _send_again(self, topic: str, most: int) -> None:
        producer, stream = self._producers[topic]
        for number in range(max(0, stream.sent - most), stream.sent):
            try:
                producer.send_async(stream.body(number), _ignore, sequence_id=number)
            except pulsar.PulsarException as error:
                self._tally.expected(f"resend: {type(error).__name__}")
                return
            self._tally.did("messages sent again")

    def _take(self, consumer: Any, message: Any) -> None:
        number = int(message.data()[:200].partition(b"|")[0].rpartition(b"/")[2])
        place = str(message.message_id())
        if self._places.setdefault(number, place) != place:
            self.complain("stored twice", f"{number} at {self._places[number]} and {place}")
        super()._take(consumer, message)


def _ignore(_result: Any, _id: Any) -> None:
    """What was sent again is counted where it was sent first."""


class Compacted(FeatureFlow):
    """Compacted again and again; a compacted reader finds the last message of each key."""

    def meddle(self) -> None:
        for topic in self.flow.all_topics:
            try:
                self._compact(topic)
                self._check(topic)
            except (Away, pulsar.PulsarException) as error:
                self._tally.expected(f"compaction: {type(error).__name__}")

    def finish(self) -> None:
        self.meddle()

    def _compact(self, topic: str) -> None:
        """Raises Away."""
        path = f"{path_of(topic)}/compaction"
        self.admin.ask("PUT", path)
        end = time.monotonic() + COMPACTION_S_MAX
        while time.monotonic() < end:
            status, answer = self.admin.ask("GET", path)
            if status == 200 and answer["status"] != "RUNNING":
                self._tally.did("compactions")
                return
            self._closed.wait(COMPACTION_LOOK_S)
        self.complain("compaction", f"is still running after {COMPACTION_S_MAX:g} s")

    def _check(self, topic: str) -> None:
        """What was answered before the reader began, or something later, is what it finds."""
        _, stream = self._producers[topic]
        wanted: dict[str, int] = {}
        for number in range(stream.sent):
            if stream.was_answered(number):
                wanted[stream.key(number)] = number
        found: dict[str, int] = {}
        reader = self._client.create_reader(
            topic, pulsar.MessageId.earliest, is_read_compacted=True
        )
        read = 0
        try:
            while reader.has_message_available():
                message = reader.read_next(10_000)
                taken = self._tally.take("reader", self.data(message), topic)
                read += 1
                if taken is not None:
                    found[message.partition_key()] = taken[1]
        finally:
            reader.close()
        self._tally.did("compacted readers")
        self._tally.did("messages that compacted readers read", read)
        for key, number in wanted.items():
            if found.get(key, -1) < number:
                self.complain("compaction", f"{key} is {found.get(key)}, and not {number}")


class Draft(Record):
    _avro_namespace = "soak"
    text = String(required=True)


class Note(Record):
    _avro_namespace = "soak"
    text = String(required=True)
    remark = String(required_default=True)


Draft.__name__ = Note.__name__ = "Note"


class WithSchema(FeatureFlow):
    """Producers come with an older and a newer schema of the same record, in turn."""

    KIND: Any = JsonSchema

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._turns = count()
        self._record: Any = Draft

    def producer_options(self) -> dict[str, Any]:
        self._record = (Draft, Note)[next(self._turns) % 2]
        return {"schema": self.KIND(self._record)}

    def consumer_options(self) -> dict[str, Any]:
        return {"schema": self.KIND(Note)}

    def content(self, stream: Stream, number: int) -> Any:
        return self._record(text=stream.body(number).decode())

    def data(self, message: Any) -> bytes:
        return str(message.value().text).encode()


class WithAvro(WithSchema):
    KIND = AvroSchema


class Policies(FeatureFlow):
    """Policies of the topic are set and removed; none of these lets a message be lost."""

    SOME: tuple[tuple[str, Any], ...] = (
        ("retention", {"retentionTimeInMinutes": 1, "retentionSizeInMB": 10}),
        ("maxUnackedMessagesOnConsumer", 20),
        ("maxUnackedMessagesOnSubscription", 50),
        ("maxMessageSize", 200_000),
        ("deduplicationEnabled", True),
        ("maxConsumersPerSubscription", 8),
        ("compactionThreshold", 100_000),
        ("delayedDelivery", {"tickTime": 100, "active": True}),
        ("subscriptionTypesEnabled", ["Shared", "Exclusive"]),
    )

    def prepare(self) -> None:
        for name, value in self.SOME:
            self.set_policy(name, value)

    def meddle(self) -> None:
        name, value = self._chance.choice(self.SOME)
        try:
            if self._chance.random() < 0.5:
                self.set_policy(name, value)
            else:
                for topic in self.flow.all_topics:
                    self.admin.ask("DELETE", f"{path_of(topic)}/{name}")
            self._tally.did("policies set and removed")
        except Away as error:
            self._tally.expected("policy")
            if "404" in str(error) or "405" in str(error) or "412" in str(error):
                self.complain("policy", str(error))
        if self._chance.random() < 0.3:
            self._renew_consumer(self.flow.topic(0))
