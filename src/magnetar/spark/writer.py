"""``write`` and ``writeStream`` with ``format("pulsar")``: each row a message, at least once.

A task returns once the broker has stored all its messages. When a task or a whole micro-batch is
run again, its messages are written again: at least once is what Spark asks of a sink by itself.
"""
# ruff: noqa: N803 - the names are Spark's.

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from magnetar.client import blocking
from magnetar.errors import NotAllowed
from magnetar.spark.connections import client_for
from magnetar.spark.options import WriteOptions
from magnetar.spark.rows import to_messages
from magnetar.spark.schema import check_write


@dataclass
class Written(WriterCommitMessage):
    """What one task has written, by topic; every message of it is stored."""

    messages: dict[str, int]


class BatchWriter(DataSourceArrowWriter):
    """Appends rows to topics."""

    def __init__(self, options: WriteOptions, schema: StructType, *, overwrite: bool) -> None:
        if overwrite:
            raise NotAllowed("a topic's messages cannot be overwritten: use mode('append')")
        check_write(schema, topic=options.topic)
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return _write(iterator, self._options)


class StreamWriter(DataSourceStreamArrowWriter):
    """Appends each micro-batch's rows to topics. Spark makes a new one for every micro-batch."""

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        check_write(schema, topic=options.topic)
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return _write(iterator, self._options)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Nothing is left to do: what the tasks wrote is stored.

        Raises NotAllowed under a continuous trigger, which commits without waiting for the tasks.
        """
        if any(message is None for message in messages):
            raise NotAllowed("a continuous trigger is not supported: use processingTime")


def _write(batches: Iterator[pa.RecordBatch], options: WriteOptions) -> Written:
    client = client_for(options.service_url, options.timeout_s)
    producers: dict[str, blocking.Producer] = {}
    counts: dict[str, int] = {}
    with ExitStack() as closing:
        for rows in batches:
            for topic, messages in to_messages(rows, options.topic).items():
                producer = producers.get(topic)
                if producer is None:
                    producer = producers[topic] = client.create_producer(
                        topic, send_timeout_s=options.timeout_s
                    )
                    closing.callback(producer.close)
                producer.send_many(messages)
                counts[topic] = counts.get(topic, 0) + len(messages)
    return Written(counts)
