"""Time that stands still until a test moves it."""

import asyncio


class ManualClock:
    def __init__(self) -> None:
        self._now = 1000.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self._now

    def wall_ms(self) -> int:
        return int(self._now * 1000)

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        wake = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._now + seconds, wake))
        await wake

    async def advance(self, seconds: float, *, step: float = 0.5) -> None:
        """Let time pass, a step at a time, and everybody do what is due meanwhile."""
        end = self._now + seconds
        while self._now < end:
            self._now = min(end, self._now + step)
            due = [(when, wake) for when, wake in self._sleepers if when <= self._now]
            self._sleepers = [(when, wake) for when, wake in self._sleepers if when > self._now]
            for _, wake in sorted(due, key=lambda one: one[0]):
                if not wake.done():
                    wake.set_result(None)
            for _ in range(5):
                await asyncio.sleep(0)
