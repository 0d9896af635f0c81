"""Shows what was answered: as a table, JSON or YAML."""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

F = TypeVar("F", bound=Callable[..., Any])

_OBEYED: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
FORMS: Final = ("table", "json", "yaml")
_WIDE: Final = 100_000  # Who reads a pipe wants a line to be a line.


def output_parameter() -> click.Option:
    """``-o table|json|yaml``, for a command that is made of a table; its value is ``form``."""
    return click.Option(
        ["-o", "--output", "--output-format", "form"],
        type=click.Choice(FORMS),
        default="table",
        show_default=True,
        help="How the answer is shown.",
    )


def output_format(command: F) -> F:
    """Give a command ``-o table|json|yaml``, as ``form``."""
    vars(command).setdefault("__click_params__", []).append(output_parameter())
    return command


def output_lines(about: str) -> Callable[[F], F]:
    """Gives a command ``-o text|json``, as ``form``; ``about`` says what json is a line of."""
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice(("text", "json")),
        default="text",
        help=f"json: {about}",
    )


def show(value: Any, form: str, table: "RenderableType | None" = None) -> None:
    """Print a value in the form that was asked for; ``table`` is what it looks like as one.

    Without one a list of texts is a line each, a list of objects a table of their keys, and an
    object a line for each key, those of objects in it behind a dot.
    """
    if form == "json":
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
    elif form == "yaml":
        import yaml  # noqa: PLC0415 - the other forms need none of it

        click.echo(yaml.safe_dump(value, sort_keys=False, allow_unicode=True), nl=False)
    elif table is not None:
        print_table(table)
    else:
        _show_plain(value)


def console() -> "Console":
    """Rich's console, which breaks no line where the output is no terminal."""
    from rich.console import Console  # noqa: PLC0415 - JSON needs none of it

    return Console() if sys.stdout.isatty() else Console(width=_WIDE)


def print_table(table: "RenderableType") -> None:
    """Print it; where the output is no terminal, without the blanks that end its lines."""
    shown = console()
    if shown.is_terminal:
        shown.print(table)
        return
    with shown.capture() as drawn:
        shown.print(table)
    for line in drawn.get().splitlines():
        click.echo(line.rstrip())


def table_of(*columns: str) -> "Table":
    """An empty one, in the style of all."""
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _show_plain(value: Any) -> None:
    if isinstance(value, Mapping):
        _show_rows(("key", "value"), _flat(value))
    elif isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
        columns = list(dict.fromkeys(key for one in value for key in one))
        _show_rows(columns, ([one.get(key) for key in columns] for one in value))
    elif isinstance(value, list):
        for one in value:
            click.echo(text_of(one))
    elif value is not None:
        click.echo(text_of(value))


def _show_rows(columns: Sequence[str], rows: Iterator[Sequence[Any]]) -> None:
    from rich.text import Text  # noqa: PLC0415

    table = table_of(*columns)
    for row in rows:
        table.add_row(*(Text(text_of(each)) for each in row))
    print_table(table)


def _flat(value: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, each in value.items():
        name = f"{above}{key}"
        if isinstance(each, Mapping) and each:
            yield from _flat(each, f"{name}.")
        else:
            yield name, each


def text_of(value: Any) -> str:
    """A value in one cell: texts as they are, else JSON; nothing for None."""
    if value is None:
        return ""
    return printable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def printable(text: str) -> str:
    """As it is, but for characters that a terminal would obey: those by their number.

    So it does those that turn the text around them from right to left.
    """
    return _OBEYED.sub(_by_number, text)


def _by_number(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
