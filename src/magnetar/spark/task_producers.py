"""The producers of one task that writes, one for each partition that it writes to.

With ``TaskWrite`` each row is stored once, however often the task is tried: brokers deduplicate.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from threading import Event
from typing import Final, Self

from magnetar.client import blocking
from magnetar.client.encryption.keys import FileKeyReader
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.client.producers.batching import PackedBatch
from magnetar.client.producers.config import ProducerOptions
from magnetar.clock import SystemClock
from magnetar.errors import NotAllowed, ProducerBusy, TopicNotFound
from magnetar.model.names import TopicName
from magnetar.schemas.schema import Schema
from magnetar.spark.numbered_rows import NumberedRows, PartitionRows, producer_name
from magnetar.spark.rows import BATCH_BYTES_MAX, Picked, Rows
from magnetar.spark.write_options import Encryption, IdempotentWrite

RUN_BYTES_MAX: Final = 4 * 1024 * 1024
"""The most bytes handed to a producer at a time."""
_BUSY_PAUSE_S: Final = 0.1
_METADATA_SIZE_MAX: Final = 1024
"""An upper bound of a batch's metadata, without keys and properties of messages."""


@dataclass(frozen=True, slots=True)
class TaskWrite:
    """What is written once, and who says of a partition that is loaded whether it deduplicates.

    ``message_size_max`` says which size of messages a topic refuses that the broker takes
    elsewhere: 0, none; None, nobody knows.
    """

    write: IdempotentWrite
    deduplicates: Callable[[str], bool]
    message_size_max: Callable[[str], int | None] = lambda _topic: None


class TaskProducers:
    """Sends what one task writes. Close it."""

    def __init__(
        self,
        client: blocking.Client,
        task_partition: int,
        *,
        once: TaskWrite | None = None,
        schema_of: Callable[[str], Schema[bytes] | None] = lambda _topic: None,
        encryption: Encryption | None = None,
        timeout_s: float,
        send_timeout_s: float,
        txn: blocking.Transaction | None = None,
    ) -> None:
        """``schema_of`` says what a topic, or a partition, is told of its values.

        ``timeout_s`` for an earlier try's producer to go, ``send_timeout_s`` for receipts.

        What is written once waits for receipts without end: a batch that failed before others were
        stored would be lost.
        """
        self._client = client
        self._task_partition = task_partition
        self._once = once
        self._schema_of = schema_of
        self._encrypting: ProducerOptions = {}
        if encryption is not None:
            self._encrypting["encryption_keys"] = encryption.names
            self._encrypting["crypto_key_reader"] = FileKeyReader(public=encryption.public_key)
        self._txn = txn
        self._timeout_s = timeout_s
        self._send_timeout_s = 0.0 if once else send_timeout_s
        self._topics: dict[str, tuple[NumberedRows, list[str]]] = {}
        self._producers: dict[str, tuple[blocking.Producer, int]] = {}
        self._sizes_max: dict[str, int | None] = {}  # Of topics that may refuse messages.
        self._messages_max: dict[str, int] = {}  # Of a batch, where the broker refused larger ones.
        self._closing = ExitStack()
        self._ahead: Future[None] | None = None

    def open_ahead(self, topic: str) -> None:
        """Begin to open what rows for a topic will need, while Spark still makes them.

        Creates no topic. What goes wrong is raised by ``send``: without rows nothing does.
        """
        opening = self._closing.enter_context(ThreadPoolExecutor(1, "magnetar-open"))
        self._ahead = opening.submit(self._open_ahead, topic)

    def send(self, topic: str, rows: Rows, picked: Picked) -> None:
        """Send rows; ``flush`` tells that they are stored. An earlier try's are passed over.

        Raises NotAllowed for a topic without deduplication, before anything is sent to it;
        InvalidValue for a row that cannot be sent; what went wrong with rows sent before.
        """
        if self._ahead is not None:
            self._ahead.result()
            self._ahead = None
        if topic not in self._topics:
            self._know(topic, self._partitions(topic))
        numbered, names = self._topics[topic]
        for partition, share in numbered.place(
            rows, picked, lambda at: self._producer(names[at])[1]
        ):
            producer = self._producer(names[partition])[0]
            self._check(topic, share)
            if share.surely:
                self._send_surely(topic, producer, share)
            else:
                with self._told_of_loss(topic):
                    _enqueue(producer, share.batches(), self._txn)

    def flush(self) -> None:
        """Return when all is stored. Raises what went wrong."""
        if self._ahead is not None:
            return  # No row came.
        for topic, (producer, _) in self._producers.items():
            with self._told_of_loss(topic):
                producer.flush()

    def _check(self, topic: str, share: PartitionRows) -> None:
        """Raise NotAllowed, before anything is sent, for what the topic refuses or has refused."""
        size_max = self._sizes_max.get(topic)
        if share.done_unsure and any(
            size_max is None or _entry_size(batch) > size_max for batch in share.batches_done()
        ):
            raise NotAllowed(
                f"{topic} has a policy maxMessageSize that came while an earlier try wrote: it may "
                "have refused rows, and stored others behind them. Nothing is written: change the "
                "policy, and write the rows again under another txnAppId or checkpoint"
            )
        if size_max is not None and (row := share.rows.larger_than(share.picked, size_max)):
            raise _row_refused(topic, f"the topic's policy maxMessageSize is {size_max}: {row}")

    def _send_surely(self, topic: str, producer: blocking.Producer, share: PartitionRows) -> None:
        """Send each batch when the one before is stored, and what is refused in smaller ones.

        What is stored behind a batch that the broker refuses says to the next try that the refused
        one is stored, too. So nothing is behind it.
        """
        stored = 0
        while True:
            messages_max = self._messages_max.get(topic)
            for batch in share.batches(stored, messages_max):
                count = batch.message_count if isinstance(batch, PackedBatch) else 1
                try:
                    _enqueue(producer, [batch], self._txn)
                    producer.flush()
                except NotAllowed as error:
                    if count == 1:
                        raise _row_refused(topic, str(error)) from error
                    self._messages_max[topic] = count // 2
                    break
                stored += count
            else:
                return

    @contextmanager
    def _told_of_loss(self, topic: str) -> Iterator[None]:
        """Of what was sent without waiting the broker refuses nothing, unless a policy is new."""
        try:
            yield
        except NotAllowed as error:
            if self._once is None:
                raise
            raise NotAllowed(
                f"{topic} began to refuse rows while they were written: {error}. Those behind them "
                "may be stored, and then another try takes the refused ones for stored: change "
                "what refuses them, such as the topic's policy maxMessageSize, and write the rows "
                "again under another txnAppId or checkpoint"
            ) from error

    def _open_ahead(self, topic: str) -> None:
        with suppress(TopicNotFound):  # It is created when there is a row for it.
            names = self._there(topic)
            self._know(topic, names)
            if names == [topic]:  # Which partitions rows go to, they say.
                self._producer(topic)

    def _know(self, topic: str, names: list[str]) -> None:
        version = self._once.write.version if self._once else 0
        size_max = self._once.message_size_max(topic) if self._once else 0
        if size_max != 0:
            self._sizes_max[topic] = size_max
        surely = topic in self._sizes_max
        numbered = NumberedRows(version, self._task_partition, len(names), surely=surely)
        self._topics[topic] = numbered, names

    def _partitions(self, topic: str) -> list[str]:
        with suppress(TopicNotFound):
            return self._there(topic)
        self._client.create_producer(
            topic, schema=self._schema_of(topic), **self._encrypting
        ).close()  # Creates it, as the broker is set up to.
        return self._there(topic)

    def _there(self, topic: str) -> list[str]:
        """The partitions of a topic that is there, else TopicNotFound."""
        count = self._client.partitions(topic)
        name = TopicName.parse(topic)
        return [str(name.partition(index)) for index in range(count)] or [topic]

    def _producer(self, topic: str) -> tuple[blocking.Producer, int]:
        """The producer, and the highest sequence id that was stored when it came."""
        if topic not in self._producers:
            producer = self._closing.enter_context(self._open(topic))
            if self._once is not None and not self._once.deduplicates(topic):
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
        name = producer_name(self._once.write.app_id, self._task_partition) if self._once else None
        options: ProducerOptions = {
            "name": name,
            "batch_bytes_max": BATCH_BYTES_MAX,
            "chunking": True,
            "send_timeout_s": self._send_timeout_s,
            **self._encrypting,
        }
        while True:
            try:
                return self._client.create_producer(topic, schema=self._schema_of(topic), **options)
            except ProducerBusy:
                if name is None or clock.now() > deadline:
                    raise
                Event().wait(_BUSY_PAUSE_S)  # Nobody tells when a producer has gone.

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._ahead is not None:
            wait([self._ahead])
        self._closing.close()


def _entry_size(batch: PackedBatch | OutgoingMessage) -> int:
    """What a batch is as an entry, or more than that: what it says of itself is not made yet."""
    if isinstance(batch, PackedBatch):
        return len(batch.payload) + _METADATA_SIZE_MAX
    said = str((batch.key, batch.ordering_key, batch.properties))
    return len(batch.value) + len(said.encode()) + _METADATA_SIZE_MAX


def _row_refused(topic: str, why: str) -> NotAllowed:
    return NotAllowed(
        f"{topic} does not take a row: {why}. Nothing behind it is written: change what refuses "
        "it, such as the topic's policy maxMessageSize, or filter the row out, and run it again"
    )


def _enqueue(
    producer: blocking.Producer,
    batches: Iterable[PackedBatch | OutgoingMessage],
    txn: blocking.Transaction | None,
) -> None:
    run: list[PackedBatch] = []
    size = 0
    for batch in batches:
        if isinstance(batch, PackedBatch):
            run.append(batch)
            size += batch.size_bytes
        if size >= RUN_BYTES_MAX or isinstance(batch, OutgoingMessage):
            producer.enqueue_packed(run, txn=txn)
            run, size = [], 0
        if isinstance(batch, OutgoingMessage):
            producer.enqueue([batch], txn=txn)
    producer.enqueue_packed(run, txn=txn)
