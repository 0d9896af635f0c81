"""Runs functions: the worker of a broker, and one function in memory, without a broker."""

import asyncio
import json
import logging
import os
import sys
import threading
from pathlib import Path
from typing import Any

import click

from magnetar.functions.config import FunctionConfig
from magnetar.functions.config_checks import check, without_effect
from magnetar.functions.worker.settings import MASTER, PORT, WorkerSettings
from magnetar.tools.admin.steps import read_file
from magnetar.tools.functions.options import config_from, configured
from magnetar.tools.process import log_to, stop_at_eof, stop_on_signals, write_ready_file

_SERVICE_URL = "pulsar://localhost:6650"
_ADMIN_URL = "http://localhost:8080"


@click.command()
@click.option("--service-url", default=_SERVICE_URL, show_default=True, help="The broker.")
@click.option("--admin-url", default=_ADMIN_URL, show_default=True, help="Its admin API.")
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    default=Path("data/functions"),
    show_default=True,
    help="Where packages are cached, and Spark logs.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=PORT, show_default=True, help="0 picks one.")
@click.option(
    "--master", default=MASTER, show_default=True, help="Spark's; an instance takes a slot."
)
@click.option("--spark-conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark.")
@click.option(
    "--client-conf", multiple=True, metavar="KEY=VALUE", help="A setting of Pulsar's client."
)
@click.option(
    "--ready-file", type=click.Path(path_type=Path), help="Write port and pid here when ready."
)
@click.option("--until-eof", is_flag=True, help="Stop when standard input ends, as on SIGTERM.")
@click.option("--secrets", is_flag=True, hidden=True, help="Read a line of JSON from a broker.")
@click.option("--verbose", "-v", is_flag=True, help="Log each function's starts and ends too.")
def worker(
    *,
    service_url: str,
    admin_url: str,
    data_dir: Path,
    host: str,
    port: int,
    master: str,
    spark_conf: tuple[str, ...],
    client_conf: tuple[str, ...],
    ready_file: Path | None,
    until_eof: bool,
    secrets: bool,
    verbose: bool,
) -> None:
    r"""Run the functions of a broker, and answer Pulsar's functions API. Ctrl-C stops it.

    \b
    Example: magnetar functions worker --service-url pulsar://broker:6650
             --admin-url http://broker:8080
    """
    log_to(sys.stderr, logging.INFO if verbose else logging.WARNING)
    # What the broker tells here is seen in no list of processes.
    told = json.loads(sys.stdin.readline()) if secrets else {}
    settings = WorkerSettings(
        service_url=service_url,
        admin_url=admin_url,
        folder=data_dir.absolute(),
        host=host,
        port=port,
        master=master,
        spark=_pairs("--spark-conf", spark_conf),
        client={**told.get("client", {}), **_pairs("--client-conf", client_conf)},
        url=told.get("url", ""),
        secret=told.get("secret", ""),
    )
    settings.client_options()
    asyncio.run(serve(settings, ready_file, until_eof=until_eof))


async def serve(settings: WorkerSettings, ready_file: Path | None, *, until_eof: bool) -> None:
    """Run a worker until a signal."""
    from magnetar.functions.worker.server import running_worker  # noqa: PLC0415 - HTTP
    from magnetar.functions.worker.spark_jobs import SparkJobs  # noqa: PLC0415 - as above

    stop = asyncio.Event()
    stop_on_signals(stop)
    if until_eof:
        threading.Thread(target=stop_at_eof, name="until-eof", daemon=True).start()
    async with running_worker(settings, SparkJobs(settings)) as port:
        if ready_file is not None:
            write_ready_file(ready_file, {"port": port, "pid": os.getpid()})
        url = f"http://{settings.host}:{port}"
        click.echo(f"The functions worker is ready: {url}, for {settings.service_url}")
        await stop.wait()
        click.echo("Stopping: functions finish what they are at.")


def _pairs(option: str, given: tuple[str, ...]) -> dict[str, str]:
    for each in given:
        if "=" not in each:
            raise click.UsageError(f"{option} {each} has to be KEY=VALUE")
    return {key: value for key, _, value in (each.partition("=") for each in given)}


@click.command()
@click.option("--value", "values", multiple=True, help="A message. May be given again.")
@click.option("--value-file", type=click.Path(path_type=Path), help="A message each line.")
@click.option("--topic", help="The input that it is of, of several.")
@click.option("--key", help="The messages' key.")
@click.option("--advance-ms", type=int, default=0, help="Time that passes after each message.")
@configured
def test(
    values: tuple[str, ...],
    value_file: Path | None,
    topic: str | None,
    key: str | None,
    advance_ms: int,
    **given: Any,
) -> None:
    r"""Run a function on some messages in memory: no broker, no Spark. Ends with 1 if it fails.

    \b
    Example: magnetar functions test --py doubling.py --classname doubling.Doubling
             --inputs numbers --output doubled --value 21
    """
    from magnetar.functions.in_memory import FunctionTest  # noqa: PLC0415 - as above

    messages = [*values, *_lines(value_file)]
    if not messages:
        raise click.UsageError("give a message: --value, or --value-file")
    with FunctionTest(checked(given)) as function:
        for value in messages:
            sent = function.send(value, topic=topic, key=key)
            for each in [*sent, *(function.advance(advance_ms) if advance_ms else ())]:
                click.echo(f"{each.topic}: {each.value.decode(errors='backslashreplace')}")
        for line in function.logs:
            click.echo(line, err=True)  # With the tracebacks of what failed.
        failed = function.metrics["numUserExceptions"]
    if failed:
        sys.exit(1)


def checked(given: dict[str, Any]) -> FunctionConfig:
    """The function that the options describe. Raises InvalidValue for what cannot be done."""
    config = FunctionConfig.parse(config_from(given))
    check(config)
    for key in without_effect(config):
        click.echo(f"Without effect here: {key}", err=True)
    return config


def _lines(file: Path | None) -> list[str]:
    return [] if file is None else read_file(file, "--value-file ").decode().splitlines()
