"""``magnetar pipelines``: check a declared pipeline, and run it."""

import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Final

import click
from rich.console import Console

from magnetar.errors import InvalidValue, MagnetarError, NotReady
from magnetar.tools.pipelines_table import PipelineTable

EXIT_DIFFERENT: Final = 1
EXIT_INTERRUPTED: Final = 130
NEEDED: Final = ("pyspark", "pyarrow", "pandas", "yaml")
_LOOK_EVERY_S: Final = 0.5

_file = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
_master = click.option("--master", help="Spark's master. [local[*]]")
_remote = click.option("--remote", help="A Spark Connect server, sc://host:port, instead.")


@click.group()
def pipelines() -> None:
    """Check and run pipelines, each declared in a file: docs/pipelines.md."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise NotReady(
            f"pipelines need {', '.join(missing)}, not installed here: "
            "pip install 'magnetar[spark]'"
        )


@pipelines.command()
@_file
@_master
@_remote
def check(file: Path, master: str | None, remote: str | None) -> None:
    """Find every mistake in FILE that can be found before a row is read.

    Keys, names, options and functions; then what the broker says of the topics and their schemas;
    then the SQL, which a Spark analyses. Nothing is made. Exit code 1: a mistake, which is named.

    Example: magnetar pipelines check orders.yaml
    """
    from magnetar.pipelines.reading import read_pipeline  # noqa: PLC0415 - --help needs no Spark
    from magnetar.pipelines.run import SparkTarget, spark_for  # noqa: PLC0415
    from magnetar.pipelines.run import check as checked  # noqa: PLC0415
    from magnetar.pipelines.topics import look  # noqa: PLC0415

    _quiet_py4j()
    pipeline = read_pipeline(file, os.environ)
    found = look(pipeline)
    if found.mistakes:
        raise InvalidValue("\n".join(f"{file}: {one}" for one in found.mistakes))
    with (
        _log_file() as log_file,
        spark_for(pipeline, SparkTarget(master, remote, log_file)) as spark,
    ):
        _, queries, notes = checked(file, os.environ, spark, until_caught_up=False)
    for note in (*found.notes, *notes):
        click.echo(f"note: {note}")
    click.echo(f"{file} is right: {', '.join(one.name for one in queries)}")


@pipelines.command()
@_file
@_master
@_remote
@click.option("--until-caught-up", is_flag=True, help="Read what is there now, and end.")
def run(file: Path, master: str | None, remote: str | None, *, until_caught_up: bool) -> None:
    """Run the pipeline of FILE until its queries end, or Ctrl-C.

    Exit code 0: it ended, and its rows add up. 1: they do not, or something failed; then all
    queries were stopped. 130: Ctrl-C.

    Example: magnetar pipelines run orders.yaml
    """
    from magnetar.pipelines.reading import read_pipeline  # noqa: PLC0415 - --help needs no Spark
    from magnetar.pipelines.run import SparkTarget, spark_for  # noqa: PLC0415
    from magnetar.pipelines.run import check as checked  # noqa: PLC0415
    from magnetar.pipelines.supervision import Supervision  # noqa: PLC0415

    _quiet_py4j()
    pipeline = read_pipeline(file, os.environ)
    supervision, console = Supervision(), Console()
    interrupted = False
    console.print(f"{pipeline.name}: starting Spark ...", highlight=False)
    with (
        _log_file() as log_file,
        spark_for(pipeline, SparkTarget(master, remote, log_file)) as spark,
    ):
        queries = checked(file, os.environ, spark, until_caught_up=until_caught_up).queries
        table = PipelineTable(console, pipeline, supervision.queries)

        def wait() -> None:
            table.tick()
            Event().wait(_LOOK_EVERY_S)

        try:
            with table:
                supervision.run(queries, wait)
        except KeyboardInterrupt:
            interrupted = True
    adds_up = table.conclude()
    if interrupted:
        console.print("Interrupted: all queries were stopped; their checkpoints hold the place.")
        sys.exit(EXIT_INTERRUPTED)
    if not adds_up:
        sys.exit(EXIT_DIFFERENT)


def _quiet_py4j() -> None:
    """Have it log no traceback for a call that Ctrl-C cuts off, or to a Java that is gone.

    We say so in a sentence. Some it logs as itself, and some as nobody, with the root logger.
    """
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(lambda _: False)  # Not for what other loggers pass on to it.


@contextmanager
def _log_file() -> Iterator[Path]:
    """Where Spark prints; it stays, and is named, when something fails."""
    handle, name = tempfile.mkstemp(prefix="magnetar-pipelines-", suffix=".log")
    os.close(handle)
    path = Path(name)
    try:
        yield path
    except MagnetarError as error:
        if path.stat().st_size:
            raise MagnetarError(f"{error}\nSpark's log is {path}") from error
        path.unlink()
        raise
    except KeyboardInterrupt:
        path.unlink()
        raise
    path.unlink()
