"""How many bytes may be appended and not yet answered, and who waits until there is room."""

import asyncio
from collections import deque


class Capacity:
    """The bytes under way in a store. Who waits is admitted in order, one at a time."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._admitted = 0  # Invariant: 0 or 1; who was admitted and has not appended yet.
        self._asked = False  # Invariant: somebody waits, or was admitted.

    @property
    def over_limit(self) -> bool:
        """Whether a caller that can wait must ``wait`` first."""
        return self._bytes >= self._bytes_max or self._asked

    async def wait(self) -> None:
        """Return when the caller may append once, at once."""
        loop = asyncio.get_running_loop()
        admission = loop.create_future()
        self._waiting.append(admission)
        self._asked = True
        self._admit_next()
        try:
            await admission
        finally:
            if not admission.cancelled():
                self._admitted -= 1
            elif admission in self._waiting:
                self._waiting.remove(admission)
            self._asked = bool(self._waiting or self._admitted)
            loop.call_soon(self._admit_next)

    def take(self, size: int) -> None:
        """Note bytes that are appended."""
        self._bytes += size

    def give_back(self, size: int) -> None:
        """Note bytes that are answered."""
        self._bytes -= size
        if self._waiting:
            self._admit_next()

    def _admit_next(self) -> None:
        """Admit the caller that waits longest, if there is room."""
        while self._waiting and not self._admitted and self._bytes < self._bytes_max:
            admission = self._waiting.popleft()
            if not admission.done():
                self._admitted += 1
                admission.set_result(None)
