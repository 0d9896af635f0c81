"""The log of a function, as messages for its log topic."""

import logging
from typing import Final

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.functions.config import FunctionConfig
from magnetar.functions.sending import Outgoing

LINES_PENDING_MAX: Final = 10_000
_FORMAT: Final = "[%(asctime)s] [%(levelname)s] %(name)s: %(message)s"


class LogLines(logging.Handler):
    """Keeps lines until they are taken. Beyond so many lines are dropped, and counted."""

    def __init__(self, config: FunctionConfig, instance_id: int) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(_FORMAT))
        self._topic = config.log_topic
        self._told = {"fqn": config.fqfn, "instance": str(instance_id)}
        self._lines: list[tuple[str, str]] = []
        self._dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        if len(self._lines) >= LINES_PENDING_MAX:
            self._dropped += 1
        else:
            self._lines.append((record.levelname, self.format(record)))

    def lines(self) -> list[str]:
        """Take the lines that wait, as text."""
        return [line for _, line in self._taken()]

    def messages(self) -> list[Outgoing]:
        """Take the lines that wait, for the log topic; without one they are dropped."""
        taken = self._taken()
        if self._topic is None:
            return []
        return [
            Outgoing(
                self._topic,
                OutgoingMessage(line.encode(), properties={"loglevel": level, **self._told}),
            )
            for level, line in taken
        ]

    def _taken(self) -> list[tuple[str, str]]:
        if not self._lines:
            return []
        lines, self._lines = self._lines, []
        if self._dropped:
            lines.append(("WARNING", f"{self._dropped} lines more were dropped"))
            self._dropped = 0
        return lines


def logger_of(config: FunctionConfig, instance_id: int, lines: LogLines) -> logging.Logger:
    """The logger of one instance, whose lines go to ``lines``, and to nobody before."""
    logger = logging.Logger(f"{config.fqfn}-{instance_id}")  # noqa: LOG001 - it ends with its instance.
    level = config.log_level
    logger.setLevel(logging.INFO if level is None else getattr(logging, level.name))
    logger.addHandler(lines)
    return logger
