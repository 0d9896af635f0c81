"""The ``pulsar`` format: what Spark calls first, and what it is handed.

Imported by Spark whenever any Python data source is used (``pyspark_pulsar``): the readers and
writers, with the client and Arrow behind them, are imported by the calls that need them.
"""
# ruff: noqa: FBT001, N802 - the names and signatures are Spark's.
# ruff: noqa: PLC0415 - imported when called, see above.

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyspark
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from magnetar.errors import MagnetarError, NotAllowed
from magnetar.spark.one_line import one_line
from magnetar.spark.read_options import ReadOptions
from magnetar.spark.write_options import WriteOptions

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter

    from magnetar.spark.batch_reader import BatchReader
    from magnetar.spark.values.plan import ValuePlan


def _needs(version: tuple[int, int], what: str) -> None:
    """Raises NotAllowed where Spark is older, and has not what it takes."""
    have = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    if have < version:
        wanted = ".".join(map(str, version))
        raise NotAllowed(
            f"{what} of the format pulsar needs PySpark {wanted} or newer, and this is "
            f"{pyspark.__version__}: pip install 'pyspark>={wanted}'. Batches are read and "
            "written with this one too"
        )


class _Refused(DataSourceStreamReader):
    """Says why when it is asked for offsets: of what is raised before, Spark shows nothing."""

    def __init__(self, reason: MagnetarError) -> None:
        self._reason = reason

    @one_line()
    def initialOffset(self) -> dict[str, str]:
        raise self._reason

    def read(self, partition: InputPartition) -> Iterator[tuple[object, ...]]:
        raise self._reason

    @one_line()
    def latestOffset(self) -> dict[str, str]:  # type: ignore[override]  # The oldest way, which all Sparks have.
        raise self._reason


class PulsarDataSource(DataSource):
    """``spark.read``, ``readStream``, ``write`` and ``writeStream`` with ``format("pulsar")``."""

    _planned: "ValuePlan | None" = None

    @classmethod
    def name(cls) -> str:
        return "pulsar"

    @one_line()
    def schema(self) -> StructType:
        options = ReadOptions.parse(self.options, streaming=None)
        # Spark pickles this instance behind this call: what it reads is what it says here.
        self._planned = self._values(options)
        if self._planned is not None:
            return self._planned.columns
        return options.offered

    @one_line()
    def reader(self, schema: StructType) -> "BatchReader":
        from magnetar.spark.batch_reader import BatchReader

        options = ReadOptions.parse(self.options, streaming=False)
        return BatchReader(options, schema, self._values(options))

    def streamReader(self, schema: StructType) -> "DataSourceStreamReader":
        try:
            return self._stream_reader(schema)
        except MagnetarError as error:
            return _Refused(error)

    def _stream_reader(self, schema: StructType) -> "DataSourceStreamReader":
        _needs((4, 2), "readStream")
        from magnetar.spark.stream_reader import StreamReader

        options = ReadOptions.parse(self.options, streaming=True)
        return StreamReader(options, schema, self._values(options))

    @one_line()
    def writer(self, schema: StructType, overwrite: bool) -> "DataSourceArrowWriter":
        if overwrite:
            raise NotAllowed("a topic's messages cannot be overwritten: use mode('append')")
        options = WriteOptions.parse(self.options, streaming=False)
        if options.in_transaction:
            from magnetar.spark.transactional_writer import TransactionalBatchWriter

            return TransactionalBatchWriter(options, schema)
        from magnetar.spark.writer import BatchWriter

        return BatchWriter(options, schema)

    @one_line()
    def streamWriter(self, schema: StructType, overwrite: bool) -> "DataSourceStreamArrowWriter":
        _needs((4, 1), "writeStream")
        options = WriteOptions.parse(self.options, streaming=True)
        if options.in_transaction:
            from magnetar.spark.transactional_writer import TransactionalStreamWriter

            return TransactionalStreamWriter(options, schema)
        from magnetar.spark.writer import StreamWriter

        return StreamWriter(options, schema)

    def _values(self, options: ReadOptions) -> "ValuePlan | None":
        """The types of values; None where they stay binary."""
        if not options.values.registry:
            return None
        from magnetar.spark.values.plan import ValuePlan

        return self._planned or ValuePlan.of(options)
