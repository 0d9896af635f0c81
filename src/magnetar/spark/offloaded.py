"""Reads ledgers from the files that they were offloaded to, where a read asks for that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from magnetar.history.stores import open_ledger, store_at
from magnetar.spark.admin import AdminApi
from magnetar.spark.planning import Range
from magnetar.spark.read_options import ReadOptions
from magnetar.spark.stitching import LedgerCopy, stitched


@dataclass
class FilePartition(InputPartition):
    """A task's share of the work: the file of one ledger."""

    file: LedgerCopy


def divide(ranges: Sequence[Range], options: ReadOptions) -> tuple[list[LedgerCopy], list[Range]]:
    """The files that have parts of the ranges, and what is left of these. Raises NotReady."""
    files: list[LedgerCopy] = []
    rest: list[Range] = []
    for wanted in ranges:
        assert options.admin_url is not None, "with history there is an admin.url"
        admin = AdminApi(options.admin_url, options.timeout_s, client=options.client)
        found = stitched(wanted, admin.ledgers(wanted.topic))
        files += found.files
        rest += found.rest
    return files, rest


def rows_of_file(file: LedgerCopy, schema: pa.Schema, rows_max: int) -> Iterator[pa.RecordBatch]:
    """The columns of ``schema`` of a file. Raises LedgerNotFound, CorruptEntry, StorageError."""
    with open_ledger(store_at(file.url, file.options), file.name) as ledger:
        for group in range(len(ledger.footer.groups)):
            for batch in ledger.rows(group, schema.names).to_batches(max_chunksize=rows_max):
                columns = [batch.column(name) for name in schema.names]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)
