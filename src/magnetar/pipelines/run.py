"""A run of a pipeline, from its file to its end."""

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

from magnetar.errors import InvalidValue
from magnetar.pipelines import views
from magnetar.pipelines.declaration import Pipeline
from magnetar.pipelines.queries import PreparedQuery, prepare
from magnetar.pipelines.reading import read_pipeline
from magnetar.spark.session import session, shut_down

# Every micro-batch is counted, however many there are between two looks.
_SETTINGS: Final = {"spark.sql.streaming.numRecentProgressUpdates": "1000"}


class SparkTarget(NamedTuple):
    """Which Spark runs it: a master, or a Connect server. Spark prints to ``log_file``."""

    master: str | None = None
    remote: str | None = None
    log_file: Path | None = None


class CheckedPipeline(NamedTuple):
    """A pipeline whose views were analysed by Spark, its queries, and notes for its author."""

    pipeline: Pipeline
    queries: list[PreparedQuery]
    notes: list[str]


def check(
    file: Path, environment: Mapping[str, str], spark: SparkSession, *, until_caught_up: bool
) -> CheckedPipeline:
    """Read the file, and have Spark analyse it: nothing is started. Raises InvalidValue."""
    pipeline = read_pipeline(file, environment)
    try:
        found = views.build(spark, pipeline)
    except InvalidValue as error:
        raise InvalidValue(f"{file}: {error}") from error
    queries = prepare(pipeline, found, until_caught_up=until_caught_up)
    return CheckedPipeline(pipeline, queries, found.notes)


@contextmanager
def spark_for(pipeline: Pipeline, where: SparkTarget) -> Iterator[SparkSession]:
    """Spark with the settings of the pipeline, until the block ends. Raises NotReady."""
    spark = session(
        pipeline.name,
        master=where.master,
        remote=where.remote,
        settings={**_SETTINGS, **pipeline.settings},
        log_file=where.log_file,
    )
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Spark's would end its jobs first.
    try:
        yield spark
    finally:
        if where.remote is None:
            shut_down(spark)
        else:
            spark.stop()
