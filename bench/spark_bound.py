"""What Spark takes from a source in Python at most: one that has its rows before it is asked."""

import sys
import tempfile
from collections.abc import Iterator

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from bench.broker import Broker
from bench.spark_sides import Ours, Shape, rows
from magnetar.spark.schema import READ_SCHEMA

TASKS = 2
"""As many as the cores of ``local[2]``."""
BATCH_ROWS = 10_000
"""Spark's own ``spark.sql.execution.arrow.maxRecordsPerBatch``."""


class Held(DataSource):
    """Gives one batch of rows, which is in a file, again and again."""

    @classmethod
    def name(cls) -> str:
        return "held"

    def schema(self) -> StructType:
        return READ_SCHEMA

    def reader(self, schema: StructType) -> "HeldReader":
        return HeldReader(schema, self.options["path"], int(self.options["rows"]))


class HeldReader(DataSourceReader):
    """Reads nothing: its columns other than ``value`` are null."""

    def __init__(self, schema: StructType, path: str, rows: int) -> None:
        """``rows``: of each task."""
        self._schema = schema
        self._path = path
        self._rows = rows

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(number) for number in range(TASKS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        with pa.ipc.open_stream(self._path) as stream:
            (values,) = stream.read_all().combine_chunks().columns
        schema = to_arrow_schema(self._schema, timezone="UTC")
        columns = [
            values.chunk(0).cast(each.type)
            if each.name == "value"
            else pa.nulls(len(values), each.type)
            for each in schema
        ]
        batch = pa.RecordBatch.from_arrays(columns, schema=schema)
        for start in range(0, self._rows, len(batch)):
            yield batch.slice(0, self._rows - start)


class Bound(Ours):
    """A topic that is read without a broker and without a client."""

    name = "bound"
    format = Held.name()

    def __init__(self, spark: SparkSession, broker: Broker) -> None:
        super().__init__(spark, broker)
        self._folder = tempfile.TemporaryDirectory()
        self._options: dict[str, dict[str, str]] = {}
        cloudpickle.register_pickle_by_value(sys.modules[__name__])
        spark.dataSource.register(Held)

    def options(self, topic: str, *, writes: bool) -> dict[str, str]:
        return self._options[topic]

    def write(self, frame: DataFrame, shape: Shape, topic: str) -> None:
        """Keep as many rows as a batch has."""
        made = rows(self.spark, shape).select("value").limit(BATCH_ROWS).toArrow()
        path = f"{self._folder.name}/{topic}"
        with pa.ipc.new_stream(path, made.schema) as stream:
            stream.write_table(made)
        self._options[topic] = {"path": path, "rows": str(shape.count // TASKS)}
