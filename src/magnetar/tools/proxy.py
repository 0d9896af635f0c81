"""``magnetar proxy``: a proxy from a ``proxy.conf``, in the foreground, as ``pulsar proxy``."""

import asyncio
import logging
import os
import sys
import threading
from pathlib import Path

import click

from magnetar.errors import InvalidValue
from magnetar.proxy.config import ProxyConfig
from magnetar.proxy.proxy import Proxy, running_proxy
from magnetar.tools.process import (
    allow_open_files,
    check_ready_file,
    event_loop_factory,
    log_to,
    name_other_settings,
    say,
    stop_at_eof,
    stop_on_signals,
    write_ready_file,
)

log = logging.getLogger(__name__)


@click.command()
@click.option(
    "-c",
    "--proxy-conf",
    "--conf",
    "conf",
    type=click.Path(path_type=Path),
    help="The configuration. [PULSAR_PROXY_CONF, conf/proxy.conf]",
)
@click.option(
    "--ready-file", type=click.Path(path_type=Path), help="Write ports and pid here when ready."
)
@click.option("--until-eof", is_flag=True, help="Stop when standard input ends, as on SIGTERM.")
@click.option("--verbose", "-v", is_flag=True, help="Log connections too.")
def proxy(*, conf: Path | None, ready_file: Path | None, until_eof: bool, verbose: bool) -> None:
    """Run the proxy that a proxy.conf describes. Ctrl-C stops it.

    Clients reach the brokers of a cluster by it, and no broker by its own address. `magnetar config
    proxy --conf proxy.conf` says what becomes of every setting.

    Example: magnetar proxy --proxy-conf conf/proxy.conf
    """
    allow_open_files()
    file = conf or _found()
    flags = {"logLevel": "info" if verbose else None}
    config = ProxyConfig.read(file=file, environment=os.environ, flags=flags)
    level = logging.getLevelNamesMapping()[config.log.level.upper()]
    log_to(sys.stderr, level, as_json=config.log.format == "json")
    name_other_settings(log, config.others)
    for warning in config.warnings:
        log.warning("config.warning %s", warning)
    if ready_file is not None:
        check_ready_file(ready_file)
    with asyncio.Runner(loop_factory=event_loop_factory()) as runner:
        try:
            runner.run(_serve(config, ready_file, until_eof=until_eof))
        finally:
            if ready_file is not None:
                ready_file.unlink(missing_ok=True)


async def _serve(config: ProxyConfig, ready_file: Path | None, *, until_eof: bool) -> None:
    """Run until a signal, or the end of standard input, asks for the end."""
    stop = asyncio.Event()
    stop_on_signals(stop)
    if until_eof:
        threading.Thread(target=stop_at_eof, name="until-eof", daemon=True).start()
    async with running_proxy(config) as running:
        if ready_file is not None:
            write_ready_file(ready_file, {**_ports(running), "pid": os.getpid()})
        where = ", ".join(f"{name} {port}" for name, port in _ports(running).items())
        brokers = ", ".join(running.brokers.binary) or "none yet"
        say(log, "proxy.ready", f"Magnetar's proxy is ready: {where}; brokers: {brokers}")
        await stop.wait()
        say(log, "proxy.stopping", "Stopping: clients connect again.")


def _ports(running: Proxy) -> dict[str, int]:
    ports = {
        "port": running.port,
        "port_tls": running.port_tls,
        "http_port": running.web_port,
        "http_port_tls": running.web_port_tls,
    }
    return {name: port for name, port in ports.items() if port is not None}


def _found() -> Path:
    """The file where Pulsar has it. Raises InvalidValue."""
    named = os.environ.get("PULSAR_PROXY_CONF")
    if named:
        return Path(named)
    file = Path("conf") / "proxy.conf"
    if not file.is_file():
        raise InvalidValue("there is no conf/proxy.conf here: name the file with --proxy-conf")
    return file
