"""The event loop behind all blocking clients of a process, in one daemon thread.

A process made by ``fork`` starts its own when it first needs one. At the end of a process its
clients are closed, so that what they have taken is sent, within EXIT_S seconds; then the loop ends.
"""

import asyncio
import atexit
import os
import sys
import threading
import warnings
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, ParamSpec, Protocol, TypeVar

from magnetar.errors import AlreadyClosed, MagnetarError, NotAllowed
from magnetar.tasks import Tasks

from .gather_all import close_all
from .leaving import INTERRUPTED_S, is_interruption
from .loop_call import LoopCall

EXIT_S: Final = 5.0  # An uncaught Ctrl-C leaves it INTERRUPTED_S.
STOP_S: Final = 1.0  # How long the end of a process waits for the thread, when all is closed.


class Closable(Protocol):
    def close(self, timeout_s: float | None = None) -> Coroutine[Any, Any, None]: ...


T = TypeVar("T")
P = ParamSpec("P")


class LoopThread:
    """An event loop in a thread of its own, for one process."""

    def __init__(self) -> None:
        self.inherited = False  # It is that of the process which this one was forked from.
        self._clients: dict[Closable, None] = {}  # Those that are not closed.
        self._loop = _new_loop()
        self._tasks = Tasks("blocking")
        self.over = False  # It has been stopped, at the end of the process.
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="magnetar-client", daemon=True
        )
        self._posted: deque[Callable[[], object]] = deque()
        self._woken = False  # Invariant: True while something posted may not be seen otherwise.
        self._thread.start()

    def run(
        self, work: Callable[[], Coroutine[Any, Any, T]], undo: Callable[[T], object] | None = None
    ) -> T:
        """Run a coroutine on the loop and wait. An interruption, as by Ctrl-C, cancels it.

        If it has a result all the same, which the caller does not get, ``undo`` is called with it.
        """
        call = LoopCall(work, self._tasks, undo)
        try:
            self._begin(call)
            return call.result()
        except BaseException:
            self._loop.call_soon_threadsafe(call.give_up)
            raise

    def make(
        self,
        work: Callable[[], Coroutine[Any, Any, T]],
        close: Callable[[T], Coroutine[Any, Any, None]],
    ) -> T:
        """As ``run``. What was made when the call is interrupted is closed again."""
        return self.run(work, lambda made: self._tasks.spawn("undo", close(made)))

    def keep(self, client: Closable) -> None:
        """Close this client at the end of the process, if ``drop`` does not come before."""
        self._clients[client] = None

    async def drop(self, client: Closable, timeout_s: float | None = None) -> None:
        """Close a client, on the loop."""
        try:
            await client.close(timeout_s)
        finally:
            self._clients.pop(client, None)

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function on the loop, and wait for what it returns."""

        async def call() -> T:
            return function(*args, **kwargs)

        return self.run(call)

    def wait_for(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function on the loop, and wait for what the awaitable that it returns brings."""

        async def call() -> T:
            return await function(*args, **kwargs)

        return self.run(call)

    def post(self, function: Callable[[], object]) -> None:
        """Have a function called on the loop, behind what was asked of it before. Never waits."""
        if self.over:
            raise _over()
        self._posted.append(function)
        if not self._woken:
            self._woken = True
            try:
                self._loop.call_soon_threadsafe(self._call_posted)
            except BaseException:  # An interruption: the next one wakes the loop for both.
                self._woken = False
                raise

    def _call_posted(self) -> None:
        self._woken = False  # What is posted from now on wakes it again.
        for _ in range(len(self._posted)):
            self._posted.popleft()()

    def finish(self, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Call ``close`` on the loop and wait. An interruption does not keep it from its end."""
        if self.over:
            return  # It was closed when the loop ended.
        call = LoopCall(close, self._tasks)
        try:
            self._begin(call)
            call.result()
        except BaseException:
            self._loop.call_soon_threadsafe(call.begin)
            raise

    def finish_later(self, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """As ``finish``, without waiting. May be called by the garbage collection, anywhere."""
        if not self.over and not self.inherited:
            call = LoopCall(close, self._tasks)
            self._loop.call_soon_threadsafe(call.begin)

    def end(self) -> None:
        """Close all clients, in EXIT_S seconds and what sockets need, and stop the loop."""
        clients = list(self._clients)
        if clients:
            warnings.warn(
                f"unclosed at the end of the process: {', '.join(map(str, clients))}; close "
                "clients, as by a with statement",
                ResourceWarning,
                stacklevel=2,
            )

        limit_s = INTERRUPTED_S if is_interruption(getattr(sys, "last_value", None)) else EXIT_S

        async def close() -> None:
            await close_all(each.close(limit_s) for each in clients)

        call = LoopCall(close, self._tasks)
        try:
            self._loop.call_soon_threadsafe(call.begin)
            call.result(limit_s + STOP_S)  # What began before has longer.
        except (TimeoutError, MagnetarError) as error:
            warnings.warn(  # It is shown, where a line of a log may not be.
                f"the process ends before all messages of {', '.join(map(str, clients))} are "
                f"stored: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
        self.over = True
        stopping = LoopCall(self._tasks.close, self._tasks)
        self._loop.call_soon_threadsafe(stopping.begin)
        with suppress(TimeoutError):
            stopping.result(STOP_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STOP_S)

    def _begin(self, call: LoopCall[Any]) -> None:
        if self.over:
            call.give_up()
            raise _over()
        if threading.current_thread() is self._thread:
            call.give_up()
            raise NotAllowed("a blocking call on the client's own loop would wait for itself")
        self._loop.call_soon_threadsafe(call.begin)


def _over() -> AlreadyClosed:
    return AlreadyClosed("the process ends, which closed its clients")


_lock = threading.RLock()  # A handler of signals may come in between.
_current: LoopThread | None = None
_of_parents: Final[list[LoopThread]] = []  # Kept, so that nothing of theirs is closed in the child.


def loop_thread() -> LoopThread:
    """Return the loop thread of this process, and start it when there is none yet."""
    global _current  # noqa: PLW0603 - one loop per process is the point.
    if _current is not None:
        return _current
    with _lock:
        if _current is None:
            _current = LoopThread()
        return _current


def making() -> threading.RLock:
    """What a thread holds while it makes something that others must not make a second time."""
    return _lock


def _after_fork() -> None:
    """Begin anew in the child: the lock may be held by a thread that only the parent has."""
    global _lock, _current
    if _current is not None:
        _current.inherited = True
        _of_parents.append(_current)
    _lock, _current = threading.RLock(), None


def _at_exit() -> None:
    if _current is not None:
        _current.end()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # noqa: PLC0415 - faster where it is installed, and not everywhere it is.
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
