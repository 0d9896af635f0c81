"""Calls a function at the earliest of the times that it was given."""

import asyncio
from collections.abc import Callable
from math import inf
from typing import Final

from magnetar.clock import Clock

WAIT_MIN_S: Final = 0.001  # A timer that the loop rings a bit early is set again.


class Timer:
    """Has one timer of the running loop, while there is something to wait for."""

    def __init__(self, clock: Clock, ring: Callable[[], None]) -> None:
        """``ring`` may set the timer again."""
        self._clock = clock
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None
        self._due = inf

    def set(self, due: float) -> None:
        """Ring at ``due``, unless it rings before; then it is for ``ring`` to set it again."""
        if due >= self._due:
            return
        self.close()
        wait_s = max(due - self._clock.now(), WAIT_MIN_S)
        self._timer = asyncio.get_running_loop().call_later(wait_s, self._rings)
        self._due = due

    def close(self) -> None:
        """Do not ring."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._due = None, inf

    def _rings(self) -> None:
        self._timer, self._due = None, inf
        self._ring()
