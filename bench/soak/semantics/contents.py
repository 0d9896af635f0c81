"""Flows whose topics keep more than what was sent: sequence ids, the last of each key, schemas."""

import time
from itertools import count
from typing import Any

import pulsar
from pulsar.schema import AvroSchema, JsonSchema, Record, String

from bench.soak.admin import Away, path_of
from bench.soak.tally import Stream

from .feature_flow import FeatureFlow

RESENT_SHARE = 0.05
RESENT_MAX = 20
COMPACTION_S_MAX = 60.0
COMPACTION_LOOK_S = 0.2
DECODE_AGAIN_S = 0.5


class Deduplicated(FeatureFlow):
    """A producer sends some messages again with their sequence ids, and so does the next one of the
    same name with the last of them: each is stored once.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._places: dict[int, str] = {}
        self._stream: Stream | None = None

    def prepare(self) -> None:
        self.set_policy("deduplicationEnabled", True)

    def producer_options(self) -> dict[str, Any]:
        return {"producer_name": f"{self.flow.name}-producer"}

    def send_options(self, stream: Stream, number: int) -> dict[str, Any]:
        return {"sequence_id": number}

    def new_stream(self, name: str) -> Stream:
        """The one that the producer before went on with."""
        if self._stream is None:
            self._stream = super().new_stream(name)
        return self._stream

    def _renew_producer(self, topic: str) -> None:
        super()._renew_producer(topic)
        self._send_again(topic, RESENT_MAX)

    def _send(self, topic: str) -> bool:
        sent = super()._send(topic)
        if sent and self._chance.random() < RESENT_SHARE:
            self._send_again(topic, self._chance.randint(1, RESENT_MAX))
        return sent

    def _send_again(self, topic: str, most: int) -> None:
        with self._sending:
            producer, stream = self._producers.get(topic, (None, None))
            if producer is None or stream is None:
                return  # It is being renewed.
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
        self._records: dict[str, Any] = {}  # By stream: what its producer takes.

    def producer_options(self) -> dict[str, Any]:
        self._record = (Draft, Note)[next(self._turns) % 2]
        return {"schema": self.KIND(self._record)}

    def consumer_options(self) -> dict[str, Any]:
        return {"schema": self.KIND(Note)}

    def new_stream(self, name: str) -> Stream:
        self._records[name] = self._record
        return super().new_stream(name)

    def content(self, stream: Stream, number: int) -> Any:
        return self._records[stream.name](text=stream.body(number).decode())

    def data(self, message: Any) -> bytes:
        """Patient: it may have to ask a broker that is away for the schema of the writer."""
        while True:
            try:
                return str(message.value().text).encode()
            except Exception as error:
                self._tally.expected(f"decode: {type(error).__name__}")
                if self._closed.wait(DECODE_AGAIN_S):
                    raise


class WithAvro(WithSchema):
    KIND = AvroSchema
