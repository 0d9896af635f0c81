"""The queries of a pipeline: one for each sink, one for each view that sets rows aside.

Each reads its sources itself and has a checkpoint of its own, so that every sink keeps the
guarantee of its format, and one may be added or taken away without touching the others.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from magnetar.pipelines.declaration import AVAILABLE_NOW, PULSAR, Location, Pipeline, Sink
from magnetar.pipelines.query_counts import OBSERVED_AS, WRITTEN
from magnetar.pipelines.views import Views
from magnetar.spark.update_mode import write_batch


class PreparedQuery(NamedTuple):
    """A query that can be started; ``aside`` is the view of which it writes what is set aside."""

    name: str
    writer: DataStreamWriter
    aside: str | None

    def start(self) -> StreamingQuery:
        return self.writer.start()


def prepare(pipeline: Pipeline, views: Views, *, until_caught_up: bool) -> list[PreparedQuery]:
    """Queries to start, those of sinks first; ``until_caught_up`` replaces every trigger."""
    return [
        *_of_sinks(pipeline, views, until_caught_up),
        *_of_views(pipeline, views, until_caught_up),
    ]


def _of_sinks(pipeline: Pipeline, views: Views, now: bool) -> Iterator[PreparedQuery]:  # noqa: FBT001
    for sink in pipeline.sinks:
        frame = _counted(views.frames[sink.view], sink.name)
        writer = _writer(pipeline, sink.name, frame, AVAILABLE_NOW if now else sink.trigger)
        yield PreparedQuery(sink.name, _towards(sink, writer), None)


def _of_views(pipeline: Pipeline, views: Views, now: bool) -> Iterator[PreparedQuery]:  # noqa: FBT001
    locations = {one.name: (one.reject_query, one.reject) for one in pipeline.sources}
    locations |= {one.name: (one.quarantine_query, one.quarantine) for one in pipeline.steps}
    for view, rows in views.aside.items():
        name, location = locations[view]
        assert location is not None, "the file was checked"
        trigger = AVAILABLE_NOW if now else pipeline.trigger
        writer = _writer(pipeline, name, _counted(rows, name), trigger).outputMode("append")
        yield PreparedQuery(name, _at(writer, location), view)


def _counted(frame: DataFrame, name: str) -> DataFrame:
    return frame.observe(f"{OBSERVED_AS}{name}", f.count("*").alias(WRITTEN))


def _writer(pipeline: Pipeline, name: str, frame: DataFrame, trigger: str) -> DataStreamWriter:
    when: dict[str, Any] = {"processingTime": trigger}
    if trigger == AVAILABLE_NOW:
        when = {"availableNow": True}
    writer = frame.writeStream.queryName(f"{pipeline.name}.{name}").trigger(**when)
    return writer.option("checkpointLocation", f"{pipeline.checkpoints}/{name}")


def _towards(sink: Sink, writer: DataStreamWriter) -> DataStreamWriter:
    writer = writer.outputMode(sink.mode)
    if sink.partition_by:
        writer = writer.partitionBy(*sink.partition_by)
    if sink.location.format == PULSAR and sink.mode != "append":
        # Spark offers no Python sink any other mode.
        return writer.foreachBatch(write_batch(sink.location.options, sort_by=sink.sort_by))
    return _at(writer, sink.location)


def _at(writer: DataStreamWriter, location: Location) -> DataStreamWriter:
    if location.path is not None:
        writer = writer.option("path", location.path)
    return writer.format(location.format).options(**location.options)
