"""What time it is, and waiting. The only reader of the system clock."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Time as the broker and the client see it; tests and simulations bring their own."""

    def now(self) -> float:
        """Seconds on a clock that never goes back. Only differences mean anything."""

    def wall_ms(self) -> int:
        """Milliseconds since the epoch, as publish times are written."""

    async def sleep(self, seconds: float) -> None:
        """Return after ``seconds``."""


class SystemClock:
    """The machine's own clock."""

    now = staticmethod(time.monotonic)  # Asked once for each delivery: without a frame of ours.

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
