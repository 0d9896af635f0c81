"""``spark.readStream.format("pulsar")``: offsets for Spark's checkpoint, and the rows between them.

Spark keeps one process per query that plans, and asks it one thing at a time; rows are read in
other processes. The checkpoint alone says how far a query came. A subscription follows behind, so
that the broker keeps what was not read and shows how far behind a query is.
"""
# ruff: noqa: N802 - the names are Spark's.

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from magnetar.spark import topics
from magnetar.spark.batch_reader import RangePartition, checked, rows_of
from magnetar.spark.connections import client_for
from magnetar.spark.held_position import HeldPosition
from magnetar.spark.ledger_parts import LedgerParts
from magnetar.spark.offsets import Offset, from_json, to_json
from magnetar.spark.one_line import one_line
from magnetar.spark.planning import advance, ranges, resolve, shares
from magnetar.spark.range_read import RangeReader
from magnetar.spark.read_options import EARLIEST, ReadOptions

if TYPE_CHECKING:
    from magnetar.spark.value_plan import ValuePlan


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One instance plans, a second one (pickled before any call) reads: they share nothing."""

    def __init__(
        self, options: ReadOptions, schema: StructType, values: "ValuePlan | None" = None
    ) -> None:
        self._options = options
        self._values = values
        self._schema = checked(schema, options, values)
        self._target: dict[str, Offset | None] | None = None  # Set: read up to here and no further.
        self._position = HeldPosition(options)

    @one_line()
    def initialOffset(self) -> dict[str, str]:
        """Where a new query begins. Spark may ask twice, and uses the first answer."""
        client = client_for(self._options)
        before = topics.PublishTimes(client, self._options.timeout_s).before
        start = resolve(self._options.starting_offsets, self._last(), before, otherwise=EARLIEST)
        self._position.begin(start)
        return to_json(start, self._position.own_name)

    def getDefaultReadLimit(self) -> ReadLimit:
        count = self._options.messages_per_trigger_max
        return ReadAllAvailable() if count is None else ReadMaxRows(count)

    @one_line()
    def latestOffset(self, start: dict[str, str], limit: ReadLimit) -> dict[str, str]:
        """The end of the next batch: one question per partition, or a count when there is a limit.

        A limit cannot be told from message ids, so it is measured by reading that far ahead.
        """
        self._position.resume(start)
        begin = from_json(start)
        last = self._last() if self._target is None else self._target
        end = advance(begin, last, fail_on_data_loss=self._options.fail_on_data_loss)
        if isinstance(limit, ReadMaxRows):
            end = self._limited(begin, end, limit.max_rows)
        self._position.hold(name for name in last if end[name].names_a_message)
        return to_json(end, self._position.own_name)

    @one_line()
    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._last()

    @one_line()
    def reportLatestOffset(self) -> dict[str, str]:
        """For the query's progress: where the topic ends, whatever the limit."""
        return to_json({name: last for name, last in self._last().items() if last is not None})

    @one_line()
    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[RangePartition]:
        """The ranges of a micro-batch that the checkpoint has; after a restart it comes first."""
        self._position.resume(start)
        self._position.logged()
        found = ranges(from_json(start), from_json(end))
        pieces_min = self._options.partitions_min
        if pieces_min is not None:  # By itself it is not divided, which would undo its order.
            asked = LedgerParts(client_for(self._options), self._options.timeout_s)
            found = asked.divide(found, pieces_min, 1)
        return [RangePartition(wanted) for wanted in found]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return rows_of(partition, self._options, self._schema, self._values)

    @one_line()
    def commit(self, end: dict[str, str]) -> None:
        """A batch is done for good. Spark calls this one batch late, and not after the last."""
        self._position.resume(end)
        self._position.move(from_json(end))

    def stop(self) -> None:
        """Let go of the subscription. Spark may end the process without calling this."""
        self._position.stop()

    def _last(self) -> dict[str, Offset | None]:
        client = client_for(self._options)
        return topics.last_offsets(client, topics.partitions(client, self._options))

    def _limited(
        self, begin: Mapping[str, Offset], end: Mapping[str, Offset], count: int
    ) -> dict[str, Offset]:
        """``end``, no more than ``count`` messages away; each partition gets its share."""
        limited = {**end}
        waiting = ranges(begin, end)
        for wanted, share in zip(waiting, shares(count, len(waiting)), strict=True):
            reader = RangeReader.of(self._options, rows_max=share)
            limited[wanted.topic] = reader.end_after(wanted, share)
        return limited
