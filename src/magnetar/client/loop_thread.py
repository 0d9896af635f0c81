"""The event loop behind all blocking clients of a process, in one daemon thread.

It starts with the first client and ends with the last one; a client that comes later starts
another. So does a process made by ``fork``. At the end of a process its clients are closed, so that
what they have taken is sent, within EXIT_S seconds; then the loop ends.
"""

import asyncio
import atexit
import os
import sys
import threading
import warnings
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, Final, ParamSpec, Protocol, TypeVar

from magnetar.clock import SystemClock
from magnetar.errors import AlreadyClosed, MagnetarError, NotAllowed
from magnetar.tasks import Tasks

from .gather_all import close_all
from .leaving import INTERRUPTED_S, is_interruption
from .loop_call import LoopCall

EXIT_S: Final = 5.0  # An uncaught Ctrl-C leaves it INTERRUPTED_S.
STOP_S: Final = 1.0  # How long an end waits for the thread, when all is closed.
_AGAIN_S: Final = 0.01  # When the loop looks again for what another thread has.


class Closable(Protocol):
    def close(self, timeout_s: float | None = None) -> Coroutine[Any, Any, None]: ...


T = TypeVar("T")
P = ParamSpec("P")


class LoopThread:
    """An event loop in a thread of its own, for one process."""

    def __init__(self) -> None:
        self.inherited = False  # It is that of the process which this one was forked from.
        self._clients: dict[Closable, None] = {}  # Those that are not closed.
        self._making = 0  # How many are being made; guarded by ``_counting``.
        self._loop = _new_loop()
        self._tasks = Tasks("blocking")
        self._ending = False  # Its last client is closed.
        self.over = ""  # Why nothing is called on it any more.
        self._asking = threading.RLock()  # Guards ``over``; a garbage collection may ask, too.
        self._thread = threading.Thread(target=self._run, name="magnetar-client", daemon=True)
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
            return self._result(call)
        except BaseException:
            self._ask(call.give_up)
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
            self._end_if_unused()

    def enter(self) -> None:
        """Keep the thread from ending, until ``leave``. With ``_counting``."""
        self._making += 1

    def leave(self) -> None:
        with _counting:
            self._making -= 1
        if not self._clients:
            self._ask(self._end_if_unused)

    def join(self) -> None:
        """Wait for the thread, STOP_S seconds at most, if it ends."""
        if self._ending and not self._here:
            self._thread.join(STOP_S)

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
            raise AlreadyClosed(self.over)
        self._posted.append(function)
        if not self._woken:
            self._woken = True
            try:
                asked = self._ask(self._call_posted)
            except BaseException:  # An interruption: the next one wakes the loop for both.
                self._woken = False
                raise
            if not asked:
                raise AlreadyClosed(self.over)

    def _call_posted(self) -> None:
        self._woken = False  # What is posted from now on wakes it again.
        for _ in range(len(self._posted)):
            self._posted.popleft()()

    def finish(self, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Call ``close`` on the loop and wait. An interruption does not keep it from its end."""
        call = LoopCall(close, self._tasks)
        try:
            if self._begin(call):  # Or it was closed before the loop ended.
                call.result()
        except BaseException:
            self._ask(call.begin)
            raise

    def finish_later(self, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """As ``finish``, without waiting. May be called by the garbage collection, anywhere."""
        if not self.inherited:
            self._ask(LoopCall(close, self._tasks).begin)

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
            self._ask(call.begin)
            call.result(limit_s + STOP_S)  # What began before has longer.
        except (TimeoutError, MagnetarError) as error:
            warnings.warn(  # It is shown, where a line of a log may not be.
                f"the process ends before all messages of {', '.join(map(str, clients))} are "
                f"stored: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
        with self._asking:
            self.over = "the process ends, which closed its clients"
        stopping = LoopCall(self._tasks.close, self._tasks)
        self._loop.call_soon_threadsafe(stopping.begin)
        with suppress(TimeoutError):
            stopping.result(STOP_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STOP_S)

    @property
    def _here(self) -> bool:
        return threading.current_thread() is self._thread

    def _result(self, call: LoopCall[T]) -> T:
        if not self._begin(call):
            raise AlreadyClosed(self.over)
        return call.result()

    def _begin(self, call: LoopCall[Any]) -> bool:
        if self._here:
            call.give_up()
            raise NotAllowed("a blocking call on the client's own loop would wait for itself")
        return self._ask(call.begin)

    def _ask(self, function: Callable[[], object]) -> bool:
        """Have a function called on the loop, or return False when that has ended.

        The loop waits for no lock: who has it may be interrupted by a handler that calls the loop.
        """
        with nullcontext() if self._here else self._asking:
            if not self.over:
                self._loop.call_soon_threadsafe(function)
            return not self.over

    def _end_if_unused(self) -> None:
        """On the loop: begin to end, when the last client is closed."""
        global _current  # noqa: PLW0603 - one loop per process is the point.
        if not _counting.acquire(blocking=False):
            self._loop.call_later(_AGAIN_S, self._end_if_unused)
            return
        try:
            if self._clients or self._making or self._ending:
                return
            self._ending = True
            if _current is self:
                _current = None
        finally:
            _counting.release()
        self._tasks.spawn("end", self._end_behind_all())

    async def _end_behind_all(self) -> None:
        """Stop the loop when nothing goes on: calls of other threads, listeners that are called."""
        clock = SystemClock()
        await _others()
        while not self._asking.acquire(blocking=False):
            await clock.sleep(_AGAIN_S)
        self.over = "its client is closed"
        self._asking.release()
        await clock.sleep(0)  # What was asked for before that begins.
        await _others()
        self._loop.stop()

    def _run(self) -> None:
        self._loop.run_forever()
        if self._ending:
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()
            _of_process.discard(self)


async def _others() -> None:
    """Wait until no other task is left."""
    while others := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(others)


_lock = threading.RLock()  # A handler of signals may come in between.
_counting = threading.RLock()  # Nobody who has it waits for anything of a loop.
_current: LoopThread | None = None
_of_process: Final[set[LoopThread]] = set()  # Those that have not ended.
_of_parents: Final[list[LoopThread]] = []  # Kept, so that nothing of theirs is closed in the child.


@contextmanager
def loop_thread() -> Iterator[LoopThread]:
    """Start the loop thread of this process when there is none; it does not end in the block."""
    global _current  # noqa: PLW0603 - one loop per process is the point.
    with _counting:
        if _current is None:
            _current = LoopThread()
            _of_process.add(_current)
        thread = _current
        thread.enter()
    try:
        yield thread
    finally:
        thread.leave()


def making() -> threading.RLock:
    """What a thread holds while it makes something that others must not make a second time."""
    return _lock


def _after_fork() -> None:
    """Begin anew in the child: the lock may be held by a thread that only the parent has."""
    global _lock, _counting, _current
    for thread in _of_process:
        thread.inherited = True
        _of_parents.append(thread)
    _of_process.clear()
    _lock, _counting, _current = threading.RLock(), threading.RLock(), None


def _at_exit() -> None:
    with _counting:
        thread = _current
        if thread is not None:
            thread.enter()  # Nobody else ends it.
    if thread is not None:
        thread.end()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # noqa: PLC0415 - faster where it is installed, and not everywhere it is.
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
