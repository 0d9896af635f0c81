"""Events that come again and again for one cause are logged once a minute, with how often.

A full disk refuses each attempt of each client, for hours. The first line says all there is to say.
"""

import logging
from typing import Final, NamedTuple

AGAIN_S: Final = 60.0
"""How long an event that was logged is only counted."""
KEYS_MAX: Final = 10_000
"""The most events remembered; where there are more, some are logged more often."""

_REPEATED: Final = {
    "storage.write_failed": 0,
    "storage.upkeep_failed": 0,
    "topic.write_failed": 1,
    "topic.not_opened": 1,
    "topic.not_deleted": 1,
    "managed_ledger.fenced": 1,
    "managed_ledger.trim_failed": 1,
    "cursor.save_failed": 1,
    "chore.failed": 2,
    "authentication.refused": 2,
}
"""How many of its first arguments tell one from another."""


class _Last(NamedTuple):
    logged_s: float
    unlogged: int  # How often it came since then.


class RepeatedEvents(logging.Filter):
    """Lets such an event through when it has not been logged for a while."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[tuple[object, ...], _Last] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log it; one that was left out before says how often."""
        event = record.msg.partition(" ")[0] if isinstance(record.msg, str) else ""
        telling = _REPEATED.get(event)
        if telling is None or not isinstance(record.args, tuple):
            return True
        key = (event, *map(str, record.args[:telling]))
        last = self._last.get(key)
        if last is not None and 0 <= record.created - last.logged_s < AGAIN_S:
            self._last[key] = last._replace(unlogged=last.unlogged + 1)
            return False
        if len(self._last) >= KEYS_MAX:
            self._last.clear()
        self._last[key] = _Last(record.created, 0)
        if last is not None and last.unlogged:
            record.msg += " repeated=%d"
            record.args = (*record.args, last.unlogged)
        return True
