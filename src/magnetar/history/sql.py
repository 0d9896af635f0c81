"""Queries over topics: files of ledgers, and rows beside them, as one table each, by DuckDB."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Self
from urllib.parse import unquote, urlsplit

import duckdb
import pyarrow as pa

from magnetar.errors import InvalidValue

from .message_rows import SCHEMA


class File(NamedTuple):
    """The file of a ledger: the options of its place are obstore's.

    ``schema_version`` is that of all its messages; -1 where they have no schema.
    """

    url: str
    name: str
    options: Mapping[str, str]
    schema_version: int = -1


VERSION: Final = "schema version"
"""A column that tells which version of a schema each value was written with; -1 is none."""
Show = Callable[[bytes | None, bytes | None, int], str | None]
"""A value as text, by the message's value and key, and the version of its schema."""


class Answer(NamedTuple):
    """The rows of a query."""

    columns: list[str]
    rows: list[tuple[Any, ...]]


class QueryTables:
    """The tables of one query. Raises InvalidValue, in DuckDB's words, for what it refuses."""

    def __init__(self) -> None:
        self._duck = duckdb.connect()
        self._duck.execute("SET TimeZone = 'UTC'")
        self._buckets: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._duck.close()

    def names(self, query: str) -> list[str]:
        """The tables that a query reads."""
        try:
            return sorted(self._duck.get_table_names(query))
        except duckdb.Error as error:
            raise _refused(error) from error

    def add(
        self, name: str, files: Sequence[File], rest: pa.Table, show: Show | None = None
    ) -> None:
        """Make a table of the rows of files, and of others.

        With ``show`` its values are text, and the rows beside the files tell their ``VERSION``.
        """
        beside = f"{name} beside its files"
        self._duck.register(beside, rest)
        parts = [f"SELECT * FROM {_quoted(beside)}"]  # noqa: S608 - it is quoted
        by_version = defaultdict(list)
        for file in files:
            by_version[None if show is None else file.schema_version].append(self._place(file))
        for version, places in by_version.items():
            more = "" if version is None else f", {version} AS {_quoted(VERSION)}"
            listed = ", ".join(map(_text, places))
            parts.append(f"SELECT *{more} FROM read_parquet([{listed}])")  # noqa: S608 - as above
        table = " UNION ALL BY NAME ".join(parts)
        if show is not None:
            shown, kinds = f"show {name}", ("BLOB", "BLOB", "BIGINT")
            duck: Any = self._duck  # Its types know no names of types.
            duck.create_function(shown, show, [*kinds], "VARCHAR", null_handling="special")
            value = f"{_quoted(shown)}(value, key, {_quoted(VERSION)}) AS value"
            table = f"SELECT * EXCLUDE ({_quoted(VERSION)}) REPLACE ({value}) FROM ({table})"  # noqa: S608 - as above
        try:
            self._duck.execute(f"CREATE VIEW {_quoted(name)} AS {table}")
        except duckdb.Error as error:
            raise _refused(error) from error

    def ask(self, query: str) -> Answer:
        """Run a query."""
        try:
            found = self._duck.execute(query)
            columns = [each[0] for each in found.description or []]
            return Answer(columns, found.fetchall())
        except duckdb.Error as error:
            raise _refused(error) from error

    def _place(self, file: File) -> str:
        parts = urlsplit(file.url)
        if parts.scheme == "file":
            return f"{unquote(parts.path)}/{file.name}"
        if parts.scheme not in self._buckets:
            from obstore import fsspec  # noqa: PLC0415 - for buckets only

            make: Any = fsspec.FsspecStore
            options = dict(file.options)
            plain = options.get("endpoint", "").startswith("http:")
            store = make(parts.scheme, config=options, client_options={"allow_http": plain})
            self._duck.register_filesystem(store)
            self._buckets.add(parts.scheme)
        return f"{file.url}/{file.name}"


NO_ROWS = SCHEMA.empty_table()
"""Where there is nothing beside the files."""


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _refused(error: duckdb.Error) -> InvalidValue:
    """What is wrong and what was meant, in one line; the others show the query again."""
    said = str(error).partition("\nLINE ")[0]
    return InvalidValue(" ".join(said.split()))
