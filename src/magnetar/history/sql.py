"""Queries over topics: files of ledgers, and rows beside them, as one table each, by DuckDB."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self
from urllib.parse import unquote, urlsplit

import duckdb
import pyarrow as pa

from magnetar.errors import InvalidValue

from .message_rows import SCHEMA


class File(NamedTuple):
    """The file of a ledger: the options of its place are obstore's."""

    url: str
    name: str
    options: Mapping[str, str]


class Answer(NamedTuple):
    """The rows of a query."""

    columns: list[str]
    rows: list[tuple[Any, ...]]


class Tables:
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

    def add(self, name: str, files: Sequence[File], rest: pa.Table) -> None:
        """Make a table of the rows of files, and of others."""
        beside = f"{name} beside its files"
        self._duck.register(beside, rest)
        table = f"SELECT * FROM {_quoted(beside)}"  # noqa: S608 - it is quoted
        if files:
            places = ", ".join(_text(self._place(file)) for file in files)
            table = f"FROM read_parquet([{places}]) UNION ALL BY NAME {table}"
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
