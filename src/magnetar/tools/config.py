"""``magnetar config show``: each setting, its value, and where it came from."""

import os
import sys
from pathlib import Path

import click

from magnetar.broker.config import Config
from magnetar.broker.other_settings import Fate


@click.group()
def config() -> None:
    """Show settings and where they come from."""


@config.command()
@click.option(
    "--conf", type=click.Path(path_type=Path), help="A file in the format of Pulsar's *.conf."
)
@click.option("--about", is_flag=True, help="Also say what each setting does.")
def show(conf: Path | None, *, about: bool) -> None:
    """Print each setting, its value and its source, and then the settings that Magnetar has not.

    Ends with exit code 1 when `magnetar standalone` would refuse to start on it.
    """
    read = Config.read_to_show(file=conf, environment=os.environ)
    rows = read.rows()
    wide = max(len(f"{key}={value}") for key, value, _, _ in rows)
    for key, value, source, meaning in rows:
        if about:
            click.echo(f"# {meaning}")
        click.echo(f"{f'{key}={value}':<{wide}}  # {source}")
    for text in [one.text for one in read.others if one.fate is not Fate.REFUSED] + read.refused:
        click.echo(text, err=True)
    if read.refused:
        sys.exit(1)
