import pyarrow as pa
import pytest
from support.history import batched, single, write

from magnetar.errors import InvalidValue
from magnetar.history.file_reader import LedgerFile
from magnetar.history.sql import NO_ROWS, File, QueryTables


def rows_of(path):
    with LedgerFile(pa.OSFile(str(path), "rb"), path.name) as file:
        return file.rows(0)


def test_a_table_is_files_and_rows_beside_them(tmp_path):
    write(tmp_path / "7.parquet", [batched([b"one", b"two"])])
    write(tmp_path / "8 it's.parquet", [single(b"three")], ledger_id=8)
    write(tmp_path / "9.parquet", [single(b"four", key="k")], ledger_id=9)
    files = [File(tmp_path.as_uri(), name, {}) for name in ("7.parquet", "8 it's.parquet")]
    name = 'persistent://public/default/a"b'
    with QueryTables() as tables:
        quoted = '"persistent://public/default/a""b"'
        query = f"SELECT decode(value) AS v, message_id.ledger_id AS l FROM {quoted} ORDER BY ALL"
        assert tables.names(query) == [name]
        tables.add(name, files, rows_of(tmp_path / "9.parquet"))
        answer = tables.ask(query)
    assert answer.columns == ["v", "l"]
    assert answer.rows == [("four", 9), ("one", 7), ("three", 8), ("two", 7)]


def test_a_topic_may_have_no_files_and_no_messages():
    with QueryTables() as tables:
        tables.add("empty", [], NO_ROWS)
        assert tables.ask("SELECT count(*) FROM empty").rows == [(0,)]


@pytest.mark.parametrize("query", ["SELEC 1", "SELECT nothing FROM empty", "SELECT * FROM none"])
def test_what_is_refused_is_said_in_a_line(query):
    with QueryTables() as tables:
        tables.add("empty", [], NO_ROWS)
        with pytest.raises(InvalidValue, match="Error: ") as refused:
            tables.ask(query)
    assert "\n" not in str(refused.value)


def test_what_was_meant_is_said():
    with QueryTables() as tables, pytest.raises(InvalidValue, match=r'Did you mean "decode"\?$'):
        tables.ask("SELECT decod('x'::blob)")


def test_a_query_that_cannot_be_read_names_no_tables():
    with QueryTables() as tables, pytest.raises(InvalidValue, match="Parser Error: "):
        tables.names("SELEC 1")


def test_times_are_in_utc():
    with QueryTables() as tables:
        assert tables.ask("SELECT current_setting('TimeZone')").rows == [("UTC",)]
