"""Functions as tables."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from magnetar.tools.output import table_of, text_of


def names_table(names: Sequence[str]) -> Table:
    table = table_of("function")
    for name in names:
        table.add_row(name)
    return table


def config_table(config: Mapping[str, Any]) -> Table:
    """The settings of a function, a key a line."""
    table = table_of("key", "value")
    for key, value in config.items():
        table.add_row(key, Text(text_of(value)))
    return table


def status_table(status: Mapping[str, Any]) -> Group:
    """A line for each instance, and below what is wrong with them."""
    columns = ("id", "running", "restarts", "received", "processed", "failed", "latency")
    table = table_of(*columns, "last message")
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
    table = table_of("id", "received", "in 1 min", "processed", "user", "system", "latency")
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
