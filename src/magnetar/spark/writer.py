"""``write`` and ``writeStream`` with ``format("pulsar")``: each row a message.

A task returns once the broker has stored all its messages. When a task or a whole micro-batch is
run again, its messages are written again, unless ``guarantee`` is ``exactly-once``: then they have
the same names and numbers as before, and the broker has each of them once (``exactly_once.py``).
"""
# ruff: noqa: N803 - the names are Spark's.

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Self
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from magnetar.client import blocking
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import MagnetarError, NotAllowed
from magnetar.spark import admin
from magnetar.spark.connections import client_for
from magnetar.spark.exactly_once import ExactlyOnce
from magnetar.spark.one_line import one_line
from magnetar.spark.rows import TextSchema, to_messages
from magnetar.spark.schema import check_write
from magnetar.spark.write_options import VERSIONS_MAX, Write, WriteOptions

log = logging.getLogger(__name__)

_looked_at: set[str] = set()
"""The topics of which this process has asked whether anything keeps their messages."""


@dataclass
class Written(WriterCommitMessage):
    """What one task has written, by topic; every message of it is stored."""

    messages: dict[str, int]


class _AtLeastOnce:
    """The producers of one task, one for each topic. Close it."""

    def __init__(
        self, client: blocking.Client, schema: TextSchema | None, timeout_s: float
    ) -> None:
        self._client = client
        self._schema = schema
        self._timeout_s = timeout_s
        self._producers: dict[str, blocking.Producer] = {}
        self._closing = ExitStack()

    def send_many(self, topic: str, messages: list[OutgoingMessage]) -> None:
        if topic not in self._producers:
            producer = self._client.create_producer(
                topic, schema=self._schema, chunking=True, send_timeout_s=self._timeout_s
            )
            self._producers[topic] = self._closing.enter_context(producer)
        self._producers[topic].send_many(messages)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._closing.close()


class _RowWriter:
    """Writes what one task is given."""

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        check_write(schema, topic=options.topic, text=options.text)
        self._options = options

    @one_line()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        counts: Counter[str] = Counter()
        with self._sender() as sender:
            for rows in iterator:
                for topic, messages in to_messages(rows, self._options.topic).items():
                    sender.send_many(topic, messages)
                    counts[topic] += len(messages)
        return Written(dict(counts))

    def _sender(self) -> _AtLeastOnce | ExactlyOnce:
        options = self._options
        client = client_for(options)
        schema = TextSchema() if options.text else None
        if not options.exactly_once:
            return _AtLeastOnce(client, schema, options.timeout_s)
        task = TaskContext.get()
        assert task is not None, "Spark calls write() in a task"
        assert options.admin_url is not None, "held by WriteOptions"
        return ExactlyOnce(
            client,
            self._write_of(task),
            task.partitionId(),
            deduplicates=partial(admin.deduplicates, options.admin_url, options.timeout_s),
            schema=schema,
            timeout_s=options.timeout_s,
        )

    def _write_of(self, task: TaskContext) -> Write:
        raise NotImplementedError


class BatchWriter(_RowWriter, DataSourceArrowWriter):
    """Appends rows to topics."""

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        super().__init__(options, schema)
        # Made once for all tasks, which get copies of this.
        self._own = options.write or Write(str(uuid4()), 0)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Nothing is left to do: what the tasks wrote is stored."""
        warn_of_unkept(self._options, messages)

    def _write_of(self, task: TaskContext) -> Write:
        return self._own


class StreamWriter(_RowWriter, DataSourceStreamArrowWriter):
    """Appends each micro-batch's rows to topics. Spark makes a new one for every micro-batch."""

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Nothing is left to do: what the tasks wrote is stored.

        Raises NotAllowed under a continuous trigger, which commits without waiting for the tasks.
        """
        if any(message is None for message in messages):
            raise NotAllowed("a continuous trigger is not supported: use processingTime")
        warn_of_unkept(self._options, messages)

    def _write_of(self, task: TaskContext) -> Write:
        query_id = task.getLocalProperty("sql.streaming.queryId")
        batch_id = task.getLocalProperty("streaming.sql.batchId")
        if query_id is None or batch_id is None:
            raise NotAllowed("Spark does not name the query and the micro-batch of a task")
        if int(batch_id) >= VERSIONS_MAX:
            raise NotAllowed(f"micro-batch {batch_id} is the last that has sequence ids")
        return Write(query_id, int(batch_id))


def warn_of_unkept(options: WriteOptions, written: Sequence[WriterCommitMessage | None]) -> None:
    """Say once of each topic that has neither subscription nor retention what becomes of it."""
    if options.admin_url is None:
        return
    topics = {topic for task in written if isinstance(task, Written) for topic in task.messages}
    for topic in sorted(topics - _looked_at):
        _looked_at.add(topic)
        try:
            if not admin.keeps(options.admin_url, options.timeout_s, topic):
                log.warning(
                    "spark.not_kept topic=%s: it has neither a subscription nor retention, so what "
                    "is written may be deleted at once; subscribe, or set retention",
                    topic,
                )
        except MagnetarError as error:
            log.warning("spark.not_asked topic=%s: whether it is kept: %s", topic, error)
