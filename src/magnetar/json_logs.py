"""Log lines as JSON: the time, the level, the event and its fields, one object in a line."""

import json
import logging
import re
import sys
import threading
from datetime import UTC, datetime
from typing import Any, Final

log = logging.getLogger(__name__)

_PLACE: Final = re.compile(r"(?:(\w+)=)?%(?:%|[-+ #0]*\d*(?:\.\d+)?[a-zA-Z])")
_TAKEN: Final = frozenset({"time", "level", "event", "message", "logger", "traceback"})


class JsonLines(logging.Formatter):
    """What is ``event key=value`` as text is an object with these keys here."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "event": str(record.msg).partition(" ")[0],
            "message": record.getMessage(),
            "logger": record.name,
            **fields_of(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, separators=(",", ":"), default=str)


def in_use() -> bool:
    """Whether this process logs so."""
    handlers = logging.getLogger().handlers
    return any(isinstance(handler.formatter, JsonLines) for handler in handlers)


def log_what_is_not_caught() -> None:
    """Log warnings of Python, and what ends a thread or the process, which print a traceback."""
    logging.captureWarnings(capture=True)
    sys.excepthook = lambda kind, error, trace: _log_uncaught((kind, error, trace))
    sys.unraisablehook = lambda raised: _log_uncaught(raised.exc_value)
    threading.excepthook = lambda raised: _log_uncaught(raised.exc_value)


def _log_uncaught(error: Any) -> None:
    log.critical("process.defect", exc_info=error)


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """The arguments of a record that its text gives a name: ``topic=%s``."""
    if not isinstance(record.args, tuple):
        return {}
    values, found = iter(record.args), {}
    for place in _PLACE.finditer(str(record.msg)):
        if not place[0].endswith("%%"):
            value, name = next(values, None), place[1]
            if name is not None:
                plain = value is None or isinstance(value, bool | int | float | str)
                found[f"{name}_" if name in _TAKEN else name] = value if plain else str(value)
    return found
