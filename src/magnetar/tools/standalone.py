"""``magnetar standalone``: a broker, its storage and its admin API in one process."""

import asyncio
import contextlib
import gc
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from errno import EISDIR
from pathlib import Path
from time import perf_counter
from typing import Final, TextIO

import click

from magnetar import inner
from magnetar.broker.assemble import running_broker
from magnetar.broker.broker import Broker
from magnetar.broker.config import Config
from magnetar.broker.other_settings import Fate
from magnetar.errors import InvalidValue

log = logging.getLogger(__name__)

OPEN_FILES_MAX: Final = 1_048_576  # Each connection is one; many systems allow 1024 by default.
# The broker creates hardly any cyclic garbage, and many objects that live as long as it does.
_GC_THRESHOLDS: Final = (50_000, 20, 100)


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
    "--ready-file", type=click.Path(path_type=Path), help="Write ports and pid here when ready."
)
@click.option("--until-eof", is_flag=True, help="Stop when standard input ends, as on SIGTERM.")
@click.option("--verbose", "-v", is_flag=True, help="Log connections and topics too.")
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
    ready_file: Path | None,
    until_eof: bool,
    verbose: bool,
) -> None:
    """Run a broker on this machine, storage and all. Ctrl-C stops it."""
    _log_to(sys.stderr, logging.INFO if verbose else logging.WARNING)
    flags = {
        "dataDirectory": data_dir,
        "brokerServicePort": port,
        "webServicePort": http_port,
        "bindAddress": host,
        "advertisedAddress": advertised_address,
        "durability": durability,
        "storageInMemory": True if memory else None,
    }
    _allow_open_files()
    config = Config.read(file=conf, environment=os.environ, flags=flags)
    _name_other_settings(config)
    if ready_file is not None:
        _check_ready_file(ready_file)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        try:
            began = perf_counter() if began is None else began
            runner.run(_serve(config, began, ready_file, until_eof=until_eof))
        finally:
            if ready_file is not None:
                ready_file.unlink(missing_ok=True)


def _name_other_settings(config: Config) -> None:
    """Log once which settings were given that have no effect, where a user may rely on them."""
    for one in config.others:
        if one.fate is Fate.UNKNOWN:
            log.warning("config.unknown_setting %s", one.text)
    for fate, event in _EVENTS.items():
        named = " ".join(f"{one.key}={one.value}" for one in config.others if one.fate is fate)
        if named:
            log.warning(event, named)


_EVENTS: Final = {
    Fate.NOT_DONE: "config.not_done Pulsar's files switch on what Magnetar does not do: %s",
    Fate.WITHOUT_EFFECT: "config.without_effect settings of Pulsar that are ignored: %s",
}


async def _serve(config: Config, began: float, ready_file: Path | None, *, until_eof: bool) -> None:
    """Run until a signal, or the end of standard input, asks for the end."""
    stop = asyncio.Event()
    _stop_on_signals(stop)
    if until_eof:
        threading.Thread(target=_stop_at_eof, name="until-eof", daemon=True).start()
    async with running_broker(config) as broker:
        gc.collect()
        gc.freeze()
        gc.set_threshold(*_GC_THRESHOLDS)
        if ready_file is not None:
            _write_ready_file(ready_file, broker)
        click.echo(_ready_line(config, broker, perf_counter() - began))
        await stop.wait()
        click.echo("Stopping: clients are told, everything is written.")


def _stop_at_eof() -> None:
    """Standard input ends when the process at the other end of the pipe has, for any reason."""
    while os.read(sys.stdin.fileno(), 4096):  # sys.stdin.read would hold its lock at the exit.
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _allow_open_files() -> None:
    """Raise the limit of open files, and so of connections, as far as the system lets us."""
    try:
        import resource  # noqa: PLC0415 - absent on Windows
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES_MAX)
    with contextlib.suppress(ValueError, OSError):  # macOS has limits of its own.
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class OneLine(logging.Formatter):
    """Writes each message as one line, so that text from a client cannot pass for another one."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        return super().formatMessage(record).translate(_CONTROLS)


_CONTROLS: Final = {
    code: f"\\x{code:02x}" for code in (*range(32), 127, *range(128, 160), 0x2028, 0x2029)
}


def _log_to(stream: TextIO, level: int) -> None:
    handler = logging.StreamHandler(stream)
    handler.setFormatter(OneLine("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])


def _stop_on_signals(stop: asyncio.Event) -> None:
    """The first signal asks for a clean end; a second one ends the process whatever it does."""
    loop = asyncio.get_running_loop()

    def asked(number: int) -> None:
        stop.set()
        loop.remove_signal_handler(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows has no such handlers.
            loop.add_signal_handler(number, asked, number)


def _ready_line(config: Config, broker: Broker, took_s: float) -> str:
    storage = config.storage
    kept = (
        "nothing is stored"
        if storage.in_memory
        else f"stored in {storage.data_directory} (durability={storage.durability})"
    )
    web = f" and {broker.address.web_url}" if broker.address.web_url else ""
    where = f"{broker.address.service_url}{web}, {kept}"
    return f"Magnetar is ready after {took_s:.2f} s, inner loops {inner.BUILD}: {where}"


def _check_ready_file(path: Path) -> None:
    """Find out now that it cannot be written. Raises InvalidValue."""
    try:
        if path.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        unfinished = _unfinished(path)
        unfinished.touch()
        unfinished.unlink()
    except OSError as error:
        raise InvalidValue(
            f"cannot write --ready-file {path}: {error.strerror}. Name a file in a folder that "
            "exists and may be written to"
        ) from error


def _unfinished(path: Path) -> Path:
    return path.with_name(f"{path.name}.{os.getpid()}")


def _write_ready_file(path: Path, broker: Broker) -> None:
    """Write it whole or not at all, since another process waits for it."""
    ready = {"port": broker.port, "http_port": broker.web_port, "pid": os.getpid()}
    unfinished = _unfinished(path)
    unfinished.write_text(json.dumps(ready), encoding="utf-8")
    unfinished.replace(path)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Uvloop where it is installed, which is faster with many connections, else asyncio's."""
    try:
        import uvloop  # noqa: PLC0415 - absent on some platforms
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
