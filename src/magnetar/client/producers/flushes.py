"""Who waits until sends are settled: each for those up to a number, and for their first error."""

import asyncio
from dataclasses import dataclass

from magnetar.errors import MagnetarError


@dataclass(slots=True, eq=False)
class Flush:
    """A caller that waits until the sends up to a number are settled."""

    settled: asyncio.Future[None]
    until: float = float("inf")  # The number; infinity while it is not known yet.
    error: MagnetarError | None = None  # The first error of a send that it waits for.


class Flushes:
    """The flushes of one producer, in the order of their numbers."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: list[Flush] = []

    def begin(self) -> Flush:
        """One that waits for whatever is sent until its number is known."""
        flush = Flush(self._loop.create_future())
        self._waiting.append(flush)
        return flush

    def failed(self, number: int, error: MagnetarError) -> None:
        """The send of this number has failed."""
        for flush in self._waiting:
            if number <= flush.until:
                flush.error = flush.error or error

    def settled(self, number: int) -> None:
        """All sends up to this number are settled."""
        while self._waiting and self._waiting[0].until <= number:
            flush = self._waiting.pop(0)
            if not flush.settled.done():
                flush.settled.set_result(None)
