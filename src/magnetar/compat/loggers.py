"""Where the client's log lines go: ``logger=`` of ``Client``.

Ours are those of Python's ``logging`` below ``magnetar.client``. A logger given to a client gets
them as long as that client is open. Without one they go where the application sends them.
"""

import logging
import sys
import threading
from typing import Final

from .checks import check_type
from .enums import LoggerLevel

_LEVELS: Final = {
    LoggerLevel.Debug: logging.DEBUG,
    LoggerLevel.Info: logging.INFO,
    LoggerLevel.Warn: logging.WARNING,
    LoggerLevel.Error: logging.ERROR,
}
_OURS: Final = [logging.getLogger(f"magnetar.{name}") for name in ("client", "compat")]
_lock = threading.Lock()
_attached: list[logging.Handler] = []
_before: dict[logging.Logger, tuple[int, bool]] = {}  # Level and propagation without any.
_FORMAT: Final = "%(asctime)s %(levelname)-5s [%(thread)d] %(name)s:%(lineno)d | %(message)s"


class ConsoleLogger:
    """Writes to standard output."""

    def __init__(self, log_level: LoggerLevel = LoggerLevel.Info) -> None:
        """Raises ValueError for a level that is none."""
        check_type(LoggerLevel, log_level, "log_level")
        self.log_level = log_level


class FileLogger:
    """Writes into a file."""

    def __init__(self, log_level: LoggerLevel, log_file: str) -> None:
        """Raises ValueError for a level that is none, or a path that is no text."""
        check_type(LoggerLevel, log_level, "log_level")
        check_type(str, log_file, "log_file")
        self.log_level = log_level
        self.log_file = log_file


AnyLogger = logging.Logger | ConsoleLogger | FileLogger


def handler_of(logger: AnyLogger | None) -> logging.Handler | None:
    """What writes our log lines for it; None where they go there anyway. Raises ValueError."""
    handler: logging.Handler
    if isinstance(logger, logging.Logger):
        return (
            None
            if logger in (logging.getLogger(), logging.getLogger("magnetar"), *_OURS)
            else _Forwarding(logger)
        )
    if isinstance(logger, ConsoleLogger):
        handler = logging.StreamHandler(sys.stdout)
    elif isinstance(logger, FileLogger):
        handler = logging.FileHandler(logger.log_file, delay=True)
    elif logger is None:
        return None
    else:
        raise ValueError(
            "Logger is expected to be either None, logger.Logger, pulsar.ConsoleLogger or "
            "pulsar.FileLogger"
        )
    handler.setLevel(_LEVELS[logger.log_level])
    handler.setFormatter(logging.Formatter(_FORMAT))
    return handler


def attach(handler: logging.Handler) -> None:
    """Send our log lines there, from its level on, and nowhere else."""
    with _lock:
        if not _attached:
            _before.update({each: (each.level, each.propagate) for each in _OURS})
        _attached.append(handler)
        _apply()


def detach(handler: logging.Handler) -> None:
    """Undo it; without the last one they go where the application sends them, as before."""
    with _lock:
        _attached.remove(handler)
        for each in _OURS:
            each.removeHandler(handler)
        _apply()
    handler.close()


def _apply() -> None:
    for each in _OURS:
        level, propagate = _before[each]
        if _attached:
            each.addHandler(_attached[-1])  # Those before it have been added, each once.
            level, propagate = min(handler.level for handler in _attached), False
        each.setLevel(level)
        each.propagate = propagate


class _Forwarding(logging.Handler):
    """Gives each record to the logger of the application, which has its own levels."""

    def __init__(self, logger: logging.Logger) -> None:
        super().__init__(logger.getEffectiveLevel())
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        if self._logger.isEnabledFor(record.levelno):
            self._logger.handle(record)
