"""What processes of the command line have in common: logs, signals, files that say ready."""

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from errno import EISDIR
from pathlib import Path
from typing import Final, TextIO

from magnetar.errors import InvalidValue
from magnetar.tools.repeated_events import RepeatedEvents


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
        from magnetar.tools.json_logs import JsonLines  # noqa: PLC0415

        formatter = JsonLines()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    handler.addFilter(RepeatedEvents())
    logging.basicConfig(level=level, handlers=[handler], force=True)


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
