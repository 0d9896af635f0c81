"""Limits how many requests of one connection are worked on at the same time.

Thousands of requests fit into one read. If all of them began at once, no other client would be
served until the last one is done.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from magnetar.broker.session import Session
from magnetar.tasks import Tasks
from magnetar.turns import yield_to_loop

REQUESTS_AT_ONCE_MAX: Final = 32
"""Requests of one connection that run at once; further ones wait until one is answered."""

J = TypeVar("J")


class RequestLimiter(Generic[J]):
    """The running and waiting requests of each connection that has some.

    ``work`` does a job to its end, raises nothing, and returns whether the connection can still be
    used. If not, or when the broker stops, the waiting jobs are given to ``drop``.
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
        """Begin a job now, or when an earlier one is done. ``name`` is for the log."""
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


class _Requests(Generic[J]):
    """The requests of one connection."""

    __slots__ = ("running", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[J] = deque()  # REQUESTS_PENDING_MAX bounds it.
        self.running = 0
