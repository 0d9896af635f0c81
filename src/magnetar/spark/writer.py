"""``write`` and ``writeStream`` with ``format("pulsar")``: each row a message.

A task returns once the broker has stored all its messages. When a task or a whole micro-batch is
run again, its messages are written again, unless ``guarantee`` is ``exactly-once``: then they have
the same names and numbers as before, and the broker has each of them once (``task_producers.py``).
"""
# ruff: noqa: N803 - the names are Spark's.

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from magnetar.errors import IncompatibleSchema, MagnetarError, NotAllowed
from magnetar.schemas.primitives import StringSchema
from magnetar.schemas.schema import Schema
from magnetar.spark.admin import TopicAdmin
from magnetar.spark.connections import client_for, show_warnings
from magnetar.spark.one_line import one_line
from magnetar.spark.rows import Rows, count_of
from magnetar.spark.schema import check_write
from magnetar.spark.task_producers import TaskProducers, TaskWrite
from magnetar.spark.write_options import VERSIONS_MAX, IdempotentWrite, WriteOptions

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
else:  # PySpark 4.0 has none: ``source.py`` says so to who asks for it.
    DataSourceStreamArrowWriter = getattr(datasource, "DataSourceStreamArrowWriter", object)

log = logging.getLogger(__name__)

_looked_at: set[str] = set()
"""The topics of which this process has asked whether anything keeps their messages."""


@dataclass
class Written(WriterCommitMessage):
    """What one task has written, by topic; every message of it is stored."""

    messages: dict[str, int]


class TextSchema(Schema[bytes]):
    """Tells the topic that its values are text, which they are, encoded before."""

    info = StringSchema.info

    def encode(self, value: bytes) -> bytes:
        return value

    def decode(self, data: bytes) -> bytes:
        return data


class ValueEncoder(Protocol):
    """Makes the column ``value`` of others, before rows become messages."""

    def schema_of(self, topic: str) -> Schema[bytes] | None:
        """The schema that a topic, or a partition, is told its values have; it encodes nothing."""

    def encode(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows with their column ``value``."""

    def explained(self, refused: IncompatibleSchema) -> IncompatibleSchema:
        """Why the broker takes no such values."""


class ValueColumn:
    """Values are in their column already, as bytes or text."""

    def __init__(self, *, text: bool) -> None:
        self._schema = TextSchema() if text else None

    def schema_of(self, topic: str) -> Schema[bytes] | None:
        return self._schema

    def encode(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return rows

    def explained(self, refused: IncompatibleSchema) -> IncompatibleSchema:
        return refused


class RowWriter:
    """Writes what one task is given."""

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        self._options = options
        self._encoder: ValueEncoder
        if options.typed:
            from magnetar.spark.values.writing import TypedValues  # noqa: PLC0415 - few need it

            self._encoder = TypedValues(options, schema)
        else:
            text = options.schema == "string"
            check_write(schema, topic=options.topic, text=text)
            self._encoder = ValueColumn(text=text)

    @one_line()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        try:
            return self._write(iterator)
        except IncompatibleSchema as error:
            raise self._encoder.explained(error) from None

    def _write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        counts: Counter[str] = Counter()
        with self._producers() as producers:
            self._prepare(producers)
            for batch in iterator:
                rows = Rows(self._encoder.encode(batch), nulls=self._options.tombstones)
                for topic, picked in rows.by_topic(self._options.topic).items():
                    producers.send(topic, rows, picked)
                    counts[topic] += count_of(picked)
            producers.flush()
        return Written(dict(counts))

    def _producers(self) -> TaskProducers:
        options = self._options
        task = TaskContext.get()
        once = None
        if options.exactly_once:
            assert task is not None, "Spark calls write() in a task"
            admin = admin_of(options)
            assert admin is not None, "held by WriteOptions"
            once = TaskWrite(self._write_of(task), admin.deduplicates, admin.message_size_max)
        return TaskProducers(
            client_for(options),
            task.partitionId() if task is not None else 0,
            once=once,
            schema_of=self._encoder.schema_of,
            encryption=options.encryption,
            timeout_s=options.timeout_s,
            send_timeout_s=0.0 if options.retry_forever else options.timeout_s,
        )

    def _prepare(self, producers: TaskProducers) -> None:
        """Called before the first rows come."""

    def _write_of(self, task: TaskContext) -> IdempotentWrite:
        raise NotImplementedError


class BatchWriter(RowWriter, DataSourceArrowWriter):
    """Appends rows to topics."""

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        super().__init__(options, schema)
        # Made once for all tasks, which get copies of this.
        self._own = options.write or IdempotentWrite(str(uuid4()), 0)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Nothing is left to do: what the tasks wrote is stored."""
        warn_of_unkept(self._options, messages)

    def _write_of(self, task: TaskContext) -> IdempotentWrite:
        return self._own


class StreamWriter(RowWriter, DataSourceStreamArrowWriter):
    """Appends each micro-batch's rows to topics. Spark makes a new one for every micro-batch."""

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Nothing is left to do: what the tasks wrote is stored.

        Raises NotAllowed under a continuous trigger, which commits without waiting for the tasks.
        """
        if any(message is None for message in messages):
            raise NotAllowed("a continuous trigger is not supported: use processingTime")
        warn_of_unkept(self._options, messages)

    def _prepare(self, producers: TaskProducers) -> None:
        """Most tasks of a stream have rows, but have to wait for them: see docs/performance.md."""
        if self._options.topic is not None and not self._options.typed:
            producers.open_ahead(self._options.topic)

    def _write_of(self, task: TaskContext) -> IdempotentWrite:
        query_id = task.getLocalProperty("sql.streaming.queryId")
        batch_id = task.getLocalProperty("streaming.sql.batchId")
        if query_id is None or batch_id is None:
            raise NotAllowed("Spark does not name the query and the micro-batch of a task")
        if int(batch_id) >= VERSIONS_MAX:
            raise NotAllowed(f"micro-batch {batch_id} is the last that has sequence ids")
        return IdempotentWrite(query_id, int(batch_id))


def admin_of(options: WriteOptions) -> TopicAdmin | None:
    """Whom to ask about topics, if anybody."""
    if options.admin_url is None:
        return None
    return TopicAdmin(options.admin_url, options.timeout_s, options.retry_forever, options.client)


def warn_of_unkept(options: WriteOptions, written: Sequence[WriterCommitMessage | None]) -> None:
    """Say once of each topic that has neither subscription nor retention what becomes of it."""
    admin = admin_of(options)
    if admin is None:
        return
    show_warnings()
    topics = {topic for task in written if isinstance(task, Written) for topic in task.messages}
    for topic in sorted(topics - _looked_at):
        _looked_at.add(topic)
        try:
            if not admin.keeps(topic):
                log.warning(
                    "spark.not_kept topic=%s: it has neither a subscription nor retention, so what "
                    "is written may be deleted at once; subscribe, or set retention",
                    topic,
                )
        except MagnetarError as error:
            log.warning("spark.not_asked topic=%s: whether it is kept: %s", topic, error)
