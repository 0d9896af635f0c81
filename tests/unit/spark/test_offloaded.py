"""With a broker and files: tests/offload/test_history.py."""

import pyarrow as pa
import pytest
from support.history import batched, chunked, single, write

from magnetar.errors import LedgerNotFound
from magnetar.history.message_rows import SCHEMA
from magnetar.message.compression import CompressionType
from magnetar.spark.columns import to_rows
from magnetar.spark.offloaded import _ENTRIES_AT_ONCE_MAX, entries_of_file, rows_of_file
from magnetar.spark.stitching import LedgerCopy


def test_the_columns_asked_for_come_in_batches(tmp_path):
    write(tmp_path / "7.parquet", [single(b"one", key="k"), batched([b"two", b"three"])])
    copy = LedgerCopy(tmp_path.as_uri(), "7.parquet", {}, whole=True)
    schema = pa.schema([SCHEMA.field("value"), SCHEMA.field("key")])
    found = list(rows_of_file(copy, schema, 2))
    assert [batch.num_rows for batch in found] == [2, 1]
    assert all(batch.schema.equals(schema) for batch in found)
    assert [value for batch in found for value in batch["value"].to_pylist()] == [
        b"one",
        b"two",
        b"three",
    ]


def test_a_file_that_is_gone_is_named(tmp_path):
    gone = LedgerCopy(tmp_path.as_uri(), "7.parquet", {}, whole=True)
    with pytest.raises(LedgerNotFound, match=r"7\.parquet"):
        list(rows_of_file(gone, SCHEMA, 2))


def test_the_messages_of_a_file_are_those_of_its_rows(tmp_path):
    """What decodes values, or makes other columns, takes messages as a reader receives them."""
    packed = {"compression": CompressionType.ZSTD}
    kinds = [
        single(b"one", key="k", schema_version=b"\x03"),
        batched([b"two", b"three"], sequence_id=5, **packed),
        *chunked(b"long" * 100, 64, **packed),
        single(b"last", sequence_id=20, **packed),
    ]
    write(tmp_path / "7.parquet", kinds)
    copy = LedgerCopy(tmp_path.as_uri(), "7.parquet", {}, whole=True)
    entries = [entry for some in entries_of_file(copy) for entry in some]
    assert entries[0].delivery.metadata.schema_version == b"\x03"
    (rows,) = rows_of_file(copy, SCHEMA, 1000)
    assert to_rows(entries, SCHEMA).to_pylist() == rows.to_pylist()
    assert rows.num_rows == 5


def test_a_long_file_is_read_in_pieces(tmp_path):
    sent = [single(b"%d" % number) for number in range(_ENTRIES_AT_ONCE_MAX + 1)]
    write(tmp_path / "7.parquet", sent)
    pieces = list(entries_of_file(LedgerCopy(tmp_path.as_uri(), "7.parquet", {}, whole=True)))
    assert [len(piece) for piece in pieces] == [_ENTRIES_AT_ONCE_MAX, 1]
