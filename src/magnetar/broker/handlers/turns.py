"""Requests that take time take turns: of one connection only so many are worked on at once.

Thousands of requests fit into one read. Begun all at once they would keep the loop from everybody
else until the last of them is through.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from magnetar.broker.session import Session
from magnetar.tasks import Tasks

REQUESTS_AT_ONCE_MAX: Final = 32
"""Of one connection; those behind wait until one of them is answered."""

J = TypeVar("J")


class Turns(Generic[J]):
    """Who works, and who waits, by connection. A connection with neither is not known here.

    ``work`` does a job to its end, raises nothing, and says whether the connection is of use still;
    if not, what waits is given to ``drop``, as it is when the broker stops.
    """

    def __init__(
        self,
        tasks: Tasks,
        *,
        work: Callable[[Session, J], Awaitable[bool]],
        drop: Callable[[Session, J], None],
    ) -> None:
        self._tasks = tasks
        self._work = work
        self._drop = drop
        self._lines: dict[Session, _Line[J]] = {}

    def take(self, session: Session, name: str, job: J) -> None:
        """Begin now, or when those before are done. ``name`` is for the log."""
        line = self._lines.get(session)
        if line is None:
            line = self._lines[session] = _Line()
        if line.working < REQUESTS_AT_ONCE_MAX:
            line.working += 1
            self._tasks.spawn(name, self._run(session, line, job))
        else:
            line.waiting.append(job)

    async def _run(self, session: Session, line: "_Line[J]", job: J) -> None:
        goes_on = False
        try:
            goes_on = await self._work(session, job)
            while goes_on and line.waiting:
                job = line.waiting.popleft()
                await others_turn()
                goes_on = await self._work(session, job)
        finally:
            if not goes_on:
                while line.waiting:
                    self._drop(session, line.waiting.popleft())
            line.working -= 1
            if not line.working:
                del self._lines[session]


async def others_turn() -> None:
    """Everybody else has a turn: a job need not wait for anything by itself."""
    turn = asyncio.Event()
    asyncio.get_running_loop().call_soon(turn.set)
    await turn.wait()


class _Line(Generic[J]):
    """The jobs of one connection."""

    __slots__ = ("waiting", "working")

    def __init__(self) -> None:
        self.waiting: deque[J] = deque()  # Beyond REQUESTS_PENDING_MAX nothing more is read.
        self.working = 0
