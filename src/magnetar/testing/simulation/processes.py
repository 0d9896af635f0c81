"""Processes of a simulated cluster: what runs in one ends with it, at once and without cleaning up.

Every call of the loop belongs to the process in whose context it was made. Calls of a process that
died are dropped, so that no ``finally`` of it runs; those of one that is paused wait.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final

WALL_MS: Final = 1_767_225_600_000
"""Milliseconds since the epoch when simulated time begins."""

_PROCESS: ContextVar["Process | None"] = ContextVar("process", default=None)


def process_of(context: Context) -> "Process | None":
    """The process that a call in ``context`` belongs to; None for the world around them."""
    return context.get(_PROCESS)


def process_here() -> "Process | None":
    """The process that is running."""
    return _PROCESS.get()


class ProcessClock:
    """The clock of a process: it may be fast or slow, and its date may jump."""

    def __init__(self) -> None:
        self.rate = 1.0
        self.ahead_ms = 0
        self._ahead_s = 0.0  # What it gained while its rate was another.

    def now(self) -> float:
        return asyncio.get_running_loop().time() * self.rate + self._ahead_s

    def set_right(self) -> None:
        """Go on at the right rate, with the right date."""
        self._ahead_s = self.now() - asyncio.get_running_loop().time()
        self.rate = 1.0
        self.ahead_ms = -int(self._ahead_s * 1000)

    def wall_ms(self) -> int:
        return WALL_MS + self.ahead_ms + int(self.now() * 1000)

    async def sleep(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        awake = loop.create_future()
        timer = loop.call_later(max(seconds, 0) / self.rate, _wake, awake)
        try:
            await awake
        finally:
            timer.cancel()


class Process:
    """One process on a host of its own."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.clock = ProcessClock()
        self.alive = True
        self.paused = False
        self.fuse: int | None = None  # It dies after so many more calls.
        self.blown: Callable[[], None] = lambda: None  # Called when it does.
        self.held: deque[asyncio.Handle] = deque()  # Calls that wait while it is paused.
        self.tasks: dict[asyncio.Task[Any], None] = {}  # Those that have not ended.
        self.context = copy_context()
        self.context.run(_PROCESS.set, self)

    def run(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Begin ``work`` in it."""
        loop = asyncio.get_running_loop()
        return loop.create_task(work, name=self.name, context=self.context.copy())

    def call(self, work: Callable[..., object], *arguments: object) -> None:
        """Call ``work`` in it, soon."""
        asyncio.get_running_loop().call_soon(work, *arguments, context=self.context)

    def may_run(self, handle: asyncio.Handle) -> bool:
        """Whether a call of it happens now; one of a paused process waits."""
        if self.alive and not self.paused and self.fuse is None:
            return True
        if not self.alive:
            return False
        if self.paused:
            self.held.append(handle)
            return False
        if self.fuse is not None:
            self.fuse -= 1
            if self.fuse < 0:
                self.fuse = None
                self.blown()
                return self.alive
        return True


def _wake(awake: asyncio.Future[None]) -> None:
    if not awake.done():
        awake.set_result(None)
