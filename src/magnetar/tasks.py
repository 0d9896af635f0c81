"""Starts, names, awaits and cancels tasks. The only caller of ``create_task``.

Every task has an owner: a ``Tasks`` that keeps it from being collected, logs it when it fails,
and ends it when the owner closes. Nothing here is called per message.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from magnetar.errors import MagnetarError

log = logging.getLogger(__name__)
T = TypeVar("T")


class Tasks:
    """The running tasks of one owner."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._running: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._running)

    def spawn(self, name: str, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run ``work`` until it ends or the owner closes. A failure nobody awaits is logged."""
        task = self.start(name, work)
        task.add_done_callback(log_failure)
        return task

    def start(self, name: str, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """As ``spawn``, for who takes the task's result, so that no failure need be logged."""
        task = asyncio.get_running_loop().create_task(work, name=f"{self._owner}:{name}")
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def close(self) -> None:
        """Cancel what still runs and wait until it has ended."""
        current = asyncio.current_task()
        running = [task for task in self._running if task is not current]
        for task in running:
            task.cancel()
        if running:
            await asyncio.gather(*running, return_exceptions=True)


class Closing:
    """The end of something: it happens once, and to its end, whoever waits for it.

    It begins with the call and not with the first ``await``, and goes on when who waits for it is
    cancelled. Everybody who calls waits for the same end, in the time that the first one gave it.
    """

    def __init__(
        self, owner: str, close: Callable[[float | None], Coroutine[Any, Any, None]]
    ) -> None:
        self._close = close
        self._tasks = Tasks(owner)
        self._task: asyncio.Task[None] | None = None

    @property
    def begun(self) -> bool:
        return self._task is not None

    def __call__(self, timeout_s: float | None = None) -> Coroutine[Any, Any, None]:
        if self._task is None:
            self._task = self._tasks.start("close", self._close(timeout_s))
        return self._ended(self._task)

    @staticmethod
    async def _ended(task: asyncio.Task[None]) -> None:
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(log_failure)  # Nobody may be left to be told.
            raise


def log_failure(task: asyncio.Task[Any]) -> None:
    """Log why a task failed, if it did."""
    if task.cancelled():
        return
    error = task.exception()
    if error is not None:
        # Our own errors say what happened and what to do; a defect needs its traceback.
        trace = None if isinstance(error, MagnetarError) else error
        log.error("task.failed name=%s error=%r", task.get_name(), error, exc_info=trace)
