"""The event loop of every test: it knows when all wait, and its time can be moved on.

Nothing here sleeps or looks again after a while. Between two iterations the loop asks its selector
for events, and says how long it would wait: that is when conditions are looked at, since what runs
in the loop changes only while it runs. What other threads or processes change without waking the
loop is not seen: ``support.elsewhere`` waits for that.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

GIVE_UP_S = 20.0
IDLE_WITHIN = 10_000
"""Iterations. A loop that takes more is kept awake by somebody who waits for nothing."""


class _Selector(selectors.DefaultSelector):
    """Tells when the loop is between two iterations."""

    between: Callable[[float | None], bool]
    """Gets how long the loop would wait for events; true where it must not wait after all."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout > 0:
            events = super().select(0)
            if events:
                self.between(0)
                return events
        return super().select(0 if self.between(timeout) else timeout)


class WatchedLoop(asyncio.SelectorEventLoop):
    """A loop whose iterations can be followed."""

    def __init__(self) -> None:
        self._ahead_s = 0.0  # How far its time is ahead of the machine's.
        self._left_s: float | None = None  # Of the time that ``pass_time`` moves on.
        self._idle: asyncio.Future[None] | None = None
        self._busy_count = 0  # Iterations since somebody waits for it to be idle.
        self._conditions: dict[asyncio.Future[None], Callable[[], object]] = {}
        selector = _Selector()
        selector.between = self._between
        super().__init__(selector)

    def time(self) -> float:
        return super().time() + self._ahead_s

    async def until_idle(self, pass_s: float | None = None) -> None:
        assert self._idle is None, "somebody waits for the loop to be idle already"
        self._idle, self._left_s, self._busy_count = self.create_future(), pass_s, 0
        try:
            await self._idle
        finally:
            self._idle = self._left_s = None

    async def until(self, condition: Callable[[], object]) -> None:
        while not condition():
            changed = self.create_future()
            self._conditions[changed] = condition
            try:
                await changed
            finally:
                del self._conditions[changed]

    def _between(self, timeout: float | None) -> bool:
        woken = [self._tell(changed, met) for changed, met in self._conditions.items()]
        if any(woken):
            return True
        if self._idle is None or self._idle.done():
            return False
        if timeout == 0:
            self._busy_count += 1
            if self._busy_count > IDLE_WITHIN:
                self._idle.set_exception(AssertionError("somebody keeps the loop from being idle"))
            return False
        if self._left_s is None or not self._skip(timeout):
            self._idle.set_result(None)
        return True

    def _tell(self, changed: asyncio.Future[None], condition: Callable[[], object]) -> bool:
        if changed.done():
            return True
        try:
            if condition():
                changed.set_result(None)
        except Exception as error:  # noqa: BLE001 - whoever waits gets it.
            changed.set_exception(error)
        return changed.done()

    def _skip(self, timeout: float | None) -> bool:
        """Go to the next timer, if it is due before the time has passed."""
        left_s = self._left_s or 0.0
        step_s = left_s if timeout is None else min(timeout, left_s)
        self._ahead_s += step_s
        self._left_s = left_s - step_s
        return timeout is not None and timeout <= left_s


def _this() -> WatchedLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, WatchedLoop), "start it with support.loop.run"
    return loop


def run(work: Coroutine[Any, Any, T]) -> T:
    """Like ``asyncio.run``, where a test brings up a loop of its own."""
    with asyncio.Runner(loop_factory=WatchedLoop) as runner:
        return runner.run(work)


async def iterations(count: int = 1) -> None:
    """Let the loop go round so many times: for tests of what happens in which iteration."""
    for _ in range(count):
        await asyncio.sleep(0)


async def until_idle() -> None:
    """Let all in this loop go on until they wait: for time, another thread, or each other."""
    await _this().until_idle()


async def pass_time(seconds: float) -> None:
    """Let the loop's own timers see so much time pass, one after the other, without waiting."""
    await _this().until_idle(seconds)


async def until(condition: Callable[[], object], timeout_s: float = GIVE_UP_S) -> None:
    """Return when ``condition`` is met. It is looked at whenever the loop did something."""
    async with asyncio.timeout(timeout_s):
        await _this().until(condition)
