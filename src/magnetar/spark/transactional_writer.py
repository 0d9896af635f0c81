"""Writing with ``delivery=transaction``: all rows of a micro-batch, or of a batch write, or none.

Tasks send nothing: they make their rows ready and give them to Spark, which hands those of the
tasks that count to the driver. The driver sends them in one transaction. So however often tasks and
micro-batches are tried, and in whatever order their rows come, a micro-batch is written once.

That it was written is said in the same transaction, to a topic of the query beside the one that is
written to, ``<topic>-spark-<query>``: an exclusive subscription there, ``commits``, holds the
number of the last micro-batch. Spark runs a micro-batch again whose end it has not noted; its
commit finds the number and sends nothing. Who has the subscription is the only one who writes.

A driver that was killed may have left a transaction that is still open, or is being committed, and
hides its number. So one that begins sends a mark to that topic and reads up to it: nobody sees the
mark before all transactions that have a message before it have ended. Its producer fences the one
before: a driver that was only cut off says nothing behind the mark.
"""
# ruff: noqa: N803 - the names are Spark's.

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from magnetar.client import blocking
from magnetar.client.message import Message
from magnetar.clock import SystemClock
from magnetar.errors import ConsumerBusy, InvalidValue, NotAllowed, TimedOut
from magnetar.model.names import TopicName
from magnetar.model.producers import ProducerAccessMode
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.spark.connections import client_for
from magnetar.spark.one_line import one_line
from magnetar.spark.rows import Rows
from magnetar.spark.task_producers import TaskProducers
from magnetar.spark.write_options import IdempotentWrite
from magnetar.spark.writer import RowWriter

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
else:
    DataSourceStreamArrowWriter = getattr(datasource, "DataSourceStreamArrowWriter", object)

TASK_BYTES_MAX: Final = 256 * 1024 * 1024
"""What one task may give to the driver."""
TRANSACTION_S: Final = 60.0
"""A driver that is killed while it commits holds its topics up for so long."""
SUBSCRIPTION: Final = "commits"
_BUSY_PAUSE_S: Final = 0.1


@dataclass
class Ready(WriterCommitMessage):
    """What one task gives to the driver: encoded rows as an Arrow stream, and of which query."""

    rows: bytes
    query_id: str | None


class _TransactionalWriter(RowWriter):
    """Makes rows ready in tasks, and sends them in the driver."""

    @one_line()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        task = TaskContext.get()
        query_id = None if task is None else task.getLocalProperty("sql.streaming.queryId")
        sink, writer = pa.BufferOutputStream(), None
        for batch in iterator:
            rows = self._encoder.encode(batch)
            writer = writer or pa.ipc.new_stream(sink, rows.schema)
            writer.write_batch(rows)
            if sink.tell() > TASK_BYTES_MAX:
                raise InvalidValue(
                    f"a task has more than {TASK_BYTES_MAX} bytes to write: with delivery="
                    "transaction they go through the driver; use more partitions or smaller "
                    "micro-batches, or guarantee=exactly-once"
                )
        if writer is not None:
            writer.close()
        return Ready(sink.getvalue().to_pybytes(), query_id)

    def _send(self, ready: Sequence[Ready], write: IdempotentWrite | None) -> None:
        """Send all in a transaction, unless ``write`` was committed before."""
        client = client_for(self._options)
        if write is None:
            with client.transaction(TRANSACTION_S) as txn:
                self._send_in(client, txn, ready)
            return
        topic = self._commits_topic(write.app_id)
        with (
            self._alone(client, topic) as consumer,
            client.create_producer(
                topic, access_mode=ProducerAccessMode.EXCLUSIVE_WITH_FENCING
            ) as producer,
        ):
            commits = self._committed(consumer, producer)
            if any(int(commit.data) >= write.version for commit in commits if commit.data):
                return
            with client.transaction(TRANSACTION_S) as txn:
                self._send_in(client, txn, ready)
                producer.send(b"%d" % write.version, txn=txn)
                consumer.acknowledge(commits, txn=txn)

    def _committed(
        self, consumer: blocking.Consumer[bytes], producer: blocking.Producer[bytes]
    ) -> list[Message[bytes]]:
        """What was committed before, and marks, which have no data. Raises TimedOut."""
        mark = producer.send(b"")
        found: list[Message[bytes]] = []
        while all(each.message_id != mark for each in found):
            received = consumer.receive_many(timeout_s=TRANSACTION_S + self._options.timeout_s)
            if not received:
                raise TimedOut("a transaction that an earlier driver began has not ended")
            found += received
        return found

    def _alone(self, client: blocking.Client, topic: str) -> blocking.Consumer[bytes]:
        """Wait for a driver that was killed to go. Raises ConsumerBusy where one goes on."""
        clock = SystemClock()
        deadline = clock.now() + self._options.timeout_s
        while True:
            try:
                return client.subscribe(
                    topic,
                    SUBSCRIPTION,
                    type=SubscriptionType.EXCLUSIVE,
                    initial_position=InitialPosition.EARLIEST,
                )
            except ConsumerBusy:
                if clock.now() > deadline:
                    raise
                Event().wait(_BUSY_PAUSE_S)  # Nobody tells when a consumer has gone.

    def _send_in(
        self, client: blocking.Client, txn: blocking.Transaction, ready: Sequence[Ready]
    ) -> None:
        with TaskProducers(
            client,
            0,
            schema_of=self._encoder.schema_of,
            encryption=self._options.encryption,
            timeout_s=self._options.timeout_s,
            send_timeout_s=self._options.timeout_s,
            txn=txn,
        ) as producers:
            for each in ready:
                for batch in pa.ipc.open_stream(each.rows) if each.rows else ():
                    rows = Rows(batch, nulls=self._options.tombstones)
                    for topic, picked in rows.by_topic(self._options.topic).items():
                        producers.send(topic, rows, picked)
            producers.flush()

    def _commits_topic(self, app_id: str) -> str:
        assert self._options.topic is not None, "held by WriteOptions"
        name = TopicName.parse(self._options.topic)
        return f"{name.partitioned_name}-spark-{quote(app_id, safe='')}"


class TransactionalBatchWriter(_TransactionalWriter, DataSourceArrowWriter):
    """Appends the rows of a batch write, all or none."""

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        ready = [each for each in messages if isinstance(each, Ready)]
        self._send(ready, self._options.write)


class TransactionalStreamWriter(_TransactionalWriter, DataSourceStreamArrowWriter):
    """Appends the rows of a micro-batch, all or none, and once."""

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        ready = [each for each in messages if isinstance(each, Ready)]
        if len(ready) < len(messages):
            raise NotAllowed("a continuous trigger is not supported: use processingTime")
        if ready:
            query_id = ready[0].query_id
            assert query_id is not None, "Spark names the query of a task"
            self._send(ready, IdempotentWrite(query_id, batchId))
