"""The commands ``perf produce``, ``perf consume`` and ``perf read``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from magnetar.tools.connection import Connection, about, connection_options
from magnetar.tools.groups import with_options
from magnetar.tools.messaging.receive import TYPES

if TYPE_CHECKING:
    from .running import Run

load_options = with_options(
    click.option(
        "-t",
        "--num-topic",
        "--num-topics",
        "topics",
        default=1,
        show_default=True,
        help="TOPIC-0, TOPIC-1 and so on, where there are several.",
    ),
    click.option(
        "-c", "--max-connections", default=1, show_default=True, help="Connections to each broker."
    ),
    click.option("-m", "--num-messages", default=0, help="How many in all; 0: no end."),
    click.option("-time", "--test-duration", default=0.0, help="Seconds; 0: no end."),
    click.option(
        "-i",
        "--stats-interval-seconds",
        "interval",
        default=10.0,
        show_default=True,
        help="Seconds between two lines.",
    ),
    click.option(
        "--histogram-file",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Write the latencies of each interval, as HdrHistogram's log.",
    ),
)


receiver_options = with_options(
    click.option(
        "-q",
        "--receiver-queue-size",
        default=1000,
        show_default=True,
        help="How many the broker may send ahead.",
    ),
    click.option("-r", "--rate", default=0.0, help="At most so many messages in a second of each."),
)


@click.group()
def perf() -> None:
    """Load a broker, and say what it does: as pulsar-perf."""


@perf.command()
@click.argument("topic")
@click.option(
    "-r",
    "--rate",
    default=100.0,
    show_default=True,
    help="Messages in a second, of all topics; 0: as fast as they go.",
)
@click.option("-s", "--size", default=1024, show_default=True, help="Bytes of a message.")
@click.option("-n", "--num-producers", default=1, show_default=True, help="Of each topic.")
@click.option(
    "-o",
    "--max-outstanding",
    default=1000,
    show_default=True,
    help="Messages of a producer that are not stored yet.",
)
@click.option(
    "-b",
    "--batch-time-window",
    "batch_ms",
    default=1.0,
    show_default=True,
    help="Milliseconds that a batch waits for more; 0: no batches.",
)
@click.option(
    "-bm", "--batch-max-messages", default=1000, show_default=True, help="Messages of a batch."
)
@click.option(
    "-bb",
    "--batch-max-bytes",
    default=4 * 1024 * 1024,
    show_default=True,
    help="Bytes of a batch.",
)
@click.option("-db", "--disable-batching", is_flag=True, help="Each message by itself.")
@click.option(
    "-z",
    "--compression",
    default="NONE",
    show_default=True,
    type=click.Choice(("NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY"), case_sensitive=False),
    help="How batches are compressed.",
)
@click.option(
    "-k",
    "--message-key-generation-mode",
    "keys",
    type=click.Choice(("autoIncrement", "random")),
    help="Give messages keys.",
)
@click.option(
    "-f",
    "--payload-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Payloads to take in turn, a line each.",
)
@click.option("-d", "--delay", default=0.0, help="Deliver each so many seconds later.")
@click.option("-ch", "--chunking", is_flag=True, help="Split messages that are too large.")
@click.option(
    "-w",
    "--warmup-time",
    default=1.0,
    show_default=True,
    help="Seconds whose latencies are not in the summary.",
)
@load_options
@connection_options
def produce(connection: Connection, topic: str, **given: Any) -> None:
    """Send messages to TOPIC.

    Example: magnetar perf produce load -r 1000 -s 1024 -time 30
    """
    from .producing import opening  # noqa: PLC0415
    from .running import run_load  # noqa: PLC0415
    from .statistics import produced  # noqa: PLC0415 - --help needs none of it

    run = _run(given, produced, "sent", warm_up_s=given["warmup_time"])
    with about(topic):
        run_load(run, opening(connection, topic, given))


@perf.command()
@click.argument("topic")
@click.option(
    "-s",
    "--subscriber-name",
    "-ss",
    "--subscriptions",
    "subscription",
    default="sub",
    show_default=True,
    help="The subscription, or what their names begin with.",
)
@click.option("-ns", "--num-subscriptions", default=1, show_default=True, help="Of each topic.")
@click.option("-n", "--num-consumers", default=1, show_default=True, help="Of each subscription.")
@click.option(
    "-st",
    "--subscription-type",
    type=click.Choice(TYPES, case_sensitive=False),
    default="Exclusive",
    show_default=True,
    help="How it shares messages out.",
)
@click.option(
    "-sp",
    "--subscription-position",
    default="Latest",
    show_default=True,
    type=click.Choice(("Latest", "Earliest"), case_sensitive=False),
    help="Where a new subscription begins.",
)
@click.option(
    "--acks-delay-millis",
    default=100,
    show_default=True,
    help="How much later acknowledgements leave, together.",
)
@receiver_options
@load_options
@connection_options
def consume(connection: Connection, topic: str, **given: Any) -> None:
    """Receive messages of TOPIC, and acknowledge them. Latencies are since they were published.

    Example: magnetar perf consume load -ss sub -st Shared
    """
    from .consuming import opening  # noqa: PLC0415 - --help needs none of it
    from .running import run_load  # noqa: PLC0415
    from .statistics import received  # noqa: PLC0415

    with about(topic):
        run_load(_run(given, received, "received"), opening(connection, topic, given))


@perf.command()
@click.argument("topic")
@click.option(
    "-sm",
    "--start-message-id",
    default="earliest",
    show_default=True,
    type=click.Choice(("earliest", "latest")),
    help="Where it begins.",
)
@receiver_options
@load_options
@connection_options
def read(connection: Connection, topic: str, **given: Any) -> None:
    """Read TOPIC from a place on. Latencies are since messages were published.

    Example: magnetar perf read load -m earliest
    """
    from .consuming import reading  # noqa: PLC0415 - --help needs none of it
    from .running import run_load  # noqa: PLC0415
    from .statistics import read as line  # noqa: PLC0415

    with about(topic):
        run_load(_run(given, line, "received"), reading(connection, topic, given))


def _run(given: dict[str, Any], line: Any, done: str, *, warm_up_s: float = 0.0) -> "Run":
    from .running import Run  # noqa: PLC0415

    return Run(
        given["num_messages"],
        given["test_duration"],
        given["interval"],
        warm_up_s,
        given["histogram_file"],
        line,
        done,
    )
