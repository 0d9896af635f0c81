"""The ``magnetar`` command: a thin group that imports a command only when it is run."""

import os
import sys
from time import perf_counter
from typing import Any, Final

import click

from magnetar.errors import MagnetarError
from magnetar.tools.groups import Lazy, LazyGroup
from magnetar.version import __version__

COMMANDS: Final = {
    "standalone": Lazy(
        "magnetar.tools.standalone", "standalone", "Run a broker on this machine, storage and all."
    ),
    "broker": Lazy(
        "magnetar.tools.broker", "broker", "Run the broker that a broker.conf describes."
    ),
    "proxy": Lazy("magnetar.tools.proxy", "proxy", "Run the proxy that a proxy.conf describes."),
    "initialize-cluster-metadata": Lazy(
        "magnetar.tools.initialize_cluster_metadata",
        "initialize_cluster_metadata",
        "Write what the brokers of a new cluster find in ZooKeeper.",
    ),
    "cluster": Lazy(
        "magnetar.tools.cluster", "cluster", "Look at a cluster before it is taken over."
    ),
    "pipelines": Lazy(
        "magnetar.tools.pipelines", "pipelines", "Check and run pipelines declared in a file."
    ),
    "spark": Lazy("magnetar.tools.spark", "spark", "Look after what queries of Spark have left."),
    "functions": Lazy(
        "magnetar.tools.functions.command",
        "functions",
        "Create functions, look at them, and run them.",
    ),
    "admin": Lazy(
        "magnetar.tools.admin.command",
        "admin",
        "Ask a broker's admin API, as pulsar-admin does.",
    ),
    "sql": Lazy("magnetar.tools.sql", "sql", "Ask topics in SQL, history and all."),
    "init-auth": Lazy(
        "magnetar.tools.init_auth",
        "init_auth",
        "Make keys, tokens and the configuration of a broker that knows its clients.",
    ),
    "tokens": Lazy("magnetar.tools.tokens", "tokens", "Make and check tokens, and their keys."),
    "export": Lazy(
        "magnetar.tools.export", "export", "Write Grafana's dashboards, or the unit for systemd."
    ),
    "produce": Lazy("magnetar.tools.messaging.produce", "produce", "Send messages to a topic."),
    "consume": Lazy(
        "magnetar.tools.messaging.receive", "consume", "Receive messages on a subscription."
    ),
    "read": Lazy(
        "magnetar.tools.messaging.receive", "read", "Read a topic without a subscription."
    ),
    "peek": Lazy(
        "magnetar.tools.messaging.peek", "peek", "Look at messages; no subscription notices."
    ),
    "perf": Lazy("magnetar.tools.perf.command", "perf", "Load a broker, and say what it does."),
    "top": Lazy("magnetar.tools.top", "top", "Watch topics and subscriptions as they move."),
    "doctor": Lazy(
        "magnetar.tools.doctor.command", "doctor", "Find what keeps a broker from running well."
    ),
    "config": Lazy("magnetar.tools.config", "config", "Show settings and where they come from."),
}


STDOUT: Final = 1
INTERRUPTED: Final = 130
"""The exit code after Ctrl-C, the one that a shell reports."""
PIPE_CLOSED: Final = 141
"""The exit code when the reader of the output has gone, as a shell reports it."""


def _say_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:  # noqa: FBT001
    if not asked or ctx.resilient_parsing:
        return
    from magnetar import inner  # noqa: PLC0415 - of no use to --help

    click.echo(f"magnetar, version {__version__}, inner loops {inner.BUILD}")
    ctx.exit()


class Root(LazyGroup):
    """All commands. One ends in silence when nobody reads what it prints, as by ``| head``."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)  # For the flush at the end.
            sys.exit(PIPE_CLOSED)


@click.group(cls=Root, lazy=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
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

    Exit codes: 0 done, 1 refused or failed, 2 a mistake in the command, 130 Ctrl-C, 141 nobody
    reads what is printed.
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
        from magnetar.tools.process import say_refusal  # noqa: PLC0415 - of no use to the others

        for line in str(error).splitlines():
            say_refusal(line)
        sys.exit(1)
    sys.exit(result if isinstance(result, int) else 0)


if __name__ == "__main__":
    main()
