"""Writes one ledger as one Parquet file, a row group at a time."""

from typing import Final, Self

import pyarrow as pa
import pyarrow.parquet as pq

from . import footer
from .footer import Footer
from .message_rows import SCHEMA, MessageRows, RowGroup

# Columns that repeat, and those of which the least and greatest help to leave out row groups.
_DICTIONARIES: Final = [
    "key",
    "topic",
    "partition",
    "producer_name",
    "properties.key_value.key",
    "properties.key_value.value",
]
_STATISTICS: Final = [
    "key",
    "topic",
    "partition",
    "publish_time",
    "event_time",
    "message_id.ledger_id",
    "message_id.entry_id",
    "message_id.batch_index",
    "message_id.partition",
    "ordering_key",
    "producer_name",
    "sequence_id",
]


class LedgerFileWriter:
    """Writes to ``sink``, which outlives it. What ends without ``finish`` is no file of ours."""

    def __init__(self, sink: pa.NativeFile, topic: str, partition: int, ledger_id: int) -> None:
        self._sink = sink
        self._topic = topic
        self._partition = partition
        self._ledger_id = ledger_id
        self._rows = MessageRows(topic, partition, ledger_id)
        self._groups: list[footer.RowGroup] = []
        self._entries = 0
        self._size = 0
        self._parquet = pq.ParquetWriter(
            sink,
            SCHEMA,
            compression="zstd",
            use_dictionary=_DICTIONARIES,
            write_statistics=_STATISTICS,
            write_page_checksum=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._parquet.close()

    def add(self, data: list[bytes], checksums: list[int]) -> None:
        """Take the next entries, with the checksums that they have in the log."""
        self._size += sum(map(len, data))
        for group in self._rows.add(data, checksums):
            self._write(group)

    def finish(self) -> Footer:
        """Write what is left, and the footer."""
        for group in self._rows.rest():
            self._write(group)
        written = Footer(
            self._topic,
            self._partition,
            self._ledger_id,
            self._entries,
            self._size,
            sum(group.rows for group in self._groups),
            self._rows.missing,
            self._rows.first_publish_ms,
            self._rows.last_publish_ms,
            tuple(sorted(self._rows.schema_versions)),
            tuple(self._groups),
        )
        self._parquet.add_key_value_metadata({footer.KEY: written.encode()})
        self._parquet.close()
        return written

    def _write(self, group: RowGroup) -> None:
        rows, envelopes = group
        if rows.num_rows:  # Some readers take a row group without rows for damage.
            self._parquet.write_table(pa.Table.from_batches([rows]), row_group_size=rows.num_rows)
        encoded = envelopes.encode()
        offset = self._sink.tell()
        self._sink.write(encoded)
        self._groups.append(
            footer.RowGroup(self._entries, len(envelopes), rows.num_rows, offset, len(encoded))
        )
        self._entries += len(envelopes)
