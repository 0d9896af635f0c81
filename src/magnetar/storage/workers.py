"""Work that blocks, in a thread of its own or, where a test says so, in calls of the event loop.

Such work is a generator. It yields how many seconds it could wait (None: until there is something
to do), is sent how many it shall, and then does all that there is to do. In a thread it is sent
what it yielded. ``InLoop`` sends 0 whenever something was handed over or the time has come, so that
the order of everything is that of the loop, and its time is the loop's.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Generator
from typing import Protocol, TypeAlias

Work: TypeAlias = Generator[float | None, float | None, None]


class Worker(Protocol):
    """Carries out work until that ends."""

    def wake(self) -> None:
        """Say that something was handed over; called on the loop."""

    async def ended(self) -> None:
        """Return when the work, which has been told to end, has ended."""


StartWorker: TypeAlias = Callable[[str, Work], Worker]
"""Begins work, given a name for it. It is called on the loop."""


class InThread:
    """Work in a thread, which the queue of what was handed over wakes."""

    def __init__(self, name: str, work: Work) -> None:
        self._thread = threading.Thread(target=self._run, args=[work], name=name, daemon=True)
        self._thread.start()

    def wake(self) -> None:
        pass

    async def ended(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    @staticmethod
    def _run(work: Work) -> None:
        wait_s = None
        with contextlib.suppress(StopIteration):
            while True:
                wait_s = work.send(wait_s)


class InLoop:
    """Work in calls of the running event loop, which waits meanwhile."""

    def __init__(self, _name: str, work: Work) -> None:
        self._work = work
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._over = False
        self._turn(None)

    def wake(self) -> None:
        self._loop.call_soon(self._turn, 0.0)

    async def ended(self) -> None:
        while not self._over:
            self._turn(0.0)

    def _turn(self, wait_s: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        try:
            next_s = self._work.send(wait_s)
        except StopIteration:
            self._over = True
        else:
            if next_s is not None:
                self._timer = self._loop.call_later(next_s, self._turn, 0.0)
