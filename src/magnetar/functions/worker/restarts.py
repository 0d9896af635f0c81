"""When a function that failed is started again. Pure: the time is an argument."""

from dataclasses import dataclass
from typing import Final

FIRST_DELAY_S: Final = 1.0
DELAY_S_MAX: Final = 60.0
HEALTHY_AFTER_S: Final = 60.0
"""A function that ran this long is taken for well: its next failure is a first one."""


@dataclass(slots=True)
class Restarts:
    """The failures of one function: each in a row doubles the wait for the next try."""

    count: int = 0  # Of all failures, as the status shows it.
    in_a_row: int = 0
    due: float = 0.0  # When to try next.
    _began: float | None = None  # None: it does not run.

    def began(self, now: float) -> None:
        self._began = now

    def failed(self, now: float) -> float:
        """Count a failure. Returns how many seconds to wait."""
        if self._began is not None and now - self._began >= HEALTHY_AFTER_S:
            self.in_a_row = 0
        self._began = None
        delay: float = min(FIRST_DELAY_S * 2.0**self.in_a_row, DELAY_S_MAX)
        self.count += 1
        self.in_a_row += 1
        self.due = now + delay
        return delay

    def forgive(self) -> None:
        """Begin anew: the function was changed, or a restart was asked for."""
        self.in_a_row = 0
        self.due = 0.0
