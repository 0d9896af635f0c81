"""What processes of the command line have in common: logs, signals, files that say ready."""

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from errno import EISDIR
from pathlib import Path
from typing import Final, TextIO

import click

from magnetar.broker.settings.others import OtherSetting, Status
from magnetar.errors import InvalidValue
from magnetar.tools.repeated_events import RepeatedEvents

OPEN_FILES_MAX: Final = 1_048_576  # Each connection is one; many systems allow 1024 by default.


def allow_open_files() -> None:
    """Raise the limit of open files, and so of connections, as far as the system lets us."""
    try:
        import resource  # noqa: PLC0415 - absent on Windows
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES_MAX)
    with contextlib.suppress(ValueError, OSError):  # macOS has limits of its own.
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def name_other_settings(logger: logging.Logger, others: Iterable[OtherSetting]) -> None:
    """Log once which settings were given that have no effect, where a user may rely on them."""
    given = list(others)
    for one in given:
        if one.status is Status.UNKNOWN:
            logger.warning("config.unknown_setting %s", one.text)
    for status, event in _EVENTS.items():
        named = " ".join(f"{one.key}={one.value}" for one in given if one.status is status)
        if named:
            logger.warning(event, named)


_EVENTS: Final = {
    Status.NOT_DONE: "config.not_done Pulsar's files switch on what Magnetar does not do: %s",
    Status.WITHOUT_EFFECT: "config.without_effect settings of Pulsar that are ignored: %s",
}


def stop_at_eof() -> None:
    """Standard input ends when the process at the other end of the pipe has, for any reason."""
    while os.read(sys.stdin.fileno(), 4096):  # sys.stdin.read would hold its lock at the exit.
        pass
    os.kill(os.getpid(), signal.SIGTERM)


class OneLine(logging.Formatter):
    """Writes each message as one line, so that text from a client cannot pass for another one."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        return super().formatMessage(record).translate(_CONTROLS)


_CONTROLS: Final = {
    code: f"\\x{code:02x}" for code in (*range(32), 127, *range(128, 160), 0x2028, 0x2029)
}


def log_to(stream: TextIO, level: int, *, as_json: bool = False) -> None:
    """Log there from now on; called again, in another way."""
    formatter: logging.Formatter = OneLine("%(asctime)s %(levelname)s %(message)s")
    if as_json:
        # Only who asks for it pays for the import.
        from magnetar.json_logs import JsonLines, log_what_is_not_caught  # noqa: PLC0415

        formatter = JsonLines()
        log_what_is_not_caught()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    handler.addFilter(RepeatedEvents())
    logging.basicConfig(level=level, handlers=[handler], force=True)


def say(logger: logging.Logger, event: str, text: str) -> None:
    """Print a line for people; where the log is for programs, as an event on the same stream."""
    if _logs_json():
        record = logger.makeRecord(
            logger.name, logging.INFO, __file__, 0, f"{event} said=%s", (text,), None
        )
        text = logging.getLogger().handlers[0].format(record)
    click.echo(text)


def say_refusal(line: str) -> None:
    """Say why a command ends; where the log is for programs, log it."""
    if _logs_json():
        logging.getLogger(__name__).error("process.refused reason=%s", line)
    else:
        click.echo(f"magnetar: {line}", err=True)


def _logs_json() -> bool:
    json_logs = sys.modules.get("magnetar.json_logs")  # Else nobody asked for it.
    return json_logs is not None and json_logs.in_use()


def reload_on_hangup(reload: asyncio.Event, stop: asyncio.Event) -> None:
    """SIGHUP asks to reload; where the terminal of the process was closed, for a clean end."""
    at_terminal = os.isatty(0)

    def asked() -> None:
        if at_terminal and not os.isatty(0):
            stop.set()
        else:
            reload.set()

    with contextlib.suppress(NotImplementedError, AttributeError):  # Windows has no such signal.
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, asked)


def stop_on_signals(stop: asyncio.Event) -> None:
    """The first signal asks for a clean end; a second one ends the process whatever it does."""
    loop = asyncio.get_running_loop()

    def asked(number: int) -> None:
        stop.set()
        loop.remove_signal_handler(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows has no such handlers.
            loop.add_signal_handler(number, asked, number)


def check_ready_file(path: Path) -> None:
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


def write_ready_file(path: Path, ready: Mapping[str, object]) -> None:
    """Write it whole or not at all, since another process waits for it."""
    unfinished = _unfinished(path)
    unfinished.write_text(json.dumps(ready), encoding="utf-8")
    unfinished.replace(path)


def event_loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Uvloop where it is installed, which is faster with many connections, else asyncio's."""
    try:
        import uvloop  # noqa: PLC0415 - absent on some platforms
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
