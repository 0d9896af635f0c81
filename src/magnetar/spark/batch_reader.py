"""``spark.read.format("pulsar")``: what is between two offsets, in tasks for all cores."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from inspect import signature
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from magnetar.client.consumers.entry import Entry
from magnetar.errors import TopicNotFound
from magnetar.spark import topics
from magnetar.spark.columns import parts, to_rows
from magnetar.spark.connections import client_for
from magnetar.spark.one_line import one_line
from magnetar.spark.pieces import ENTRIES_MIN
from magnetar.spark.planning import Range, ranges, resolve
from magnetar.spark.range_read import RangeReader
from magnetar.spark.range_splitter import RangeSplitter
from magnetar.spark.read_options import EARLIEST, LATEST, ReadOptions
from magnetar.spark.schema import check_read

if TYPE_CHECKING:
    from magnetar.spark.stitching import LedgerCopy
    from magnetar.spark.values.plan import ValuePlan

# PySpark before 4.2 has timestamps in UTC without being told to.
_UTC: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
)


@dataclass
class RangePartition(InputPartition):
    """A task's share of the work: one range of one partition of a topic."""

    wanted: Range


class BatchReader(DataSourceReader):
    """Plans in one worker, reads in others: all it knows is pickled."""

    def __init__(
        self, options: ReadOptions, schema: StructType, values: "ValuePlan | None" = None
    ) -> None:
        self._options = options
        self._values = values
        self._schema = checked(schema, options, values)

    @one_line()
    def partitions(self) -> Sequence[InputPartition]:
        """The ranges between the starting and the ending offsets, as they are now.

        Raises TopicNotFound when a topic does not exist, or none matches the pattern.
        """
        options = self._options
        files, rest = self.stitched()
        tasks: list[InputPartition] = []
        if files:
            from magnetar.spark.offloaded import FilePartition  # noqa: PLC0415 - few have them

            tasks += map(FilePartition, files)
        # Spark does not say how many cores it has: with ``local[*]``, those of this machine.
        pieces = options.partitions_min or os.cpu_count() or 1
        entries_min = 1 if options.partitions_min else ENTRIES_MIN
        asked = RangeSplitter(client_for(options), options.timeout_s)
        return [*tasks, *map(RangePartition, asked.divide(rest, pieces, entries_min))]

    def stitched(self) -> "tuple[list[LedgerCopy], list[Range]]":
        """The files of ledgers that are read, with ``history``, and what only the broker has."""
        options = self._options
        client = client_for(options)
        names = topics.partitions(client, options)
        if not names:
            raise TopicNotFound(
                f"no topic matches the option topicsPattern, {options.topics_pattern}: check it "
                "against the names of the topics that exist, or create one that matches"
            )
        last = topics.last_offsets(client, names, needed=options.topics_pattern is None)
        times = topics.PublishTimes(client, options.timeout_s)
        start = resolve(options.starting_offsets, last, times.before, otherwise=EARLIEST)
        end = resolve(options.ending_offsets, last, times.before, otherwise=LATEST)
        wanted = ranges(start, end)
        if not options.history:
            return [], wanted
        from magnetar.spark.offloaded import divide  # noqa: PLC0415 - few do

        return divide(wanted, options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return rows_of(partition, self._options, self._schema, self._values)


def checked(schema: StructType, options: ReadOptions, values: "ValuePlan | None") -> StructType:
    """The columns asked for. Raises InvalidValue for those that there are not."""
    return check_read(schema, options.offered if values is None else values.columns)


def rows_of(
    partition: InputPartition,
    options: ReadOptions,
    schema: StructType,
    values: "ValuePlan | None" = None,
) -> Iterator[pa.RecordBatch]:
    """The messages of a range as Arrow batches; raises as ``RangeReader.read`` does.

    Where there was nothing to plan, Spark makes up a partition of its own: it has no rows.
    """
    arrow_schema = to_arrow_schema(schema, **_UTC)
    received: Iterable[list[Entry]] = ()
    with one_line(), ExitStack() as closing:
        if options.history:
            from magnetar.spark import offloaded  # noqa: PLC0415 - few do

            if isinstance(partition, offloaded.FilePartition):
                received = offloaded.entries_of_file(partition.file)
                if values is None and options.columns is None:  # They are in the file.
                    file, rows_max = partition.file, options.rows_per_batch
                    yield from offloaded.rows_of_file(file, arrow_schema, rows_max)
                    return
        if isinstance(partition, RangePartition):
            received = RangeReader.of(options).read(partition.wanted)
        make: Callable[[Sequence[Entry]], Iterator[pa.RecordBatch]]
        make = partial(_rows, arrow=arrow_schema, names=options.own_names)
        if values is not None:
            from magnetar.spark.values.reading import value_rows  # noqa: PLC0415 - few need it

            make = closing.enter_context(value_rows(values, options, schema, arrow_schema)).rows
        several = parts(chain.from_iterable(received), options.rows_per_batch)
        for rows in chain.from_iterable(map(make, several)):
            for start in range(0, rows.num_rows, options.rows_per_batch):
                yield rows.slice(start, options.rows_per_batch)


def _rows(
    entries: Sequence[Entry], arrow: pa.Schema, names: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    made = pa.schema([field.with_name(names.get(field.name, field.name)) for field in arrow])
    yield pa.RecordBatch.from_arrays(to_rows(entries, made).columns, schema=arrow)
