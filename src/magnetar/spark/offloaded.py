"""Reads ledgers from the files that they were offloaded to, where a read asks for that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from magnetar.client.consumers.entry import Entry
from magnetar.client.message import Delivery
from magnetar.history.footer import Footer
from magnetar.history.message_rows import PAYLOAD_SIZE_MAX
from magnetar.history.stores import open_ledger, store_at
from magnetar.message.compression import CompressionType, decompress
from magnetar.message.entry_traits import traits_of
from magnetar.message.metadata import parse
from magnetar.model.position import Position
from magnetar.spark.admin import TopicAdmin
from magnetar.spark.chunks import ChunkedMessages
from magnetar.spark.columns import BATCH_BYTES_MAX
from magnetar.spark.planning import Range
from magnetar.spark.read_options import ReadOptions
from magnetar.spark.stitching import LedgerCopy, stitched

_ENTRIES_AT_ONCE_MAX: Final = 1000


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
        admin = TopicAdmin(options.admin_url, options.timeout_s, client=options.client)
        found = stitched(wanted, admin.ledgers(wanted.topic))
        files += found.files
        rest += found.rest
    return files, rest


def entries_of_file(file: LedgerCopy) -> Iterator[list[Entry]]:
    """The messages of a file as a reader receives them, joined where they were in chunks.

    Raises as ``rows_of_file``.
    """
    chunks = ChunkedMessages()
    with open_ledger(store_at(file.url, file.options), file.name) as ledger:
        first = 0
        while first < ledger.footer.entries:
            data, _ = ledger.entries(first, _ENTRIES_AT_ONCE_MAX, BATCH_BYTES_MAX)
            unusual = traits_of(data).unusual
            found = []
            for at, entry in enumerate(data):
                peek = unusual.get(at)
                if peek is None or peek.marker_type is None:  # Markers are for brokers.
                    taken = _opened(ledger.footer, first + at, entry)
                    if taken.delivery.metadata.chunk is None:
                        found.append(_decompressed(taken))
                    elif (whole := chunks.add(taken)[0]) is not None:
                        found.append(whole)
            first += len(data)
            yield found


def _opened(footer: Footer, entry_id: int, entry: bytes) -> Entry:
    metadata = parse(entry)
    delivery = Delivery(
        footer.topic,
        Position(footer.ledger_id, entry_id),
        footer.partition,
        metadata.message_count if metadata.is_batch else 0,
        metadata,
        0,
        redelivered=False,
    )
    return Entry(delivery, entry, start=metadata.payload_start)


def _decompressed(entry: Entry) -> Entry:
    said = entry.delivery.metadata
    if said.compression == CompressionType.NONE:
        return entry
    size_max = PAYLOAD_SIZE_MAX
    body = decompress(said.compression, entry.payload, said.uncompressed_size, size_max=size_max)
    return Entry(entry.delivery, body)


def rows_of_file(file: LedgerCopy, schema: pa.Schema, rows_max: int) -> Iterator[pa.RecordBatch]:
    """The columns of ``schema`` of a file. Raises LedgerNotFound, CorruptEntry, StorageError."""
    with open_ledger(store_at(file.url, file.options), file.name) as ledger:
        for group in range(len(ledger.footer.groups)):
            for batch in ledger.rows(group, schema.names).to_batches(max_chunksize=rows_max):
                columns = [batch.column(name) for name in schema.names]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)
