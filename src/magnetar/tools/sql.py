"""``magnetar sql``: queries over topics, their history and their tail."""

import csv
import sys
from dataclasses import replace
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import click

from magnetar.errors import ConnectionLost, InvalidValue, NotReady
from magnetar.tools.connection import Connection, connection_options

if TYPE_CHECKING:
    import pyarrow as pa

    from magnetar.client.config import ClientOptions
    from magnetar.history.sql import File

NEEDED: Final = ("duckdb", "pyarrow", "numpy", "pyspark")
TAIL_MESSAGES_MAX: Final = 2_000_000
"""Messages that are not in files: a query has them in memory."""


@click.command()
@click.argument("query")
@click.option("--csv", "as_csv", is_flag=True, help="Print values with commas between.")
@connection_options
def sql(connection: Connection, query: str, *, as_csv: bool) -> None:
    """Answer a QUERY whose tables are topics: 'SELECT count(*) FROM orders'.

    What was offloaded is read from its files, and the rest from the broker: docs/history.md.

    Example: magnetar sql 'SELECT count(*) FROM orders'
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise NotReady(f"sql needs {', '.join(missing)}: pip install 'magnetar[history,spark]'")
    from magnetar.history.sql import Tables  # noqa: PLC0415 - --help needs none of it

    with Tables() as tables:
        for name in tables.names(query):
            try:
                tables.add(name, *_topic(name, connection))
            except ConnectionLost as error:
                raise NotReady(f"{error}: say where the broker is, with --service-url") from error
        answer = tables.ask(query)
    if as_csv:
        rows = (map(_plain, row) for row in answer.rows)
        csv.writer(sys.stdout).writerows(chain([answer.columns], rows))
    else:
        _show(answer.columns, answer.rows)


class _OfCommand:
    """What the options of the command say of the client, which is made once for them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def options(self) -> "ClientOptions":
        return self._connection.options.copy()


def _topic(name: str, connection: Connection) -> "tuple[list[File], pa.Table]":
    """The files of a topic's ledgers, and its other messages."""
    import pyarrow as pa  # noqa: PLC0415

    from magnetar.history.message_rows import SCHEMA  # noqa: PLC0415
    from magnetar.history.sql import File  # noqa: PLC0415
    from magnetar.spark import topics  # noqa: PLC0415
    from magnetar.spark.columns import to_rows  # noqa: PLC0415
    from magnetar.spark.connections import client_for  # noqa: PLC0415
    from magnetar.spark.offloaded import divide  # noqa: PLC0415
    from magnetar.spark.planning import ranges  # noqa: PLC0415
    from magnetar.spark.range_read import RangeReader  # noqa: PLC0415
    from magnetar.spark.read_options import ReadOptions  # noqa: PLC0415

    given = {"topic": name, "history": "auto"}
    given |= {"service.url": connection.service_url, "admin.url": connection.admin_url}
    options = ReadOptions.parse(given, streaming=False)
    options = replace(options, client=_OfCommand(connection))
    client = client_for(options)
    last = topics.last_offsets(client, topics.partitions(client, options))
    end = {topic: offset for topic, offset in last.items() if offset is not None}
    try:
        files, rest = divide(ranges({}, end), options)
    except ConnectionLost as error:
        raise NotReady(f"{error}, with --admin-url") from error
    reader, batches, count = RangeReader.of(options), [], 0
    for entries in chain.from_iterable(map(reader.read, rest)):
        batches.append(to_rows(entries, SCHEMA))
        count += batches[-1].num_rows
        if count > TAIL_MESSAGES_MAX:
            raise InvalidValue(
                f"{name} has more than {TAIL_MESSAGES_MAX} messages that are not in files: offload "
                "some, or ask with Spark"
            )
    return (
        [File(each.url, each.name, each.options) for each in files],
        pa.Table.from_batches(batches, SCHEMA),
    )


def _show(columns: list[str], rows: list[tuple[Any, ...]]) -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(*map(escape, columns))
    for row in rows:
        table.add_row(*("NULL" if value is None else escape(str(_plain(value))) for value in row))
    Console().print(table)


def _plain(value: object) -> object:
    """Bytes as text, else as DuckDB has it."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value
