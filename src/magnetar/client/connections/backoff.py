"""Delays before trying again: they double, vary a little, and are bounded. Pure."""

from collections.abc import Callable

JITTER = (
    0.2  # The largest part of a delay that is left out, so that clients do not come back in step.
)


class Backoff:
    """The delays between the attempts of one task."""

    def __init__(self, random: Callable[[], float], *, first_s: float, max_s: float) -> None:
        """``random`` gives numbers in [0, 1); ``first_s`` and ``max_s`` are in seconds."""
        self._random = random
        self._first_s = first_s
        self._max_s = max_s
        self._next_s = first_s

    def next_s(self) -> float:
        """Seconds to wait before the next attempt; the one after it waits twice as long."""
        delay_s = self._next_s
        self._next_s = min(delay_s * 2, self._max_s)
        return delay_s * (1 - JITTER * self._random())

    def reset(self) -> None:
        """Start with the first delay again, after a success."""
        self._next_s = self._first_s
