"""A coroutine that runs on a loop while another thread waits for it."""

import threading
from asyncio import Task
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from magnetar.tasks import Tasks

T = TypeVar("T")


class LoopCall(Generic[T]):
    """One blocking call. The waiting thread may be interrupted at any moment, as by Ctrl-C.

    The coroutine is cancelled then. When it has a result all the same, ``undo`` is called with it:
    a result either reaches the caller or is undone.
    """

    def __init__(
        self,
        work: Callable[[], Coroutine[Any, Any, T]],
        tasks: Tasks,
        undo: Callable[[T], object] | None = None,
    ) -> None:
        self._work = work
        self._tasks = tasks
        self._undo = undo
        self._task: Task[T] | None = None
        self._given_up = False
        self._over = False
        self._ended = threading.Lock()  # It is released when the task has ended.
        self._ended.acquire()

    def result(self, timeout_s: float = -1) -> T:
        """Wait for the end, for ever by default. Raises TimeoutError, or what the coroutine did.

        Nothing behind the waiting may fail, so that an interruption is one of the waiting.
        """
        if not self._ended.acquire(timeout=timeout_s):
            raise TimeoutError(f"it has not ended within {timeout_s:g} s")
        assert self._task is not None
        return self._task.result()

    def begin(self) -> None:
        """On the loop: start, unless it has or was given up."""
        if self._task is None and not self._given_up:
            self._task = self._tasks.start("call", self._run())
            self._task.add_done_callback(self._on_end)

    def give_up(self) -> None:
        """On the loop, behind ``begin`` if that was asked for: its caller has given up."""
        if self._given_up:
            return
        self._given_up = True
        if self._over:
            self._undo_result()
        elif self._task is not None:
            self._task.cancel()  # If it is done, but not over, ``_on_end`` comes next.

    async def _run(self) -> T:
        return await self._work()  # Called here, so that what it raises ends the call.

    def _on_end(self, _: Task[T]) -> None:
        self._over = True
        if self._given_up:
            self._undo_result()
        self._ended.release()

    def _undo_result(self) -> None:
        task = self._task
        assert task is not None
        if not task.cancelled() and task.exception() is None and self._undo is not None:
            self._undo(task.result())
