"""``magnetar standalone``: a broker, its storage and its admin API in one process."""

import asyncio
import gc
import logging
import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Final
from urllib.parse import urlsplit

import click

from magnetar import inner
from magnetar.broker.assemble.broker import running_broker
from magnetar.broker.broker import Broker
from magnetar.broker.config import Config
from magnetar.broker.siblings import Sibling
from magnetar.errors import InvalidValue
from magnetar.model.broker_address import BrokerAddress
from magnetar.tasks import Tasks
from magnetar.tools.process import (
    allow_open_files,
    check_ready_file,
    event_loop_factory,
    log_to,
    name_other_settings,
    reload_on_hangup,
    say,
    stop_at_eof,
    stop_on_signals,
    write_ready_file,
)

log = logging.getLogger(__name__)

# The broker creates hardly any cyclic garbage, and many objects that live as long as it does. Each
# is looked at twice, in pauses of 2,000 and 20,000 objects; all at once, which takes seconds where
# there are many topics, in a hundred million (tests/unit/broker/topics/test_closed.py).
_GC_THRESHOLDS: Final = (2_000, 10, 5_000)
# ZooKeeper's client has a thread, which takes the interpreter several times for each request: a
# loop that is busy would keep it for 5 ms each time.
_CLUSTER_SWITCH_S: Final = 0.0005


@click.command()
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where to store. [./data]")
@click.option("--port", type=int, help="Of the binary protocol; 0 picks one. [6650]")
@click.option("--http-port", type=int, help="Of the admin API; 0 picks one, -1: none. [8080]")
@click.option("--host", help="Address to listen on; 0.0.0.0 lets others in. [127.0.0.1]")
@click.option(
    "--advertised-address",
    help="Host name that clients are told. [localhost, or with --host 0.0.0.0 this machine's]",
)
@click.option(
    "--durability",
    type=click.Choice(["fsync", "interval", "none"]),
    help="When is a message safe? fsync: when its receipt is sent. [fsync]",
)
@click.option("--memory", is_flag=True, help="Store nothing: all is gone when it stops.")
@click.option(
    "--conf", type=click.Path(path_type=Path), help="A file in the format of Pulsar's *.conf."
)
@click.option(
    "--processes", type=int, help="Brokers that share the folder; 0: one for each core. [1]"
)
@click.option("--functions", is_flag=True, help="Run functions too: docs/functions.md.")
@click.option(
    "--ready-file", type=click.Path(path_type=Path), help="Write ports and pid here when ready."
)
@click.option("--until-eof", is_flag=True, help="Stop when standard input ends, as on SIGTERM.")
@click.option("--verbose", "-v", is_flag=True, help="Log connections and topics too.")
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    help="json: a JSON object for each line of the log. [text]",
)
@click.pass_obj
def standalone(
    began: float | None,
    *,
    data_dir: Path | None,
    port: int | None,
    http_port: int | None,
    host: str | None,
    advertised_address: str | None,
    durability: str | None,
    memory: bool,
    conf: Path | None,
    processes: int | None,
    functions: bool,
    ready_file: Path | None,
    until_eof: bool,
    verbose: bool,
    log_format: str | None,
) -> int:
    """Run a broker on this machine, storage and all. Ctrl-C stops it.

    Example: magnetar standalone --data-dir ./data --durability fsync
    """
    log_to(sys.stderr, logging.INFO if verbose else logging.WARNING)
    flags = {
        "dataDirectory": data_dir,
        "brokerServicePort": port,
        "webServicePort": http_port,
        "bindAddress": host,
        "advertisedAddress": advertised_address,
        "durability": durability,
        "storageInMemory": True if memory else None,
        "processes": processes,
        "functionsWorkerEnabled": True if functions else None,
        "logFormat": log_format,
        "logLevel": "info" if verbose else None,
    }
    allow_open_files()
    read = partial(Config.read, file=conf, environment=os.environ, flags=flags)
    shown = Config.read_to_show(file=conf, environment=os.environ, flags=flags)
    log_to(
        sys.stderr,
        logging.getLevelNamesMapping()[shown.log.level.upper()],
        as_json=shown.log.format == "json",
    )
    config = read()
    name_other_settings(log, config.others)
    if ready_file is not None:
        check_ready_file(ready_file)
    ready = partial(_ready, config, perf_counter() if began is None else began, ready_file)
    try:
        if config.server.processes != 1:
            from magnetar.tools.processes import run_processes  # noqa: PLC0415 - few have several

            serve = partial(_serve, config, read)
            return run_processes(config, serve, ready, _stopping, until_eof=until_eof)
        with asyncio.Runner(loop_factory=event_loop_factory()) as runner:
            runner.run(_serve(config, read, ready, _stopping, until_eof=until_eof))
    finally:
        if ready_file is not None:
            ready_file.unlink(missing_ok=True)
    return 0


_RELOADED: Final = "logLevel"


async def _serve(
    config: Config,
    read: Callable[[], Config],
    ready: Callable[[BrokerAddress], None],
    stopping: Callable[[], None],
    *,
    sibling: Sibling | None = None,
    until_eof: bool = False,
) -> None:
    """Run until a signal, or the end of standard input, asks for the end.

    ``read`` reads the configuration again, which SIGHUP asks for.
    """
    stop, reload = asyncio.Event(), asyncio.Event()
    reload_on_hangup(reload, stop)
    tasks = Tasks("standalone")
    stop_on_signals(stop)
    if until_eof:
        threading.Thread(target=stop_at_eof, name="until-eof", daemon=True).start()
    if config.metadata.in_cluster:
        sys.setswitchinterval(_CLUSTER_SWITCH_S)
    async with running_broker(config, sibling=sibling) as broker:
        gc.collect()
        gc.freeze()
        gc.set_threshold(*_GC_THRESHOLDS)
        tasks.spawn("reload", _keep_reloading(reload, config, read, broker))
        ready(broker.address)
        await stop.wait()
        await tasks.close()
        stopping()


def _ready(config: Config, began: float, ready_file: Path | None, address: BrokerAddress) -> None:
    """Say that clients may come, and where."""
    urls = (address.service_url, address.web_url, address.service_url_tls, address.web_url_tls)
    port, web_port, port_tls, web_port_tls = (urlsplit(each).port for each in urls)
    if ready_file is not None:
        ready = {"port": port or port_tls, "http_port": web_port, "pid": os.getpid()}
        if config.tls.on:
            ready |= {"port_tls": port_tls, "http_port_tls": web_port_tls}
        write_ready_file(ready_file, ready)
    say(log, "broker.ready", _ready_line(config, address, perf_counter() - began))


def _stopping() -> None:
    say(log, "broker.stopping", "Stopping: clients are told, everything is written.")


async def _keep_reloading(
    asked: asyncio.Event, config: Config, read: Callable[[], Config], broker: Broker
) -> None:
    while True:
        await asked.wait()
        asked.clear()
        await _reload(config, read, broker)


async def _reload(config: Config, read: Callable[[], Config], broker: Broker) -> None:
    """Take what changed and can be taken; name what takes a restart."""
    try:
        now = read()
    except InvalidValue as error:
        log.warning("configuration.not_reloaded settings stay as they are: %s", error)
        now = config
    before = {key: value for key, value, *_ in config.rows()}
    changed = [key for key, value, *_ in now.rows() if value != before[key] and key != _RELOADED]
    if changed:
        log.warning("configuration.needs_restart settings=%s", ",".join(changed))
    assert broker.reload is not None
    await broker.reload(now)
    log.warning("configuration.reloaded level=%s", now.log.level)


def _ready_line(config: Config, address: BrokerAddress, took_s: float) -> str:
    urls = (address.service_url, address.service_url_tls, address.web_url, address.web_url_tls)
    where = f"{' and '.join(filter(None, urls))}, {_kept(config)}"
    return f"Magnetar is ready after {took_s:.2f} s, inner loops {inner.BUILD}: {where}"


def _kept(config: Config) -> str:
    storage = config.storage
    if config.metadata.in_cluster:
        return f"stored at the bookies of {config.metadata.servers}"
    if storage.in_memory:
        return "nothing is stored"
    return f"stored in {storage.data_directory} (durability={storage.durability})"
