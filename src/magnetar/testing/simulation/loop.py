"""An event loop whose time is simulated: where nothing is left to do now, the next timer is due.

It never waits, has no threads and no sockets: connections are those of a simulated network, and
what is handed to an executor is done at once. What else asyncio offers is not there, and says so.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final, Protocol, TypeVar, TypeVarTuple, cast

from .processes import Process, process_here, process_of

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

CALLS_AT_ONCE_MAX: Final = 300_000
"""So many calls while time stands still are those of somebody who waits for nothing."""
BEGIN_S: Final = 1_000.0
WORLD: Final = Context()
"""The context of calls that belong to no process, and ask for none: nobody enters it."""


class Stuck(Exception):
    """Nothing more can happen, or time does not pass."""


class _Call(asyncio.Handle):
    """A call of a process, made without what asyncio's own handles are asked for debugging."""

    __slots__ = ("process",)

    def __init__(self, callback: Any, args: Any, loop: "SimulatedLoop", context: Context) -> None:
        self._callback = callback
        self._args = args
        self._loop = loop
        self._context = context
        self._cancelled = False
        self._repr = None
        self._source_traceback = None
        self.process = process_of(context)


class _Timer(asyncio.TimerHandle):
    """A call of a process when its time has come."""

    __slots__ = ("process",)

    def __init__(
        self, when: float, callback: Any, args: Any, loop: "SimulatedLoop", context: Context
    ) -> None:
        _Call.__init__(cast("Any", self), callback, args, loop, context)
        self._when = when
        self._scheduled = False


class NumberedFuture(asyncio.Future[Any]):
    """A future whose place in a set follows from when it was made."""

    def __init__(
        self, number: int, process: Process | None, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._number = number
        self.process = process
        """Who made it."""
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self._number


class NumberedTask(asyncio.Task[Any]):
    """A task whose place in a set follows from when it was made."""

    def __init__(self, number: int, coro: Any, **named: Any) -> None:
        self._number = number
        super().__init__(coro, **named)

    def __hash__(self) -> int:
        return self._number


class Connects(Protocol):
    """The network of a loop."""

    async def serve(
        self, factory: Callable[[], asyncio.BaseProtocol], address: tuple[str, int]
    ) -> asyncio.AbstractServer: ...

    async def connect(
        self, factory: Callable[[], asyncio.BaseProtocol], address: tuple[str, int]
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]: ...


class SimulatedLoop(asyncio.BaseEventLoop):
    """The loop of one simulated cluster."""

    network: Connects
    _runs = False

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[dict[str, Any]] = []  # What nobody handled.
        self.calls = 0
        self._calls_max = 0  # Until time passes.
        self._now = BEGIN_S
        self._queue: deque[Any] = deque()  # Calls, and timers whose time has come.
        self._timers: list[tuple[float, int, Any]] = []
        self._numbers = count(1)

    # Running.

    def run_until_complete(self, future: Any) -> Any:
        """Run until ``future`` is done. Raises Stuck where it never will be."""
        before = asyncio._get_running_loop()  # noqa: SLF001 - a loop says that it runs
        asyncio._set_running_loop(self)  # noqa: SLF001
        self._runs = True
        try:
            task = asyncio.ensure_future(future, loop=self)
            self._run_until(task)
            return task.result()
        finally:
            self._runs = False
            asyncio._set_running_loop(before)  # noqa: SLF001

    def _run_until(self, task: asyncio.Task[Any]) -> None:
        queue, done = self._queue, task.done
        self._calls_max = self.calls + CALLS_AT_ONCE_MAX
        while not done():
            if not queue:
                self._pass_time()
            handle = queue.popleft()
            if handle._cancelled:  # noqa: SLF001 - as every loop does
                continue
            process = handle.process
            if process is not None and not process.may_run(handle):
                continue
            self.calls += 1
            if self.calls > self._calls_max:
                raise Stuck(f"time does not pass: {handle!r} and others call again and again")
            context = handle._context  # noqa: SLF001
            try:
                if context is WORLD:
                    handle._callback(*handle._args)  # noqa: SLF001
                else:
                    context.run(handle._callback, *handle._args)  # noqa: SLF001
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:  # noqa: BLE001 - as every loop does
                message = f"Exception in callback {handle!r}"
                self.call_exception_handler(
                    {"message": message, "exception": error, "handle": handle}
                )

    def _pass_time(self) -> None:
        timers, queue = self._timers, self._queue
        while timers and timers[0][2]._cancelled:  # noqa: SLF001
            heappop(timers)
        if not timers:
            raise Stuck("nothing more can happen")
        self._now = now = max(self._now, timers[0][0])
        self._calls_max = self.calls + CALLS_AT_ONCE_MAX
        while timers and timers[0][0] <= now:
            queue.append(heappop(timers)[2])

    def resume(self, process: Process) -> None:
        """Let a process go on that was paused."""
        process.paused = False
        self._queue += process.held
        process.held.clear()

    def timers_of(self, process: Process) -> list[asyncio.TimerHandle]:
        """The timers that a process waits for."""
        return [
            handle
            for _, _, handle in self._timers
            if handle.process is process and not handle.cancelled()
        ]

    def is_running(self) -> bool:
        return self._runs

    def close(self) -> None:
        super().close()
        self._queue.clear()
        self._timers.clear()

    # Calls.

    def time(self) -> float:
        return self._now

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        handle = _Call(callback, args, self, copy_context() if context is None else context)
        self._queue.append(handle)
        return handle

    def call_of(self, callback: Callable[[], object], context: Context) -> asyncio.Handle:
        """A call that is made as often as it is given to ``again``, or to ``again_at``."""
        return _Call(callback, (), self, context)

    def again(self, call: asyncio.Handle) -> None:
        self._queue.append(call)

    def again_at(self, when: float, call: asyncio.Handle) -> None:
        heappush(self._timers, (when, next(self._numbers), call))

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        context = copy_context() if context is None else context
        handle = _Timer(when, callback, args, self, context)
        heappush(self._timers, (when, next(self._numbers), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Leave it where it is: it is passed over."""

    def create_future(self) -> asyncio.Future[Any]:
        return NumberedFuture(next(self._numbers), process_here(), self)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        context = context if context is not None else copy_context()
        task = NumberedTask(next(self._numbers), coro, loop=self, name=name, context=context)
        process = process_of(context)
        if process is not None:
            # Else one that waits for what died with it would be collected, and clean up.
            process.tasks[task] = None
            task.add_done_callback(process.tasks.pop, context=WORLD)
        return task

    # What is outside of the loop.

    async def create_server(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str | None = None,
        port: int | None = None,
        *,
        sock: socket.socket | None = None,
        **_: object,
    ) -> asyncio.AbstractServer:
        """Listen in the simulated network, where ``sock`` says."""
        address = (host or "", port or 0) if sock is None else sock.getsockname()
        return await self.network.serve(protocol_factory, address)

    async def create_connection(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str,
        port: int,
        **_: object,
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """Connect in the simulated network."""
        return await self.network.connect(protocol_factory, (host, port))

    async def getaddrinfo(self, host: Any, port: Any, **_: object) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, port))]

    def run_in_executor(  # type: ignore[override]
        self, _executor: object, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Do it at once. Who died of it is told nothing."""
        future: asyncio.Future[T] = self.create_future()
        process = process_here()
        try:
            result = func(*args)
        except Exception as error:  # noqa: BLE001 - whoever asked gets it
            if process is None or process.alive:
                future.set_exception(error)
        else:
            if process is None or process.alive:
                future.set_result(result)
        return future

    # What nobody handled.

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        future = context.get("future")
        process = future.process if isinstance(future, NumberedFuture) else None
        if process is None or process.alive:  # Else who would have handled it died first.
            self.failures.append(context)

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.call_exception_handler(context)
