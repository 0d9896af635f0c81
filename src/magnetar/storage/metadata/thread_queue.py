"""Operations for a thread that blocks: it takes all that wait, and answers them together."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, NamedTuple, TypeVar

from magnetar.errors import StorageError

T = TypeVar("T")
Worker = TypeVar("Worker")

BATCH_MAX: Final = 1_000
"""How many operations the thread takes at once."""

WAITING_MAX: Final = 10_000
"""How many operations may wait for the thread; then callers wait for a place."""


class Operation(NamedTuple):
    """A call for the thread's worker, and the future of its result."""

    work: Callable[[Any], Any]
    writes: bool
    answer: asyncio.Future[Any]


class ThreadQueue(Generic[Worker]):
    """The queue between an event loop and one thread. It is made on the loop.

    The thread calls ``take``, ``answer`` and ``call``; the loop calls the rest.
    """

    def __init__(self, *, batch_max: int = BATCH_MAX, waiting_max: int = WAITING_MAX) -> None:
        self._batch_max = batch_max
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[Operation | None] = SimpleQueue()
        self.wake: Callable[[], None] = lambda: None  # Called when something was handed over.
        self._places = asyncio.Semaphore(waiting_max)
        self._ended = False

    async def ask(self, work: Callable[[Worker], T], *, writes: bool) -> T:
        """Hand work over, and return its result. Once handed over it is done in any case.

        Raises StorageError when ``end`` was called before there was a place.
        """
        await self._places.acquire()
        if self._ended:
            self._places.release()
            raise StorageError("the metadata store was closed before this could be done: open it")
        answer = self.post(work, writes=writes)
        answer.add_done_callback(lambda _: self._places.release())
        return await asyncio.shield(answer)

    def post(self, work: Callable[[Worker], T], *, writes: bool) -> asyncio.Future[T]:
        """Hand over work that must not wait for a place."""
        answer: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(Operation(work, writes, answer))
        self.wake()
        return answer

    def end(self) -> None:
        """Hand over no more. The thread is told so once it has taken all that came before."""
        self._ended = True
        self._queue.put(None)
        self.wake()

    def take(self, timeout_s: float | None) -> tuple[list[Operation], bool]:
        """Wait for an operation; return all that wait then, and whether more may follow."""
        batch: list[Operation] = []
        with contextlib.suppress(Empty):
            operation = self._queue.get(timeout=timeout_s)
            while operation is not None:
                batch.append(operation)
                if len(batch) == self._batch_max:
                    return batch, True
                operation = self._queue.get_nowait()
            return batch, False
        return batch, True

    def answer(self, batch: Sequence[Operation], results: Sequence[object]) -> None:
        """Answer each operation with its result, or its exception."""
        self.call(_answer, batch, results)

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Call something on the loop."""
        with contextlib.suppress(RuntimeError):  # The loop is closed.
            self._loop.call_soon_threadsafe(function, *arguments)


def _answer(batch: Sequence[Operation], results: Sequence[object]) -> None:
    for operation, result in zip(batch, results, strict=True):
        if operation.answer.done():
            continue
        if isinstance(result, BaseException):
            operation.answer.set_exception(result)
            operation.answer.exception()  # The caller may have been cancelled.
        else:
            operation.answer.set_result(result)
