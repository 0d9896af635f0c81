"""With a broker and files: tests/offload/test_history.py."""

import pyarrow as pa
import pytest
from support.history import batched, single, write

from magnetar.errors import LedgerNotFound
from magnetar.history.message_rows import SCHEMA
from magnetar.spark.offloaded import rows_of_file
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
