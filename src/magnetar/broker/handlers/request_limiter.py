"""Limits how many requests of one connection are worked on at the same time.

Thousands of requests fit into one read. If all of them began at once, no other client would be
served until the last of them is through.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from magnetar.broker.session import Session
from magnetar.tasks import Tasks

REQUESTS_AT_ONCE_MAX: Final = 32
"""Of one connection; further requests wait until one of these is answered."""

J = TypeVar("J")


class RequestLimiter(Generic[J]):
    """The requests that run and that wait, by connection. A connection without any is not kept.

    ``work`` does a job to its end, raises nothing, and returns whether the connection can still be
    used. If not, the jobs that wait are given to ``drop``, as they are when the broker stops.
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
        self._connections: dict[Session, _Requests[J]] = {}

    def __len__(self) -> int:
        """Connections that have requests under way."""
        return len(self._connections)

    def take(self, session: Session, name: str, job: J) -> None:
        """Begin now, or when an earlier request is done. ``name`` is for the log."""
        requests = self._connections.get(session)
        if requests is None:
            requests = self._connections[session] = _Requests()
        if requests.running < REQUESTS_AT_ONCE_MAX:
            requests.running += 1
            self._tasks.spawn(name, self._run(session, requests, job))
        else:
            requests.waiting.append(job)

    async def _run(self, session: Session, requests: "_Requests[J]", job: J) -> None:
        usable = False
        try:
            usable = await self._work(session, job)
            while usable and requests.waiting:
                job = requests.waiting.popleft()
                await yield_to_loop()
                usable = await self._work(session, job)
        finally:
            if not usable:
                while requests.waiting:
                    self._drop(session, requests.waiting.popleft())
            requests.running -= 1
            if not requests.running:
                del self._connections[session]


async def yield_to_loop() -> None:
    """Let the loop serve everything else that is ready: a job need not wait for anything itself."""
    reached = asyncio.Event()
    asyncio.get_running_loop().call_soon(reached.set)
    await reached.wait()


class _Requests(Generic[J]):
    """Of one connection."""

    __slots__ = ("running", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[J] = deque()  # Beyond REQUESTS_PENDING_MAX nothing more is read.
        self.running = 0
