"""``magnetar top``: topics and subscriptions as they move, by the admin API."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import click

from magnetar.tools.connection import Connection, admin_options

if TYPE_CHECKING:
    from rich.console import Group

    from magnetar.client.admin_api import AdminApi
    from magnetar.tools.top_rows import Row, StatsSample

TOPICS: Final = 200
_HELP: Final = "b i o n: sort by backlog, in, out, name   /: filter   q: quit"
_WIDE: Final = 110
"""Columns of a terminal; a narrower one has not room for all of ours."""
_NUMBERS: Final = (1, 2, 4, 5, 6, 7)
_NARROW: Final = (0, 1, 3, 5, 8)  # The topic, what comes in, subscription, backlog, why.
_SORT_KEYS: Final = {"b": "backlog", "i": "in", "o": "out", "n": "name"}


@click.command()
@click.option(
    "--namespace", help="Only topics of this one, as tenant/namespace. [all, for superusers]"
)
@click.option("--interval", default=2.0, show_default=True, help="Seconds between two looks.")
@click.option(
    "--sort",
    type=click.Choice(("backlog", "in", "out", "name")),
    default="backlog",
    show_default=True,
    help="What comes first.",
)
@click.option("--filter", "contains", default="", help="Only names with this text.")
@click.option("--limit", default=TOPICS, show_default=True, help="Topics that are looked at.")
@click.option("--once", is_flag=True, help="Print one table, and end.")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(("table", "json")),
    default="table",
    help="json: with --once.",
)
@admin_options
def top(
    connection: Connection,
    *,
    namespace: str | None,
    interval: float,
    sort: str,
    contains: str,
    limit: int,
    once: bool,
    form: str,
) -> None:
    """Show what topics and subscriptions do, and why nothing moves where nothing does.

    Where output is no terminal it prints one table.

    Example: magnetar top --namespace shop/orders --sort in
    """
    looks = StatsSampler(connection.api(), namespace, limit)
    if once or form == "json" or not (sys.stdout.isatty() and sys.stdin.isatty()):
        _print_once(looks, interval, sort, contains, form)
    else:
        _live(looks, interval, sort, contains)


class StatsSampler:
    """StatsSampler at the stats of topics."""

    def __init__(self, api: "AdminApi", namespace: str | None, limit: int) -> None:
        self._api = api
        self._namespace = namespace
        self._limit = limit
        self.left_out = 0

    def look(self) -> "StatsSample":
        from magnetar.client.admin_api import topic_path  # noqa: PLC0415
        from magnetar.clock import SystemClock  # noqa: PLC0415
        from magnetar.errors import NotFound  # noqa: PLC0415
        from magnetar.tools.top_rows import StatsSample  # noqa: PLC0415

        names = [name for each in self._namespaces() for name in self._topics(each)]
        self.left_out = max(len(names) - self._limit, 0)
        found = {}
        at = SystemClock().now()
        for name in names[: self._limit]:
            with suppress(NotFound):  # It was deleted just now.
                found[name] = self._api.get(f"/admin/v2/{topic_path(name)}/stats")
        return StatsSample(at, found)

    def _namespaces(self) -> list[str]:
        if self._namespace is not None:
            return [self._namespace]
        from magnetar.errors import NotAuthorized  # noqa: PLC0415

        try:
            tenants = self._api.get("/admin/v2/tenants")
        except NotAuthorized as error:
            raise NotAuthorized(
                "to watch all namespaces is for superusers: name one with --namespace"
                f" tenant/namespace ({error})"
            ) from error
        return [
            namespace
            for tenant in tenants
            for namespace in self._api.get(f"/admin/v2/namespaces/{tenant}")
        ]

    def _topics(self, namespace: str) -> list[str]:
        found: list[str] = self._api.get(f"/admin/v2/namespaces/{namespace}/topics", mode="ALL")
        return sorted(found)


def _print_once(looks: StatsSampler, interval: float, sort: str, contains: str, form: str) -> None:
    from magnetar.tools.output import console, show  # noqa: PLC0415
    from magnetar.tools.top_rows import arranged, rows_of  # noqa: PLC0415

    before = looks.look()
    _keys(interval)
    rows = arranged(rows_of(before, looks.look()), sort, contains)
    if form == "json":
        show([row.as_json() for row in rows], "json")
    else:
        console().print(_screen(rows, looks.left_out, ""))


def _live(looks: StatsSampler, interval: float, sort: str, contains: str) -> None:
    from rich.live import Live  # noqa: PLC0415

    from magnetar.tools.top_rows import Row, arranged, rows_of  # noqa: PLC0415

    before, rows, typing = looks.look(), list[Row](), False
    with _unbuffered_keys(), Live(screen=True, auto_refresh=False) as live:
        wait = min(interval, 1.0)
        while True:
            note = f"filter: {contains}{'_' if typing else ''}" if typing or contains else _HELP
            live.update(_screen(arranged(rows, sort, contains), looks.left_out, note), refresh=True)
            for key in _keys(wait):
                if typing:
                    if key in "\r\n\x1b":
                        typing, contains = False, "" if key == "\x1b" else contains
                    else:
                        contains = contains[:-1] if key in "\x7f\b" else contains + key
                elif key == "q":
                    return
                elif key == "/":
                    typing, contains = True, ""
                else:
                    sort = _SORT_KEYS.get(key, sort)
            wait = interval
            now = looks.look()
            rows = rows_of(before, now)
            before = now


def _screen(rows: "list[Row]", left_out: int, note: str) -> "Group":
    from rich.console import Group  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from magnetar.tools.output import printable, table_of  # noqa: PLC0415
    from magnetar.tools.top_rows import COLUMNS, total  # noqa: PLC0415

    narrow = sys.stdout.isatty() and shutil.get_terminal_size().columns < _WIDE
    kept = _NARROW if narrow else range(len(COLUMNS))
    table = table_of(*(COLUMNS[each] for each in kept))
    for column, each in zip(table.columns, kept, strict=True):
        column.justify = "right" if each in _NUMBERS else "left"
    for row in rows:
        shown = row.shown()
        table.add_row(*(Text(printable(shown[each])) for each in kept))
    left = f", and {left_out} topics more (--limit)" if left_out else ""
    heading = Text(total(rows) + left)
    return Group(heading, table, Text(note)) if note else Group(heading, table)


def _keys(wait: float) -> str:
    """Read a key, for so many seconds at most."""
    import select  # noqa: PLC0415

    typed = sys.stdin.isatty() and sys.stdout.isatty()
    ready, _, _ = select.select([sys.stdin] if typed else [], [], [], wait)
    return os.read(sys.stdin.fileno(), 64).decode(errors="ignore") if ready else ""


@contextmanager
def _unbuffered_keys() -> Iterator[None]:
    """Keys come one by one, and are not shown."""
    import termios  # noqa: PLC0415 - Windows has none
    import tty  # noqa: PLC0415

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
