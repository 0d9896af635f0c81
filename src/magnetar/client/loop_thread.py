"""The event loop behind all blocking clients of a process, in one daemon thread.

A process made by ``fork`` starts its own loop when it first needs one; clients made before the fork
belong to the parent and refuse to work in the child.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Final, ParamSpec, Protocol, TypeVar

from magnetar.errors import NotAllowed


class _Closable(Protocol):
    def close(self) -> Coroutine[Any, Any, None]: ...


T = TypeVar("T")
C = TypeVar("C", bound=_Closable)
P = ParamSpec("P")


class LoopThread:
    """An event loop in a thread of its own, for one process."""

    def __init__(self) -> None:
        self.pid: Final = os.getpid()
        self._loop = _new_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="magnetar-client", daemon=True
        )
        self._posted: deque[Callable[[], object]] = deque()
        self._woken = False  # Invariant: True while something posted may not be seen otherwise.
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and wait. An interruption, as by Ctrl-C, cancels it."""
        answer = self._begin(work)
        try:
            return answer.result()
        except BaseException:
            answer.cancel()
            raise

    def make(self, work: Coroutine[Any, Any, C]) -> C:
        """As ``run``. What was made when the call is interrupted is closed again."""
        made: list[C] = []

        async def make() -> C:
            made.append(await work)
            return made[0]

        async def close() -> None:
            for each in made:
                await each.close()

        try:
            return self.run(make())
        except BaseException:
            self._begin(close())  # It runs behind the cancellation, when ``made`` is settled.
            raise

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function on the loop, and wait for what it returns."""

        async def call() -> T:
            return function(*args, **kwargs)

        return self.run(call())

    def wait_for(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function on the loop, and wait for what the awaitable that it returns brings."""

        async def call() -> T:
            return await function(*args, **kwargs)

        return self.run(call())

    def post(self, function: Callable[[], object]) -> None:
        """Have a function called on the loop, behind what was asked of it before. Never waits."""
        self.check()
        self._posted.append(function)
        if not self._woken:
            self._woken = True
            self._loop.call_soon_threadsafe(self._call_posted)

    def _call_posted(self) -> None:
        self._woken = False  # What is posted from now on wakes it again.
        for _ in range(len(self._posted)):
            self._posted.popleft()()

    def finish(self, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Call ``close`` on the loop and wait. An interruption does not keep it from its end."""

        async def closing() -> None:
            await close()

        self._begin(closing()).result()

    def check(self) -> None:
        """Raises NotAllowed in a process that was forked after this was made."""
        if os.getpid() != self.pid:
            raise NotAllowed(
                "this client was made before the process forked: make another one here"
            )

    def _begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        if os.getpid() != self.pid or threading.current_thread() is self._thread:
            work.close()
            self.check()
            raise NotAllowed("a blocking call on the client's own loop would wait for itself")
        return asyncio.run_coroutine_threadsafe(work, self._loop)


_lock = threading.Lock()
_current: LoopThread | None = None


def loop_thread() -> LoopThread:
    """Return the loop thread of this process, and start it when there is none yet."""
    global _current  # noqa: PLW0603 - one loop per process is the point.
    if _current is not None and _current.pid == os.getpid():
        return _current
    with _lock:
        if _current is None or _current.pid != os.getpid():
            _current = LoopThread()
        return _current


def _after_fork() -> None:
    """Begin anew in the child: the lock may be held by a thread that only the parent has."""
    global _lock, _current
    _lock, _current = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # noqa: PLC0415 - faster where it is installed, and not everywhere it is.
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
