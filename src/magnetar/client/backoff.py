"""How long to wait before trying again: doubling, with a little chance, up to a bound. Pure."""

from collections.abc import Callable

JITTER = 0.2  # A delay is shortened by up to this part, so that clients do not come back in step.


class Backoff:
    """The delays of one thing that is tried again and again."""

    def __init__(self, random: Callable[[], float], *, first_s: float, max_s: float) -> None:
        """``random`` gives numbers in [0, 1); ``first_s`` and ``max_s`` are in seconds."""
        self._random = random
        self._first_s = first_s
        self._max_s = max_s
        self._next_s = first_s

    def next_s(self) -> float:
        """Seconds to wait before the next try; the one after waits twice as long."""
        delay_s = self._next_s
        self._next_s = min(delay_s * 2, self._max_s)
        return delay_s * (1 - JITTER * self._random())

    def reset(self) -> None:
        """It worked: the next trouble starts with the first delay again."""
        self._next_s = self._first_s
