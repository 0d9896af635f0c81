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
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from magnetar.client import blocking
    from magnetar.client.consumers.entry import Entry
    from magnetar.history.sql import File, Show
    from magnetar.schemas.schema import Encoded
    from magnetar.spark.stitching import LedgerCopy

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
    from magnetar.history.sql import QueryTables  # noqa: PLC0415 - --help needs none of it

    with QueryTables() as tables:
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


def _topic(name: str, connection: Connection) -> "tuple[list[File], pa.Table, Show | None]":
    """The files of a topic's ledgers, its other messages, and what shows values by its schema."""
    import pyarrow as pa  # noqa: PLC0415

    from magnetar.history.message_rows import SCHEMA  # noqa: PLC0415
    from magnetar.history.sql import VERSION, File  # noqa: PLC0415
    from magnetar.model.schemas import SchemaType  # noqa: PLC0415
    from magnetar.spark import topics  # noqa: PLC0415
    from magnetar.spark.client_settings import GivenOptions  # noqa: PLC0415
    from magnetar.spark.columns import to_rows  # noqa: PLC0415
    from magnetar.spark.connections import client_for  # noqa: PLC0415
    from magnetar.spark.offloaded import divide, entries_of_file  # noqa: PLC0415
    from magnetar.spark.planning import ranges  # noqa: PLC0415
    from magnetar.spark.range_read import RangeReader  # noqa: PLC0415
    from magnetar.spark.read_options import ReadOptions  # noqa: PLC0415
    from magnetar.spark.values.plan import schema_of  # noqa: PLC0415

    given = {"topic": name, "history": "auto"}
    given |= {"service.url": connection.service_url, "admin.url": connection.admin_url}
    options = ReadOptions.parse(given, streaming=False)
    options = replace(options, client=GivenOptions(connection.options))
    client = client_for(options)
    last = topics.last_offsets(client, topics.partitions(client, options))
    end = {topic: offset for topic, offset in last.items() if offset is not None}
    try:
        files, rest = divide(ranges({}, end), options)
    except ConnectionLost as error:
        raise NotReady(f"{error}, with --admin-url") from error
    typed = schema_of(client, name).type is not SchemaType.NONE
    versions = [_versions(each) if typed else () for each in files]
    mixed = [each for each, found in zip(files, versions, strict=True) if len(found) > 1]
    reader, batches, count = RangeReader.of(options), [], 0
    told = SCHEMA.append(pa.field(VERSION, pa.int64())) if typed else SCHEMA
    for entries in chain(
        chain.from_iterable(map(reader.read, rest)),
        chain.from_iterable(map(entries_of_file, mixed)),
    ):
        rows = to_rows(entries, SCHEMA)
        batches.append(_with_versions(rows, entries, told) if typed else rows)
        count += rows.num_rows
        if count > TAIL_MESSAGES_MAX:
            raise InvalidValue(
                f"{name} has more than {TAIL_MESSAGES_MAX} messages that are not in files: offload "
                "some, or ask with Spark"
            )
    return (
        [
            File(each.url, each.name, each.options, *found)
            for each, found in zip(files, versions, strict=True)
            if len(found) < 2
        ],
        pa.Table.from_batches(batches, told),
        _shower(client, name) if typed else None,
    )


def _versions(file: "LedgerCopy") -> tuple[int, ...]:
    """The schema versions that the messages of a file were written with."""
    from magnetar.history.stores import open_ledger, store_at  # noqa: PLC0415

    with open_ledger(store_at(file.url, file.options), file.name) as ledger:
        return ledger.footer.schema_versions


def _with_versions(
    rows: "pa.RecordBatch", entries: "Sequence[Entry]", schema: "pa.Schema"
) -> "pa.RecordBatch":
    """The rows, each with the version of its schema."""
    import pyarrow as pa  # noqa: PLC0415

    said: list[int] = []
    for entry in entries:
        version = entry.delivery.metadata.schema_version
        count = len(entry.indexes) if entry.delivery.batch_size else 1
        said += [int.from_bytes(version) if version else -1] * count
    versions = pa.array(said, pa.int64())
    return pa.RecordBatch.from_arrays([*rows.columns, versions], schema=schema)


def _shower(client: "blocking.Client", topic: str) -> "Show":
    """What shows the values of a topic by the versions of its schema, each asked for once."""
    import json  # noqa: PLC0415
    from functools import cache  # noqa: PLC0415

    from magnetar.errors import UndecodableValue  # noqa: PLC0415
    from magnetar.schemas.plain import shower_of, text_of  # noqa: PLC0415
    from magnetar.schemas.schema import Payload  # noqa: PLC0415

    @cache
    def of_version(version: int) -> "Callable[[Encoded], Any]":
        return shower_of(client.schema(topic, version) if version >= 0 else None)

    def show(value: bytes | None, key: bytes | None, version: int) -> str | None:
        if value is None:
            return None
        try:
            found = of_version(version)(Payload(value, key))
        except UndecodableValue:
            return text_of(value)
        return found if isinstance(found, str | None) else json.dumps(found, ensure_ascii=False)

    return show


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
