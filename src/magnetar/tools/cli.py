"""The ``magnetar`` command: a thin group that imports a command only when it is run."""

import importlib
import sys
from time import perf_counter
from typing import Final, NamedTuple

import click

from magnetar import __version__
from magnetar.errors import MagnetarError


class Lazy(NamedTuple):
    """Where a command is, and what ``--help`` says of it without importing it."""

    module: str
    name: str
    about: str


COMMANDS: Final = {
    "standalone": Lazy(
        "magnetar.tools.standalone", "standalone", "Run a broker on this machine, storage and all."
    ),
    "quickstart": Lazy(
        "magnetar.tools.quickstart.command",
        "quickstart",
        "Replay a year of flights through a broker and Spark, and add it up.",
    ),
    "pipelines": Lazy(
        "magnetar.tools.pipelines", "pipelines", "Check and run pipelines declared in a file."
    ),
    "functions": Lazy(
        "magnetar.tools.functions.command",
        "functions",
        "Create functions, look at them, and run them.",
    ),
    "sql": Lazy("magnetar.tools.sql", "sql", "Ask topics in SQL, history and all."),
    "config": Lazy("magnetar.tools.config", "config", "Show settings and where they come from."),
}


INTERRUPTED: Final = 130
"""The exit code after Ctrl-C, the one that a shell reports."""


class LazyGroup(click.Group):
    """A group whose commands are named in ``COMMANDS``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        lazy = COMMANDS.get(cmd_name)
        if lazy is None:
            return None
        command = getattr(importlib.import_module(lazy.module), lazy.name)
        assert isinstance(command, click.Command), lazy
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.about) for name, lazy in COMMANDS.items()])


def _say_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:  # noqa: FBT001
    if not asked or ctx.resilient_parsing:
        return
    from magnetar import inner  # noqa: PLC0415 - of no use to --help

    click.echo(f"magnetar, version {__version__}, inner loops {inner.BUILD}")
    ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_say_version,
    help="Show the version, and whether the inner loops are compiled.",
)
def magnetar() -> None:
    """Apache Pulsar's messaging system in Python."""


def main() -> None:
    """Run the command line. An error that a user can mend is said in a line, with exit code 1.

    Commands are given the time at which it began, so that the start-up time includes the imports.
    """
    try:
        result = magnetar(obj=perf_counter(), standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except MagnetarError as error:
        for line in str(error).splitlines():
            click.echo(f"magnetar: {line}", err=True)
        sys.exit(1)
    sys.exit(result if isinstance(result, int) else 0)


if __name__ == "__main__":
    main()
