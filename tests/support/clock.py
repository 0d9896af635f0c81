"""Clocks that a test moves: one stands still until then, one goes on with the event loop."""

import asyncio

from support.loop import iterations, until, until_idle


class ManualClock:
    """A clock for the broker and the client. Not for timers of the loop: ``loop.pass_time``."""

    def __init__(self, now: float = 1000.0) -> None:
        self._now = now
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self._now

    def wall_ms(self) -> int:
        return int(self._now * 1000)

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await iterations()
            return
        wake = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._now + seconds, wake))
        await wake

    @property
    def sleepers(self) -> int:
        """How many wait for time to pass."""
        return sum(not wake.done() for _, wake in self._sleepers)

    def due_within(self, seconds: float) -> bool:
        """Whether somebody's sleep ends when so much time has passed."""
        return any(when <= self._now + seconds for when, _ in self._sleepers)

    async def until_asleep(self, count: int = 1) -> None:
        """Return when so many wait for time to pass."""
        await until(lambda: self.sleepers >= count)

    def move(self, seconds: float) -> None:
        """Jump, ahead or back. Who sleeps goes on sleeping until time passes: ``advance``."""
        self._now += seconds

    async def advance(self, seconds: float) -> None:
        """Let time pass, and everybody do at its time what is due meanwhile."""
        end = self._now + seconds
        await until_idle()
        while due := [when for when, wake in self._sleepers if when <= end and not wake.done()]:
            self._now = max(self._now, min(due))
            self._wake()
            await until_idle()
        self._now = end

    def _wake(self) -> None:
        due = [one for one in self._sleepers if one[0] <= self._now]
        self._sleepers = [one for one in self._sleepers if one[0] > self._now]
        for _, wake in sorted(due, key=lambda one: one[0]):
            if not wake.done():
                wake.set_result(None)


class LoopClock:
    """The running loop's own time, which ``loop.pass_time`` moves on with its timers."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def wall_ms(self) -> int:
        return int(self.now() * 1000)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
