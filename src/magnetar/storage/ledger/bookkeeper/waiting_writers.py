"""The writers whose entries wait for bookies: they are looked at while there are any."""

from typing import Final, Protocol

from magnetar.clock import Clock
from magnetar.tasks import Tasks

LOOK_S: Final = 0.1
"""How often they are looked at."""


class Waiting(Protocol):
    """A writer whose entries wait."""

    def look(self, now: float, late_s: float) -> None:
        """Give up bookies that leave entries waiting for too long.

        It is ``late_s`` later than it was to be: this process stood still for so long, and what
        bookies answered meanwhile may not have been read.
        """


class WaitingWriters:
    """Those of one store."""

    def __init__(self, clock: Clock, tasks: Tasks) -> None:
        self._clock = clock
        self._tasks = tasks
        self._writers: dict[Waiting, None] = {}  # In the order in which they began to wait.
        self._looking = False

    def add(self, writer: Waiting) -> None:
        """Look at a writer until it is discarded."""
        self._writers[writer] = None
        if not self._looking:
            self._looking = True
            self._tasks.spawn("look", self._look())

    def discard(self, writer: Waiting) -> None:
        """Nothing of a writer waits any more."""
        self._writers.pop(writer, None)

    async def _look(self) -> None:
        while self._writers:
            before = self._clock.now()
            await self._clock.sleep(LOOK_S)
            now = self._clock.now()
            late_s = max(0.0, now - before - LOOK_S)
            for writer in list(self._writers):
                writer.look(now, late_s)
        self._looking = False
