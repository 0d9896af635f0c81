import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.history import SENT_MS, TOPIC, all_kinds, batched, encrypted, opened, single, write

from magnetar.errors import CorruptEntry
from magnetar.history import message_rows
from magnetar.history.file_writer import LedgerFileWriter
from magnetar.history.message_rows import SCHEMA


def test_the_file_has_the_messages_and_nothing_else_for_who_reads_parquet(tmp_path):
    path = tmp_path / "7.parquet"
    footer = write(path, [encrypted(), batched([b"one", b"two"]), single(b"three", key="k")])
    table = pq.read_table(path)
    assert table.schema.equals(SCHEMA)
    assert table["value"].to_pylist() == [b"one", b"two", b"three"]
    assert (footer.entries, footer.rows, footer.missing) == (3, 3, 1)
    counted = duckdb.sql(f"select count(*), max(decode(key)) from '{path}'").fetchall()
    assert counted == [(3, "k")]


def test_the_footer_says_what_is_in_the_file(tmp_path):
    entries = all_kinds()
    footer = write(tmp_path / "7.parquet", entries, partition=2)
    assert (footer.topic, footer.partition, footer.ledger_id) == (TOPIC, 2, 7)
    assert (footer.entries, footer.size) == (len(entries), sum(map(len, entries)))
    assert footer.schema_versions == (3,)
    assert footer.first_publish_ms == SENT_MS
    assert pq.read_metadata(tmp_path / "7.parquet").num_rows == footer.rows


def test_row_groups_have_their_times_so_that_readers_leave_some_out(tmp_path, monkeypatch):
    monkeypatch.setattr(message_rows, "GROUP_ROWS_MAX", 10)
    write(tmp_path / "7.parquet", [single(b"x", sequence_id=n) for n in range(30)])
    parquet = pq.read_metadata(tmp_path / "7.parquet")
    column = SCHEMA.names.index("publish_time") + 1  # A map is two columns in the file.
    times = [parquet.row_group(n).column(column).statistics for n in range(3)]
    assert parquet.row_group(0).column(column).path_in_schema == "publish_time"
    assert [each.min.microsecond // 1000 for each in times] == [0, 10, 20]


def test_a_ledger_without_any_message_has_a_file_without_rows(tmp_path):
    footer = write(tmp_path / "7.parquet", [encrypted()])
    assert pq.read_table(tmp_path / "7.parquet").num_rows == footer.rows == 0
    assert pq.read_metadata(tmp_path / "7.parquet").num_row_groups == 0


def test_without_its_end_it_is_no_file_of_ours(tmp_path):
    with (
        pa.OSFile(str(tmp_path / "7.parquet"), "wb") as sink,
        LedgerFileWriter(sink, TOPIC, -1, 7) as writer,
    ):
        writer.add([single(b"one")], [0])
    with pytest.raises(CorruptEntry, match="no file of a ledger"):
        opened(tmp_path / "7.parquet")
