"""The views of a pipeline as DataFrames: its sources, then its steps in the order of the file."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from magnetar.errors import InvalidValue
from magnetar.pipelines import quality, transforms
from magnetar.pipelines.declaration import Pipeline, Sink, Source, Step, Watermark

_WATERMARK = "spark.watermarkDelayMs"
"""What Spark notes of a column that has a watermark."""


@dataclass(slots=True)
class Views:
    """``frames`` by the names of the views; ``quarantined`` rows by the names of their steps."""

    frames: dict[str, DataFrame] = field(default_factory=dict)
    quarantined: dict[str, DataFrame] = field(default_factory=dict)


def build(spark: SparkSession, pipeline: Pipeline) -> Views:
    """Have Spark analyse every view; nothing is read yet. Raises InvalidValue."""
    views = Views()
    for source in pipeline.sources:
        with _at(f"sources.{source.name}"):
            _keep(views, source.name, _read(spark, source))
    for step in pipeline.steps:
        with _at(f"steps.{step.name}"):
            _keep(views, step.name, _made(spark, pipeline, step, views))
    for sink in pipeline.sinks:
        _check_sink(sink, views.frames[sink.view])
    return views


def _keep(views: Views, name: str, frame: DataFrame) -> None:
    views.frames[name] = frame
    frame.createOrReplaceTempView(name)


def _read(spark: SparkSession, source: Source) -> DataFrame:
    reader = spark.readStream if source.streaming else spark.read
    reader = reader.format(source.place.format).options(**source.place.options)
    if source.schema is not None:
        reader = reader.schema(source.schema)
    frame = reader.load(source.place.path)
    if source.json is not None:
        frame = _with_json(frame, source.json)
    return _watermarked(frame, source.watermark)


def _with_json(frame: DataFrame, columns: str) -> DataFrame:
    parsed = f.from_json(f.col("value").cast("string"), columns).alias("__json")
    fields = frame.select(parsed).select("__json.*").columns
    taken = {name.lower() for name in frame.columns} & {name.lower() for name in fields}
    if taken:
        raise InvalidValue(
            f"json has a column {taken.pop()}, as a message has: rename it in a step, with "
            "from_json(string(value), ...)"
        )
    return frame.select("*", parsed).select("__json.*", *frame.columns)


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
        views.quarantined[step.name] = quality.quarantined(judged, step)
    return quality.passing(judged)


def _watermarked(frame: DataFrame, watermark: Watermark | None) -> DataFrame:
    return frame if watermark is None else frame.withWatermark(watermark.column, watermark.delay)


def _deduplicated(frame: DataFrame, step: Step) -> DataFrame:
    columns = list(step.deduplicate)
    for name in columns:
        if name not in frame.columns:
            raise InvalidValue(f"deduplicate: there is no column {name} in {frame.columns}")
    if not frame.isStreaming:
        return frame.dropDuplicates(columns)
    if not any(_WATERMARK in column.metadata for column in frame.schema):
        raise InvalidValue(
            "deduplicate needs to know how long to remember a row: give a watermark, there or "
            "before, such as {column: event_time, delay: 10 minutes}"
        )
    return frame.dropDuplicatesWithinWatermark(columns)


def _check_sink(sink: Sink, frame: DataFrame) -> None:
    if not frame.isStreaming:
        raise InvalidValue(
            f"sinks.{sink.name}: no stream leads to {sink.view}: take `stream: false` from one of "
            "its sources"
        )


@contextmanager
def _at(place: str) -> Iterator[None]:
    try:
        yield
    except PySparkException as error:
        raise InvalidValue(f"{place}: {first_line(error)}") from error
    except InvalidValue as error:
        raise InvalidValue(f"{place}: {error}") from error


def first_line(error: Exception) -> str:
    """What Spark says, without its state of SQL and the plan that follow."""
    said = next((line for line in str(error).splitlines() if line.strip()), "no reason given")
    return said.partition(" SQLSTATE:")[0]
