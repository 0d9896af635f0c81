"""``write`` and ``writeStream`` with ``format("pulsar")``: each row a message, at least once.

A task returns once the broker has stored all its messages. When a task or a whole micro-batch is
run again, its messages are written again: at least once is what Spark asks of a sink by itself.
"""
# ruff: noqa: N803 - the names are Spark's.

from collections import Counter
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


class _RowWriter:
    """Writes what one task is given."""

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        check_write(schema, topic=options.topic)
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        client = client_for(self._options.service_url, self._options.timeout_s)
        producers: dict[str, blocking.Producer] = {}
        counts: Counter[str] = Counter()
        with ExitStack() as closing:
            for rows in iterator:
                for topic, messages in to_messages(rows, self._options.topic).items():
                    if topic not in producers:
                        producers[topic] = closing.enter_context(
                            client.create_producer(topic, send_timeout_s=self._options.timeout_s)
                        )
                    producers[topic].send_many(messages)
                    counts[topic] += len(messages)
        return Written(dict(counts))


class BatchWriter(_RowWriter, DataSourceArrowWriter):
    """Appends rows to topics."""


class StreamWriter(_RowWriter, DataSourceStreamArrowWriter):
    """Appends each micro-batch's rows to topics. Spark makes a new one for every micro-batch."""

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Nothing is left to do: what the tasks wrote is stored.

        Raises NotAllowed under a continuous trigger, which commits without waiting for the tasks.
        """
        if any(message is None for message in messages):
            raise NotAllowed("a continuous trigger is not supported: use processingTime")
