"""The views of a pipeline as DataFrames: its sources, then its steps in the order of the file."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from magnetar.errors import InvalidValue
from magnetar.pipelines import json_values, quality, transforms
from magnetar.pipelines.declaration import Pipeline, Sink, Source, Step, Watermark
from magnetar.pipelines.set_aside import has_message

_WATERMARK = "spark.watermarkDelayMs"
"""What Spark notes of a column that has a watermark."""
_APART = "__apart"


@dataclass(slots=True)
class Views:
    """By the names of the views: ``frames``, and the rows that are set ``aside``, as messages.

    ``notes`` are for who wrote the file.
    """

    frames: dict[str, DataFrame] = field(default_factory=dict)
    aside: dict[str, DataFrame] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def build(spark: SparkSession, pipeline: Pipeline) -> Views:
    """Have Spark analyse every view; nothing is read yet. Raises InvalidValue."""
    views = Views()
    for source in pipeline.sources:
        with _at(f"sources.{source.name}"):
            _keep(views, source.name, _read(spark, source, views))
    for step in pipeline.steps:
        with _at(f"steps.{step.name}"):
            _keep(views, step.name, _made(spark, pipeline, step, views))
    for sink in pipeline.sinks:
        _check_sink(sink, views.frames[sink.view])
    return views


def _keep(views: Views, name: str, frame: DataFrame) -> None:
    views.frames[name] = frame
    frame.createOrReplaceTempView(name)


def _read(spark: SparkSession, source: Source, views: Views) -> DataFrame:
    reader = spark.readStream if source.streaming else spark.read
    reader = reader.format(source.location.format).options(**source.location.options)
    if source.schema is not None:
        reader = reader.schema(source.schema)
    frame = reader.load(source.location.path)
    if source.json is not None:
        frame, rejected = json_values.parsed(frame, source, source.json)
        if rejected is not None:
            views.aside[source.name] = rejected
    return _watermarked(frame, source.watermark)


def _made(spark: SparkSession, pipeline: Pipeline, step: Step, views: Views) -> DataFrame:
    if step.sql is not None:
        frame = spark.sql(step.sql)
    else:
        assert step.python is not None, "the file was checked"
        made = transforms.find("python", step.python, pipeline.folder)(
            *[views.frames[name] for name in step.inputs]
        )
        if not isinstance(made, DataFrame):
            raise InvalidValue(f"{step.python} has to return a DataFrame, not {type(made)}")
        frame = made
    frame = _watermarked(frame, step.watermark)
    if step.deduplicate:
        frame = _deduplicated(frame, step)
    if not step.checks:
        return frame
    for check in step.checks:
        with _at(f"checks.{check.name}"):
            frame.select(f.expr(check.expect).cast("boolean"))
    judged = quality.judged(frame, step)
    if step.quarantines:
        if not frame.isStreaming:
            raise InvalidValue("its rows are read again for each micro-batch: drop or warn instead")
        views.aside[step.name] = quality.quarantined(judged, step)
        if not has_message(frame):
            views.notes.append(
                f"steps.{step.name} quarantines rows without their messages: have it select value, "
                "topic and message_id as well, and they can be mended and sent back"
            )
    return quality.passing(judged)


def _watermarked(frame: DataFrame, watermark: Watermark | None) -> DataFrame:
    return frame if watermark is None else frame.withWatermark(watermark.column, watermark.delay)


def _deduplicated(frame: DataFrame, step: Step) -> DataFrame:
    columns = list(step.deduplicate)
    for name in columns:
        if name not in frame.columns:
            raise InvalidValue(f"deduplicate: there is no column {name} in {frame.columns}")
    if frame.isStreaming and not any(_WATERMARK in column.metadata for column in frame.schema):
        raise InvalidValue(
            "deduplicate needs to know how long to remember a row: give a watermark, there or "
            "before, such as {column: event_time, delay: 10 minutes}"
        )
    # To Spark a null is equal to another: rows with one get something to be told apart by.
    missing = reduce(or_, [f.col(f"`{name}`").isNull() for name in columns])
    apart = frame.withColumn(_APART, f.when(missing, f.expr("uuid()")))
    once = apart.dropDuplicatesWithinWatermark if frame.isStreaming else apart.dropDuplicates
    return once([*columns, _APART]).drop(_APART)


def _check_sink(sink: Sink, frame: DataFrame) -> None:
    if not frame.isStreaming:
        raise InvalidValue(
            f"sinks.{sink.name}: no stream leads to {sink.view}: take `stream: false` from one of "
            "its sources"
        )


@contextmanager
def _at(location: str) -> Iterator[None]:
    try:
        yield
    except PySparkException as error:
        raise InvalidValue(f"{location}: {first_line(error)}") from error
    except InvalidValue as error:
        raise InvalidValue(f"{location}: {error}") from error


def first_line(error: Exception) -> str:
    """What Spark says, without its state of SQL and the plan that follow."""
    said = next((line for line in str(error).splitlines() if line.strip()), "no reason given")
    return said.partition(" SQLSTATE:")[0]
