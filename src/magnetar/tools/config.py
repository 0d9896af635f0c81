"""``magnetar config show``: each setting, its value, and where it came from."""

import os
from pathlib import Path

import click

from magnetar.broker.config import Config


@click.group()
def config() -> None:
    """Show settings and where they come from."""


@config.command()
@click.option(
    "--conf", type=click.Path(path_type=Path), help="A file in the format of Pulsar's *.conf."
)
@click.option("--about", is_flag=True, help="Also say what each setting does.")
def show(conf: Path | None, *, about: bool) -> None:
    """Print each setting, its value and its source."""
    read = Config.read(file=conf, environment=os.environ)
    rows = read.rows()
    wide = max(len(f"{key}={value}") for key, value, _, _ in rows)
    for key, value, source, meaning in rows:
        if about:
            click.echo(f"# {meaning}")
        click.echo(f"{f'{key}={value}':<{wide}}  # {source}")
    for name in read.unknown:
        click.echo(f"{name} is no setting of Magnetar; it is ignored.", err=True)
