"""``magnetar config``: each setting, its value, and where it came from."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from magnetar.tools.connection import Connection, connection_options
from magnetar.tools.output import FORMS
from magnetar.tools.output import show as show_value

if TYPE_CHECKING:
    from magnetar.broker.config import Config
    from magnetar.proxy.config import ProxyConfig

_FORM: Final = click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["text", *FORMS]),
    default="text",
    show_default=True,
    help="How it is shown; text is the format of a configuration file.",
)


@click.group()
def config() -> None:
    """Show settings and where they come from."""


@config.command()
@click.option(
    "--conf",
    type=click.Path(path_type=Path),
    help="A broker.conf, standalone.conf or any file in their format.",
)
@click.option("--about", is_flag=True, help="Also say what each setting does.")
@_FORM
def show(conf: Path | None, form: str, *, about: bool) -> None:
    """Print each setting of a broker, its value and its source, and those that Magnetar has not.

    Ends with exit code 1 when no broker would start on it.

    Example: magnetar config show --conf broker.conf -o json
    """
    from magnetar.broker.config import Config  # noqa: PLC0415 - a client's settings need no broker

    _show(Config.read_to_show(file=conf, environment=os.environ), form, about=about)


@config.command()
@click.option("--conf", type=click.Path(path_type=Path), help="A proxy.conf.")
@click.option("--about", is_flag=True, help="Also say what each setting does.")
@_FORM
def proxy(conf: Path | None, form: str, *, about: bool) -> None:
    """Print each setting of a proxy, as `show` does those of a broker.

    Example: magnetar config proxy --conf proxy.conf
    """
    from magnetar.proxy.config import ProxyConfig  # noqa: PLC0415 - as above

    _show(ProxyConfig.read_to_show(file=conf, environment=os.environ), form, about=about)


def _show(read: "Config | ProxyConfig", form: str, *, about: bool) -> None:
    from magnetar.broker.settings.others import Status  # noqa: PLC0415 - as above

    if form == "text":
        _print(read, about=about)
    else:
        columns = ("key", "value", "source", *(["about"] if about else []))
        rows = [row[: len(columns)] for row in read.rows()]
        _show_rows(columns, rows, form)
    quiet = [one.text for one in read.others if one.status is Status.AS_SHIPPED]
    said = {Status.AS_SHIPPED, Status.REFUSED}
    for text in (one.text for one in read.others if one.status not in said):
        click.echo(text, err=True)
    if quiet and not about:
        click.echo(
            f"{len(quiet)} more of Pulsar's settings ask for nothing that Magnetar does not do"
            " (--about lists them)",
            err=True,
        )
    for text in [*(quiet if about else ()), *(f"warning: {one}" for one in read.warnings)]:
        click.echo(text, err=True)
    for text in read.refused:
        click.echo(text, err=True)
    if read.refused:
        sys.exit(1)


@config.command()
@connection_options
@_FORM
def client(connection: Connection, form: str) -> None:
    """Print where commands find the broker, who they say they are, and where that is said.

    Example: magnetar config client --client-conf client.conf
    """
    rows = connection.rows()
    if form == "text":
        wide = max(len(f"{key}={value}") for key, value, _ in rows)
        for key, value, source in rows:
            click.echo(f"{f'{key}={value}':<{wide}}  # {source}")
    else:
        _show_rows(("key", "value", "source"), rows, form)


def _print(read: "Config | ProxyConfig", *, about: bool) -> None:
    rows = read.rows()
    wide = max(len(f"{key}={value}") for key, value, _, _ in rows)
    for key, value, source, meaning in rows:
        if about:
            click.echo(f"# {meaning}")
        click.echo(f"{f'{key}={value}':<{wide}}  # {source}")


def _show_rows(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], form: str) -> None:
    show_value([dict(zip(columns, row, strict=True)) for row in rows], form)
