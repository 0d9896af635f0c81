"""Writes each row of a task once, however often the task is tried: the broker deduplicates."""

from collections.abc import Callable
from contextlib import ExitStack
from threading import Event
from typing import Final, Self

from magnetar.client import blocking
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.client.schemas.schema import Schema
from magnetar.clock import SystemClock
from magnetar.errors import NotAllowed, ProducerBusy, TopicNotFound
from magnetar.model.names import TopicName
from magnetar.spark.numbered_rows import RUN_BYTES_MAX, NumberedRows, producer_name
from magnetar.spark.write_options import Write

_BUSY_PAUSE_S: Final = 0.1


class ExactlyOnce:
    """The producers of one task, one for each partition that it writes to. Close it."""

    def __init__(
        self,
        client: blocking.Client,
        write: Write,
        task_partition: int,
        *,
        deduplicates: Callable[[str], bool],
        schema: Schema[bytes] | None = None,
        timeout_s: float,
    ) -> None:
        """``deduplicates`` says whether the broker does so for a partition that is loaded."""
        self._client = client
        self._write = write
        self._task_partition = task_partition
        self._name = producer_name(write.app_id, task_partition)
        self._deduplicates = deduplicates
        self._schema = schema
        self._timeout_s = timeout_s
        self._topics: dict[str, tuple[NumberedRows, list[str]]] = {}
        self._producers: dict[str, tuple[blocking.Producer, int]] = {}
        self._closing = ExitStack()

    def send_many(self, topic: str, messages: list[OutgoingMessage]) -> None:
        """Return when they are stored; those that were stored by an earlier try are passed over.

        Raises NotAllowed for a topic without deduplication, before anything is sent to it.
        """
        if topic not in self._topics:
            names = self._partitions(topic)
            rows = NumberedRows(self._write.version, self._task_partition, len(names))
            self._topics[topic] = rows, names
        rows, names = self._topics[topic]
        for partition, run in rows.place(messages, lambda at: self._producer(names[at])[1]):
            self._producer(names[partition])[0].send_many(run)

    def _partitions(self, topic: str) -> list[str]:
        try:
            count = self._client.partitions(topic)
        except TopicNotFound:
            self._client.create_producer(
                topic, schema=self._schema
            ).close()  # Creates it, as the broker is set up to.
            count = self._client.partitions(topic)
        name = TopicName.parse(topic)
        return [str(name.partition(index)) for index in range(count)] or [topic]

    def _producer(self, topic: str) -> tuple[blocking.Producer, int]:
        """The producer, and the highest sequence id that was stored when it came."""
        if topic not in self._producers:
            producer = self._closing.enter_context(self._open(topic))
            if not self._deduplicates(topic):
                raise NotAllowed(
                    f"{topic} does not deduplicate, so guarantee=exactly-once cannot be kept: "
                    "switch it on (POST true to /admin/v2/namespaces/<namespace>/deduplication, "
                    "or brokerDeduplicationEnabled), or set guarantee=at-least-once"
                )
            self._producers[topic] = producer, producer.last_sequence_id
        return self._producers[topic]

    def _open(self, topic: str) -> blocking.Producer:
        """Wait for an earlier try's producer to go: its worker may have been killed just now."""
        clock = SystemClock()
        deadline = clock.now() + self._timeout_s
        while True:
            try:
                return self._client.create_producer(
                    topic,
                    schema=self._schema,
                    name=self._name,
                    chunking=True,
                    max_pending_bytes=2 * RUN_BYTES_MAX,
                    send_timeout_s=0,  # One that fails before others are stored would be lost.
                )
            except ProducerBusy:
                if clock.now() > deadline:
                    raise
                Event().wait(_BUSY_PAUSE_S)  # Nobody tells when a producer has gone.

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._closing.close()
