"""Shows functions: as tables, JSON or YAML."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text


def show(value: Any, form: str, table: RenderableType) -> None:
    """Print a value in the form that was asked for."""
    if form == "json":
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
    elif form == "yaml":
        import yaml  # noqa: PLC0415 - of the extra spark, as all that runs functions

        click.echo(yaml.safe_dump(value, sort_keys=False, allow_unicode=True), nl=False)
    else:
        Console().print(table)


def names_table(names: Sequence[str]) -> Table:
    table = _table("function")
    for name in names:
        table.add_row(name)
    return table


def config_table(config: Mapping[str, Any]) -> Table:
    """What is set, a key a line."""
    table = _table("key", "value")
    for key, value in config.items():
        plain = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        table.add_row(key, Text(plain))
    return table


def status_table(status: Mapping[str, Any]) -> Group:
    """A line for each instance, and below what is wrong with them."""
    columns = ("id", "running", "restarts", "received", "processed", "failed", "latency")
    table = _table(*columns, "last message")
    wrong = []
    for each in status["instances"]:
        number, one = each["instanceId"], each["status"]
        table.add_row(
            str(number),
            Text("yes", "green") if one["running"] else Text("no", "red"),
            str(one["numRestarts"]),
            f"{one['numReceived']:,}",
            f"{one['numSuccessfullyProcessed']:,}",
            f"{one['numUserExceptions'] + one['numSystemExceptions']:,}",
            f"{one['averageLatency']:.1f} ms",
            _time(one["lastInvocationTime"]),
        )
        said = _wrong(one)
        if said:
            wrong.append(Text(f"{number}: {said}", "red"))
    return Group(table, *wrong)


def stats_table(stats: Mapping[str, Any]) -> Table:
    """A line for all, and one for each instance."""
    table = _table("id", "received", "in 1 min", "processed", "user", "system", "latency")
    rows = [
        ("all", stats),
        *((str(one["instanceId"]), one["metrics"]) for one in stats["instances"]),
    ]
    for name, one in rows:
        latency = one["avgProcessLatency"]
        table.add_row(
            name,
            f"{one['receivedTotal']:,}",
            f"{one['1min']['receivedTotal']:,}",
            f"{one['processedSuccessfullyTotal']:,}",
            f"{one['userExceptionsTotal']:,}",
            f"{one['systemExceptionsTotal']:,}",
            "-" if latency is None else f"{latency:.1f} ms",
        )
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column)
    return table


def _wrong(status: Mapping[str, Any]) -> str:
    """The error of an instance, else the last line of its latest exception."""
    if status["error"]:
        return str(status["error"])
    latest = [*status["latestUserExceptions"], *status["latestSystemExceptions"]]
    lines = latest[-1]["exceptionString"].strip().splitlines() if latest else []
    return str(lines[-1]) if lines else ""


def _time(milliseconds: int) -> str:
    if not milliseconds:
        return "-"
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%d %b %H:%M:%S")
