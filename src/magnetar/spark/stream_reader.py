"""``spark.readStream.format("pulsar")``: offsets for Spark's checkpoint, and the rows between them.

Spark keeps one process per query that plans, and asks it one thing at a time; rows are read in
other processes. The checkpoint alone says how far a query came. A subscription follows behind, so
that the broker keeps what was not read and shows how far behind a query is.
"""
# ruff: noqa: N802 - the names are Spark's.

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from magnetar.errors import MagnetarError
from magnetar.spark import topics
from magnetar.spark.batch_reader import RangePartition, checked, rows_of
from magnetar.spark.connections import client_for
from magnetar.spark.held_position import HeldPosition
from magnetar.spark.limit import Backlog, Limit, Measure, oldest_first
from magnetar.spark.offsets import (
    BEGIN,
    MESSAGES_BEHIND,
    SUBSCRIPTION,
    SUBSCRIPTION_BACKLOG,
    Offset,
    from_json,
    to_json,
)
from magnetar.spark.one_line import one_line
from magnetar.spark.planning import Range, advance, lost, ranges, resolve
from magnetar.spark.range_read import RangeReader
from magnetar.spark.range_splitter import RangeSplitter
from magnetar.spark.read_options import EARLIEST, ReadOptions

if TYPE_CHECKING:
    from magnetar.spark.values.plan import ValuePlan

log = logging.getLogger(__name__)

_SAMPLE: Final = Limit(100, None)
"""The entries read of a partition to learn how many messages, and bytes, its entries have."""


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One instance plans, a second one (pickled before any call) reads: they share nothing."""

    def __init__(
        self, options: ReadOptions, schema: StructType, values: "ValuePlan | None" = None
    ) -> None:
        self._options = options
        self._values = values
        self._schema = checked(schema, options, values)
        self._target: dict[str, Offset | None] | None = None  # Set: read up to here and no further.
        self._last: dict[str, Offset | None] = {}  # Where the topics ended when asked last,
        self._end: dict[str, Offset] = {}  # where the micro-batch ends that was planned then,
        self._measured: dict[str, Measure] = {}  # and what was counted for it.
        self._told: dict[str, str] = {}  # What was logged as lost, by topic.
        self._limit = Limit(options.messages_per_trigger_max, options.bytes_per_trigger_max)
        self._position = HeldPosition(options)

    @one_line()
    def initialOffset(self) -> dict[str, Any]:
        """Where a new query begins.

        Spark may ask twice, and uses the first answer. It asks again when it runs a first
        micro-batch again, and uses none: where that begins, its end says.
        """
        client = client_for(self._options)
        before = topics.PublishTimes(client, self._options.timeout_s).before
        start = resolve(self._options.starting_offsets, self._ask(), before, otherwise=EARLIEST)
        return {**to_json(start, self._position.begin()), BEGIN: to_json(start)}

    def getDefaultReadLimit(self) -> ReadLimit:
        messages_max, bytes_max = self._limit.messages_max, self._limit.bytes_max
        if messages_max is not None:
            return ReadMaxRows(messages_max)  # Spark has no limit of both kinds.
        return ReadAllAvailable() if bytes_max is None else ReadMaxBytes(bytes_max)

    @one_line()
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """The end of the next batch: one question per partition, or a count when there is a limit.

        A limit cannot be told from message ids, so it is measured by reading that far ahead.
        """
        self._position.resume(start)
        begin = from_json(start)
        self._last = last = self._ask() if self._target is None else self._target
        asked_for = partial(topics.asked_for, options=self._options)
        may_fail = self._options.fail_on_data_loss
        end = advance(begin, last, fail_on_data_loss=may_fail, asked_for=asked_for)
        self._warn(lost(begin, last, asked_for))
        if not isinstance(limit, ReadAllAvailable):
            rows_max = limit.max_rows if isinstance(limit, ReadMaxRows) else None
            end = self._limited(begin, end, replace(self._limit, messages_max=rows_max))
        self._end = end
        self._position.hold(name for name in last if end[name].names_a_message)
        if end == begin and start.get(SUBSCRIPTION) == self._position.own_name:
            return start  # Spark takes any other answer for something new.
        first = {BEGIN: start[BEGIN]} if start.get(BEGIN) == to_json(begin) else {}
        return {**to_json(end, self._position.own_name), **first}

    @one_line()
    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._ask()

    @one_line()
    def reportLatestOffset(self) -> dict[str, Any]:
        """For the query's progress: where the topics end, whatever the limit, and the lag.

        What the broker does not tell now is left out: no query fails for being looked at.
        """
        last = {name: offset for name, offset in self._last.items() if offset is not None}
        told: dict[str, Any] = {**to_json(last), MESSAGES_BEHIND: {}}
        with suppress(MagnetarError):
            for name, offset in last.items():
                told[MESSAGES_BEHIND][name] = self._behind(name, offset)
            if backlog := self._position.backlog():
                told[SUBSCRIPTION_BACKLOG] = backlog
        return told

    @one_line()
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The ranges of a micro-batch that the checkpoint has; after a restart it comes first."""
        if BEGIN in end:
            kept = {SUBSCRIPTION: end[SUBSCRIPTION]} if SUBSCRIPTION in end else {}
            start = {**end[BEGIN], **kept}  # Topics that came since are read whole.
        self._position.resume(start)
        self._position.logged()
        found = _ranges(from_json(start), from_json(end))
        tasks: list[InputPartition] = []
        if self._options.history:
            from magnetar.spark.offloaded import FilePartition, divide  # noqa: PLC0415 - few do

            files, found = divide(found, self._options)
            tasks += map(FilePartition, files)
        pieces_min = self._options.partitions_min
        if pieces_min is not None:  # By itself it is not divided, which would undo its order.
            asked = RangeSplitter(client_for(self._options), self._options.timeout_s)
            found = asked.divide(found, pieces_min, 1)
        return [*tasks, *map(RangePartition, found)]

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

    def _ask(self) -> dict[str, Offset | None]:
        """Where the topics end; a reader is made for those only that are not held."""
        client = client_for(self._options)
        names = topics.partitions(client, self._options)
        held = self._position.last_offsets(names)
        others = [name for name in names if name not in held]
        listed = self._options.topics_pattern is not None
        return {**held, **topics.last_offsets(client, others, needed=not listed)}

    def _limited(
        self, begin: Mapping[str, Offset], end: Mapping[str, Offset], limit: Limit
    ) -> dict[str, Offset]:
        """``end``, no further away than the limit, which the partitions share."""
        waiting = _ranges(begin, end)
        if self._options.oldest_event_first:
            found = self._oldest_first(waiting, limit)
        else:
            shared = limit.shared(self._backlogs(waiting))
            found = {
                wanted.topic: self._reader(share).measure(wanted, share)
                for wanted, share in zip(waiting, shared, strict=True)
            }
        self._measured.update(found)
        return {**end, **{each.topic: found[each.topic].end or each.after for each in waiting}}

    def _backlogs(self, waiting: Sequence[Range]) -> list[Backlog]:
        """About how much each range holds: its entries, by what those measured before had.

        Batches differ between producers: of a partition that was never measured some are now.
        """
        if len(waiting) < 2:
            return [Backlog(1, 1)] * len(waiting)
        found = []
        for wanted in waiting:
            if wanted.topic not in self._measured:
                self._measured[wanted.topic] = self._reader(_SAMPLE).measure(wanted, _SAMPLE)
            client = client_for(self._options)
            entries = topics.entries_between(client, wanted.topic, wanted.after, wanted.upto)
            found.append(self._measured[wanted.topic].backlog(wanted, entries))
        return found

    def _oldest_first(self, waiting: Sequence[Range], limit: Limit) -> dict[str, Measure]:
        """Read all ranges side by side, as far as the limit goes."""
        each_max = limit.messages_max and limit.messages_max // max(len(waiting), 1) + 1
        reader = self._reader(Limit(each_max, None))
        with ExitStack() as reads_open:
            reads = [reads_open.enter_context(closing(reader.read(each))) for each in waiting]
            taken = oldest_first([chain.from_iterable(read) for read in reads], limit)
        found = {}
        for wanted, (measure, ended) in zip(waiting, taken, strict=True):
            found[wanted.topic] = measure
            if ended:
                measure.end = wanted.upto
        return found

    def _reader(self, limit: Limit) -> RangeReader:
        return RangeReader.of(self._options, rows_max=limit.messages_max)

    def _behind(self, name: str, last: Offset) -> int:
        """How many messages the planned micro-batch leaves for later ones."""
        end = self._end.get(name, last)
        if end >= last or name not in self._measured:
            return 0
        entries = topics.entries_between(client_for(self._options), name, end, last)
        return self._measured[name].behind(last, entries)

    def _warn(self, found: Mapping[str, str]) -> None:
        for topic, words in found.items():
            if self._told.get(topic) != words:
                log.warning("spark.data_lost topic=%s what=%s", topic, words)
        self._told = {**found}


def _ranges(begin: Mapping[str, Offset], end: Mapping[str, Offset]) -> list[Range]:
    return ranges(begin, end, made_anew=True)
